//! Tokens: looked up, remembered for a moment, and held to their rate.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, header::AUTHORIZATION};
use longshore::Client;
use longshore::access::{Secret, SecretHash, TokenId, TokenRow};

use crate::config::Rate;
use crate::identity::{Identity, Kind};
use crate::problem::{Code, Problem, Result};
use crate::rights::Grant;

/// How long an answer of the database counts: a token that is revoked works on for so long at most.
const KEPT_FOR: Duration = Duration::from_secs(2);
/// How often the database is told that a token is used. It writes no more often either.
const NOTED_EVERY: Duration = Duration::from_secs(60);

/// What the header `Authorization` brings.
pub(crate) enum Shown {
    Nothing,
    /// Something that cannot be a token of ours: another scheme, or no secret's form.
    Foreign,
    /// Meant for us, though it has no secret's form.
    Broken,
    Token(Secret),
}

impl Shown {
    /// Looks at the form alone, so that nothing that is too long or odd goes any further.
    pub fn of(headers: &HeaderMap) -> Shown {
        let mut all = headers.get_all(AUTHORIZATION).iter();
        let Some(first) = all.next() else { return Shown::Nothing };
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

/// The tokens that were used lately. Only such as are live get in, so they are no more than there may be.
pub(crate) struct Tokens {
    rate: Rate,
    known: Mutex<HashMap<SecretHash, Known>>,
}

struct Known {
    identity: Arc<Identity>,
    looked_at: Instant,
    noted_at: Option<Instant>,
    bucket: Bucket,
}

impl Tokens {
    pub fn new(rate: Rate) -> Tokens {
        Tokens { rate, known: Mutex::default() }
    }

    /// Who shows this secret. The same refusal whether it is wrong, expired or revoked.
    pub async fn identify(&self, client: &Client, secret: &Secret) -> Result<Identity> {
        let hash = secret.hash();
        let identity = match self.remembered(hash) {
            Some(identity) => identity,
            None => self.look_up(client, secret).await?,
        };
        self.pass(hash)?;
        Ok((*identity).clone())
    }

    fn remembered(&self, hash: SecretHash) -> Option<Arc<Identity>> {
        let known = self.known.lock().expect("nothing here panics");
        let known = known.get(&hash)?;
        (known.looked_at.elapsed() < KEPT_FOR).then(|| Arc::clone(&known.identity))
    }

    async fn look_up(&self, client: &Client, secret: &Secret) -> Result<Arc<Identity>> {
        // Before the question, so that an answer that comes late does not count for longer.
        let looked_at = Instant::now();
        let hash = secret.hash();
        let Some(row) = client.token(secret).await?.filter(|row| row.live) else {
            self.known.lock().expect("nothing here panics").remove(&hash);
            return Err(refused());
        };
        let identity = Arc::new(identity(&row));
        let full = Bucket::full(&self.rate);
        let note = {
            let mut all = self.known.lock().expect("nothing here panics");
            let known = all.entry(hash).or_insert_with(|| Known {
                identity: Arc::clone(&identity),
                looked_at,
                noted_at: None,
                bucket: full,
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
            tokio::spawn(note_use(client.clone(), row.id));
        }
        Ok(identity)
    }

    /// Takes one request from the token's bucket.
    fn pass(&self, hash: SecretHash) -> Result<()> {
        let mut known = self.known.lock().expect("nothing here panics");
        let Some(known) = known.get_mut(&hash) else { return Ok(()) };
        let Err(wait) = known.bucket.take(&self.rate, Instant::now()) else { return Ok(()) };
        let Rate { per_second, burst } = self.rate;
        let detail = format!(
            "this token has used up its requests: {per_second} a second, {burst} at once at most"
        );
        let seconds = wait.as_secs_f64().ceil().max(1.0) as u64;
        Err(Problem::new(Code::TooMany, detail).header(RETRY_AFTER, seconds))
    }
}

/// It is for people: a failure is no matter.
async fn note_use(client: Client, id: TokenId) {
    if let Err(error) = client.touch_token(id).await {
        tracing::debug!(token = %id, "could not note that a token was used: {error}");
    }
}

fn identity(row: &TokenRow) -> Identity {
    Identity {
        name: row.name.clone(),
        kind: Kind::Token(row.id),
        grant: Grant::kept(row.role.as_deref(), &row.rights),
    }
}

/// For whatever shows itself as a token and is not one that is live.
pub(crate) fn refused() -> Problem {
    Problem::new(Code::Unauthorized, "this token is wrong, expired or revoked")
        .header(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer error=\"invalid_token\""))
}

/// Requests that a token may still make at once; more come with time.
struct Bucket {
    left: f64,
    at: Instant,
}

impl Bucket {
    fn full(rate: &Rate) -> Bucket {
        Bucket { left: f64::from(rate.burst), at: Instant::now() }
    }

    /// How long to wait for the next one, if there is none.
    fn take(&mut self, rate: &Rate, now: Instant) -> Result<(), Duration> {
        let per_second = f64::from(rate.per_second);
        let came = now.saturating_duration_since(self.at).as_secs_f64() * per_second;
        self.left = (self.left + came).min(f64::from(rate.burst));
        self.at = now;
        if self.left < 1.0 {
            let wait = (1.0 - self.left) / per_second.max(f64::MIN_POSITIVE);
            return Err(Duration::from_secs_f64(wait.min(3_600.0)));
        }
        self.left -= 1.0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_gives_its_burst_and_then_its_rate() {
        let rate = Rate { per_second: 10, burst: 3 };
        let (mut bucket, now) = (Bucket::full(&rate), Instant::now());
        let mut given = |ms| {
            (0..10).filter(|_| bucket.take(&rate, now + Duration::from_millis(ms)).is_ok()).count()
        };
        assert_eq!([given(1), given(1), given(110), given(10_000)], [3, 0, 1, 3]);
        assert!(bucket.take(&rate, now).unwrap_err() <= Duration::from_millis(100));
    }

    #[test]
    fn a_rate_of_nothing_waits_an_hour() {
        let rate = Rate { per_second: 0, burst: 0 };
        let wait = Bucket::full(&rate).take(&rate, Instant::now());
        assert_eq!(wait, Err(Duration::from_secs(3_600)));
    }
}
