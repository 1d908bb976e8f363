//! Counts how deep the queues are, while this node leads.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::engine::within;
use crate::store::{Lead, Store, StoreError, Woken};
use crate::worker::CALL_LIMIT;
use crate::worker::patience::Patience;

/// A count is as old as this when the next one comes.
const EVERY: Duration = Duration::from_secs(5);
/// Where no job waited, and nothing was heard of any since, it may be as old as this: an idle leader sends less.
const QUIET_EVERY: Duration = Duration::from_secs(10);
/// Counting takes no more than this part of the time, however many deep queues there are.
const SHARE: u32 = 20;

/// When the next count is due.
#[derive(Clone, Copy)]
enum Next {
    At(Instant),
    /// Then if a hint came; without one at [`QUIET_EVERY`].
    Hinted(Instant),
    /// When this node leads.
    Never,
}

/// Counts as long as this node leads, and tells when an operation runs; ends when nobody can tell it so any more.
pub(crate) async fn run(
    store: Arc<dyn Store>,
    mut leads: watch::Receiver<Option<Lead>>,
    operates: watch::Sender<()>,
) {
    let mut patience = Patience::new("count the queues");
    let mut woken = store.wakes().subscribe();
    loop {
        let lead = *leads.borrow_and_update();
        let _ = woken.take();
        let next = match lead {
            Some(lead) => count(&*store, lead, &operates, &mut patience).await,
            None => Next::Never,
        };
        tokio::select! {
            () = due(next, &mut woken) => {}
            told = leads.changed() => if told.is_err() { break },
        }
    }
}

async fn due(next: Next, woken: &mut Woken) {
    match next {
        Next::At(at) => tokio::time::sleep_until(at.into()).await,
        Next::Hinted(at) => {
            let latest = at + (QUIET_EVERY - EVERY);
            tokio::select! {
                () = tokio::time::sleep_until(latest.into()) => {}
                _ = woken.news() => tokio::time::sleep_until(at.into()).await,
            }
        }
        Next::Never => std::future::pending().await,
    }
}

async fn count(
    store: &dyn Store,
    lead: Lead,
    operates: &watch::Sender<()>,
    patience: &mut Patience,
) -> Next {
    let began = Instant::now();
    match within(CALL_LIMIT, "count the queues", store.count_queues(lead)).await {
        Ok(counted) => {
            if counted.operates {
                operates.send_replace(());
            }
            patience.worked();
            let at = Instant::now() + EVERY.max(began.elapsed() * SHARE);
            if counted.waiting { Next::At(at) } else { Next::Hinted(at) }
        }
        // Another leads by now; the next round of upkeep says so.
        Err(StoreError::NotLeader) => Next::At(Instant::now() + EVERY),
        Err(error) => Next::At(patience.failed(&error).max(Instant::now() + EVERY)),
    }
}
