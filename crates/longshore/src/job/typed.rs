//! Typed jobs: a Rust type for each kind.

use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{BoxError, NewJob};
use crate::worker::Failure;

/// A type whose values are jobs: the payload is its JSON. `#[derive(Job)]` (feature `macros`) writes it, with every
/// option checked while the program is compiled; by hand it is two lines.
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

    /// Which version of the payload this type is, from 1. It goes up whenever payloads that wait would no longer
    /// fit, or would mean something else. Nodes that know only older versions leave the newer ones to others.
    const VERSION: u32 = 1;

    /// Top-level fields of the payload, by their names in JSON, that nobody is shown: they read `"[redacted]"`
    /// for people, and only handlers see what they hold.
    const REDACTED: &'static [&'static str] = &[];

    /// Brings a payload of version `from`, which is older than [`Job::VERSION`], to this version; called when such a
    /// job runs. The payload in the database stays as it is. An error makes the job dead at once, and its text is
    /// kept with the job: it should quote no redacted value. Default: older payloads fit as they are.
    ///
    /// ```
    /// # use longshore::{Job, job::BoxError};
    /// # use serde::{Deserialize, Serialize};
    /// #[derive(Serialize, Deserialize)]
    /// struct SendReceipt { order: u64, language: String }
    ///
    /// impl Job for SendReceipt {
    ///     const KIND: &'static str = "send_receipt";
    ///     const VERSION: u32 = 2;
    ///     type Output = ();
    ///     fn upgrade(_from: u32, payload: Box<str>) -> Result<Box<str>, BoxError> {
    ///         #[derive(Deserialize)]
    ///         struct First { order: u64 }
    ///         let First { order } = serde_json::from_str(&payload)?;
    ///         let now = SendReceipt { order, language: "en".to_owned() };
    ///         Ok(serde_json::to_string(&now)?.into())
    ///     }
    /// }
    /// ```
    fn upgrade(from: u32, payload: Box<str>) -> Result<Box<str>, BoxError> {
        let _ = from;
        Ok(payload)
    }

    /// What payloads of this version look like, as a JSON Schema. Default: nothing is said.
    fn schema() -> Option<String> {
        None
    }

    /// How such a job is enqueued unless the caller says otherwise. Default: as [`NewJob::new`] says.
    fn options(&self, job: NewJob) -> NewJob {
        job
    }

    /// How long the kind waits after an attempt that failed; `None`, the default, leaves it to the job's own
    /// [`crate::Backoff`]. Asked where the handler ran; see [`crate::Worker::backoff`].
    fn backoff(failure: &Failure<'_>) -> Option<Duration> {
        let _ = failure;
        None
    }

    /// As a job to enqueue, with the kind's options; what is said after that wins.
    fn new_job(&self) -> NewJob {
        let job = NewJob::new(Self::KIND).payload_version(Self::VERSION);
        let job = self.options(job).json(self);
        Self::REDACTED.iter().fold(job, |job, field| job.redact(*field))
    }
}

impl<J: Job> From<J> for NewJob {
    fn from(job: J) -> NewJob {
        job.new_job()
    }
}
