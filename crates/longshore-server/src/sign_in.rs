//! How a user comes in: attempts are counted before a password is compared, and each leaves a trace.

mod attempts;
mod page;

use std::sync::Mutex;
use std::time::{Duration, Instant};

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use longshore::access::{MadeSession, NewSession, PasswordHash, Secret};
use longshore::audit::{EntryEnd, NewEntry};

pub(crate) use attempts::Attempts;
pub(crate) use page::routes;

use crate::audit::{Peer, peer};
use crate::cookie::Cookie;
use crate::identity::cookie;
use crate::layers::RequestId;
use crate::password::fits;
use crate::problem::{Code, Problem, Result};
use crate::server::App;

/// From where somebody comes who signs in.
pub(crate) struct Arrival {
    pub peer: Option<Peer>,
    pub request: Option<RequestId>,
    /// Where the browser keeps the session.
    pub cookie: Cookie,
}

impl<S: Send + Sync> FromRequestParts<S> for Arrival {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Arrival> {
        Ok(Arrival {
            peer: peer(&parts.extensions),
            request: parts.extensions.get().cloned(),
            cookie: cookie(&parts.headers, &parts.uri),
        })
    }
}

/// Signs a user in. The same refusal, after the same time, whether the name or the password is wrong.
pub(crate) async fn sign_in(
    app: &App,
    from: &Arrival,
    name: &str,
    password: String,
) -> Result<MadeSession> {
    let name = name.to_lowercase();
    let kept = compared(app, from, &name, password).await?;
    // Whoever changed the password in this moment has kept this one out.
    let mut session = NewSession::new(&name, kept);
    if let Some(Peer(address)) = from.peer {
        session = session.address(&address.to_string());
    }
    let made = app.client.sign_in(session).await?.ok_or_else(wrong)?;
    note(app, from, &name, 201).await;
    Ok(made)
}

/// The hash that the password fits, if it does and the user is not kept out.
pub(crate) async fn compared(
    app: &App,
    from: &Arrival,
    name: &str,
    password: String,
) -> Result<PasswordHash> {
    let attempt = app.attempts.begin(from.peer.map(|Peer(address)| address), name)?;
    let user = app.client.user(name).await?.filter(|(user, _)| user.disabled_at.is_none());
    let kept = user.map(|(_, kept)| kept);
    let (known, good) = (kept.is_some(), fits(password, kept.clone()).await?);
    let Some(kept) = kept.filter(|_| good) else {
        // A name that nobody has may be a password in the wrong field: it is not written down.
        note(app, from, if known { name } else { "unknown" }, 401).await;
        return Err(wrong());
    };
    attempt.was_good();
    Ok(kept)
}

fn wrong() -> Problem {
    Problem::new(Code::Unauthorized, "the name or the password is wrong")
}

/// That it cannot be written keeps nobody out: nothing is changed but who is in.
async fn note(app: &App, from: &Arrival, name: &str, status: u16) {
    let mut entry = NewEntry::new("sessions.create", name, "user");
    if let Some(Peer(address)) = from.peer {
        entry = entry.address(&address.to_string());
    }
    if let Some(RequestId(id)) = &from.request {
        entry = entry.request_id(id);
    }
    let noted = async {
        let id = app.client.begin_audit(entry).await?;
        app.client.end_audit(id, EntryEnd { status, ..EntryEnd::default() }).await
    };
    if let Err(error) = noted.await {
        tracing::warn!("an attempt to sign in is not in the audit log: {error}");
    }
}

/// A code that signs in once, and not for long.
pub(crate) struct OneTime(Mutex<Option<(Secret, Instant)>>);

/// How long a code may wait for its use.
const CODE_LASTS: Duration = Duration::from_secs(600);

impl OneTime {
    pub fn new(code: Option<Secret>) -> OneTime {
        OneTime(Mutex::new(code.map(|code| (code, Instant::now()))))
    }

    /// Whether this is the code; then it is not any more.
    pub fn take(&self, shown: &Secret) -> bool {
        let mut code = self.0.lock().expect("nothing here panics");
        code.take_if(|(code, made)| code.hash() == shown.hash() && made.elapsed() < CODE_LASTS)
            .is_some()
    }
}
