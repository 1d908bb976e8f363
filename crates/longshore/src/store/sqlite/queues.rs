//! How deep the queues are: the leader counts, everybody reads.

use std::collections::BTreeMap;

use sqlx::{Row, SqliteConnection};

use super::SqliteStore;
use super::error::failed;
use super::sql::{EMPTY, QUEUE_COUNTS};
use crate::store::{
    COUNTED_WITHIN, Counted, EMPTY_STEP, Emptied, Lead, MAX_DEPTH, MAX_QUEUES, QueueCount, Result,
};
use crate::time::Timestamp;

/// What was found of one queue.
struct Found {
    depth: i64,
    oldest_at: Option<i64>,
}

impl SqliteStore {
    pub(super) async fn count_all(&self, lead: Lead) -> Result<Counted> {
        let doing = "count the queues";
        let now = self.clock.now();
        // Counted beside the writer, who then only waits for the rows to be written.
        let mut conn = self.read(doing).await?;
        let counted = counted(&mut conn, now).await.map_err(failed(doing))?;
        drop(conn);
        let mut tx = self.begin(doing).await?;
        self.must_lead(&mut tx, lead, now).await?;
        let forget = sqlx::query(QUEUE_COUNTS.step("forget"));
        forget.execute(&mut *tx).await.map_err(failed(doing))?;
        for (queue, found) in &counted {
            sqlx::query(QUEUE_COUNTS.step("keep"))
                .bind(queue)
                .bind(found.depth.min(MAX_DEPTH.into()))
                .bind(found.depth > MAX_DEPTH.into())
                .bind(found.oldest_at)
                .bind(now.as_micros())
                .execute(&mut *tx)
                .await
                .map_err(failed(doing))?;
        }
        tx.commit().await.map_err(failed(doing))?;
        let waiting = counted.values().any(|found| found.depth > 0);
        Ok(Counted { waiting, operates: self.first_operation().await?.is_some() })
    }

    pub(super) async fn empty_step(&self, queue: &str, came_by: Timestamp) -> Result<Emptied> {
        let doing = "empty a queue";
        let mut tx = self.begin(doing).await?;
        let found: String = sqlx::query_scalar(EMPTY.step("found"))
            .bind(queue)
            .bind(came_by.as_micros())
            .bind(EMPTY_STEP)
            .fetch_one(&mut *tx)
            .await
            .map_err(failed(doing))?;
        let mut removed = 0;
        // The jobs last: the steps before find by them what belongs to them.
        for step in ["free", "drop_payloads", "drop_progress", "drop_log", "drop"] {
            let gone = sqlx::query(EMPTY.step(step)).bind(&found).execute(&mut *tx).await;
            removed = gone.map_err(failed(doing))?.rows_affected();
        }
        tx.commit().await.map_err(failed(doing))?;
        Ok(Emptied { removed, more: removed as i64 >= EMPTY_STEP })
    }

    pub(super) async fn count_running(&self) -> Result<Vec<(String, u64)>> {
        let doing = "count what runs";
        let mut conn = self.read(doing).await?;
        let rows = sqlx::query(QUEUE_COUNTS.step("running"))
            .bind(MAX_QUEUES)
            .fetch_all(&mut *conn)
            .await
            .map_err(failed(doing))?;
        let count = |row: &sqlx::sqlite::SqliteRow| {
            Ok((row.try_get("queue")?, row.try_get::<i64, _>("running")? as u64))
        };
        rows.iter().map(count).collect::<sqlx::Result<_>>().map_err(failed(doing))
    }

    pub(super) async fn all_counts(&self) -> Result<Vec<QueueCount>> {
        let doing = "read how deep the queues are";
        let now = self.clock.now();
        let mut conn = self.read(doing).await?;
        let rows = sqlx::query(QUEUE_COUNTS.step("list"))
            .bind(MAX_QUEUES)
            .bind(now.minus(COUNTED_WITHIN).as_micros())
            .fetch_all(&mut *conn)
            .await
            .map_err(failed(doing))?;
        let count = |row: &sqlx::sqlite::SqliteRow| {
            let since = |micros: i64| now.since(Timestamp::from_micros(micros));
            Ok(QueueCount {
                queue: row.try_get("queue")?,
                depth: row.try_get("depth")?,
                capped: row.try_get("capped")?,
                oldest_for: row
                    .try_get::<Option<i64>, _>("oldest_at")?
                    .map(since)
                    .unwrap_or_default(),
                counted_for: since(row.try_get("counted_at")?),
            })
        };
        rows.iter().map(count).collect::<sqlx::Result<_>>().map_err(failed(doing))
    }
}

/// Queues that have due jobs or a live node.
async fn counted(
    conn: &mut SqliteConnection,
    now: Timestamp,
) -> sqlx::Result<BTreeMap<String, Found>> {
    let filled: Vec<String> = sqlx::query_scalar(QUEUE_COUNTS.step("filled"))
        .bind(MAX_QUEUES)
        .fetch_all(&mut *conn)
        .await?;
    let served: Vec<String> = sqlx::query_scalar(QUEUE_COUNTS.step("served"))
        .bind(now.as_micros())
        .fetch_all(&mut *conn)
        .await?;
    let mut names: BTreeMap<String, bool> =
        filled.into_iter().map(|queue| (queue, false)).collect();
    names.extend(served.into_iter().map(|queue| (queue, true)));
    let mut counted = BTreeMap::new();
    for (queue, served) in names.into_iter().take(MAX_QUEUES as usize) {
        let row = sqlx::query(QUEUE_COUNTS.step("depth"))
            .bind(&queue)
            .bind(now.as_micros())
            .bind(MAX_DEPTH + 1)
            .fetch_one(&mut *conn)
            .await?;
        let found = Found { depth: row.try_get("depth")?, oldest_at: row.try_get("oldest_at")? };
        if served || found.depth > 0 {
            counted.insert(queue, found);
        }
    }
    Ok(counted)
}
