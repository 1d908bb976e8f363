//! Looking up one job.

use super::SqliteStore;
use super::edit::find;
use super::error::failed;
use crate::job::{JobId, JobRow};
use crate::store::Result;

impl SqliteStore {
    pub(super) async fn one(&self, id: JobId) -> Result<Option<JobRow>> {
        let doing = "look up a job";
        let mut conn = self.read(doing).await?;
        find(&mut conn, id, self.clock.now()).await.map_err(failed(doing))
    }
}
