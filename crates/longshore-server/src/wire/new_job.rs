//! A new job as JSON: the body of an enqueue, and a line of the command's input.

use std::fmt;

use longshore::job::{Invalid, Problem};
use longshore::{Backoff, JobId, NewJob, OnConflict, Timestamp, Unique};
use serde::de::{self, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::{Span, Timeout};

/// What `priority` may be.
pub const PRIORITIES: (i64, i64) = (0, 9);
/// What `max_attempts` may be.
pub const MAX_ATTEMPTS: (i64, i64) = (1, 1_000_000_000);
/// What `payload_version` may be.
pub const VERSIONS: (i64, i64) = (1, i32::MAX as i64);

/// A new job. Only `kind` must be said. Numbers are read wide, so that one out of range is refused in words.
#[derive(Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct JobBody<'a> {
    /// Picks the handler: 1 to 255 bytes.
    #[schema(value_type = String, min_length = 1, max_length = 255, example = "send_receipt")]
    pub kind: Option<String>,
    /// Any JSON; its bytes are kept exactly. Default `null`.
    #[serde(
        borrow,
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(value_type = serde_json::Value, required = false)]
    pub payload: Option<&'a RawValue>,
    /// Which version of its payloads this one is. Default 1.
    #[serde(default, deserialize_with = "wide")]
    #[schema(value_type = Option<u32>, required = false, minimum = 1)]
    pub payload_version: Option<i128>,
    /// Top-level fields of the payload that nobody is shown; handlers see them.
    #[serde(default)]
    #[schema(max_items = 64)]
    pub redacted: Vec<String>,
    /// The queue. Default `default`.
    #[schema(value_type = Option<String>, required = false, min_length = 1, max_length = 255)]
    pub queue: Option<String>,
    /// 0 runs first, 9 last. Default 5.
    #[serde(default, deserialize_with = "wide")]
    #[schema(value_type = Option<u8>, required = false, minimum = 0, maximum = 9)]
    pub priority: Option<i128>,
    /// When it is due. Default at once.
    #[schema(value_type = Option<String>, required = false, format = DateTime)]
    pub run_at: Option<Timestamp>,
    /// Due so long after the enqueue, instead of `run_at`: `30s`, `5m`, `1h 30m`, `7d`.
    #[schema(value_type = Option<String>, required = false, example = "5m")]
    pub run_in: Option<Span>,
    /// How often it may run in all. Default 10.
    #[serde(default, deserialize_with = "wide")]
    #[schema(value_type = Option<u32>, required = false, minimum = 1, maximum = 1_000_000_000)]
    pub max_attempts: Option<i128>,
    /// How long one attempt may run: a span, or `none`. Default `1h`.
    #[schema(value_type = Option<String>, required = false, example = "10m")]
    pub timeout: Option<Timeout>,
    /// How long it is kept once it succeeded or was cancelled; `0s` keeps nothing. Default: as the rules of
    /// retention say.
    #[schema(value_type = Option<String>, required = false, example = "7d")]
    pub retain: Option<Span>,
    /// When a failed attempt is repeated. Default: exponential from 1 s, factor 3, at most 1 h.
    #[schema(value_type = Option<BackoffBody>, required = false)]
    pub backoff: Option<Backoff>,
    /// Its tags.
    #[serde(default)]
    #[schema(max_items = 64)]
    pub tags: Vec<String>,
    /// Notes of the caller, at most 64 KiB.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>, required = false)]
    pub meta: Option<&'a RawValue>,
    /// The caller's own id, so that a repeat adds nothing. Default: a fresh one.
    #[schema(value_type = Option<String>, required = false, format = Uuid)]
    pub id: Option<JobId>,
    /// Makes it the only one of its kind for this key: 1 to 255 bytes. Without a key, `unique_within` and
    /// `unique_for_good` are about jobs with the same payload.
    #[schema(value_type = Option<String>, required = false, min_length = 1, max_length = 255)]
    pub unique_key: Option<String>,
    /// Holds the key for a fixed window of this length, cut from 1970 UTC, instead of until the job ends.
    #[schema(value_type = Option<String>, required = false, example = "1d")]
    pub unique_within: Option<Span>,
    /// Once it succeeded, holds the key for good.
    #[serde(default)]
    pub unique_for_good: bool,
    /// What happens when another job holds the key. Default `keep`.
    #[schema(required = false)]
    pub on_conflict: Option<OnConflictWord>,
}

/// What an enqueue does when another job holds its key.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnConflictWord {
    /// Leaves the holder as it is and answers with its id.
    Keep,
    /// Gives the holder this payload, time and priority while it waits.
    Replace,
    /// Refuses the request.
    Refuse,
}

/// When a failed attempt is repeated.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
#[allow(dead_code, reason = "describes the library's own type")]
pub enum BackoffBody {
    /// Uniform between `base_ms` and `base_ms * factor^attempt`, never above `max_ms`.
    Exponential {
        /// The shortest wait, in milliseconds.
        base_ms: u64,
        /// What the upper end is multiplied with at each attempt.
        factor: u32,
        /// The longest wait, in milliseconds.
        max_ms: u64,
    },
    /// The same wait each time.
    Fixed {
        /// The wait, in milliseconds.
        delay_ms: u64,
    },
    /// Uniform between `base_ms` and `base_ms * attempt^exponent`, never above `max_ms`.
    Polynomial {
        /// The shortest wait, in milliseconds.
        base_ms: u64,
        /// The power of the attempt's number. Default 4.
        #[schema(minimum = 1, maximum = 20)]
        exponent: Option<u32>,
        /// The longest wait, in milliseconds.
        max_ms: u64,
    },
    /// One wait for each attempt; the last one repeats.
    List {
        /// The waits, in milliseconds.
        #[schema(min_items = 1, max_items = 100)]
        delays_ms: Vec<u64>,
    },
}

/// What makes a job the only one of its kind, before it is put together.
#[derive(Clone, Debug, Default)]
pub struct UniqueParts {
    /// The key.
    pub key: Option<String>,
    /// The window.
    pub within: Option<Span>,
    /// For good.
    pub for_good: bool,
    /// The rule.
    pub on_conflict: OnConflict,
}

impl UniqueParts {
    /// Unique by the key or, if only a hold is given, by the payload; `None` if nothing is given.
    pub fn unique(self) -> Option<Unique> {
        let unique = match self.key {
            Some(key) => Unique::key(key),
            None if self.within.is_some() || self.for_good => Unique::payload(),
            None => return None,
        };
        let unique = match self.within {
            Some(span) => unique.within(span.0),
            None if self.for_good => unique.for_good(),
            None => unique,
        };
        Some(unique.on_conflict(self.on_conflict))
    }
}

impl JobBody<'_> {
    /// The job. Only what its type cannot hold is refused here; the enqueue checks the rest.
    pub fn into_job(self) -> Result<NewJob, Invalid> {
        let kind = self.kind.clone().unwrap_or_default();
        let unique = UniqueParts {
            key: self.unique_key.clone(),
            within: self.unique_within,
            for_good: self.unique_for_good,
            on_conflict: self.on_conflict.map(OnConflict::from).unwrap_or_default(),
        };
        let job = self.onto(NewJob::new(kind))?;
        Ok(match unique.unique() {
            Some(unique) => job.unique(unique),
            None => job,
        })
    }

    /// All that it says, but for its kind and what makes it unique, said of `job`.
    pub fn onto(self, mut job: NewJob) -> Result<NewJob, Invalid> {
        if let Some(payload) = self.payload {
            job = job.payload(payload.get());
        }
        if let Some(version) = self.payload_version {
            job = job.payload_version(within("payload_version", version, VERSIONS)?);
        }
        if let Some(queue) = self.queue {
            job = job.queue(queue);
        }
        if let Some(priority) = self.priority {
            job = job.priority(within("priority", priority, PRIORITIES)?);
        }
        if let Some(at) = self.run_at {
            job = job.run_at(at);
        } else if let Some(span) = self.run_in {
            job = job.run_in(span.0);
        }
        if let Some(attempts) = self.max_attempts {
            job = job.max_attempts(within("max_attempts", attempts, MAX_ATTEMPTS)?);
        }
        job = match self.timeout {
            Some(Timeout::After(span)) => job.timeout(span.0),
            Some(Timeout::Never) => job.no_timeout(),
            None => job,
        };
        if let Some(span) = self.retain {
            job = job.retain(span.0);
        }
        if let Some(backoff) = self.backoff {
            job = job.backoff(backoff);
        }
        if let Some(meta) = self.meta {
            job = job.meta(meta.get());
        }
        if let Some(id) = self.id {
            job = job.with_id(id);
        }
        job = self.redacted.into_iter().fold(job, NewJob::redact);
        Ok(self.tags.into_iter().fold(job, NewJob::tag))
    }
}

impl From<OnConflictWord> for OnConflict {
    fn from(word: OnConflictWord) -> OnConflict {
        match word {
            OnConflictWord::Keep => OnConflict::Keep,
            OnConflictWord::Replace => OnConflict::Replace,
            OnConflictWord::Refuse => OnConflict::Refuse,
        }
    }
}

/// The number, if the field may have it.
pub fn within<T: TryFrom<i128>>(
    field: &'static str,
    value: i128,
    (min, max): (i64, i64),
) -> Result<T, Invalid> {
    let fits = (i128::from(min)..=i128::from(max)).contains(&value);
    T::try_from(value).ok().filter(|_| fits).ok_or(Invalid {
        field,
        problem: Problem::OutOfRange { value, min, max },
        index: None,
    })
}

/// Any whole number, so that one out of range is refused with what the field may be.
pub(super) fn wide<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i128>, D::Error> {
    Ok(Option::<Wide>::deserialize(from)?.map(|Wide(number)| number))
}

struct Wide(i128);

impl<'de> Deserialize<'de> for Wide {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Wide, D::Error> {
        from.deserialize_any(WholeNumber).map(Wide)
    }
}

struct WholeNumber;

impl Visitor<'_> for WholeNumber {
    type Value = i128;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number")
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<i128, E> {
        Ok(number.into())
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<i128, E> {
        Ok(number.into())
    }

    /// Also what is too large for 64 bits.
    fn visit_f64<E: de::Error>(self, number: f64) -> Result<i128, E> {
        let whole = number.fract() == 0.0 && number.abs() < 1e30;
        if whole {
            Ok(number as i128)
        } else {
            Err(E::invalid_type(Unexpected::Float(number), &self))
        }
    }
}

/// Tells a field that is null from one that is absent.
pub(super) fn present<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(from).map(Some)
}
