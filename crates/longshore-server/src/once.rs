//! `Idempotency-Key`: a request that adds jobs is carried out once, however often it is sent.

use axum::extract::FromRequestParts;
use axum::http::{HeaderName, HeaderValue, Method, request::Parts};
use axum::response::Response;
use longshore::store::{Once, RequestKey};
use longshore::{Enqueued, NewJob};

use crate::identity::Identity;
use crate::problem::{Code, Problem, Result};
use crate::request::Body;
use crate::server::App;

static KEY: HeaderName = HeaderName::from_static("idempotency-key");
static REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");
/// Bytes of a key.
const MAX_BYTES: usize = 255;

/// The key of a request, if it has one.
pub(crate) struct Asked(Option<Keyed>);

/// The key, and what else tells the request from others.
struct Keyed {
    key: String,
    method: Method,
    path: String,
}

impl<S: Send + Sync> FromRequestParts<S> for Asked {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Asked> {
        let mut all = parts.headers.get_all(&KEY).iter();
        let Some(first) = all.next() else { return Ok(Asked(None)) };
        let key = read(first)?;
        if all.next().is_some() {
            return Err(refused("it stands there twice"));
        }
        let (method, path) = (parts.method.clone(), parts.uri.path().to_owned());
        Ok(Asked(Some(Keyed { key, method, path })))
    }
}

impl Asked {
    pub fn has_key(&self) -> bool {
        self.0.is_some()
    }

    /// Adds the jobs, or answers as the first of these requests was; whether it is that.
    pub async fn enqueue(
        &self,
        app: &App,
        who: &Identity,
        body: Option<&Body>,
        jobs: Vec<NewJob>,
    ) -> Result<(Vec<Enqueued>, Replayed)> {
        let Some(Keyed { key, method, path }) = &self.0 else {
            // The funnel of single jobs shares commits; a list has its own.
            let added = match <[NewJob; 1]>::try_from(jobs) {
                Ok([job]) => vec![app.client.enqueue(job).await?],
                Err(jobs) => app.client.enqueue_many(jobs).await?,
            };
            return Ok((added, Replayed(false)));
        };
        let body = body.map_or(&[][..], Body::bytes);
        let asked = [method.as_str().as_bytes(), path.as_bytes(), body];
        let request = RequestKey::new(&who.caller(), key, &asked);
        match app.client.enqueue_once(&request, jobs).await? {
            Once::Now(added) => Ok((added, Replayed(false))),
            Once::Before(added) => Ok((added, Replayed(true))),
            Once::Other => {
                let detail =
                    "this `Idempotency-Key` was used for another request within the last 24 hours";
                Err(Problem::new(Code::KeyReused, detail))
            }
        }
    }
}

/// Whether an answer is that of an earlier request.
#[derive(Clone, Copy)]
pub(crate) struct Replayed(pub bool);

impl Replayed {
    /// Says so in the answer.
    pub fn mark(self, mut response: Response) -> Response {
        if self.0 {
            response.headers_mut().insert(&REPLAYED, HeaderValue::from_static("true"));
        }
        response
    }
}

/// A string as RFC 8941 writes it, in quotes, or what stands there without them.
fn read(value: &HeaderValue) -> Result<String> {
    let text = value.to_str().map_err(|_| refused("it has other characters than visible ASCII"))?;
    let text = text.trim();
    let key = match text.strip_prefix('"') {
        Some(rest) => unquoted(rest).ok_or_else(|| refused("its quotes do not close"))?,
        None => text.to_owned(),
    };
    if key.is_empty() || key.len() > MAX_BYTES {
        return Err(refused(&format!("it has {} bytes; it may have 1 to {MAX_BYTES}", key.len())));
    }
    Ok(key)
}

fn unquoted(rest: &str) -> Option<String> {
    let mut key = String::new();
    let mut letters = rest.chars();
    loop {
        match letters.next()? {
            '"' => return letters.next().is_none().then_some(key),
            '\\' => key.push(letters.next().filter(|letter| matches!(letter, '"' | '\\'))?),
            letter => key.push(letter),
        }
    }
}

fn refused(why: &str) -> Problem {
    Problem::parameter(
        "Idempotency-Key",
        format!("the header `Idempotency-Key` cannot be read: {why}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_a_quoted_string_or_a_bare_word() {
        for (text, key) in [
            ("abc", Some("abc")),
            ("\"abc\"", Some("abc")),
            ("\"a\\\"b\\\\\"", Some("a\"b\\")),
            ("\"abc", None),
            ("\"abc\"d", None),
            ("\"a\\b\"", None),
            ("\"\"", None),
            ("", None),
        ] {
            let value = HeaderValue::from_str(text).unwrap();
            assert_eq!(read(&value).ok().as_deref(), key, "{text}");
        }
        let long = HeaderValue::from_str(&"x".repeat(256)).unwrap();
        assert!(read(&long).is_err());
    }
}
