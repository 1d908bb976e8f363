//! What a typed handler may answer.

use serde::Serialize;

use crate::job::{BoxError, JobError, Outcome};

/// A job's output, or a `Result` of it whose error is a [`JobError`] or anything that becomes a boxed error:
/// `std::error::Error`, `anyhow::Error`, a text.
#[diagnostic::on_unimplemented(
    message = "a handler whose job has the output `{O}` cannot answer `{Self}`",
    label = "answers `{Self}`, but the job's `type Output` is `{O}`",
    note = "an async function goes to `Worker::job`, a plain one to `Worker::job_blocking`",
    note = "answer `{O}` or `Result<{O}, JobError>`; any error that is a `std::error::Error` or `anyhow::Error` will do too"
)]
pub trait IntoAnswer<O> {
    /// The same as an outcome.
    fn into_answer(self) -> Outcome;
}

impl<O: Serialize> IntoAnswer<O> for O {
    fn into_answer(self) -> Outcome {
        // `()` is no size and `null` as JSON: no output at all.
        if size_of::<O>() == 0 && serde_json::to_string(&self).is_ok_and(|text| text == "null") {
            return Outcome::Done(None);
        }
        Outcome::done_with(&self)
    }
}

impl<O: Serialize, E: Into<BoxError>> IntoAnswer<O> for Result<O, E> {
    fn into_answer(self) -> Outcome {
        match self {
            Ok(output) => output.into_answer(),
            Err(error) => JobError::from_boxed(error.into()).into_outcome(),
        }
    }
}
