//! Queues: pausing them and kinds, and emptying them.

use super::Client;
use crate::job::new::check_name;
use crate::store::{NewPause, Pause, PauseScope, Result};

impl Client {
    /// Pauses a queue or a kind, or sets its pause anew: no node takes jobs of it from the answer on, whatever it was
    /// about to take a moment before. Jobs that run go on, and so do the few that a node had taken already. Enqueues,
    /// cancels, edits, retries and unique keys work as ever.
    ///
    /// [`crate::StoreError::Invalid`] for a bad name, an end that is past, or when [`crate::store::MAX_PAUSES`] others
    /// are in force.
    pub async fn pause(&self, pause: NewPause) -> Result<Pause> {
        pause.scope.check(&pause.name)?;
        self.call(|store| async move {
            let pause = pause.settled(store.now().await?)?;
            store.pause(&pause).await
        })
        .await
    }

    /// Ends a pause; whether it was in force. What waited is looked for at once, by every node that can be told.
    pub async fn resume(&self, scope: PauseScope, name: &str) -> Result<bool> {
        scope.check(name)?;
        let name = name.to_owned();
        self.call(move |store| async move { store.resume(scope, &name).await }).await
    }

    /// The pauses in force: queues first, by name.
    pub async fn pauses(&self) -> Result<Vec<Pause>> {
        self.call(|store| async move { store.pauses().await }).await
    }

    /// Deletes the jobs that wait in a queue (queued, scheduled, retrying), with all that is known of them, and answers
    /// how many those were. Running and dead ones stay, and so does what is enqueued from now on. Goes in steps; when
    /// it fails or is cut short, what is gone is gone, and a repeat does the rest.
    pub async fn empty_queue(&self, queue: &str) -> Result<u64> {
        check_name("queue", queue)?;
        let queue = queue.to_owned();
        self.call(|store| async move {
            let came_by = store.now().await?;
            let mut removed = 0;
            loop {
                let step = store.empty_queue(&queue, came_by).await?;
                removed += step.removed;
                if !step.more {
                    return Ok(removed);
                }
                // Others want the database as well.
                tokio::task::yield_now().await;
            }
        })
        .await
    }
}
