//! Nodes that work over a server: how they joined, and what they hold.

use super::SqliteStore;
use super::error::failed;
use super::rows;
use super::sql::NODE;
use crate::job::JobId;
use crate::store::{ClaimedJob, HeldRun, NodeId, Remote, Result, StoreError};

impl SqliteStore {
    pub(super) async fn remote_node(&self, node: NodeId) -> Result<Option<Remote>> {
        let doing = "look up a node";
        let mut conn = self.read(doing).await?;
        let row: Option<(String, String, Option<String>)> = sqlx::query_as(NODE.step("remote"))
            .bind(node.0)
            .fetch_optional(&mut *conn)
            .await
            .map_err(failed(doing))?;
        let Some((queues, remote, wish)) = row else { return Ok(None) };
        let read = Remote::read(&queues, &remote, wish.as_deref());
        read.map(Some).map_err(|source| StoreError::Bug { doing, source: source.into() })
    }

    pub(super) async fn all_held(
        &self,
        node: NodeId,
        known: &[JobId],
        most: u32,
    ) -> Result<Vec<ClaimedJob>> {
        let doing = "look what a node holds";
        let mut conn = self.read(doing).await?;
        let rows = sqlx::query(NODE.step("holds"))
            .bind(node.0)
            .bind(hex(known))
            .bind(most)
            .fetch_all(&mut *conn)
            .await
            .map_err(failed(doing))?;
        rows.iter().map(rows::claimed_job).collect::<sqlx::Result<_>>().map_err(failed(doing))
    }

    pub(super) async fn runs_held(&self, node: NodeId, ids: &[JobId]) -> Result<Vec<HeldRun>> {
        let doing = "look up runs";
        let mut conn = self.read(doing).await?;
        let rows = sqlx::query(NODE.step("runs"))
            .bind(node.0)
            .bind(hex(ids))
            .bind(self.clock.now().as_micros())
            .fetch_all(&mut *conn)
            .await
            .map_err(failed(doing))?;
        rows.iter().map(rows::held_run).collect::<sqlx::Result<_>>().map_err(failed(doing))
    }
}

fn hex(ids: &[JobId]) -> String {
    let ids: Vec<String> = ids.iter().map(|id| id.as_uuid().simple().to_string()).collect();
    super::json_array(&ids)
}
