//! What a job is: what is enqueued, what is kept of it, and the limits of both.

pub mod backoff;
mod fault;
pub mod json;
#[doc(hidden)] // for `distinct_kinds!`
pub mod kinds;
pub mod name;
pub mod outcome;
pub mod state;
pub(crate) mod text;
pub(crate) mod unique;

mod invalid;
pub(crate) mod new;
pub(crate) mod redact;
mod row;
mod schema;
mod typed;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

pub use backoff::Backoff;
pub use fault::{BoxError, JobError};
pub use invalid::{Invalid, Problem};
pub use new::{Limits, NewJob};
pub use outcome::{IntoOutcome, Outcome};
pub use row::{AttemptError, AttemptFault, Cancel, JobRow};
pub use schema::schema_of;
pub use state::{Event, State};
pub use typed::Job;
pub use unique::{Fields, OnConflict, Unique};

/// A job's id: a UUIDv7 made where the job is enqueued, growing within a process, so that ids carry
/// the order of enqueueing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobId(Uuid);

impl JobId {
    /// A fresh id, greater than all made before it in this process.
    #[allow(
        clippy::new_without_default,
        reason = "a default that differs each time would surprise"
    )]
    pub fn new() -> JobId {
        JobId(Uuid::now_v7())
    }

    /// The id with these 128 bits.
    pub const fn from_uuid(id: Uuid) -> JobId {
        JobId(id)
    }

    /// Its 128 bits.
    pub const fn as_uuid(&self) -> Uuid {
        self.0
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// The text is no job id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no job id; an id is a UUID such as 019364bb-3f3c-7c6e-8f6a-3d2f1b7c9e10")]
pub struct InvalidJobId(String);

impl FromStr for JobId {
    type Err = InvalidJobId;

    fn from_str(text: &str) -> Result<JobId, InvalidJobId> {
        let id =
            Uuid::parse_str(text).map_err(|_| InvalidJobId(text.chars().take(64).collect()))?;
        Ok(JobId(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_grow_within_a_process() {
        let ids: Vec<JobId> = std::iter::repeat_with(JobId::new).take(10_000).collect();
        assert!(ids.is_sorted_by(|a, b| a < b));
        assert_eq!(ids[0].as_uuid().get_version_num(), 7);
    }
}
