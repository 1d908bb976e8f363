//! How a run in a test ended.

use std::fmt;
use std::time::Duration;

use super::spoken;
use crate::job::name::shown;
use crate::job::{JobId, JobRow, State};
use crate::store::{Ack, ClaimedJob, Ending};
use crate::worker::once;

/// How a run ended, as it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ended {
    /// Done.
    Succeeded,
    /// Failed, panicked or ran too long; it is repeated after this long. A wait that is drawn by chance in life
    /// is as long as it can be in a test.
    Retry {
        /// How long it waits.
        after: Duration,
    },
    /// Dead: no attempt is left, or the handler said so.
    Dead,
    /// Runs again later; the attempt does not count.
    Snoozed {
        /// How long it waits.
        after: Duration,
    },
    /// Was told to come later; the attempt does not count.
    Throttled {
        /// How long it waits.
        after: Duration,
    },
    /// Cancelled.
    Cancelled,
    /// Given back, queued as before.
    GivenBack,
    /// It came back to a job that is somebody else's by now; nothing was written.
    LeaseLost,
    /// Its node crashed ([`super::Faults`]): nothing was written, and the job is rescued when the lease of 30 s is
    /// over.
    Crashed,
}

/// One run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Ran {
    /// The job.
    pub id: JobId,
    /// Its kind.
    pub kind: String,
    /// Its queue.
    pub queue: String,
    /// Which attempt it was, from 1.
    pub attempt: u32,
    /// How it ended.
    pub ended: Ended,
    /// What the handler said, if it did not end well.
    pub error: Option<String>,
}

impl Ended {
    /// What was written of a run, and what the store made of it.
    pub(super) fn of(ran: &once::Ran) -> Ended {
        let state = match ran.ack {
            Ack::Recorded(state) => state,
            Ack::LeaseLost => return Ended::LeaseLost,
        };
        match (&ran.ending, state) {
            (_, State::Cancelled) => Ended::Cancelled,
            (_, State::Dead) => Ended::Dead,
            (None | Some(Ending::Succeeded { .. }), _) => Ended::Succeeded,
            (Some(Ending::Failed { delay, .. }), _) => Ended::Retry { after: *delay },
            (Some(Ending::Snoozed { delay }), _) => Ended::Snoozed { after: *delay },
            (Some(Ending::Throttled { delay, .. }), _) => Ended::Throttled { after: *delay },
            (Some(Ending::Dead { .. }), _) => Ended::Dead,
            (Some(Ending::Cancelled { .. }), _) => Ended::Cancelled,
            (Some(Ending::GivenBack), _) => Ended::GivenBack,
        }
    }
}

impl Ran {
    /// A run that came to its end.
    pub(super) fn of(job: &ClaimedJob, ran: &once::Ran) -> Ran {
        let error = match &ran.ending {
            Some(Ending::Failed { error, .. } | Ending::Dead { error }) => {
                let causes = error.chain.iter();
                Some(causes.fold(error.message.clone(), |text, cause| format!("{text}: {cause}")))
            }
            Some(Ending::Cancelled { why }) => Some(why.clone()),
            _ => None,
        };
        Ran { error, ..Ran::new(job, Ended::of(ran)) }
    }

    /// Its node crashed.
    pub(super) fn crashed(job: &ClaimedJob) -> Ran {
        Ran::new(job, Ended::Crashed)
    }

    /// The node that claimed it crashed before it could say so.
    pub(super) fn crashed_before(row: &JobRow) -> Ran {
        let (kind, queue) = (row.kind.clone(), row.queue.clone());
        let (attempt, ended) = (row.attempt + 1, Ended::Crashed);
        Ran { id: row.id, kind, queue, attempt, ended, error: None }
    }

    fn new(job: &ClaimedJob, ended: Ended) -> Ran {
        let (kind, queue) = (job.kind.clone(), job.queue.clone());
        Ran { id: job.id, kind, queue, attempt: job.attempt, ended, error: None }
    }

    /// The cells of a line that shows it.
    pub(super) fn line(&self) -> [String; 5] {
        let error = self.error.as_deref().map(shown).unwrap_or_default();
        [
            shown(&self.kind),
            shown(&self.queue),
            self.attempt.to_string(),
            self.ended.to_string(),
            error,
        ]
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ended::Succeeded => f.write_str("succeeded"),
            Ended::Retry { after } => write!(f, "failed, again in {}", spoken(*after)),
            Ended::Dead => f.write_str("dead"),
            Ended::Snoozed { after } => write!(f, "snoozed for {}", spoken(*after)),
            Ended::Throttled { after } => write!(f, "throttled for {}", spoken(*after)),
            Ended::Cancelled => f.write_str("cancelled"),
            Ended::GivenBack => f.write_str("given back"),
            Ended::LeaseLost => f.write_str("lease lost"),
            Ended::Crashed => f.write_str("crashed"),
        }
    }
}
