//! What an answer means: taken, later, or not.

use std::time::{Duration, SystemTime};

use hyper::StatusCode;
use hyper::body::Bytes;
use hyper::header::{HeaderMap, RETRY_AFTER};

use crate::error::KindError;

/// A receiver that asks for more is asked again after this.
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 3_600);

/// What somebody answered.
pub(crate) struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Answer {
    /// Itself, if it is one of 200 to 299.
    pub fn taken(self, field: &'static str, now: SystemTime) -> Result<Answer, KindError> {
        let status = self.status;
        if status.is_success() {
            return Ok(self);
        }
        let may_wait = [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE];
        if let Some(wait) = retry_after(&self.headers, now).filter(|_| may_wait.contains(&status)) {
            return Err(KindError::ComeLater { field, wait: wait.min(LONGEST_WAIT) });
        }
        let permanent = status == StatusCode::GONE || status.is_redirection();
        Err(KindError::Answered { field, status: status.as_u16(), permanent })
    }
}

/// Seconds, or a date (RFC 9110 §10.2.3).
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    match text.parse() {
        Ok(seconds) => Some(Duration::from_secs(seconds)),
        Err(_) => {
            let at = httpdate::parse_http_date(text).ok()?;
            Some(at.duration_since(now).unwrap_or_default())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use hyper::header::HeaderValue;

    use super::*;

    #[test]
    fn to_come_later_is_seconds_or_a_date() {
        let now = UNIX_EPOCH + Duration::from_secs(1_614_265_330);
        for (text, seconds) in [
            ("7", Some(7)),
            (" 0 ", Some(0)),
            ("Thu, 25 Feb 2021 15:02:20 GMT", Some(10)),
            ("Thu, 25 Feb 2010 15:02:20 GMT", Some(0)),
            ("soon", None),
            ("-1", None),
            ("", None),
        ] {
            let headers = [(RETRY_AFTER, HeaderValue::from_static(text))].into_iter().collect();
            assert_eq!(retry_after(&headers, now), seconds.map(Duration::from_secs), "{text}");
        }
    }
}
