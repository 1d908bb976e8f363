//! What a handler may ask for beside its job.
//!
//! A handler is an async function whose first argument is the job; each further one, up to eight, in any order, is
//! taken from the run by [`FromRun`]:
//!
//! | argument | what it is |
//! |---|---|
//! | [`State<T>`](State) | the application's value of that type, given with [`crate::Worker::state`] |
//! | [`Attempt`] | its number, and how many there may be |
//! | [`JobId`], [`Meta`], [`Trace`] | the id; the caller's notes; the trace it was enqueued in |
//! | [`Cancelled`] | tells when to stop, and why |
//! | [`Deadline`] | when it is cut off |
//! | [`Client`] | to enqueue and look up jobs |
//! | [`Tx`] | a transaction that is committed together with the job's completion |
//! | [`Run`] | all of it |
//!
//! Own ones are written the same way:
//!
//! ```
//! use longshore::extract::FromRun;
//! use longshore::{JobError, Run};
//!
//! /// Who the job is for, from the caller's notes.
//! struct Tenant(String);
//!
//! impl FromRun for Tenant {
//!     async fn from_run(run: &Run) -> Result<Tenant, JobError> {
//!         let meta: serde_json::Value = serde_json::from_str(run.meta().unwrap_or("{}"))?;
//!         let tenant = meta["tenant"].as_str().ok_or_else(|| JobError::dead("no tenant"))?;
//!         Ok(Tenant(tenant.to_owned()))
//!     }
//! }
//! ```

mod enqueue;
mod state;
mod told;
mod tx;

use std::future::Future;
use std::time::{Duration, Instant};

pub(crate) use enqueue::Counts;
pub use enqueue::Enqueue;
pub use state::State;
pub(crate) use state::States;
pub use told::{Log, Progress};
pub use tx::Tx;
pub(crate) use tx::TxCell;

use crate::client::Client;
use crate::job::{JobError, JobId};
pub use crate::trace::Trace;
use crate::worker::{Run, StopReason};

/// Taken from a run, for a handler.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument of a handler",
    label = "after the job, each argument must implement `FromRun`",
    note = "values of the application come as `State<{Self}>`, given by `Worker::state`; `longshore::extract` lists all others"
)]
pub trait FromRun: Sized + Send {
    /// Takes it. An error ends the attempt as if the handler had said it.
    fn from_run(run: &Run) -> impl Future<Output = Result<Self, JobError>> + Send;

    /// Whether it can be taken at all, asked once when the worker starts; the text says what is missing.
    fn check(given: &Given<'_>) -> Result<(), String> {
        let _ = given;
        Ok(())
    }
}

/// What a worker was given, for [`FromRun::check`].
pub struct Given<'a> {
    pub(crate) states: &'a States,
    pub(crate) backend: &'a str,
}

impl Given<'_> {
    /// Whether it was given a value of this type with [`crate::Worker::state`].
    pub fn has_state<T: 'static>(&self) -> bool {
        self.states.get::<T>().is_some()
    }

    /// `sqlite` or `postgres`.
    pub fn backend(&self) -> &str {
        self.backend
    }
}

impl FromRun for Run {
    async fn from_run(run: &Run) -> Result<Run, JobError> {
        Ok(run.clone())
    }
}

impl FromRun for JobId {
    async fn from_run(run: &Run) -> Result<JobId, JobError> {
        Ok(run.id())
    }
}

impl FromRun for Client {
    async fn from_run(run: &Run) -> Result<Client, JobError> {
        Ok(run.client().clone())
    }
}

/// Which attempt it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// From 1.
    pub number: u32,
    /// How many the job may have in all.
    pub of: u32,
}

impl Attempt {
    /// Whether there is none after it.
    pub fn is_last(&self) -> bool {
        self.number >= self.of
    }
}

impl FromRun for Attempt {
    async fn from_run(run: &Run) -> Result<Attempt, JobError> {
        Ok(Attempt { number: run.attempt(), of: run.max_attempts() })
    }
}

/// Tells when to stop: the job was cancelled, its time is over, the node stops or lost its lease. A handler
/// that heeds it answers [`JobError::interrupted`] and loses no attempt at a shutdown.
#[derive(Clone)]
pub struct Cancelled(Run);

impl Cancelled {
    /// Waits until it is time to stop, and says why.
    pub async fn requested(&self) -> StopReason {
        self.0.stopped().await
    }

    /// Why it is time to stop; `None` while it is not.
    pub fn reason(&self) -> Option<StopReason> {
        self.0.stop_reason()
    }
}

impl FromRun for Cancelled {
    async fn from_run(run: &Run) -> Result<Cancelled, JobError> {
        Ok(Cancelled(run.clone()))
    }
}

/// When the attempt is cut off; `None` if it may run for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline(pub Option<Instant>);

impl Deadline {
    /// How long there is left.
    pub fn left(&self) -> Option<Duration> {
        self.0.map(|at| at.saturating_duration_since(Instant::now()))
    }
}

impl FromRun for Deadline {
    async fn from_run(run: &Run) -> Result<Deadline, JobError> {
        Ok(Deadline(run.deadline()))
    }
}

/// The caller's notes as JSON text; `{}` if there are none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meta(pub Box<str>);

impl FromRun for Meta {
    async fn from_run(run: &Run) -> Result<Meta, JobError> {
        Ok(Meta(run.meta().unwrap_or("{}").into()))
    }
}

impl FromRun for Trace {
    async fn from_run(run: &Run) -> Result<Trace, JobError> {
        Ok(Trace::of_notes(run.meta()))
    }
}
