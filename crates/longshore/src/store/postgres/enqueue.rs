//! Adds jobs.

use std::collections::HashSet;

use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use sqlx::{PgConnection, Postgres, Row};
use uuid::Uuid;

use crate::job::NewJob;
use crate::job::new::{Due, MAX_INLINE_BYTES};
use crate::store::{Conn, Enqueued, Repeat, Result, Wake};
use crate::time::Timestamp;

use super::PostgresStore;
use super::error::{Fault, Tries};
use super::session::{Session, within};
use crate::store::tx::Inner;

const ENQUEUE: &str = include_str!("enqueue.sql");
const FORGET: &str = include_str!("forget.sql");
const NOTIFY_IN: &str = include_str!("notify_in.sql");

/// The most jobs of one statement.
const MAX_ROWS: usize = 500;
/// The most bytes of one statement, unless a single job has more.
const MAX_BYTES: usize = 1 << 20;
const ASIDE: &str = include_str!("enqueue_aside.sql");
const DOING: &str = "enqueue";

/// What a call added.
#[derive(Default)]
struct Added {
    ids: HashSet<Uuid>,
    due: bool,
    early: bool,
}

impl Added {
    fn wake(&self) -> Option<Wake> {
        match self {
            Added { early: true, .. } => Some(Wake::LookFromStart),
            Added { due: true, .. } => Some(Wake::Look),
            _ => None,
        }
    }

    /// One answer for each job, in order; of an id given twice only the first was added.
    fn answers(mut self, jobs: &[NewJob]) -> Vec<Enqueued> {
        let answer =
            |job: &NewJob| Enqueued { id: job.id, duplicate: !self.ids.remove(&job.id.as_uuid()) };
        jobs.iter().map(answer).collect()
    }
}

/// How a connection takes our statements.
#[derive(Clone, Copy)]
struct How {
    named: bool,
    now: Option<Timestamp>,
    repeat: Repeat,
}

impl PostgresStore {
    pub(super) async fn add(&self, jobs: &[NewJob], repeat: Repeat) -> Result<Vec<Enqueued>> {
        if jobs.is_empty() {
            return Ok(Vec::new());
        }
        let batches = batches(jobs);
        let mut tries = Tries::repeatable(DOING);
        let added = loop {
            let repeat = if tries.lost_a_reply() { Repeat::Yes } else { repeat };
            match within(self.patience(), self.try_add(&batches, repeat)).await {
                Ok(added) => break added,
                Err(fault) => tries.after(self, fault).await?,
            }
        };
        if let Some(wake) = added.wake() {
            self.tell(wake);
        }
        Ok(added.answers(jobs))
    }

    async fn try_add(&self, batches: &[Vec<&NewJob>], repeat: Repeat) -> Result<Added, Fault> {
        let pool = &self.pools.general;
        let one = batches.len() == 1 && !may_have_ended(&batches[0], repeat);
        let mut session = match one {
            true => Session::single(pool, self.mode).await?,
            false => Session::transaction(pool, self.mode).await?,
        };
        let how = How { named: self.named(), now: self.clock.fixed(), repeat };
        let added = add_all(session.conn(), batches, how).await?;
        session.done().await?;
        Ok(added)
    }

    pub(super) async fn add_in(&self, conn: Conn<'_>, jobs: &[NewJob]) -> Result<Vec<Enqueued>> {
        let conn = match conn.0 {
            Inner::Postgres(conn) => conn.0,
            #[cfg(feature = "sqlite")]
            Inner::Sqlite(_) => {
                return Err(crate::store::StoreError::config(
                    "the transaction is on SQLite, but the jobs are on PostgreSQL",
                ));
            }
        };
        if jobs.is_empty() {
            return Ok(Vec::new());
        }
        // The caller's connection may go through a pooler, or be closed soon.
        let how = How { named: false, now: self.clock.fixed(), repeat: Repeat::No };
        let wanted = async {
            let added = add_all(conn, &batches(jobs), how).await?;
            if let Some(wake) = added.wake().filter(|_| self.options.notify) {
                let told = sqlx::query(NOTIFY_IN).persistent(false).bind(super::wake::word(wake));
                told.execute(conn).await?;
            }
            Ok::<_, sqlx::Error>(added)
        };
        match wanted.await {
            Ok(added) => Ok(added.answers(jobs)),
            Err(error) => Err(self.explain(DOING, error).await),
        }
    }
}

async fn add_all(
    conn: &mut PgConnection,
    batches: &[Vec<&NewJob>],
    how: How,
) -> Result<Added, sqlx::Error> {
    let mut added = Added::default();
    for batch in batches {
        let mut fresh: Vec<(Uuid, bool, bool)> = Vec::with_capacity(batch.len());
        for row in insert(batch, how).fetch_all(&mut *conn).await? {
            fresh.push((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?));
        }
        if may_have_ended(batch, how.repeat) && !fresh.is_empty() {
            let ids: Vec<Uuid> = fresh.iter().map(|(id, ..)| *id).collect();
            let forget = sqlx::query(FORGET).persistent(how.named).bind(ids);
            let mut gone = HashSet::new();
            for row in forget.fetch_all(&mut *conn).await? {
                gone.insert(row.try_get::<Uuid, _>(0)?);
            }
            fresh.retain(|(id, ..)| !gone.contains(id));
            let stays = |job: &&&NewJob| fresh.iter().any(|(id, ..)| *id == job.id.as_uuid());
            let aside =
                batch.iter().filter(|job| job.payload.len() > MAX_INLINE_BYTES).filter(stays);
            let (ids, payloads): (Vec<Uuid>, Vec<&str>) =
                aside.map(|job| (job.id.as_uuid(), &*job.payload)).unzip();
            if !ids.is_empty() {
                let aside = sqlx::query(ASIDE).persistent(how.named).bind(ids).bind(payloads);
                aside.execute(&mut *conn).await?;
            }
        }
        for (id, due, early) in fresh {
            added.ids.insert(id);
            added.due |= due;
            added.early |= early;
        }
    }
    Ok(added)
}

fn may_have_ended(batch: &[&NewJob], repeat: Repeat) -> bool {
    repeat == Repeat::Yes || batch.iter().any(|job| job.id_is_callers)
}

/// Cuts a call into statements; of jobs with one id only the first is sent.
fn batches(jobs: &[NewJob]) -> Vec<Vec<&NewJob>> {
    let mut seen = HashSet::with_capacity(jobs.len());
    let mut batches = vec![Vec::new()];
    let mut bytes = 0;
    for job in jobs.iter().filter(|job| seen.insert(job.id)) {
        let full = bytes + job.size_bytes() > MAX_BYTES;
        let last = batches.last_mut().expect("it starts with one");
        if !last.is_empty() && (full || last.len() == MAX_ROWS) {
            batches.push(vec![job]);
            bytes = 0;
        } else {
            last.push(job);
        }
        bytes += job.size_bytes();
    }
    batches
}

/// One array for each column, made from one walk so that they have one length.
#[derive(Default)]
struct Columns<'a> {
    ids: Vec<Uuid>,
    kinds: Vec<&'a str>,
    queues: Vec<&'a str>,
    priorities: Vec<i16>,
    run_ats: Vec<Option<Timestamp>>,
    delays: Vec<i64>,
    max_attempts: Vec<i32>,
    backoffs: Vec<Option<String>>,
    timeouts: Vec<Option<i64>>,
    retains: Vec<Option<i64>>,
    tags: Vec<Option<String>>,
    metas: Vec<Option<&'a str>>,
    payloads: Vec<&'a str>,
}

impl<'a> Columns<'a> {
    fn push(&mut self, job: &'a NewJob) {
        let (run_at, delay) = match job.due {
            Due::Now => (None, 0),
            Due::In(span) => (None, super::micros(span)),
            Due::At(at) => (Some(at), 0),
        };
        self.ids.push(job.id.as_uuid());
        self.kinds.push(&job.kind);
        self.queues.push(&job.queue);
        self.priorities.push(job.priority.into());
        self.run_ats.push(run_at);
        self.delays.push(delay);
        self.max_attempts.push(i32::try_from(job.max_attempts).unwrap_or(i32::MAX));
        self.backoffs.push(job.backoff_json());
        self.timeouts.push(job.timeout.map(super::millis));
        self.retains.push(job.retain.map(super::millis));
        self.tags.push((!job.tags.is_empty()).then(|| super::json(&job.tags)));
        self.metas.push(job.meta.as_deref());
        self.payloads.push(&job.payload);
    }
}

fn insert(batch: &[&NewJob], how: How) -> Query<'static, Postgres, PgArguments> {
    let mut columns = Columns::default();
    batch.iter().for_each(|job| columns.push(job));
    sqlx::query(ENQUEUE)
        .persistent(how.named)
        .bind(columns.ids)
        .bind(columns.kinds)
        .bind(columns.queues)
        .bind(columns.priorities)
        .bind(columns.run_ats)
        .bind(columns.delays)
        .bind(columns.max_attempts)
        .bind(columns.backoffs)
        .bind(columns.timeouts)
        .bind(columns.retains)
        .bind(columns.tags)
        .bind(columns.metas)
        .bind(columns.payloads)
        .bind(how.now)
}
