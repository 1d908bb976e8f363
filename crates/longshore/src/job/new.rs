//! A job before it is enqueued.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use super::invalid::{Invalid, Problem};
use super::redact::redact;
use super::unique::Unique;
use super::{Backoff, JobId, JobRow, json, name};
use crate::time::Timestamp;

/// The queue of a job that names none.
pub const DEFAULT_QUEUE: &str = "default";
/// The priority of a job that names none.
pub const DEFAULT_PRIORITY: u8 = 5;
/// The attempts of a job that names none.
pub const DEFAULT_MAX_ATTEMPTS: u32 = 10;
/// The timeout of a job that names none.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(3_600);

/// Payloads above this lie aside, so that a large one is not copied at every move of its row.
pub(crate) const MAX_INLINE_BYTES: usize = 2_000;

const MAX_PRIORITY: u8 = 9;
/// Far beyond any use, far from the edge of the column's type.
const MAX_ATTEMPTS: u32 = 1_000_000_000;
const MAX_TAGS: usize = 64;
const MAX_REDACTED: usize = 64;
/// What the column holds.
pub(crate) const MAX_VERSION: u32 = i32::MAX as u32;
const MAX_DELAYS: usize = 100;
const MAX_EXPONENT: i64 = 20;
pub(crate) const MAX_META_BYTES: usize = 64 * 1024;
/// A hundred years, in milliseconds: spans above this are mistakes.
pub(crate) const MAX_SPAN_MS: i64 = 100 * 366 * 86_400_000;

/// What a job may be at most, as far as an application may say so; what is the same for all stands at [`NewJob`]'s
/// options.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of one payload. Default 1 MiB.
    pub payload_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { payload_bytes: 1 << 20 }
    }
}

/// A job to enqueue. Only `kind` must be said; everything is checked at the enqueue, which fails with
/// [`crate::StoreError::Invalid`], naming field and limit. Names (kind, queue, tag) have 1 to 255 bytes and no
/// invisible characters; a span of time is at most a hundred years.
///
/// ```
/// use longshore::NewJob;
/// let job = NewJob::new("send_receipt").json(&serde_json::json!({"order": 7})).priority(2);
/// ```
#[derive(Clone)]
#[must_use = "a job does nothing until it is enqueued"]
pub struct NewJob {
    pub(crate) id: JobId,
    pub(crate) id_is_callers: bool,
    pub(crate) kind: String,
    pub(crate) payload: Box<str>,
    pub(crate) payload_version: u32,
    pub(crate) redacted: Vec<String>,
    pub(crate) queue: String,
    pub(crate) priority: u8,
    pub(crate) due: Due,
    pub(crate) max_attempts: u32,
    pub(crate) backoff: Option<Backoff>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) retain: Option<Duration>,
    pub(crate) tags: Vec<String>,
    pub(crate) meta: Option<Box<str>>,
    pub(crate) unique: Option<Unique>,
}

/// With the redacted fields hidden.
impl fmt::Debug for NewJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewJob")
            .field("id", &self.id)
            .field("kind", &self.kind)
            .field("payload", &redact(&self.payload, &self.redacted))
            .field("payload_version", &self.payload_version)
            .field("redacted", &self.redacted)
            .field("queue", &self.queue)
            .field("priority", &self.priority)
            .field("due", &self.due)
            .field("max_attempts", &self.max_attempts)
            .field("backoff", &self.backoff)
            .field("timeout", &self.timeout)
            .field("retain", &self.retain)
            .field("tags", &self.tags)
            .field("meta", &self.meta)
            .field("unique", &self.unique)
            .finish()
    }
}

/// When a job is due, by the store's clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Due {
    Now,
    In(Duration),
    At(Timestamp),
}

impl Due {
    /// The time, where now is `now`; never beyond what both databases can say.
    pub(crate) fn at(self, now: Timestamp) -> Timestamp {
        match self {
            Due::Now => now,
            Due::In(delay) => now.plus(delay),
            Due::At(at) => at.min(Timestamp::MAX),
        }
    }
}

impl NewJob {
    /// A job of this kind: payload `null`, queue `default`, priority 5, due at once, 10 attempts,
    /// one hour a run.
    pub fn new(kind: impl Into<String>) -> NewJob {
        NewJob {
            id: JobId::new(),
            id_is_callers: false,
            kind: kind.into(),
            payload: "null".into(),
            payload_version: 1,
            redacted: Vec::new(),
            queue: DEFAULT_QUEUE.to_owned(),
            priority: DEFAULT_PRIORITY,
            due: Due::Now,
            max_attempts: DEFAULT_MAX_ATTEMPTS,
            backoff: None,
            timeout: Some(DEFAULT_TIMEOUT),
            retain: None,
            tags: Vec::new(),
            meta: None,
            unique: None,
        }
    }

    /// The payload as JSON text; its bytes are kept exactly. RFC 8259, at most [`Limits::payload_bytes`] and 128 deep.
    /// Default `null`.
    pub fn payload(mut self, json: impl Into<Box<str>>) -> NewJob {
        self.payload = json.into();
        self
    }

    /// The payload as a value. What cannot be written as JSON (a map with keys that are no text)
    /// becomes an empty text, which the enqueue refuses.
    pub fn json(self, payload: &impl Serialize) -> NewJob {
        self.payload(serde_json::to_string(payload).unwrap_or_default())
    }

    /// Which version of its payloads this one is, 1 to 2,147,483,647. Default 1. Nodes that decode only older
    /// ones leave it to others.
    pub fn payload_version(mut self, version: u32) -> NewJob {
        self.payload_version = version;
        self
    }

    /// Hides a top-level field of the payload from people, whoever looks at the job and with whatever program:
    /// they see `"[redacted]"`. Handlers see what was enqueued. At most 64 fields.
    pub fn redact(mut self, field: impl Into<String>) -> NewJob {
        self.redacted.push(field.into());
        self
    }

    /// The queue. Default `default`.
    pub fn queue(mut self, queue: impl Into<String>) -> NewJob {
        self.queue = queue.into();
        self
    }

    /// 0 runs first, 9 last. Default 5.
    pub fn priority(mut self, priority: u8) -> NewJob {
        self.priority = priority;
        self
    }

    /// Due at this time, in the years 0000 to 9999; one in the past is due at once. Default: now, by
    /// the store's clock.
    pub fn run_at(mut self, at: Timestamp) -> NewJob {
        self.due = Due::At(at);
        self
    }

    /// Due this long after the enqueue, by the store's clock.
    pub fn run_in(mut self, delay: Duration) -> NewJob {
        self.due = Due::In(delay);
        self
    }

    /// How often it may run in all, 1 to 1,000,000,000. Default 10.
    pub fn max_attempts(mut self, attempts: u32) -> NewJob {
        self.max_attempts = attempts;
        self
    }

    /// When a failed attempt is repeated. Default: see [`Backoff::default`].
    pub fn backoff(mut self, backoff: Backoff) -> NewJob {
        self.backoff = Some(backoff);
        self
    }

    /// How long one attempt may run, at least a millisecond. Default 1 hour. Then an async handler
    /// is dropped at its next `await`, and the attempt has failed.
    pub fn timeout(mut self, timeout: Duration) -> NewJob {
        self.timeout = Some(timeout);
        self
    }

    /// Lets an attempt run as long as it likes.
    pub fn no_timeout(mut self) -> NewJob {
        self.timeout = None;
        self
    }

    /// How long the job is kept after it succeeded or was cancelled, whatever the rules of retention
    /// say ([`crate::RetentionRule`]); without, they decide: 7 days, if there are none. Once it is gone, an enqueue
    /// that is repeated may run it again. Zero keeps nothing at all. A dead job stays as long as the rules say.
    pub fn retain(mut self, span: Duration) -> NewJob {
        self.retain = Some(span);
        self
    }

    /// Adds a tag; at most 64.
    pub fn tag(mut self, tag: impl Into<String>) -> NewJob {
        self.tags.push(tag.into());
        self
    }

    /// Notes of the caller, a JSON object of at most 64 KiB. The W3C trace context goes in as
    /// `traceparent` and `tracestate`; see [`NewJob::trace`].
    pub fn meta(mut self, json: impl Into<Box<str>>) -> NewJob {
        self.meta = Some(json.into());
        self
    }

    /// Makes it the only one of its kind for a key. Default: any number of jobs.
    pub fn unique(mut self, unique: Unique) -> NewJob {
        self.unique = Some(unique);
        self
    }

    /// The caller's own id, so that repeating the enqueue (after a lost reply, say) adds nothing.
    pub fn with_id(mut self, id: JobId) -> NewJob {
        self.id = id;
        self.id_is_callers = true;
        self
    }

    /// A job like one that there is, due at once: its kind, payload and settings, with a fresh id and without
    /// its unique key. The row is to be whole ([`crate::Client::reveal`]).
    pub fn like(job: &JobRow) -> NewJob {
        NewJob {
            payload: job.payload.clone(),
            payload_version: job.payload_version,
            redacted: job.redacted.clone(),
            queue: job.queue.clone(),
            priority: job.priority,
            max_attempts: job.max_attempts,
            backoff: Some(job.backoff.clone()),
            timeout: job.timeout,
            retain: job.retain,
            tags: job.tags.clone(),
            meta: job.meta.clone(),
            ..NewJob::new(&job.kind)
        }
    }

    /// Whether the caller said which id it has.
    pub(crate) fn has_callers_id(&self) -> bool {
        self.id_is_callers
    }

    /// The id it will have.
    pub fn id(&self) -> JobId {
        self.id
    }

    /// Its kind.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    pub(crate) fn backoff_json(&self) -> Option<String> {
        self.backoff.as_ref().map(Backoff::to_json)
    }

    pub(crate) fn timeout_ms(&self) -> Option<i64> {
        self.timeout.map(|span| span.as_millis() as i64)
    }

    pub(crate) fn retain_ms(&self) -> Option<i64> {
        self.retain.map(|span| span.as_millis() as i64)
    }

    /// The tags as a JSON array; `None` without any.
    pub(crate) fn tags_json(&self) -> Option<String> {
        let some = !self.tags.is_empty();
        some.then(|| serde_json::to_string(&self.tags).expect("a list of texts"))
    }

    /// The redacted fields as a JSON array; `None` without any.
    pub(crate) fn redacted_json(&self) -> Option<String> {
        let some = !self.redacted.is_empty();
        some.then(|| serde_json::to_string(&self.redacted).expect("a list of texts"))
    }

    /// Bytes that it adds to a statement, roughly; batches are cut by this.
    pub(crate) fn size_bytes(&self) -> usize {
        200 + self.payload.len() + self.meta.as_ref().map_or(0, |meta| meta.len())
    }

    /// Everything that can be wrong with it, found before anything is written.
    pub(crate) fn check(&self, limits: &Limits) -> Result<(), Invalid> {
        check_name("kind", &self.kind)?;
        check_name("queue", &self.queue)?;
        within("priority", self.priority.into(), 0, MAX_PRIORITY.into())?;
        within("max_attempts", self.max_attempts.into(), 1, MAX_ATTEMPTS.into())?;
        match self.due {
            Due::At(at) if !at.in_range() => return Err(Invalid::new("run_at", Problem::Time)),
            Due::In(delay) => check_span("run_at", delay)?,
            Due::At(_) | Due::Now => {}
        }
        if let Some(timeout) = self.timeout {
            check_span_ms("timeout", timeout, 1)?;
        }
        self.retain.map_or(Ok(()), |span| check_span("retain", span))?;
        check_backoff(self.backoff.as_ref())?;
        if self.tags.len() > MAX_TAGS {
            let problem = Problem::TooMany { count: self.tags.len(), limit: MAX_TAGS };
            return Err(Invalid::new("tags", problem));
        }
        for tag in &self.tags {
            check_name("tags", tag)?;
        }
        within("payload_version", self.payload_version.into(), 1, MAX_VERSION.into())?;
        if self.redacted.len() > MAX_REDACTED {
            let problem = Problem::TooMany { count: self.redacted.len(), limit: MAX_REDACTED };
            return Err(Invalid::new("redacted", problem));
        }
        for field in &self.redacted {
            check_name("redacted", field)?;
        }
        self.unique.as_ref().map_or(Ok(()), Unique::check)?;
        check_json("payload", &self.payload, limits.payload_bytes)?;
        if let Some(meta) = &self.meta {
            check_json("meta", meta, MAX_META_BYTES)?;
            if !meta.trim_start().starts_with('{') {
                return Err(Invalid::new("meta", Problem::NotAnObject));
            }
        }
        Ok(())
    }
}

pub(crate) fn check_name(field: &'static str, text: &str) -> Result<(), Invalid> {
    name::check(text).map_err(|fault| {
        let name = text.chars().take(64).collect();
        Invalid::new(field, Problem::Name { name, fault })
    })
}

fn check_json(field: &'static str, text: &str, limit_bytes: usize) -> Result<(), Invalid> {
    if text.len() > limit_bytes {
        return Err(Invalid::new(field, Problem::TooLarge { size_bytes: text.len(), limit_bytes }));
    }
    json::check(text).map_err(|fault| Invalid::new(field, fault))
}

fn check_span(field: &'static str, span: Duration) -> Result<(), Invalid> {
    check_span_ms(field, span, 0)
}

pub(crate) fn check_span_ms(field: &'static str, span: Duration, min: i64) -> Result<(), Invalid> {
    within(field, span.as_millis() as i128, min, MAX_SPAN_MS)
}

fn check_backoff(backoff: Option<&Backoff>) -> Result<(), Invalid> {
    let longest_ms = match backoff {
        None => return Ok(()),
        Some(Backoff::Fixed { delay_ms }) => *delay_ms,
        Some(Backoff::Exponential { base_ms, max_ms, .. }) => *base_ms.max(max_ms),
        Some(Backoff::Polynomial { base_ms, exponent, max_ms }) => {
            within("backoff.exponent", i128::from(*exponent), 1, MAX_EXPONENT)?;
            *base_ms.max(max_ms)
        }
        Some(Backoff::List { delays_ms }) => {
            if delays_ms.len() > MAX_DELAYS {
                let problem = Problem::TooMany { count: delays_ms.len(), limit: MAX_DELAYS };
                return Err(Invalid::new("backoff", problem));
            }
            let Some(longest) = delays_ms.iter().max() else {
                return Err(Invalid::new("backoff", Problem::Empty));
            };
            *longest
        }
    };
    within("backoff", longest_ms.into(), 0, MAX_SPAN_MS)
}

fn within(field: &'static str, value: i128, min: i64, max: i64) -> Result<(), Invalid> {
    if (i128::from(min)..=i128::from(max)).contains(&value) {
        return Ok(());
    }
    Err(Invalid::new(field, Problem::OutOfRange { value, min, max }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(job: NewJob) -> String {
        job.check(&Limits::default()).expect_err("it is wrong").to_string()
    }

    #[test]
    fn the_sentence_names_field_and_limit() {
        let job = || NewJob::new("k");
        assert_eq!(fault(job().priority(10)), "priority is 10; it may be 0 to 9");
        assert_eq!(fault(job().max_attempts(0)), "max_attempts is 0; it may be 1 to 1000000000");
        assert_eq!(
            fault(job().payload("x".repeat(1_048_577))),
            "payload has 1048577 bytes; the limit is 1048576"
        );
        assert_eq!(
            fault(job().payload("{]")),
            "payload is not JSON: a key in quotes expected at byte 1"
        );
        assert_eq!(
            fault(job().queue("a\0")),
            "queue `a\\u{0}` has the character U+0000 at byte 1; control, format and unassigned characters are not allowed"
        );
        assert!(
            fault(job().run_at(Timestamp::from_micros(i64::MAX)))
                .starts_with("run_at is outside 0000")
        );
        assert!(fault(job().run_in(Duration::MAX)).starts_with("run_at is "));
        assert!(fault(job().timeout(Duration::ZERO)).starts_with("timeout is 0"));
        assert_eq!(fault(job().meta("[]")), "meta is not a JSON object");
        let many = (0..65).fold(job(), |job, n| job.tag(format!("t{n}")));
        assert_eq!(fault(many), "tags has 65 entries; the limit is 64");
        assert_eq!(
            fault(job().payload_version(0)),
            "payload_version is 0; it may be 1 to 2147483647"
        );
        let many = (0..65).fold(job(), |job, n| job.redact(format!("f{n}")));
        assert_eq!(fault(many), "redacted has 65 entries; the limit is 64");
        assert!(fault(job().redact("a\n")).starts_with("redacted `a\\u{a}` has the character"));
        assert!(fault(NewJob::new("")).starts_with("kind `` is empty"));
        let list = |delays_ms| fault(job().backoff(Backoff::List { delays_ms }));
        assert_eq!(list(vec![1; 101]), "backoff has 101 entries; the limit is 100");
        assert_eq!(list(vec![]), "backoff is empty");
        assert!(
            list(vec![1, u64::MAX]).starts_with("backoff is 18446744073709551615; it may be 0 to")
        );
        let steep = Backoff::Polynomial { base_ms: 1, exponent: 21, max_ms: 2 };
        assert_eq!(fault(job().backoff(steep)), "backoff.exponent is 21; it may be 1 to 20");
    }

    #[test]
    fn just_below_the_limit_is_fine() {
        let payload = format!("\"{}\"", "x".repeat((1 << 20) - 2));
        assert_eq!(NewJob::new("k").payload(payload).check(&Limits::default()), Ok(()));
    }
}
