//! What a handler may answer.

use std::error::Error as StdError;
use std::time::Duration;

use serde::Serialize;

use super::{json, text};

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
}

/// What an error says: its text and its causes, outermost first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JobError {
    pub(crate) message: String,
    pub(crate) chain: Vec<String>,
}

impl JobError {
    /// An error that is only a text.
    pub fn new(message: impl Into<String>) -> JobError {
        JobError { message: message.into(), chain: Vec::new() }
    }

    /// An error with all its causes.
    pub fn from_error(error: &(dyn StdError + 'static)) -> JobError {
        let causes = std::iter::successors(error.source(), |cause| (*cause).source());
        // A chain may be a ring; its length is bounded where it is fitted.
        let chain = causes.take(100).map(ToString::to_string).collect();
        JobError { message: error.to_string(), chain }
    }

    /// What it says.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What caused it, outermost first.
    pub fn chain(&self) -> &[String] {
        &self.chain
    }

    pub(crate) fn fitted(self) -> JobError {
        let (message, chain) = text::fit_chain(&self.message, self.chain);
        JobError { message, chain }
    }
}

impl<E: StdError + 'static> From<E> for JobError {
    fn from(error: E) -> JobError {
        JobError::from_error(&error)
    }
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

/// What a handler may return: an [`Outcome`], nothing, or a `Result` whose error means "failed".
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

impl<T: IntoOutcome, E: Into<JobError>> IntoOutcome for Result<T, E> {
    fn into_outcome(self) -> Outcome {
        match self {
            Ok(value) => value.into_outcome(),
            Err(error) => Outcome::Failed(error.into()),
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
        assert!(!error.message.is_empty());
        assert!(matches!(Ok::<_, JobError>(()).into_outcome(), Outcome::Done(None)));
    }
}
