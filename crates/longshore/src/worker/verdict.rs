//! From how a run went, in the runtime's words, to what is written of it.

use std::time::Duration;

use super::run::{Ended, StopReason, Went};
use crate::job::{AttemptFault, JobError, Outcome};
use crate::store::{ClaimedJob, Ending, NodeId};
use crate::verdict::Terms;

/// What is written of a run that ended like this; `None` if its handler's transaction has written it.
/// `stopped`: the handler had been told to stop.
pub(super) fn verdict(
    job: &ClaimedJob,
    node: NodeId,
    ended: Ended,
    stopped: Option<StopReason>,
) -> Option<Ending> {
    let terms = Terms::of(job, node);
    let torn = matches!(stopped, Some(StopReason::Shutdown | StopReason::LeaseLost));
    let ending = match ended.went {
        Went::Committed => return None,
        // A handler that breaks off because its node stops has not failed.
        Went::Dropped => Ending::GivenBack,
        Went::Answered(Outcome::Failed(_) | Outcome::Cancel(_) | Outcome::Interrupted)
        | Went::Panicked(_)
            if torn =>
        {
            Ending::GivenBack
        }
        Went::Answered(outcome) => terms.ending(outcome),
        Went::Panicked(message) => terms.failed(AttemptFault::Panic, JobError::new(message)),
    };
    Some(ending.after(ended.delay))
}

/// What is written of a run that was cut off at its time limit.
pub(super) fn timed_out(job: &ClaimedJob, node: NodeId) -> Ending {
    let limit = Duration::from_millis(job.timeout_ms.unwrap_or_default().max(0) as u64);
    let error = JobError::new(format!("ran longer than its timeout of {limit:?}"));
    Terms::of(job, node).failed(AttemptFault::Timeout, error)
}

/// What is written of a run whose real ending could not be stored.
pub(super) fn unstorable(job: &ClaimedJob, node: NodeId, why: &str) -> Ending {
    let error = JobError::new(format!("its result could not be stored: {why}"));
    Terms::of(job, node).failed(AttemptFault::Error, error)
}
