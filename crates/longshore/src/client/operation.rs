//! Operations: started, looked at, paused, resumed, cancelled; and a hand for where no node leads.

use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::Client;
use crate::operation::{
    COUNT_FOR, DryRun, EXAMPLES, MAX_OPERATIONS, NewOperation, OperationAsk, OperationId,
    OperationRow,
};
use crate::store::{Effort, Lead, ListQuery, NodeId, Result, StoreError};
use crate::time::Timestamp;
use crate::upkeep::operations;

/// How long a helper holds the lead without renewing it.
const LEAD_FOR: Duration = Duration::from_secs(15);
/// It renews it, or asks whether nobody else has it by now, this often.
const ASK_EVERY: Duration = Duration::from_secs(3);

impl Client {
    /// Starts an operation on the jobs that are there now. The leader does it in steps, from the oldest job on; it
    /// goes on after a crash where it was. Fails with [`StoreError::Invalid`] for an action that cannot be, a filter
    /// without a term, or too many operations at a time. After [`StoreError::Unavailable`] it may have been started;
    /// the same [`NewOperation`] once more is the same operation.
    pub async fn start_operation(&self, operation: NewOperation) -> Result<OperationRow> {
        operation.check(&self.inner.limits)?;
        self.call(move |store| async move {
            let total = store.count(&operation.filter, Effort::Within(COUNT_FOR)).await?;
            store.start_operation(&operation, total).await
        })
        .await
    }

    /// What an operation would meet now; changes nothing. Refused as the start of it would be.
    pub async fn try_operation(&self, operation: &NewOperation) -> Result<DryRun> {
        operation.check(&self.inner.limits)?;
        let filter = operation.filter.clone();
        let query = ListQuery { filter: filter.clone(), limit: EXAMPLES, ..ListQuery::default() };
        let count = self.count(filter, Effort::Within(COUNT_FOR)).await?;
        Ok(DryRun { count, examples: self.list(query).await?.jobs })
    }

    /// How an operation stands. [`StoreError::NoOperation`] if there is none with that id (any more): those that
    /// ended are kept for 30 days.
    pub async fn operation(&self, id: OperationId) -> Result<OperationRow> {
        let found = self.call(move |store| async move { store.operation(id).await }).await?;
        found.ok_or(StoreError::NoOperation(id))
    }

    /// Operations, newest first, older than `before`; at most `limit` (50 for 0, 200 at most), and whether there are
    /// more.
    pub async fn operations(
        &self,
        before: Option<OperationId>,
        limit: u32,
    ) -> Result<(Vec<OperationRow>, bool)> {
        let most = if limit == 0 { 50 } else { limit.min(MAX_OPERATIONS) };
        let mut rows =
            self.call(move |store| async move { store.operations(before, most + 1).await }).await?;
        let more = rows.len() > most as usize;
        rows.truncate(most as usize);
        Ok((rows, more))
    }

    /// Does not go on until it is resumed. Once this is answered, nothing more is changed.
    /// [`StoreError::OperationRefused`] for one that has ended.
    pub async fn pause_operation(&self, id: OperationId) -> Result<OperationRow> {
        self.ask_operation(id, OperationAsk::Pause).await
    }

    /// Goes on where it was. [`StoreError::OperationRefused`] for one that has ended.
    pub async fn resume_operation(&self, id: OperationId) -> Result<OperationRow> {
        self.ask_operation(id, OperationAsk::Resume).await
    }

    /// Ends for good; what was done stays done. Once this is answered, nothing more is changed.
    /// [`StoreError::OperationRefused`] for one that has ended otherwise.
    pub async fn cancel_operation(&self, id: OperationId) -> Result<OperationRow> {
        self.ask_operation(id, OperationAsk::Cancel).await
    }

    /// Now, by the clock that the database's times are made with.
    pub async fn now(&self) -> Result<Timestamp> {
        self.call(|store| async move { store.now().await }).await
    }

    /// Any of these three.
    pub async fn ask_operation(&self, id: OperationId, ask: OperationAsk) -> Result<OperationRow> {
        self.call(move |store| async move { store.ask_operation(id, ask).await }).await
    }

    /// Does operations' steps here, as long as no node leads: so that one is done also where no node is.
    pub fn help_with_operations(&self) -> Helper {
        let store = std::sync::Arc::clone(&self.inner.store);
        let (end, mut ended) = watch::channel(false);
        let work = async move {
            let (tell, leads) = watch::channel(None);
            let (look, looks) = watch::channel(());
            let steps = tokio::spawn(operations::run(std::sync::Arc::clone(&store), leads, looks));
            let node = NodeId::new();
            let mut lead = None;
            while !*ended.borrow_and_update() {
                // Whoever else leads does it; and when that cannot be found out, it comes again.
                let term = store.lead(node, LEAD_FOR).await.ok().flatten();
                lead = term.map(|term| Lead { node, term });
                tell.send_if_modified(|told| std::mem::replace(told, lead) != lead);
                look.send_replace(());
                tokio::select! {
                    () = tokio::time::sleep(ASK_EVERY) => {}
                    _ = ended.changed() => {}
                }
            }
            drop(tell);
            // It ends after the step it is at.
            let _ = steps.await;
            if let Some(lead) = lead {
                let _ = store.resign(lead).await;
            }
        };
        Helper { end, task: self.inner.engine.spawn(work) }
    }
}

/// Does operations' steps until it is told to end; see [`Client::help_with_operations`].
#[derive(Debug)]
#[must_use = "it helps until it is ended"]
pub struct Helper {
    end: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Helper {
    /// Ends after the step it is at, and lets another lead.
    pub async fn end(self) {
        self.end.send_replace(true);
        let _ = self.task.await;
    }
}
