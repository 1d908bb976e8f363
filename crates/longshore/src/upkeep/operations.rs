//! Operations: step after step of all that run, in turn, while this node leads.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::prune::breath;
use crate::engine::within;
use crate::operation::{KEEP_OPERATIONS, OperationId, OperationStep, STEP_JOBS};
use crate::store::{Lead, Result, Store, StoreError, Woken};
use crate::worker::CALL_LIMIT;
use crate::worker::patience::Patience;

/// A new one is seen by whoever counts the queues, within 10 s. Should that not be told, it is looked for this often:
/// each look is a statement of an idle leader.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// And so soon after a hint that something is new, which may be anything: looks are no closer to each other.
const AFTER_HINT: Duration = Duration::from_secs(1);
/// And old ones are removed this often.
const PRUNE_EVERY: Duration = Duration::from_secs(600);
/// Where not even skipping a job helps, it is given up after so many tries.
const MOST_TRIES: u32 = 3;

/// What went wrong with the last steps of an operation.
#[derive(Clone, Copy)]
struct Trouble {
    /// Jobs of its next step; none: one is skipped.
    most: u32,
    /// Skips that did not help.
    tries: u32,
}

/// Does steps as long as this node leads; ends when nobody can tell it so any more.
pub(crate) async fn run(
    store: Arc<dyn Store>,
    mut leads: watch::Receiver<Option<Lead>>,
    mut operates: watch::Receiver<()>,
) {
    let mut patience = Patience::new("operations");
    let mut stepper = Stepper { store, troubles: HashMap::new(), prune_at: Instant::now() };
    let mut woken = stepper.store.wakes().subscribe();
    loop {
        let lead = *leads.borrow_and_update();
        let _ = woken.take();
        operates.mark_unchanged();
        let pause = match lead {
            Some(lead) => match stepper.turn(lead).await {
                Ok(pause) => {
                    patience.worked();
                    pause
                }
                // Another leads by now; the next round of upkeep says so.
                Err(StoreError::NotLeader) => LOOK_EVERY,
                Err(error) => patience.failed(&error).saturating_duration_since(Instant::now()),
            },
            None => Duration::MAX,
        };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = hint(&mut woken), if pause == LOOK_EVERY => {}
            Ok(()) = operates.changed(), if pause == LOOK_EVERY => {}
            told = leads.changed() => if told.is_err() { break },
        }
    }
}

async fn hint(woken: &mut Woken) {
    tokio::time::sleep(AFTER_HINT).await;
    woken.news().await;
}

struct Stepper {
    store: Arc<dyn Store>,
    /// Operations whose steps failed. Lost with the process, and then found out anew.
    troubles: HashMap<OperationId, Trouble>,
    prune_at: Instant,
}

impl Stepper {
    /// One step of the operation whose turn it is; how long to wait before the next.
    async fn turn(&mut self, lead: Lead) -> Result<Duration> {
        let began = Instant::now();
        if began >= self.prune_at {
            let prune = self.store.prune_operations(lead, KEEP_OPERATIONS);
            if !within(CALL_LIMIT, "prune operations", prune).await? {
                self.prune_at = began + PRUNE_EVERY;
            }
        }
        let next = within(CALL_LIMIT, "look for operations", self.store.next_operation()).await?;
        let Some(id) = next else { return Ok(LOOK_EVERY) };
        let trouble =
            self.troubles.get(&id).copied().unwrap_or(Trouble { most: STEP_JOBS, tries: 0 });
        let step = OperationStep { id, most: trouble.most.max(1), skip: trouble.most == 0 };
        let stepped = self.store.step_operation(lead, &step);
        match within(CALL_LIMIT, "do a step of an operation", stepped).await {
            Ok(row) => {
                if row.state.is_end() {
                    self.troubles.remove(&id);
                    let (state, done, skipped) = (row.state, row.done, row.skipped);
                    tracing::info!(%id, %state, done, skipped, "the operation ended");
                } else if let Some(trouble) = self.troubles.get_mut(&id) {
                    // Past the job that was in the way, or not yet at it.
                    *trouble = Trouble { most: (trouble.most * 4).clamp(1, STEP_JOBS), tries: 0 };
                }
                Ok(breath(began.elapsed()))
            }
            Err(StoreError::NoOperation(_)) => Ok(Duration::ZERO),
            Err(error @ StoreError::Bug { .. }) => self.narrow(lead, (id, trouble), &error).await,
            Err(error) => {
                // It answered a moment ago: so somebody holds a job, or a step is more than it can do in time.
                if error.is_unavailable() {
                    self.troubles.insert(id, Trouble { most: smaller(trouble.most), ..trouble });
                }
                Err(error)
            }
        }
    }

    /// A job that the database refuses must not stop all others: smaller and smaller steps come to it, and then it
    /// is skipped. Only where that fails too, the operation has failed.
    async fn narrow(
        &mut self,
        lead: Lead,
        (id, trouble): (OperationId, Trouble),
        error: &StoreError,
    ) -> Result<Duration> {
        let cause = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
        if trouble.most == 1 {
            tracing::warn!(%id, cause, "an operation meets a job that cannot be changed; it is skipped");
        }
        let tries = trouble.tries + u32::from(trouble.most == 0);
        if tries >= MOST_TRIES {
            let words = format!("{error}: {cause}");
            let fail = self.store.fail_operation(lead, id, &words);
            within(CALL_LIMIT, "end an operation", fail).await?;
            self.troubles.remove(&id);
        } else {
            self.troubles.insert(id, Trouble { most: smaller(trouble.most), tries });
        }
        Ok(breath(Duration::ZERO))
    }
}

/// Jobs of the next step after one that failed: fewer, down to a single one, and then that one is skipped.
fn smaller(most: u32) -> u32 {
    if most <= 1 { 0 } else { (most / 8).max(1) }
}
