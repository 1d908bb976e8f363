//! An enqueue in parts: one long transaction. Keys are taken as they come, since nobody else writes.

use super::SqliteStore;
use super::enqueue::{DOING, add_all};
use super::error::failed;
use crate::store::bulk::left;
use crate::store::{Enqueued, Part, Parts, Repeat, Result, Wake};

impl SqliteStore {
    pub(super) async fn add_parts(&self, mut parts: Parts) -> Result<Vec<Enqueued>> {
        let mut tx = self.begin(DOING).await?;
        let now = self.clock.now();
        let mut answers = Vec::new();
        loop {
            match parts.recv().await {
                Some(Part::Jobs(jobs)) => {
                    let added = add_all(&mut tx, &jobs, Repeat::No, now).await;
                    answers.extend(added.map_err(|error| error.placed(|at| at + answers.len()))?);
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
