//! Claim, and asking again for a claim whose reply was lost.

use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection};
use uuid::Uuid;

use super::SqliteStore;
use super::error::failed;
use super::rows;
use super::sql::{CLAIM, NODE};
use crate::job::{Backoff, JobId};
use crate::store::{Claim, Claimed, ClaimedJob, NodeId, PauseScope, PausesSeen, Result};
use crate::time::Timestamp;

const DOING: &str = "claim jobs";

impl SqliteStore {
    pub(super) async fn take(&self, claim: &Claim<'_>) -> Result<Claimed> {
        let now = self.clock.now();
        if !self.may_relax() {
            let mut tx = self.begin(DOING).await?;
            let answered = ask(&mut tx, claim, now).await.map_err(failed(DOING))?;
            tx.commit().await.map_err(failed(DOING))?;
            return Ok(answered.read(claim, now));
        }
        let mut relaxed = self.begin_relaxed(DOING).await?;
        let answered = ask(&mut relaxed.conn, claim, now).await.map_err(failed(DOING))?;
        relaxed.commit().await.map_err(failed(DOING))?;
        Ok(answered.read(claim, now))
    }

    pub(super) async fn take_again(&self, node: NodeId, no: i64) -> Result<Vec<ClaimedJob>> {
        // Through the writer: it waits for a claim that is still under way. A reply here is lost only
        // with the process, so nothing can come true later.
        let mut tx = self.begin(DOING).await?;
        let held = sqlx::query(NODE.step("held")).bind(node.0).bind(no);
        let rows = held.fetch_all(&mut *tx).await.map_err(failed(DOING))?;
        tx.commit().await.map_err(failed(DOING))?;
        let mut jobs = readable(rows.iter().map(rows::claimed_job));
        ClaimedJob::sort(&mut jobs);
        Ok(jobs)
    }
}

/// What a claim's statements answered. Read when it is committed: others wait for the lock.
struct Answered<'a> {
    live: bool,
    paused: Paused,
    next_due: Option<i64>,
    /// Each with its queue.
    taken: Vec<(&'a str, SqliteRow)>,
}

async fn ask<'a>(
    conn: &mut SqliteConnection,
    claim: &Claim<'a>,
    now: Timestamp,
) -> sqlx::Result<Answered<'a>> {
    let queues: Vec<&str> = claim.queues.iter().map(|ask| ask.queue.as_str()).collect();
    let row = sqlx::query(CLAIM.step("live"))
        .bind(claim.node.0)
        .bind(now.as_micros())
        .bind(super::json_array(&queues))
        .fetch_one(&mut *conn)
        .await?;
    let (live, paused) = (row.try_get::<i64, _>("live")?, Paused::read(row.try_get("paused")?));
    let asked = if live == 1 { claim.queues } else { &[] };
    let kinds: Vec<(&str, u32)> = claim
        .kinds
        .iter()
        .filter(|ask| !paused.has(PauseScope::Kind, &ask.kind))
        .map(|ask| (ask.kind.as_str(), ask.version))
        .collect();
    let may_take = !kinds.is_empty();
    let kinds = super::json_array(&kinds);
    let mut taken = Vec::new();
    for ask in asked {
        let left = claim.most.map_or(ask.limit, |most| most.saturating_sub(taken.len() as u32));
        if left == 0 || !may_take || paused.has(PauseScope::Queue, &ask.queue) {
            continue;
        }
        let mut take = sqlx::query(CLAIM.step("take"))
            .bind(claim.node.0)
            .bind(claim.no)
            .bind(now.as_micros())
            .bind(&ask.queue)
            .bind(&kinds)
            .bind(ask.limit.min(left));
        for (run_at, id) in ask.marks {
            take = take.bind(run_at.as_micros()).bind(id);
        }
        let rows = take.fetch_all(&mut *conn).await?;
        taken.extend(rows.into_iter().map(|row| (ask.queue.as_str(), row)));
    }
    Ok(Answered { live: live == 1, paused, next_due: row.try_get("next_due")?, taken })
}

impl Answered<'_> {
    fn read(self, claim: &Claim<'_>, now: Timestamp) -> Claimed {
        let jobs = self.taken.iter().map(|(queue, row)| taken(row.try_get(0)?, queue, claim.no));
        let mut jobs = readable(jobs);
        ClaimedJob::sort(&mut jobs);
        let (picked, pauses) = (self.taken.len(), self.paused.seen());
        let next_due = self.next_due.filter(|_| picked < room(claim));
        let next_due = next_due.map(Timestamp::from_micros);
        Claimed { jobs, now, live: self.live, picked, pauses, next_due }
    }
}

/// All but those that somebody has written by hand so that they cannot be read. Those stay with the node, and end with
/// their attempts: no other job waits for them.
fn readable(jobs: impl Iterator<Item = sqlx::Result<ClaimedJob>>) -> Vec<ClaimedJob> {
    let told = jobs.inspect(|job| {
        if let Err(error) = job {
            tracing::error!("a claimed job cannot be read: {error}");
        }
    });
    told.flatten().collect()
}

/// How many jobs it asks for.
fn room(claim: &Claim<'_>) -> usize {
    let queues: usize = claim.queues.iter().map(|ask| ask.limit as usize).sum();
    claim.most.map_or(queues, |most| queues.min(most as usize))
}

/// One job of a claim, as its step `take` answers it.
type Taken<'a> = (
    &'a str,
    String,
    u8,
    i64,
    i64,
    i64,
    Option<String>,
    Option<i64>,
    Option<Box<str>>,
    Option<Box<str>>,
    i64,
    Option<String>,
);

fn taken(json: &str, queue: &str, lease: i64) -> sqlx::Result<ClaimedJob> {
    let (
        id,
        kind,
        priority,
        run_at,
        attempt,
        max_attempts,
        backoff,
        timeout_ms,
        meta,
        payload,
        payload_version,
        redacted,
    ): Taken = read(json)?;
    Ok(ClaimedJob {
        id: JobId::from_uuid(Uuid::try_parse(id).map_err(no_value)?),
        kind,
        queue: queue.to_owned(),
        priority,
        run_at: Timestamp::from_micros(run_at),
        attempt: rows::near(attempt),
        max_attempts: rows::near(max_attempts),
        backoff: backoff.as_deref().and_then(Backoff::from_json),
        timeout_ms,
        meta,
        // A payload row that somebody deleted leaves no JSON; the attempt then fails and says so.
        payload: payload.unwrap_or_default(),
        payload_version: rows::near(payload_version),
        redacted: redacted.as_deref().map(read).transpose()?.unwrap_or_default(),
        lease,
    })
}

fn read<'a, T: serde::Deserialize<'a>>(json: &'a str) -> sqlx::Result<T> {
    serde_json::from_str(json).map_err(no_value)
}

fn no_value(error: impl std::error::Error + Send + Sync + 'static) -> sqlx::Error {
    sqlx::Error::ColumnDecode { index: "job".to_owned(), source: error.into() }
}

/// What is paused, as a claim's first step answers it; nearly always nothing.
struct Paused(Vec<(String, String, i64, Option<i64>)>);

impl Paused {
    fn read(json: &str) -> Paused {
        Paused(
            serde_json::from_str(json).expect("the statement makes it of columns with these types"),
        )
    }

    fn has(&self, scope: PauseScope, name: &str) -> bool {
        self.0.iter().any(|(of, paused, ..)| of == scope.as_str() && paused == name)
    }

    fn seen(&self) -> PausesSeen {
        let ends = self.0.iter().filter_map(|(.., until)| *until);
        PausesSeen {
            mark: self.0.iter().fold(0, |all, (_, _, mark, _)| all ^ mark),
            next_end: ends.min().map(Timestamp::from_micros),
        }
    }
}
