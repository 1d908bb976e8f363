//! What a handler may answer.

use std::time::Duration;

use serde::Serialize;

use super::fault::{BoxError, JobError};
use super::json;

/// The most bytes of an output that are kept.
pub const MAX_OUTPUT_BYTES: usize = 1 << 20;

/// How an attempt ended, in the handler's words.
#[derive(Debug)]
pub enum Outcome {
    /// The work is done; the text, if any, is kept as the job's output (JSON, at most 1 MiB; what is
    /// no JSON or larger is replaced by a marker that says so).
    Done(Option<Box<str>>),
    /// The attempt failed; it is repeated by the job's backoff while attempts are left.
    Failed(JobError),
    /// Run again after this long; the attempt does not count.
    Snooze(Duration),
    /// Somebody (a rate limit, a busy server) said "later": run again after this long; the attempt does
    /// not count, but the hundredth time in a row does, as a failure.
    Throttled(Duration),
    /// It will never work: the job is dead at once.
    Dead(JobError),
    /// Stop for good; the job counts as cancelled, not as dead. The text says why.
    Cancel(String),
    /// Broken off since the handler was told to stop: waits again as before, the attempt does not
    /// count. From a handler that nobody told to stop it is a snooze of one second.
    Interrupted,
}

impl Outcome {
    /// Done, with an output.
    pub fn done_with(output: &impl Serialize) -> Outcome {
        match serde_json::to_string(output) {
            Ok(text) => Outcome::Done(Some(text.into())),
            Err(error) => Outcome::Done(Some(dropped(&error.to_string(), 0))),
        }
    }

    /// Failed for good.
    pub fn dead(error: impl Into<JobError>) -> Outcome {
        Outcome::Dead(error.into())
    }
}

/// The output as it is stored: itself, or a marker when it cannot be.
pub(crate) fn storable(output: Box<str>) -> Box<str> {
    let size = output.len();
    if size > MAX_OUTPUT_BYTES {
        return dropped(&format!("larger than {MAX_OUTPUT_BYTES} bytes"), size);
    }
    match json::check(&output) {
        Ok(()) => output,
        Err(fault) => dropped(&fault.to_string(), size),
    }
}

fn dropped(reason: &str, size_bytes: usize) -> Box<str> {
    serde_json::json!({ "longshore": "output dropped", "reason": reason, "size_bytes": size_bytes })
        .to_string()
        .into()
}

/// What a handler of raw jobs may return: an [`Outcome`], nothing, or a `Result` of either whose error is a
/// [`JobError`] or anything that becomes a boxed error: `std::error::Error`, `anyhow`, a text.
pub trait IntoOutcome {
    /// The same, said as an outcome.
    fn into_outcome(self) -> Outcome;
}

impl IntoOutcome for Outcome {
    fn into_outcome(self) -> Outcome {
        self
    }
}

impl IntoOutcome for () {
    fn into_outcome(self) -> Outcome {
        Outcome::Done(None)
    }
}

impl<T: IntoOutcome, E: Into<BoxError>> IntoOutcome for Result<T, E> {
    fn into_outcome(self) -> Outcome {
        match self {
            Ok(value) => value.into_outcome(),
            Err(error) => JobError::from_boxed(error.into()).into_outcome(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_that_cannot_be_kept_leaves_a_marker() {
        assert_eq!(&*storable("{\"a\":1}".into()), "{\"a\":1}");
        for bad in ["NaN", "\"\0\"", "[1", "\"\\ud800\"", &"[".repeat(10_000)] {
            let marker = storable(bad.into());
            assert!(marker.contains("output dropped") && json::check(&marker).is_ok(), "{marker}");
        }
        let large = format!("\"{}\"", "x".repeat(50_000_000));
        assert!(storable(large.into()).contains("\"size_bytes\":50000002"));
    }

    #[test]
    fn a_result_is_an_outcome_and_keeps_the_causes() {
        let error = std::io::Error::other(std::fmt::Error);
        let outcome = Err::<(), _>(error).into_outcome();
        let Outcome::Failed(error) = outcome else { panic!("{outcome:?}") };
        assert!(!error.message().is_empty());
        assert!(matches!(Ok::<_, JobError>(()).into_outcome(), Outcome::Done(None)));
    }
}
