//! From how a run went to what is written of it.

use std::time::Duration;

use super::run::{Ended, StopReason, Went};
use crate::job::outcome::storable;
use crate::job::{AttemptError, AttemptFault, JobError, Outcome, text};
use crate::store::{ClaimedJob, Ending, NodeFault, NodeId};
use crate::time::Timestamp;

/// After this long a run comes back that says it was interrupted when nobody told it to stop.
const UNTOLD: Duration = Duration::from_secs(1);

/// What is written of a run that ended like this; `None` if its handler's transaction has written it.
/// `stopped`: the handler had been told to stop.
pub(super) fn verdict(
    job: &ClaimedJob,
    node: NodeId,
    ended: Ended,
    stopped: Option<StopReason>,
) -> Option<Ending> {
    if matches!(ended.went, Went::Committed) {
        return None;
    }
    let mut ending = of_answer(job, node, ended.went, stopped);
    if let (Ending::Failed { delay, .. }, Some(own)) = (&mut ending, ended.delay) {
        *delay = own;
    }
    Some(ending)
}

fn of_answer(job: &ClaimedJob, node: NodeId, went: Went, stopped: Option<StopReason>) -> Ending {
    let torn = matches!(stopped, Some(StopReason::Shutdown | StopReason::LeaseLost));
    match went {
        Went::Answered(Outcome::Done(output)) => Ending::Succeeded { output: output.map(storable) },
        // At least a moment, so that it waits as its state says.
        Went::Answered(Outcome::Snooze(delay)) => {
            Ending::Snoozed { delay: delay.max(Duration::from_millis(1)) }
        }
        Went::Answered(Outcome::Throttled(delay)) => {
            let error = JobError::new("was told to come later too often");
            Ending::Throttled { delay, error: fault(job, node, AttemptFault::Throttled, error) }
        }
        Went::Answered(Outcome::Dead(error)) => {
            Ending::Dead { error: fault(job, node, AttemptFault::Error, error) }
        }
        // A handler that breaks off because its node stops has not failed.
        Went::Dropped => Ending::GivenBack,
        Went::Committed => unreachable!("nothing is to be written of it"),
        Went::Answered(Outcome::Failed(_) | Outcome::Cancel(_) | Outcome::Interrupted)
        | Went::Panicked(_)
            if torn =>
        {
            Ending::GivenBack
        }
        // Asked to cancel, it ends as cancelled all the same; else it would come back at once, for ever.
        Went::Answered(Outcome::Interrupted) => Ending::Snoozed { delay: UNTOLD },
        Went::Answered(Outcome::Cancel(why)) => {
            Ending::Cancelled { why: text::fit(&why, text::MAX_ERROR_BYTES) }
        }
        Went::Answered(Outcome::Failed(error)) => failed(job, node, AttemptFault::Error, error),
        Went::Panicked(message) => failed(job, node, AttemptFault::Panic, JobError::new(message)),
    }
}

/// What is written of a run that was cut off at its time limit.
pub(super) fn timed_out(job: &ClaimedJob, node: NodeId) -> Ending {
    let limit = Duration::from_millis(job.timeout_ms.unwrap_or_default().max(0) as u64);
    let error = JobError::new(format!("ran longer than its timeout of {limit:?}"));
    failed(job, node, AttemptFault::Timeout, error)
}

/// What is written of a run whose real ending could not be stored.
pub(super) fn unstorable(job: &ClaimedJob, node: NodeId, why: &str) -> Ending {
    let error = JobError::new(format!("its result could not be stored: {why}"));
    failed(job, node, AttemptFault::Error, error)
}

/// The limit first: on the last attempt no delay is asked for.
fn failed(job: &ClaimedJob, node: NodeId, kind: AttemptFault, error: JobError) -> Ending {
    let error = fault(job, node, kind, error);
    if job.attempt >= job.max_attempts {
        return Ending::Dead { error };
    }
    let policy = job.backoff.as_ref().cloned().unwrap_or_default();
    let delay = policy.delay(job.attempt, fastrand::f64);
    Ending::Failed { error, delay }
}

fn fault(job: &ClaimedJob, node: NodeId, kind: AttemptFault, error: JobError) -> NodeFault {
    let JobError { message, chain, .. } = error.fitted();
    // The store sets the time, by its own clock.
    let at = Timestamp::from_micros(0);
    AttemptError { attempt: job.attempt, at, node: node.0, kind, message, chain }
}
