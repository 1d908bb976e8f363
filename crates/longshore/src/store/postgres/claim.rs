//! Takes jobs for a node.

use sqlx::Row;
use sqlx::postgres::PgRow;
use uuid::Uuid;

use crate::job::{Backoff, JobId};
use crate::store::{
    Claim, Claimed, ClaimedJob, LANES, LaneMark, NodeId, PausesSeen, Result, START,
};
use crate::time::Timestamp;

use super::PostgresStore;
use super::error::Fault;
use super::read::near;
use super::session::{Session, within};

const CLAIM: &str = include_str!("claim.sql");
const RECALL_LOCK: &str = include_str!("recall_lock.sql");
const RECALL: &str = include_str!("recall.sql");
const LOCK_TIMEOUT: &str = include_str!("lock_timeout.sql");

impl PostgresStore {
    pub(super) async fn take(&self, claim: &Claim<'_>) -> Result<Claimed> {
        match within(self.patience(), self.try_take(claim)).await {
            Ok(claimed) => Ok(claimed),
            // Never repeated here, not even after a clash: another try needs another number.
            Err(Fault::Db(error)) => {
                if super::error::is_lost(&error) {
                    self.forget_idle();
                }
                Err(self.explain("claim", error).await)
            }
            Err(Fault::Known(error)) => Err(error),
        }
    }

    async fn try_take(&self, claim: &Claim<'_>) -> Result<Claimed, Fault> {
        let mut queues = Vec::with_capacity(claim.queues.len());
        let mut limits = Vec::with_capacity(claim.queues.len());
        let mut mark_times = Vec::with_capacity(claim.queues.len() * LANES);
        let mut mark_ids = Vec::with_capacity(claim.queues.len() * LANES);
        for ask in claim.queues {
            queues.push(ask.queue.as_str());
            limits.push(i32::try_from(ask.limit).unwrap_or(i32::MAX));
            for mark in &ask.marks {
                let (at, id) = lowest(*mark);
                mark_times.push(at);
                mark_ids.push(id);
            }
        }
        let kinds: Vec<&str> = claim.kinds.iter().map(|ask| ask.kind.as_str()).collect();
        let versions: Vec<i32> = claim.kinds.iter().map(|ask| version(ask.version)).collect();
        let mut session = Session::often(&self.pools.hot, self.mode).await?;
        let query = session
            .query(CLAIM)
            .bind(claim.node.0)
            .bind(claim.no)
            .bind(queues)
            .bind(limits)
            .bind(kinds)
            .bind(mark_times)
            .bind(mark_ids)
            .bind(self.clock.fixed())
            .bind(versions)
            .bind(claim.most.map(i64::from));
        let rows = query.fetch_all(session.conn()).await?;
        let claimed = read(&rows, claim.no)?;
        session.done().await?;
        Ok(claimed)
    }

    pub(super) async fn take_again(&self, node: NodeId, no: i64) -> Result<Vec<ClaimedJob>> {
        self.repeated("ask for a claim's jobs", || self.try_take_again(node, no)).await
    }

    async fn try_take_again(&self, node: NodeId, no: i64) -> Result<Vec<ClaimedJob>, Fault> {
        let mut session = Session::transaction(&self.pools.vital, self.mode).await?;
        // A claim whose client is gone may keep its lock until the server sees that.
        session.query(LOCK_TIMEOUT).execute(session.conn()).await?;
        session.query(RECALL_LOCK).bind(node.0).bind(no).execute(session.conn()).await?;
        let rows = session.query(RECALL).bind(node.0).bind(no).fetch_all(session.conn()).await?;
        let mut jobs = Vec::with_capacity(rows.len());
        for row in &rows {
            jobs.push(claimed_job(row, 0, no)?);
        }
        session.done().await?;
        ClaimedJob::sort(&mut jobs);
        Ok(jobs)
    }
}

/// The mark that hides nothing, not even the year 0000 or a `run_at` that somebody set to -infinity.
fn lowest(mark: LaneMark) -> LaneMark {
    if mark == START { (Timestamp::from_micros(i64::MIN), Uuid::nil()) } else { mark }
}

/// A version of payloads as the column has it.
fn version(version: u32) -> i32 {
    i32::try_from(version).unwrap_or(i32::MAX)
}

/// Columns before the job's own.
const HEADER: usize = 6;

fn read(rows: &[PgRow], no: i64) -> Result<Claimed, sqlx::Error> {
    let first = rows.first().ok_or(sqlx::Error::RowNotFound)?;
    let mut claimed = Claimed {
        jobs: Vec::with_capacity(rows.len()),
        now: first.try_get(0)?,
        live: first.try_get(1)?,
        picked: first.try_get::<i64, _>(2)? as usize,
        pauses: PausesSeen {
            mark: first.try_get::<Option<i64>, _>(3)?.unwrap_or(0),
            next_end: first.try_get(4)?,
        },
        next_due: first.try_get(5)?,
    };
    for row in rows {
        if row.try_get::<Option<Uuid>, _>(HEADER)?.is_some() {
            claimed.jobs.push(claimed_job(row, HEADER, no)?);
        }
    }
    ClaimedJob::sort(&mut claimed.jobs);
    Ok(claimed)
}

/// The job's own columns.
pub(super) const JOB_COLUMNS: usize = 13;

pub(super) fn claimed_job(row: &PgRow, from: usize, no: i64) -> Result<ClaimedJob, sqlx::Error> {
    let text = |at: usize| row.try_get::<Option<&str>, _>(from + at);
    Ok(ClaimedJob {
        id: JobId::from_uuid(row.try_get(from)?),
        kind: row.try_get(from + 1)?,
        queue: row.try_get(from + 2)?,
        priority: row.try_get::<i16, _>(from + 3)? as u8,
        run_at: row.try_get(from + 4)?,
        attempt: near(row.try_get(from + 5)?),
        max_attempts: near(row.try_get(from + 6)?),
        backoff: text(7)?.and_then(Backoff::from_json),
        timeout_ms: row.try_get(from + 8)?,
        meta: text(9)?.map(Into::into),
        // A payload row that somebody deleted leaves no JSON; the attempt then fails and says so.
        payload: text(10)?.unwrap_or_default().into(),
        payload_version: near(row.try_get(from + 11)?),
        redacted: row.try_get::<Option<_>, _>(from + 12)?.unwrap_or_default(),
        lease: no,
    })
}
