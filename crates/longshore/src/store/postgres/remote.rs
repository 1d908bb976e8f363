//! Nodes that work over a server: how they joined, and what they hold.

use std::time::Duration;

use sqlx::Row;
use sqlx::postgres::PgRow;
use uuid::Uuid;

use crate::job::{Backoff, JobId};
use crate::store::{ClaimedJob, Held, HeldRun, NodeId, Remote, Result, StoreError};

use super::PostgresStore;
use super::claim::{JOB_COLUMNS, claimed_job};
use super::error::Fault;
use super::read::near;
use super::session::Session;

const REMOTE: &str = include_str!("remote.sql");
const HELD: &str = include_str!("held.sql");
const HELD_RUNS: &str = include_str!("held_runs.sql");

impl PostgresStore {
    pub(super) async fn remote_node(&self, node: NodeId) -> Result<Option<Remote>> {
        self.repeated("look up a node", || self.try_remote_node(node)).await
    }

    async fn try_remote_node(&self, node: NodeId) -> Result<Option<Remote>, Fault> {
        let mut session = Session::single(&self.pools.vital, self.mode).await?;
        let row = session.query(REMOTE).bind(node.0).fetch_optional(session.conn()).await?;
        session.done().await?;
        let Some(row) = row else { return Ok(None) };
        let read = Remote::read(row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        let unreadable = |source: serde_json::Error| {
            Fault::Known(StoreError::Bug { doing: "look up a node", source: source.into() })
        };
        read.map(Some).map_err(unreadable)
    }

    pub(super) async fn all_held(
        &self,
        node: NodeId,
        known: &[JobId],
        most: u32,
    ) -> Result<Vec<ClaimedJob>> {
        let known: Vec<Uuid> = known.iter().map(JobId::as_uuid).collect();
        self.repeated("look what a node holds", || self.try_held(node, &known, most)).await
    }

    async fn try_held(
        &self,
        node: NodeId,
        known: &[Uuid],
        most: u32,
    ) -> Result<Vec<ClaimedJob>, Fault> {
        let mut session = Session::single(&self.pools.vital, self.mode).await?;
        let query = session.query(HELD).bind(node.0).bind(known).bind(i64::from(most));
        let rows = query.fetch_all(session.conn()).await?;
        let mut jobs = Vec::with_capacity(rows.len());
        for row in &rows {
            jobs.push(claimed_job(row, 0, row.try_get(JOB_COLUMNS)?)?);
        }
        session.done().await?;
        Ok(jobs)
    }

    pub(super) async fn runs_held(&self, node: NodeId, ids: &[JobId]) -> Result<Vec<HeldRun>> {
        let ids: Vec<Uuid> = ids.iter().map(JobId::as_uuid).collect();
        self.repeated("look up runs", || self.try_runs_held(node, &ids)).await
    }

    async fn try_runs_held(&self, node: NodeId, ids: &[Uuid]) -> Result<Vec<HeldRun>, Fault> {
        let mut session = Session::single(&self.pools.vital, self.mode).await?;
        let query = session.query(HELD_RUNS).bind(node.0).bind(ids).bind(self.clock.fixed());
        let rows = query.fetch_all(session.conn()).await?;
        let runs: Result<Vec<_>, _> = rows.iter().map(held_run).collect();
        session.done().await?;
        Ok(runs?)
    }
}

fn held_run(row: &PgRow) -> Result<HeldRun, sqlx::Error> {
    Ok(HeldRun {
        held: Held { id: JobId::from_uuid(row.try_get(0)?), lease: row.try_get(1)? },
        kind: row.try_get(2)?,
        queue: row.try_get(3)?,
        attempt: near(row.try_get(4)?),
        max_attempts: near(row.try_get(5)?),
        backoff: row.try_get::<Option<&str>, _>(6)?.and_then(Backoff::from_json),
        ran: Duration::from_micros(row.try_get::<Option<i64>, _>(7)?.unwrap_or(0).max(0) as u64),
    })
}
