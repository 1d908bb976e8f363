//! Jobs that run before their enqueue answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::{App, Kit, step};
use crate::job::{JobId, State};
use crate::store::{Result, StoreError};
use crate::worker::once::Hands;

/// Jobs that enqueue each other may stand inside each other so deep.
const DEEPEST: u32 = 100;

/// Runs what a client enqueues, then and there. It stands in the client and not around the store: enqueues go
/// through a funnel, and a job that ran inside it could enqueue nothing.
#[derive(Clone)]
pub(crate) struct Inline(Arc<Inner>);

struct Inner {
    kit: Kit,
    hands: Arc<Hands>,
    depth: AtomicU32,
}

/// One job deeper, as long as this lives.
struct Deeper<'a>(&'a AtomicU32);

impl Drop for Deeper<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Inline {
    pub(super) fn new(kit: Kit, app: App) -> Result<Inline, String> {
        let hands = app.hands(&kit.client)?;
        Ok(Inline(Arc::new(Inner { kit, hands, depth: AtomicU32::new(0) })))
    }

    /// Runs a job that was just enqueued, if it is due and there is a handler for it.
    pub(crate) async fn run(&self, id: JobId) -> Result<()> {
        let Inner { kit, hands, depth } = &*self.0;
        let failed = |text: String| StoreError::config(format!("inline: {text}"));
        let row =
            kit.call(move |store| async move { store.get(id).await }).await.map_err(failed)?;
        let served = row.filter(|row| hands.knows(row) && hands.serves(&row.queue));
        let Some(row) = served.filter(|row| row.state == State::Queued) else { return Ok(()) };
        let deep = depth.fetch_add(1, Ordering::SeqCst);
        let _deeper = Deeper(depth);
        if deep >= DEEPEST {
            let text = format!(
                "{DEEPEST} jobs stand inside each other; do they enqueue each other for ever?"
            );
            return Err(failed(text));
        }
        // Boxed, for a handler may come here again.
        let ran = Box::pin(step::run_exactly(kit, hands, &row)).await;
        ran.map(|_| ()).map_err(failed)
    }
}
