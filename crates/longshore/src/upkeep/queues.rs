//! Counts how deep the queues are, while this node leads.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::engine::within;
use crate::store::{Lead, Store, StoreError};
use crate::worker::CALL_LIMIT;
use crate::worker::patience::Patience;

/// A count is as old as this when the next one comes.
const EVERY: Duration = Duration::from_secs(5);
/// Counting takes no more than this part of the time, however many deep queues there are.
const SHARE: u32 = 20;

/// Counts as long as this node leads; ends when nobody can tell it so any more.
pub(crate) async fn run(store: Arc<dyn Store>, mut leads: watch::Receiver<Option<Lead>>) {
    let mut patience = Patience::new("count the queues");
    loop {
        let lead = *leads.borrow_and_update();
        let pause = match lead {
            Some(lead) => count(&*store, lead, &mut patience).await,
            None => Duration::MAX,
        };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            told = leads.changed() => if told.is_err() { break },
        }
    }
}

/// Once; how long to wait before the next.
async fn count(store: &dyn Store, lead: Lead, patience: &mut Patience) -> Duration {
    let began = Instant::now();
    match within(CALL_LIMIT, "count the queues", store.count_queues(lead)).await {
        Ok(()) => {
            patience.worked();
            EVERY.max(began.elapsed() * SHARE)
        }
        // Another leads by now; the next round of upkeep says so.
        Err(StoreError::NotLeader) => EVERY,
        Err(error) => patience.failed(&error).saturating_duration_since(Instant::now()).max(EVERY),
    }
}
