//! Who asks, and what they may.

use axum::extract::{FromRequestParts, Request, State};
use axum::http::header::WWW_AUTHENTICATE;
use axum::http::{HeaderValue, request::Parts};
use axum::middleware::Next;
use axum::response::Response;
use longshore::access::{Secret, TokenId};

use crate::config::Access;
use crate::layers::is_health;
use crate::problem::{Code, Problem, Result};
use crate::rights::{Grant, Right, Role};
use crate::server::App;
use crate::tokens::{Shown, refused};

/// Who asks. In every request's extensions behind the router's own layers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Their name, for logs and for whoever reads who did what.
    pub name: String,
    /// How they came in.
    pub kind: Kind,
    pub(crate) grant: Grant,
}

/// How somebody came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Without credentials: see [`Access::Open`].
    Anybody,
    /// With the token of this process: see [`crate::ServerConfig::process_token`].
    Process,
    /// With this token.
    Token(TokenId),
}

impl Kind {
    /// Its word in the audit log.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Kind::Anybody => "anybody",
            Kind::Process => "process",
            Kind::Token(_) => "token",
        }
    }
}

impl Identity {
    /// Whether they have this right; a problem that says so if not.
    pub fn check(&self, right: Right) -> Result<()> {
        if self.grant.has(right) {
            return Ok(());
        }
        let detail = format!("{} has not the right `{right}`", self.name);
        Err(Problem::new(Code::Forbidden, detail))
    }
}

/// Why nobody was let in, for the routes that need somebody; others stay open.
#[derive(Clone)]
struct Refused(Problem);

/// Puts who asks into the request, or nobody.
pub(crate) async fn identify(State(app): State<App>, mut request: Request, next: Next) -> Response {
    request.extensions_mut().insert(app.clone());
    // Health must be told while the database is away, and needs nobody.
    if !is_health(request.uri().path()) {
        match who(&app, Shown::of(request.headers())).await {
            Ok(Some(identity)) => drop(request.extensions_mut().insert(identity)),
            Ok(None) => {}
            Err(problem) => drop(request.extensions_mut().insert(Refused(problem))),
        }
    }
    next.run(request).await
}

async fn who(app: &App, shown: Shown) -> Result<Option<Identity>> {
    match (shown, &app.config.access) {
        (Shown::Token(secret), _) if is_ours(app, &secret) => Ok(Some(Identity {
            name: "this process".to_owned(),
            kind: Kind::Process,
            grant: Grant::of(Role::Admin),
        })),
        (Shown::Token(secret), _) => app.tokens.identify(&app.client, &secret).await.map(Some),
        (Shown::Broken, _) | (Shown::Foreign, Access::Closed) => Err(refused()),
        (Shown::Nothing, Access::Closed) => Ok(None),
        // What stands before this router may have credentials of its own.
        (Shown::Nothing | Shown::Foreign, Access::Open(role)) => Ok(Some(Identity {
            name: "anybody".to_owned(),
            kind: Kind::Anybody,
            grant: Grant::of(*role),
        })),
    }
}

/// Hashes are compared, so that time tells nothing of the secret.
fn is_ours(app: &App, secret: &Secret) -> bool {
    app.config.process_token.as_ref().is_some_and(|ours| ours.hash() == secret.hash())
}

/// Lets nobody pass who has not the right.
pub(crate) async fn require(right: Right, request: Request, next: Next) -> Result<Response> {
    match request.extensions().get::<Identity>() {
        Some(identity) => identity.check(right)?,
        None => {
            let refused = request.extensions().get::<Refused>();
            return Err(refused.map_or_else(nobody, |refused| refused.0.clone()));
        }
    }
    Ok(next.run(request).await)
}

fn nobody() -> Problem {
    Problem::new(Code::Unauthorized, "this needs credentials: `Authorization: Bearer TOKEN`")
        .header(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
}

impl<S: Send + Sync> FromRequestParts<S> for Identity {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Identity> {
        parts.extensions.get().cloned().ok_or_else(nobody)
    }
}
