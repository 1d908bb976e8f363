//! Typed jobs: a Rust type for each kind.

use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::NewJob;
use crate::worker::Failure;

/// A type whose values are jobs: the payload is its JSON. By hand it is two lines.
///
/// ```
/// use longshore::{Job, NewJob};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct SendReceipt { order: u64 }
///
/// impl Job for SendReceipt {
///     const KIND: &'static str = "send_receipt";
///     type Output = ();
///     fn options(&self, job: NewJob) -> NewJob {
///         job.queue("mail").max_attempts(8)
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no job",
    label = "a handler's first argument is the job, and an enqueue takes one",
    note = "write `#[derive(Job)]` and `#[job(kind = \"…\")]` above it, beside `Serialize` and `Deserialize`",
    note = "or by hand `impl Job for {Self} {{ const KIND: &'static str = \"…\"; type Output = (); }}`"
)]
pub trait Job: Serialize + DeserializeOwned + Send + 'static {
    /// The kind's name in the database. It stays when the type is renamed.
    const KIND: &'static str;

    /// What the handler answers, kept as the job's output; `()` keeps nothing.
    type Output: Serialize + DeserializeOwned + Send + 'static;

    /// Names that the kind had before: its handler runs their jobs too.
    const ALIASES: &'static [&'static str] = &[];

    /// How such a job is enqueued unless the caller says otherwise. Default: as [`NewJob::new`] says.
    fn options(&self, job: NewJob) -> NewJob {
        job
    }

    /// How long the kind waits after an attempt that failed; see [`crate::Worker::backoff`].
    fn backoff(failure: &Failure<'_>) -> Option<Duration> {
        let _ = failure;
        None
    }

    /// As a job to enqueue, with the kind's options; what is said after that wins.
    fn new_job(&self) -> NewJob {
        self.options(NewJob::new(Self::KIND)).json(self)
    }
}

impl<J: Job> From<J> for NewJob {
    fn from(job: J) -> NewJob {
        job.new_job()
    }
}
