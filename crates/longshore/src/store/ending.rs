//! How a run ended, as a store writes it.

use std::time::Duration;

use super::said::Saying;
use crate::job::{AttemptError, JobId, State};

/// A run that a node holds: which job, under which of its claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Held {
    /// The job.
    pub id: JobId,
    /// The node's own number for the claim.
    pub lease: i64,
}

/// A run that ended well, for its handler's own transaction.
#[derive(Clone, Copy, Debug)]
pub struct DoneInTx<'a> {
    /// Which run.
    pub held: Held,
    /// JSON, already fit to be stored.
    pub output: Option<&'a str>,
    /// What it said last.
    pub said: &'a [Saying],
}

/// How a run ended. Each variant has just its own data.
#[derive(Clone, Debug)]
pub enum Ending {
    /// The handler said done; the job goes to history, with its output if there is one.
    Succeeded {
        /// JSON, already fit to be stored.
        output: Option<Box<str>>,
    },
    /// The attempt failed and is repeated after `delay`.
    Failed {
        /// What went wrong.
        error: NodeFault,
        /// How long it waits; at least a millisecond.
        delay: Duration,
    },
    /// No attempt is left, or the handler said dead.
    Dead {
        /// What went wrong.
        error: NodeFault,
    },
    /// Runs again after `delay`; the attempt does not count.
    Snoozed {
        /// How long it waits.
        delay: Duration,
    },
    /// The handler was told to come later; the attempt does not count. The [`MAX_THROTTLES`]th time in
    /// a row it does: the attempt has failed then, with this error and delay.
    Throttled {
        /// How long it waits; at least a millisecond.
        delay: Duration,
        /// What to record if that was once too often.
        error: NodeFault,
    },
    /// Handed back unfinished by a stopping node: queued as it was, the attempt does not count.
    GivenBack,
    /// The handler said cancel.
    Cancelled {
        /// Why, in the handler's words.
        why: String,
    },
}

impl Ending {
    /// How long the job waits before it runs again by itself, if it does.
    pub(crate) fn delay(&self) -> Option<Duration> {
        match self {
            Ending::Failed { delay, .. }
            | Ending::Snoozed { delay }
            | Ending::Throttled { delay, .. } => Some(*delay),
            Ending::Succeeded { .. }
            | Ending::Dead { .. }
            | Ending::GivenBack
            | Ending::Cancelled { .. } => None,
        }
    }
}

/// How often in a row one attempt may be throttled before it counts as failed.
pub const MAX_THROTTLES: i32 = 100;

/// An error to append to a job: all of [`AttemptError`] but the time, which is the store's.
pub type NodeFault = AttemptError;

/// The answer for one ending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ack {
    /// Written; the job is in this state now.
    Recorded(State),
    /// The lease is somebody else's or nobody's by now; nothing was written.
    LeaseLost,
}
