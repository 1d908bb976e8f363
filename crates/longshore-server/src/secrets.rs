//! Secrets of tokens and sessions: looked up, remembered for a moment, and held to their rate.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, header::AUTHORIZATION};
use longshore::Client;
use longshore::access::{Secret, SecretHash, SessionId};

use crate::bucket::Bucket;
use crate::config::Rate;
use crate::cookie::Cookie;
use crate::identity::{Identity, Kind};
use crate::problem::{Code, Problem, Result};
use crate::rights::Grant;

/// How long an answer of the database counts: a token that is revoked works on for so long at most.
const KEPT_FOR: Duration = Duration::from_secs(2);
/// How often the database is told that a token is used. It writes no more often either.
const NOTED_EVERY: Duration = Duration::from_secs(60);

/// What the header `Authorization` brings, or else the cookie.
pub(crate) enum Shown {
    Nothing,
    /// Something that cannot be a token of ours: another scheme, or no secret's form.
    Foreign,
    /// Meant for us, though it has no secret's form.
    Broken,
    Token(Secret),
    /// By a browser, as this server gave it when somebody signed in.
    Session(Secret),
}

impl Shown {
    /// Looks at the form alone, so that nothing that is too long or odd goes any further.
    pub fn of(headers: &HeaderMap, cookie: impl FnOnce() -> Cookie) -> Shown {
        let mut all = headers.get_all(AUTHORIZATION).iter();
        let Some(first) = all.next() else {
            return cookie().read(headers).map_or(Shown::Nothing, Shown::Session);
        };
        // Of two nobody may choose which counts.
        if all.next().is_some() {
            return Shown::Broken;
        }
        match bearer(first) {
            Some(token) if token.starts_with(Secret::PREFIX) => {
                Secret::read(token).map_or(Shown::Broken, Shown::Token)
            }
            _ => Shown::Foreign,
        }
    }
}

fn bearer(value: &HeaderValue) -> Option<&str> {
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Whose secret it is: they are kept in two places.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Of {
    Token,
    Session,
}

/// The secrets that were used lately. Only such as are live get in, so they are no more than there may be.
pub(crate) struct Secrets {
    rate: Rate,
    known: Mutex<HashMap<SecretHash, Known>>,
}

struct Known {
    identity: Arc<Identity>,
    looked_at: Instant,
    noted_at: Option<Instant>,
    bucket: Bucket,
}

impl Secrets {
    pub fn new(rate: Rate) -> Secrets {
        Secrets { rate, known: Mutex::default() }
    }

    /// Who shows this secret. The same refusal whether it is wrong, expired or revoked.
    pub async fn identify(&self, client: &Client, of: Of, secret: &Secret) -> Result<Identity> {
        let hash = secret.hash();
        let identity = match self.remembered(hash, of) {
            Some(identity) => identity,
            None => self.look_up(client, of, secret).await?,
        };
        self.pass(hash)?;
        Ok((*identity).clone())
    }

    /// Forgets a session that has ended, so that it gives nothing from now on, in this process.
    pub fn forget(&self, session: SessionId) {
        let mut known = self.known.lock().expect("nothing here panics");
        known.retain(|_, known| known.identity.kind != Kind::Session(session));
    }

    fn remembered(&self, hash: SecretHash, of: Of) -> Option<Arc<Identity>> {
        let known = self.known.lock().expect("nothing here panics");
        let known = known.get(&hash).filter(|known| of.is_of(known.identity.kind))?;
        (known.looked_at.elapsed() < KEPT_FOR).then(|| Arc::clone(&known.identity))
    }

    async fn look_up(&self, client: &Client, of: Of, secret: &Secret) -> Result<Arc<Identity>> {
        // Before the question, so that an answer that comes late does not count for longer.
        let looked_at = Instant::now();
        let hash = secret.hash();
        let Some(identity) = of.look_up(client, secret).await? else {
            self.known.lock().expect("nothing here panics").remove(&hash);
            return Err(of.refused());
        };
        let identity = Arc::new(identity);
        let note = {
            let mut all = self.known.lock().expect("nothing here panics");
            let known = all.entry(hash).or_insert_with(|| Known {
                identity: Arc::clone(&identity),
                looked_at,
                noted_at: None,
                bucket: Bucket::full(self.rate.into()),
            });
            known.identity = Arc::clone(&identity);
            known.looked_at = looked_at;
            let due = known.noted_at.is_none_or(|at| at.elapsed() >= NOTED_EVERY);
            if due {
                known.noted_at = Some(looked_at);
            }
            due
        };
        if note {
            tokio::spawn(note_use(client.clone(), identity.kind));
        }
        Ok(identity)
    }

    /// Takes one request from the secret's bucket.
    fn pass(&self, hash: SecretHash) -> Result<()> {
        let mut known = self.known.lock().expect("nothing here panics");
        let Some(known) = known.get_mut(&hash) else { return Ok(()) };
        let Err(wait) = known.bucket.take(self.rate.into(), Instant::now()) else { return Ok(()) };
        let Rate { per_second, burst } = self.rate;
        let detail = format!(
            "this token has used up its requests: {per_second} a second, {burst} at once at most"
        );
        Err(too_many(detail, wait))
    }
}

/// Refuses, and says when to come again.
pub(crate) fn too_many(detail: impl Into<String>, wait: Duration) -> Problem {
    let seconds = wait.as_secs_f64().ceil().max(1.0) as u64;
    Problem::new(Code::TooMany, detail).header(RETRY_AFTER, seconds)
}

impl Of {
    fn is_of(self, kind: Kind) -> bool {
        match self {
            Of::Token => matches!(kind, Kind::Token(_)),
            Of::Session => matches!(kind, Kind::Session(_)),
        }
    }

    async fn look_up(self, client: &Client, secret: &Secret) -> Result<Option<Identity>> {
        Ok(match self {
            Of::Token => client.token(secret).await?.filter(|row| row.live).map(|row| Identity {
                grant: Grant::kept(row.role.as_deref(), &row.rights),
                name: row.name,
                kind: Kind::Token(row.id),
            }),
            Of::Session => {
                client.session(secret).await?.filter(|row| row.live).map(|row| Identity {
                    grant: Grant::kept(row.role.as_deref(), &row.rights),
                    name: row.user,
                    kind: Kind::Session(row.id),
                })
            }
        })
    }

    fn refused(self) -> Problem {
        match self {
            Of::Token => refused(),
            Of::Session => {
                Problem::new(Code::Unauthorized, "this session has ended; sign in again")
            }
        }
    }
}

/// It is for people: a failure is no matter.
async fn note_use(client: Client, kind: Kind) {
    let noted = match kind {
        Kind::Token(id) => client.touch_token(id).await,
        Kind::Session(id) => client.touch_session(id).await,
        Kind::Anybody | Kind::Process => Ok(()),
    };
    if let Err(error) = noted {
        tracing::debug!("could not note that a token or a session was used: {error}");
    }
}

/// For whatever shows itself as a token and is not one that is live.
pub(crate) fn refused() -> Problem {
    Problem::new(Code::Unauthorized, "this token is wrong, expired or revoked")
        .header(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer error=\"invalid_token\""))
}
