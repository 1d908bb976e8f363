//! How deep the queues are: the leader counts, everybody reads.

use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::store::{
    COUNTED_WITHIN, Counted, EMPTY_STEP, Emptied, Lead, MAX_DEPTH, MAX_QUEUES, QueueCount, Result,
    StoreError,
};
use crate::time::Timestamp;

use super::PostgresStore;
use super::error::Fault;
use super::session::Session;

const COUNT: &str = include_str!("queue_count.sql");
const EMPTY: &str = include_str!("empty.sql");
const RUNNING: &str = include_str!("running.sql");
const CHANGE_MARK: &str = include_str!("change_mark.sql");
const COUNTS: &str = include_str!("queue_counts.sql");

impl PostgresStore {
    pub(super) async fn count_all(&self, lead: Lead) -> Result<Counted> {
        self.repeated("count the queues", || self.try_count(lead)).await
    }

    async fn try_count(&self, lead: Lead) -> Result<Counted, Fault> {
        // Beside a long transaction it walks all the dead rows that it keeps, and the leader's other chores cannot wait.
        let mut session = Session::single(&self.pools.general, self.mode).await?;
        let row = session
            .query(COUNT)
            .bind(lead.node.0)
            .bind(lead.term)
            .bind(i64::from(MAX_DEPTH))
            .bind(i64::from(MAX_QUEUES))
            .bind(self.clock.fixed())
            .fetch_one(session.conn())
            .await?;
        session.done().await?;
        if !row.try_get::<bool, _>("leads")? {
            return Err(StoreError::NotLeader.into());
        }
        Ok(Counted { waiting: row.try_get("waiting")?, operates: row.try_get("operates")? })
    }

    pub(super) async fn empty_step(&self, queue: &str, came_by: Timestamp) -> Result<Emptied> {
        self.repeated("empty a queue", || self.try_empty(queue, came_by)).await
    }

    async fn try_empty(&self, queue: &str, came_by: Timestamp) -> Result<Emptied, Fault> {
        let mut session = Session::single(&self.pools.chores, self.mode).await?;
        let row = session
            .query(EMPTY)
            .bind(queue)
            .bind(came_by)
            .bind(EMPTY_STEP)
            .fetch_one(session.conn())
            .await?;
        session.done().await?;
        let found: i64 = row.try_get("found")?;
        let removed: i64 = row.try_get("removed")?;
        Ok(Emptied { removed: removed as u64, more: found >= EMPTY_STEP })
    }

    pub(super) async fn count_running(&self) -> Result<Vec<(String, u64)>> {
        self.repeated("count what runs", || self.try_running()).await
    }

    async fn try_running(&self) -> Result<Vec<(String, u64)>, Fault> {
        let mut session = Session::single(&self.pools.general, self.mode).await?;
        let query = session.query(RUNNING).bind(i64::from(MAX_QUEUES));
        let rows = query.fetch_all(session.conn()).await?;
        session.done().await?;
        let count = |row: &PgRow| Ok((row.try_get(0)?, row.try_get::<i64, _>(1)? as u64));
        rows.iter().map(count).collect()
    }

    pub(super) async fn mark_of_changes(&self) -> Result<u64> {
        let mark = self.repeated("look for changes", || self.try_change_mark()).await?;
        Ok(mark as u64)
    }

    async fn try_change_mark(&self) -> Result<i64, Fault> {
        let mut session = Session::single(&self.pools.general, self.mode).await?;
        let row = session.query(CHANGE_MARK).fetch_one(session.conn()).await?;
        session.done().await?;
        Ok(row.try_get(0)?)
    }

    pub(super) async fn all_counts(&self) -> Result<Vec<QueueCount>> {
        self.repeated("read how deep the queues are", || self.try_counts()).await
    }

    async fn try_counts(&self) -> Result<Vec<QueueCount>, Fault> {
        let mut session = Session::single(&self.pools.general, self.mode).await?;
        let rows = session
            .query(COUNTS)
            .bind(i64::from(MAX_QUEUES))
            .bind(COUNTED_WITHIN.as_secs_f64())
            .bind(self.clock.fixed())
            .fetch_all(session.conn())
            .await?;
        session.done().await?;
        let count = |row: &PgRow| {
            let now: Timestamp = row.try_get("now")?;
            let depth: i64 = row.try_get("depth")?;
            let oldest_at: Option<Timestamp> = row.try_get("oldest_at")?;
            Ok(QueueCount {
                queue: row.try_get("queue")?,
                depth: u32::try_from(depth).unwrap_or(MAX_DEPTH),
                capped: row.try_get("capped")?,
                oldest_for: oldest_at.map(|at| now.since(at)).unwrap_or_default(),
                counted_for: now.since(row.try_get("counted_at")?),
            })
        };
        rows.iter().map(count).collect()
    }
}
