//! What runs say while they run, and reading it.

use std::collections::HashSet;

use sqlx::Row;
use sqlx::postgres::PgRow;
use uuid::Uuid;

use crate::job::JobId;
use crate::store::said::{Chunk, MAX_CHUNKS};
use crate::store::{LogPage, LogQuery, NodeId, ProgressRow, Result, Said, Saying};

use super::PostgresStore;
use super::error::Fault;
use super::read::near;
use super::session::Session;

const SAY: &str = include_str!("say.sql");
const LOG: &str = include_str!("log.sql");
const PROGRESS: &str = include_str!("progress.sql");

impl PostgresStore {
    pub(super) async fn keep_said(&self, node: NodeId, said: &[Saying]) -> Result<Vec<Said>> {
        if said.is_empty() {
            return Ok(Vec::new());
        }
        let batch = Batch::of(said);
        let kept = self.repeated("keep what runs said", || self.try_keep(node, &batch)).await?;
        let answer = |one: &Saying| {
            // Of a job that comes twice only one was written.
            let ours = kept.contains(&one.held.id.as_uuid())
                && batch.leases[batch.at(one.held.id)] == one.held.lease;
            if ours { Said::Kept } else { Said::LeaseLost }
        };
        Ok(said.iter().map(answer).collect())
    }

    async fn try_keep(&self, node: NodeId, batch: &Batch<'_>) -> Result<HashSet<Uuid>, Fault> {
        // Never on the connections that claims, ends and heartbeats have for themselves.
        let mut session = Session::single(&self.pools.general, self.mode).await?;
        let query = session
            .query(SAY)
            .bind(node.0)
            .bind(&batch.ids)
            .bind(&batch.leases)
            .bind(&batch.fractions)
            .bind(&batch.texts)
            .bind(&batch.lines)
            .bind(&batch.counts)
            .bind(&batch.left_out)
            .bind(&batch.runs)
            .bind(&batch.nths)
            .bind(self.clock.fixed());
        let rows = query.fetch_all(session.conn()).await?;
        let kept = rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
        session.done().await?;
        Ok(kept)
    }

    pub(super) async fn read_log(&self, id: JobId, query: &LogQuery) -> Result<LogPage> {
        let chunks = self.repeated("read a job's log", || self.try_read_log(id, query)).await?;
        Ok(LogPage::of(query, &chunks))
    }

    async fn try_read_log(&self, id: JobId, query: &LogQuery) -> Result<Vec<Chunk>, Fault> {
        let mut session = Session::single(&self.pools.general, self.mode).await?;
        let rows = session
            .query(LOG)
            .bind(id.as_uuid())
            .bind(query.attempt.map(int))
            .bind(int(query.after.attempt))
            .bind(i64::try_from(query.after.line).unwrap_or(i64::MAX - 1))
            .bind(MAX_CHUNKS as i64)
            .fetch_all(session.conn())
            .await?;
        session.done().await?;
        let chunk = |row: &PgRow| {
            Ok(Chunk {
                attempt: near(row.try_get("attempt")?),
                first: row.try_get::<i64, _>("first")?.max(1) as u64,
                count: row.try_get::<i64, _>("count")?.max(0) as u64,
                lines: row.try_get("lines")?,
            })
        };
        rows.iter().map(chunk).collect()
    }

    pub(super) async fn read_progress(&self, id: JobId) -> Result<Option<ProgressRow>> {
        self.repeated("read a job's progress", || self.try_read_progress(id)).await
    }

    async fn try_read_progress(&self, id: JobId) -> Result<Option<ProgressRow>, Fault> {
        let mut session = Session::single(&self.pools.general, self.mode).await?;
        let query = session.query(PROGRESS).bind(id.as_uuid());
        let row = query.fetch_optional(session.conn()).await?;
        session.done().await?;
        let Some(row) = row else { return Ok(None) };
        Ok(Some(ProgressRow {
            attempt: near(row.try_get("attempt")?),
            fraction: row.try_get("fraction")?,
            text: row.try_get("said")?,
            at: row.try_get("at")?,
        }))
    }
}

fn int(attempt: u32) -> i32 {
    i32::try_from(attempt).unwrap_or(i32::MAX)
}

/// One call's sayings, by id: rows are locked in that order everywhere.
#[derive(Default)]
struct Batch<'a> {
    ids: Vec<Uuid>,
    leases: Vec<i64>,
    fractions: Vec<Option<f64>>,
    texts: Vec<Option<&'a str>>,
    lines: Vec<Option<&'a str>>,
    counts: Vec<i64>,
    left_out: Vec<i64>,
    runs: Vec<i64>,
    nths: Vec<i64>,
}

impl<'a> Batch<'a> {
    fn of(said: &'a [Saying]) -> Batch<'a> {
        let mut sorted: Vec<&Saying> = said.iter().collect();
        sorted.sort_by_key(|one| one.held.id);
        sorted.dedup_by_key(|one| one.held.id);
        let mut batch = Batch::default();
        for one in sorted {
            let (progress, log) = (one.progress.as_ref(), one.log.as_ref());
            batch.ids.push(one.held.id.as_uuid());
            batch.leases.push(one.held.lease);
            batch.fractions.push(progress.map(|progress| progress.fraction()));
            batch.texts.push(progress.map(|progress| progress.text()));
            batch.lines.push(log.map(|part| &*part.lines));
            batch.counts.push(log.map_or(0, |part| part.count));
            batch.left_out.push(log.map_or(0, |part| part.left_out));
            batch.runs.push(log.map_or(0, |part| part.run));
            batch.nths.push(log.map_or(0, |part| part.nth));
        }
        batch
    }

    fn at(&self, id: JobId) -> usize {
        self.ids.binary_search(&id.as_uuid()).expect("every one of the call is in it")
    }
}
