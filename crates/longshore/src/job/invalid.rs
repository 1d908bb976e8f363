//! What is wrong with a job that somebody wants to enqueue.

use std::fmt;

use super::json::JsonFault;
use super::name::NameFault;
use super::state::State;
use crate::time::Timestamp;

/// A job that cannot be enqueued: which field, what is wrong with it and, in a call with several
/// jobs, which of them. Nothing of the call was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Invalid {
    /// The field, by its name in [`super::NewJob`].
    pub field: &'static str,
    /// What is wrong with it.
    pub problem: Problem,
    /// Its place in the call, counted from 0; `None` for a call with a single job.
    pub index: Option<usize>,
}

/// What can be wrong with a field.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// Too many bytes.
    #[error("has {size_bytes} bytes; the limit is {limit_bytes}")]
    TooLarge {
        /// How many it has.
        size_bytes: usize,
        /// How many it may have.
        limit_bytes: usize,
    },
    /// Not JSON, or JSON that cannot be kept exactly.
    #[error(transparent)]
    Json(#[from] JsonFault),
    /// Not an object, where one is needed.
    #[error("is not a JSON object")]
    NotAnObject,
    /// A bad name.
    #[error("`{}` {fault}", super::name::shown(.name))]
    Name {
        /// The name, cut if very long.
        name: String,
        /// What is wrong with it.
        fault: NameFault,
    },
    /// A number outside its range.
    #[error("is {value}; it may be {min} to {max}")]
    OutOfRange {
        /// The number given.
        value: i128,
        /// The smallest allowed.
        min: i64,
        /// The largest allowed.
        max: i64,
    },
    /// Not a number from 0 to 1.
    #[error("is {value}; it may be 0 to 1")]
    NotAFraction {
        /// The number given.
        value: f64,
    },
    /// A point in time outside the years 0000 to 9999.
    #[error("is outside 0000-01-01T00:00:00Z to 9999-12-31T23:59:59.999999Z")]
    Time,
    /// An end that has come already.
    #[error("is {until}, which is over: now it is {now}")]
    Past {
        /// The end given.
        until: Timestamp,
        /// Now, by the store's clock.
        now: Timestamp,
    },
    /// A state in which no job has ended.
    #[error("is {state}; it may be succeeded, cancelled or dead")]
    NotAnEnd {
        /// The state given.
        state: State,
    },
    /// Nothing, where at least one is needed.
    #[error("is empty")]
    Empty,
    /// Every job, where that was not said to be meant.
    #[error(
        "is empty, which means every job there is; say that everything is meant, or which jobs"
    )]
    Everything,
    /// Too many of something.
    #[error("has {count} entries; the limit is {limit}")]
    TooMany {
        /// How many there are.
        count: usize,
        /// How many there may be.
        limit: usize,
    },
    /// An option that the SQL function does not have ([`crate::Client`]'s `sql_call`).
    #[error(
        "is no option of the SQL function longshore.enqueue; enqueue this job with the library, or without it"
    )]
    NotInSql,
}

impl Invalid {
    pub(crate) fn new(field: &'static str, problem: impl Into<Problem>) -> Invalid {
        Invalid { field, problem: problem.into(), index: None }
    }

    pub(crate) fn at(self, index: usize) -> Invalid {
        Invalid { index: Some(index), ..self }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(index) = self.index {
            write!(f, "job {index}: ")?;
        }
        write!(f, "{} {}", self.field, self.problem)
    }
}

impl std::error::Error for Invalid {}
