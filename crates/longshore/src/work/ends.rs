//! How runs of workers ended: what they say is judged by the same rule as what handlers answer, with the attempt and
//! the backoff that the store has of the job.

use std::collections::HashMap;
use std::time::Duration;

use super::{MAX_ENTRIES, Work, WorkResult, counted, each_once};
use crate::job::{JobError, JobId, Outcome};
use crate::observe::RunOutcome;
use crate::store::{Ack, Ending, Held, HeldRun, NodeId};
use crate::verdict::Terms;

/// How a run ended, in a worker's words.
#[derive(Clone, Debug)]
pub enum End {
    /// The work is done; the output, if any, is JSON. What is none, or above 1 MiB, is replaced by a marker.
    Complete {
        /// JSON.
        output: Option<Box<str>>,
    },
    /// The attempt failed.
    Fail {
        /// What went wrong.
        message: String,
        /// What caused it, outermost first.
        chain: Vec<String>,
        /// How long to wait, instead of what the job's own backoff says.
        retry_in: Option<Duration>,
        /// It will never work: the job is dead at once.
        dead: bool,
    },
    /// Run again after this long; the attempt does not count.
    Snooze(Duration),
    /// The same because somebody said "later"; the hundredth time in a row it counts.
    Throttle(Duration),
    /// Stop for good, as cancelled.
    Cancel {
        /// Why.
        why: String,
    },
    /// Unfinished: it waits again as before, the attempt does not count.
    GiveBack,
}

impl End {
    fn ending(self, terms: &Terms<'_>) -> Ending {
        match self {
            End::Complete { output } => terms.ending(Outcome::Done(output)),
            End::Fail { message, chain, retry_in, dead } => {
                let mut error = JobError::new(message);
                error.chain = chain;
                match dead {
                    true => terms.ending(Outcome::Dead(error)),
                    false => terms.ending(Outcome::Failed(error)).after(retry_in),
                }
            }
            End::Snooze(delay) => terms.ending(Outcome::Snooze(delay)),
            End::Throttle(delay) => terms.ending(Outcome::Throttled(delay)),
            End::Cancel { why } => terms.ending(Outcome::Cancel(why)),
            End::GiveBack => Ending::GivenBack,
        }
    }
}

impl Work {
    /// Writes how runs ended, in one transaction; one answer each, in order. [`Ack::LeaseLost`]: the job is somebody
    /// else's by now, and nothing was written for it. A repeat after a lost reply answers as the first did for what
    /// ended well and is kept. 1 to [`MAX_ENTRIES`] of them, a job once.
    pub async fn end(&self, node: NodeId, ends: Vec<(Held, End)>) -> WorkResult<Vec<Ack>> {
        counted("/ends", "ends", ends.len(), (1, MAX_ENTRIES))?;
        each_once("/ends", ends.iter().map(|(held, _)| held.id))?;
        self.remote(node).await?;
        let runs = self.runs(node, ends.iter().map(|(held, _)| held.id)).await?;
        let judged = |(held, end): (Held, End)| match runs.get(&held) {
            Some(run) => (held, end.ending(&Terms::of_run(run, node))),
            // The node does not hold it any more, so nothing will be written. It may have been, and then that is told.
            None => (held, Ending::GivenBack),
        };
        let ended: Vec<(Held, Ending)> = ends.into_iter().map(judged).collect();
        let written = ended.clone();
        let doing = "write how jobs ended";
        let acks = self
            .call(doing, move |store| async move { store.finish(node, &written).await })
            .await?;
        for ((held, ending), ack) in ended.iter().zip(&acks) {
            self.count(node, runs.get(held), (*held, ending, *ack));
        }
        Ok(acks)
    }

    fn count(
        &self,
        node: NodeId,
        run: Option<&HeldRun>,
        (held, ending, ack): (Held, &Ending, Ack),
    ) {
        match (ack, run) {
            (Ack::Recorded(state), Some(run)) => {
                let pair = self.client.metrics().pair(&run.kind, &run.queue);
                pair.ran(run.ran);
                pair.finished(RunOutcome::of(state, ending));
            }
            // A repeat: it was counted when it was written.
            (Ack::Recorded(_), None) => {}
            (Ack::LeaseLost, _) => {
                self.client.metrics().lost_lease();
                tracing::warn!(%node, job = %held.id, "the lease was lost; its result is dropped");
            }
        }
    }

    /// Those of these jobs that the node holds.
    pub(super) async fn runs(
        &self,
        node: NodeId,
        ids: impl Iterator<Item = JobId>,
    ) -> WorkResult<HashMap<Held, HeldRun>> {
        let ids: Vec<JobId> = ids.collect();
        let doing = "look up runs";
        let runs =
            self.call(doing, move |store| async move { store.held_runs(node, &ids).await }).await?;
        Ok(runs.into_iter().map(|run| (run.held, run)).collect())
    }
}
