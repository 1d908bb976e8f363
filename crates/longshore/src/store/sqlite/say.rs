//! What runs say while they run, and reading it.

use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection};

use super::SqliteStore;
use super::error::failed;
use super::rows;
use super::sql::{LOG, PROGRESS, SAY};
use crate::job::JobId;
use crate::store::said::{Chunk, MAX_CHUNKS};
use crate::store::{LogPage, LogPart, LogQuery, NodeId, ProgressRow, Result, Said, Saying};
use crate::time::Timestamp;

const DOING: &str = "keep what runs said";

impl SqliteStore {
    /// Does not wait for the disk: a power cut may take it.
    pub(super) async fn keep_said(&self, node: NodeId, said: &[Saying]) -> Result<Vec<Said>> {
        if said.is_empty() {
            return Ok(Vec::new());
        }
        let mut tx = self.begin_lightly(DOING).await?;
        let mut answers = Vec::with_capacity(said.len());
        for one in said {
            answers.push(self.keep_one(tx.conn(), node, one).await.map_err(failed(DOING))?);
        }
        tx.commit(DOING).await?;
        Ok(answers)
    }

    /// What one run said, in a transaction of the caller's.
    pub(super) async fn keep_one(
        &self,
        conn: &mut SqliteConnection,
        node: NodeId,
        one: &Saying,
    ) -> sqlx::Result<Said> {
        keep(conn, node, one, self.clock.now()).await
    }

    pub(super) async fn read_log(&self, id: JobId, query: &LogQuery) -> Result<LogPage> {
        let doing = "read a job's log";
        let mut conn = self.read(doing).await?;
        let rows = sqlx::query(LOG)
            .bind(id.as_uuid())
            .bind(query.attempt)
            .bind(query.after.attempt)
            .bind(i64::try_from(query.after.line).unwrap_or(i64::MAX - 1))
            .bind(MAX_CHUNKS as i64)
            .fetch_all(&mut *conn)
            .await
            .map_err(failed(doing))?;
        let chunks: sqlx::Result<Vec<Chunk>> = rows.iter().map(chunk).collect();
        Ok(LogPage::of(query, &chunks.map_err(failed(doing))?))
    }

    pub(super) async fn read_progress(&self, id: JobId) -> Result<Option<ProgressRow>> {
        let doing = "read a job's progress";
        let mut conn = self.read(doing).await?;
        let row = sqlx::query(PROGRESS).bind(id.as_uuid()).fetch_optional(&mut *conn).await;
        let row = row.map_err(failed(doing))?;
        row.as_ref().map(progress).transpose().map_err(failed(doing))
    }
}

async fn keep(
    conn: &mut SqliteConnection,
    node: NodeId,
    one: &Saying,
    now: Timestamp,
) -> sqlx::Result<Said> {
    let id = one.held.id.as_uuid();
    let attempt: Option<i64> = sqlx::query_scalar(SAY.step("holds"))
        .bind(id)
        .bind(node.0)
        .bind(one.held.lease)
        .fetch_optional(&mut *conn)
        .await?;
    let Some(attempt) = attempt else { return Ok(Said::LeaseLost) };
    if let Some(progress) = &one.progress {
        sqlx::query(SAY.step("progress"))
            .bind(id)
            .bind(attempt)
            .bind(progress.fraction())
            .bind(progress.text())
            .bind(now.as_micros())
            .execute(&mut *conn)
            .await?;
    }
    if let Some(part) = &one.log {
        add(conn, one.held.id, attempt, part).await?;
    }
    Ok(Said::Kept)
}

async fn add(
    conn: &mut SqliteConnection,
    id: JobId,
    attempt: i64,
    part: &LogPart,
) -> sqlx::Result<()> {
    let id = id.as_uuid();
    let last =
        sqlx::query(SAY.step("last")).bind(id).bind(attempt).fetch_optional(&mut *conn).await?;
    let (mut next, mut total) = (1, 0);
    if let Some(last) = last {
        let (run, nth): (i64, i64) = (last.try_get("run")?, last.try_get("nth")?);
        if run == part.run && nth >= part.nth {
            return Ok(());
        }
        next = last.try_get::<i64, _>("first")? + last.try_get::<i64, _>("count")?;
        total = last.try_get("total")?;
    }
    let (first, bytes) = (next + part.left_out, part.lines.len() as i64);
    total += bytes;
    sqlx::query(SAY.step("add"))
        .bind(id)
        .bind(attempt)
        .bind(first)
        .bind(part.count)
        .bind(bytes)
        .bind(total)
        .bind(part.run)
        .bind(part.nth)
        .bind(&part.lines)
        .execute(&mut *conn)
        .await?;
    sqlx::query(SAY.step("trim"))
        .bind(id)
        .bind(attempt)
        .bind(first + part.count - 1)
        .bind(total)
        .execute(conn)
        .await?;
    Ok(())
}

/// Forgets what a job said, with the job.
pub(super) async fn forget(conn: &mut SqliteConnection, id: JobId) -> sqlx::Result<()> {
    sqlx::query(SAY.step("drop_progress")).bind(id.as_uuid()).execute(&mut *conn).await?;
    sqlx::query(SAY.step("drop_log")).bind(id.as_uuid()).execute(conn).await?;
    Ok(())
}

fn chunk(row: &SqliteRow) -> sqlx::Result<Chunk> {
    Ok(Chunk {
        attempt: rows::near(row.try_get("attempt")?),
        first: row.try_get::<i64, _>("first")?.max(1) as u64,
        count: row.try_get::<i64, _>("count")?.max(0) as u64,
        lines: row.try_get("lines")?,
    })
}

fn progress(row: &SqliteRow) -> sqlx::Result<ProgressRow> {
    Ok(ProgressRow {
        attempt: rows::near(row.try_get("attempt")?),
        fraction: row.try_get("fraction")?,
        text: row.try_get("said")?,
        at: Timestamp::from_micros(row.try_get("at")?),
    })
}
