//! Who asks, and what they may.

use axum::extract::{FromRequestParts, Request, State};
use axum::http::header::WWW_AUTHENTICATE;
use axum::http::{HeaderValue, request::Parts};
use axum::middleware::Next;
use axum::response::Response;

use crate::config::Access;
use crate::problem::{Code, Problem, Result};
use crate::rights::{Right, Role};
use crate::server::App;

/// Who asks. In every request's extensions behind the router's own layers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Their name, for logs and for whoever reads who did what.
    pub name: String,
    role: Role,
}

impl Identity {
    /// Whether they have this right; a problem that says so if not.
    pub fn check(&self, right: Right) -> Result<()> {
        if self.role.has(right) {
            return Ok(());
        }
        let detail = format!("{} has not the right `{right}`", self.name);
        Err(Problem::new(Code::Forbidden, detail))
    }
}

/// Puts who asks into the request, or nobody.
pub(crate) async fn identify(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let identity = match &app.config.access {
        Access::Closed => None,
        Access::Open(role) => Some(Identity { name: "anybody".to_owned(), role: *role }),
    };
    if let Some(identity) = identity {
        request.extensions_mut().insert(identity);
    }
    next.run(request).await
}

/// Lets nobody pass who has not the right.
pub(crate) async fn require(right: Right, request: Request, next: Next) -> Result<Response> {
    match request.extensions().get::<Identity>() {
        Some(identity) => identity.check(right)?,
        None => return Err(nobody()),
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
