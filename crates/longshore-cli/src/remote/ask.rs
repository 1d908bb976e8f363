//! One request: what is asked for, and whether it may be asked twice.

use std::time::Duration;

use axum::body::Bytes;
use axum::http::{HeaderName, HeaderValue, Method, header};
use form_urlencoded::{Serializer, byte_serialize};
use serde::Serialize;

/// Below this everything is.
const BASE: &str = "/api/v1";

/// A request, before it is sent.
pub(crate) struct Ask {
    method: Method,
    path: String,
    headers: Vec<(HeaderName, HeaderValue)>,
    body: Bytes,
    may_repeat: bool,
    waits_for: Duration,
}

impl Ask {
    fn new<const N: usize>(method: Method, path: [&str; N]) -> Ask {
        let mut whole = String::from(BASE);
        for part in path {
            whole.push('/');
            whole.push_str(&quoted(part));
        }
        let may_repeat = method == Method::GET;
        Ask {
            method,
            path: whole,
            headers: Vec::new(),
            body: Bytes::new(),
            may_repeat,
            waits_for: Duration::ZERO,
        }
    }

    /// Looks at what is there. `path`: its parts, which are quoted here.
    pub fn get<const N: usize>(path: [&str; N]) -> Ask {
        Ask::new(Method::GET, path)
    }

    /// Does something.
    pub fn post<const N: usize>(path: [&str; N]) -> Ask {
        Ask::new(Method::POST, path)
    }

    /// Says how something is to be.
    pub fn put<const N: usize>(path: [&str; N]) -> Ask {
        Ask::new(Method::PUT, path)
    }

    /// Changes something.
    pub fn patch<const N: usize>(path: [&str; N]) -> Ask {
        Ask::new(Method::PATCH, path)
    }

    /// Removes something.
    pub fn delete<const N: usize>(path: [&str; N]) -> Ask {
        Ask::new(Method::DELETE, path)
    }

    /// A parameter behind the `?`.
    pub fn with(mut self, name: &str, value: &str) -> Ask {
        self.path.push(if self.path.contains('?') { '&' } else { '?' });
        let end = self.path.len();
        self.path = Serializer::for_suffix(self.path, end).append_pair(name, value).finish();
        self
    }

    /// A parameter, if there is a value for it.
    pub fn with_some(self, name: &str, value: Option<&str>) -> Ask {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// With this body. Raw JSON in it stays as it is.
    pub fn json(mut self, body: &impl Serialize) -> Ask {
        self.body = serde_json::to_vec(body).expect("texts and numbers").into();
        let json = HeaderValue::from_static("application/json");
        self.headers.push((header::CONTENT_TYPE, json));
        self
    }

    /// Only if the job has this version.
    pub fn if_version(mut self, version: Option<u32>) -> Ask {
        if let Some(version) = version {
            let tag = HeaderValue::try_from(format!("\"{version}\"")).expect("digits");
            self.headers.push((header::IF_MATCH, tag));
        }
        self
    }

    /// Carried out once, however often it is sent: with a key of its own.
    pub fn only_once(mut self) -> Ask {
        let key = format!("\"{}\"", uuid::Uuid::now_v7());
        let key = HeaderValue::try_from(key).expect("an id is ASCII");
        self.headers.push((HeaderName::from_static("idempotency-key"), key));
        self.may_repeat = true;
        self
    }

    /// Its answer may come so late on purpose.
    pub fn waiting(mut self, span: Duration) -> Ask {
        self.waits_for = span;
        self
    }

    /// Whether asking twice is as good as once.
    pub(super) fn may_repeat(&self) -> bool {
        self.may_repeat
    }

    pub(super) fn waits_for(&self) -> Duration {
        self.waits_for
    }

    pub(super) fn method(&self) -> Method {
        self.method.clone()
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    pub(super) fn headers(&self) -> impl Iterator<Item = &(HeaderName, HeaderValue)> {
        self.headers.iter()
    }

    pub(super) fn body(&self) -> Bytes {
        self.body.clone()
    }
}

/// A part of a path. The quoting of forms, but for blanks.
fn quoted(part: &str) -> String {
    byte_serialize(part.as_bytes()).collect::<String>().replace('+', "%20")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_wherever_they_stand() {
        let ask = Ask::get(["queues", "a b/c?ä+"]).with("q", "kind:a*&b").with("limit", "5");
        assert_eq!(ask.path(), "/api/v1/queues/a%20b%2Fc%3F%C3%A4%2B?q=kind%3Aa*%26b&limit=5");
    }

    #[test]
    fn only_looks_and_keyed_requests_may_be_sent_twice() {
        assert!(Ask::get(["jobs"]).may_repeat());
        assert!(!Ask::post(["jobs"]).may_repeat() && !Ask::delete(["jobs", "x"]).may_repeat());
        let keyed = Ask::post(["jobs"]).only_once();
        assert!(keyed.may_repeat() && keyed.headers().count() == 1);
    }
}
