//! Nodes that work over a server: how they joined, and what they hold.

use sqlx::Row;
use uuid::Uuid;

use super::SqliteStore;
use super::list::hex_array;
use super::rows;
use super::sql::NODE;
use crate::job::JobId;
use crate::store::{ClaimedJob, HeldRun, NodeId, Remote, Result, StoreError};

impl SqliteStore {
    pub(super) async fn remote_node(&self, node: NodeId) -> Result<Option<Remote>> {
        let doing = "look up a node";
        let query = sqlx::query(NODE.step("remote")).bind(node.0);
        let found = self.row(doing, query, |row| {
            let (queues, remote): (String, String) = (row.try_get(0)?, row.try_get(1)?);
            Ok(Remote::read(&queues, &remote, row.try_get(2)?))
        });
        let read = found.await?.transpose();
        read.map_err(|source| StoreError::Bug { doing, source: source.into() })
    }

    pub(super) async fn all_held(
        &self,
        node: NodeId,
        known: &[JobId],
        most: u32,
    ) -> Result<Vec<ClaimedJob>> {
        let query = sqlx::query(NODE.step("holds")).bind(node.0).bind(hex(known)).bind(most);
        self.rows("look what a node holds", query, rows::claimed_job).await
    }

    pub(super) async fn runs_held(&self, node: NodeId, ids: &[JobId]) -> Result<Vec<HeldRun>> {
        let now = self.clock.now().as_micros();
        let query = sqlx::query(NODE.step("runs")).bind(node.0).bind(hex(ids)).bind(now);
        self.rows("look up runs", query, rows::held_run).await
    }
}

fn hex(ids: &[JobId]) -> String {
    hex_array(&ids.iter().map(JobId::as_uuid).collect::<Vec<Uuid>>())
}
