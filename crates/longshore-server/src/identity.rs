//! Who asks, and what they may.

use axum::extract::{FromRequestParts, Request};
use axum::http::header::WWW_AUTHENTICATE;
use axum::http::{HeaderMap, HeaderValue, Uri, request::Parts};
use axum::middleware::Next;
use axum::response::Response;
use longshore::access::{Secret, SessionId, TokenId};

use crate::config::Access;
use crate::cookie::Cookie;
use crate::layers::{host, is_health, without_port};
use crate::problem::{Code, Problem, Result};
use crate::rights::{Grant, Right, Role};
use crate::secrets::{Of, Shown, refused};
use crate::server::App;

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
    /// As a user who has signed in: this session.
    Session(SessionId),
}

impl Kind {
    /// Its word in the audit log.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Kind::Anybody => "anybody",
            Kind::Process => "process",
            Kind::Token(_) => "token",
            Kind::Session(_) => "user",
        }
    }
}

impl Identity {
    fn anybody(role: Role) -> Identity {
        Identity { name: "anybody".to_owned(), kind: Kind::Anybody, grant: Grant::of(role) }
    }

    fn process() -> Identity {
        let grant = Grant::of(Role::Admin);
        Identity { name: "this process".to_owned(), kind: Kind::Process, grant }
    }

    /// Tells callers apart whose keys may be the same: a user has one name, tokens may share theirs.
    pub(crate) fn caller(&self) -> String {
        match self.kind {
            Kind::Token(id) => format!("token:{id}"),
            kind => format!("{}:{}", kind.word(), self.name),
        }
    }

    /// What they may do.
    pub fn grant(&self) -> &Grant {
        &self.grant
    }

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

/// The request with who asks in it, or nobody.
pub(crate) async fn identified(app: &App, mut request: Request) -> Request {
    request.extensions_mut().insert(app.clone());
    // Health must be told while the database is away, and needs nobody.
    if !is_health(request.uri().path()) {
        let shown = Shown::of(request.headers(), || cookie(request.headers(), request.uri()));
        match who(app, shown).await {
            Ok(Some(identity)) => drop(request.extensions_mut().insert(identity)),
            Ok(None) => {}
            Err(problem) => drop(request.extensions_mut().insert(Refused(problem))),
        }
    }
    request
}

/// The cookie of the name by which we are called.
pub(crate) fn cookie(headers: &HeaderMap, uri: &Uri) -> Cookie {
    Cookie::of(host(headers, uri).as_deref().map(without_port))
}

async fn who(app: &App, shown: Shown) -> Result<Option<Identity>> {
    let open = match app.config.access {
        Access::Open(role) => Some(Identity::anybody(role)),
        Access::Closed => None,
    };
    match shown {
        Shown::Token(secret) | Shown::Session(secret) if is_ours(app, &secret) => {
            Ok(Some(Identity::process()))
        }
        Shown::Token(secret) => {
            app.secrets.identify(&app.client, Of::Token, &secret).await.map(Some)
        }
        Shown::Session(secret) => {
            match app.secrets.identify(&app.client, Of::Session, &secret).await {
                // Where nobody has to sign in, a session that has ended is no worse than none.
                Err(problem) if problem.code() == Code::Unauthorized && open.is_some() => Ok(open),
                identity => identity.map(Some),
            }
        }
        Shown::Broken => Err(refused()),
        // What stands before this router may have credentials of its own.
        Shown::Foreign if open.is_none() => Err(refused()),
        Shown::Foreign | Shown::Nothing => Ok(open),
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
