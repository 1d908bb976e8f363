//! An enqueue in parts: one long transaction. Keys are taken as they come, since nobody else writes.

use super::SqliteStore;
use super::enqueue::{DOING, add_all};
use super::error::failed;
use crate::store::bulk::left;
use crate::store::{Enqueued, Part, Parts, Repeat, Result, StoreError, Wake};

impl SqliteStore {
    pub(super) async fn add_parts(&self, mut parts: Parts) -> Result<Vec<Enqueued>> {
        let mut tx = self.begin(DOING).await?;
        let now = self.clock.now();
        let mut answers = Vec::new();
        loop {
            match parts.recv().await {
                Some(Part::Jobs(jobs)) => {
                    let added = add_all(&mut tx, &jobs, Repeat::No, now).await;
                    answers.extend(added.map_err(|error| moved(error, answers.len()))?);
                }
                Some(Part::End) => break,
                Some(Part::Abort(error)) => return Err(error),
                None => return Err(left(DOING)),
            }
        }
        tx.commit().await.map_err(failed(DOING))?;
        self.hub.wake(Wake::LookFromStart);
        Ok(answers)
    }
}

/// The same refusal with its place in the whole call.
fn moved(error: StoreError, by: usize) -> StoreError {
    let place = |index: Option<usize>| Some(index.unwrap_or(0) + by);
    match error {
        StoreError::KeyHeld { key, holder, index } => {
            StoreError::KeyHeld { key, holder, index: place(index) }
        }
        StoreError::KeyReused { key, holder, index } => {
            StoreError::KeyReused { key, holder, index: place(index) }
        }
        other => other,
    }
}
