//! From what a handler answered to what is written of it: the one rule, for runs in this process and for those of
//! remote nodes.

use std::time::Duration;

use crate::job::outcome::storable;
use crate::job::{AttemptError, AttemptFault, Backoff, JobError, Outcome, text};
use crate::store::{ClaimedJob, Ending, HeldRun, NodeFault, NodeId};
use crate::time::Timestamp;

/// After this long a run comes back that says it was interrupted when nobody told it to stop.
const UNTOLD: Duration = Duration::from_secs(1);

/// What decides how a failed attempt goes on, and who ran it.
#[derive(Clone, Copy)]
pub(crate) struct Terms<'a> {
    pub node: NodeId,
    pub attempt: u32,
    pub max_attempts: u32,
    pub backoff: Option<&'a Backoff>,
}

impl<'a> Terms<'a> {
    pub fn of(job: &'a ClaimedJob, node: NodeId) -> Terms<'a> {
        let ClaimedJob { attempt, max_attempts, backoff, .. } = job;
        let (attempt, max_attempts) = (*attempt, *max_attempts);
        Terms { node, attempt, max_attempts, backoff: backoff.as_ref() }
    }

    pub fn of_run(run: &'a HeldRun, node: NodeId) -> Terms<'a> {
        let HeldRun { attempt, max_attempts, backoff, .. } = run;
        let (attempt, max_attempts) = (*attempt, *max_attempts);
        Terms { node, attempt, max_attempts, backoff: backoff.as_ref() }
    }

    /// What is written of this answer.
    pub fn ending(&self, outcome: Outcome) -> Ending {
        match outcome {
            Outcome::Done(output) => Ending::Succeeded { output: output.map(storable) },
            // At least a moment, so that it waits as its state says.
            Outcome::Snooze(delay) => {
                Ending::Snoozed { delay: delay.max(Duration::from_millis(1)) }
            }
            Outcome::Throttled(delay) => {
                let error = JobError::new("was told to come later too often");
                Ending::Throttled { delay, error: self.fault(AttemptFault::Throttled, error) }
            }
            Outcome::Dead(error) => Ending::Dead { error: self.fault(AttemptFault::Error, error) },
            // Asked to cancel, it ends as cancelled all the same; else it would come back at once, for ever.
            Outcome::Interrupted => Ending::Snoozed { delay: UNTOLD },
            Outcome::Cancel(why) => {
                Ending::Cancelled { why: text::fit(&why, text::MAX_ERROR_BYTES) }
            }
            Outcome::Failed(error) => self.failed(AttemptFault::Error, error),
        }
    }

    /// What is written of a failed attempt. The limit first: on the last attempt no delay is asked for.
    pub fn failed(&self, kind: AttemptFault, error: JobError) -> Ending {
        let error = self.fault(kind, error);
        if self.attempt >= self.max_attempts {
            return Ending::Dead { error };
        }
        let policy = self.backoff.cloned().unwrap_or_default();
        let delay = policy.delay(self.attempt, fastrand::f64);
        Ending::Failed { error, delay }
    }

    fn fault(&self, kind: AttemptFault, error: JobError) -> NodeFault {
        let JobError { message, chain, .. } = error.fitted();
        // The store sets the time, by its own clock.
        let at = Timestamp::from_micros(0);
        AttemptError { attempt: self.attempt, at, node: self.node.0, kind, message, chain }
    }
}

impl Ending {
    /// With a wait of its own, if it is repeated after one.
    pub(crate) fn after(mut self, own: Option<Duration>) -> Ending {
        if let (Ending::Failed { delay, .. }, Some(own)) = (&mut self, own) {
            *delay = own;
        }
        self
    }
}
