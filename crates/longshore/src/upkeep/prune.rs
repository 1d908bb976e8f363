//! The prune: step after step while there is more to remove, with a breath between them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::engine::within;
use crate::observe::Gauges;
use crate::store::{Lead, Pruner, Store, StoreError};
use crate::worker::CALL_LIMIT;
use crate::worker::patience::Patience;

/// Without more to do it comes again after so long at least, and at most: a rule that was set is heeded
/// by then.
const SOONEST: Duration = Duration::from_secs(1);
const LATEST: Duration = Duration::from_secs(60);
/// Unique keys whose time is over are free without it; it only makes room.
const KEYS_EVERY: Duration = Duration::from_secs(300);

/// Prunes as long as this node leads; ends when nobody can tell it so any more.
pub(crate) async fn run(
    store: Arc<dyn Store>,
    mut leads: watch::Receiver<Option<Lead>>,
    gauges: Gauges,
) {
    let mut patience = Patience::new("prune");
    let mut keys_at = Instant::now();
    loop {
        let lead = *leads.borrow_and_update();
        let pause = match lead {
            Some(lead) => step(&*store, lead, &gauges, (&mut patience, &mut keys_at)).await,
            None => {
                gauges.prune_lag(None);
                LATEST
            }
        };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            told = leads.changed() => if told.is_err() { break },
        }
    }
    gauges.prune_lag(None);
}

/// One step; how long to wait before the next.
async fn step(
    store: &dyn Store,
    lead: Lead,
    gauges: &Gauges,
    (patience, keys_at): (&mut Patience, &mut Instant),
) -> Duration {
    let began = Instant::now();
    match within(CALL_LIMIT, "prune", store.prune(Pruner::Leader(lead))).await {
        Ok(pruned) => {
            patience.worked();
            gauges.prune_lag(Some(pruned.lag));
            gauges.pruned(pruned.removed.total());
            if pruned.days > 0 {
                tracing::info!(days = pruned.days, "whole days of history are gone");
            }
            if pruned.more {
                return breath(began.elapsed());
            }
            if began >= *keys_at {
                if old_keys(store, lead).await {
                    return breath(began.elapsed());
                }
                *keys_at = began + KEYS_EVERY;
            }
            pruned.next_in.clamp(SOONEST, LATEST)
        }
        // Another leads by now; the next round of upkeep says so.
        Err(StoreError::NotLeader) => SOONEST,
        Err(error) => patience.failed(&error).saturating_duration_since(Instant::now()),
    }
}

/// Forgets some unique keys; whether there may be more. A failure is no matter: it comes again.
async fn old_keys(store: &dyn Store, lead: Lead) -> bool {
    within(CALL_LIMIT, "forget old unique keys", store.forget_keys(lead)).await.unwrap_or(false)
}

/// Between two steps: twice as long as one took, so that a prune that has much to do leaves most of the
/// database to others.
pub(crate) fn breath(took: Duration) -> Duration {
    (took * 2).clamp(Duration::from_millis(2), Duration::from_millis(200))
}
