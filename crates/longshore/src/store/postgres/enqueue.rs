//! Adds jobs.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use sqlx::{PgConnection, Postgres, Row};
use uuid::Uuid;

use crate::job::NewJob;
use crate::job::new::{Due, MAX_INLINE_BYTES};
use crate::store::tx::Inner;
use crate::store::{Conn, Enqueued, Repeat, Result, StoreError, Wake};
use crate::time::Timestamp;

use super::PostgresStore;
use super::error::{Fault, Tries, sqlstate};
use super::session::{Session, within};
use super::unique;

const ENQUEUE: &str = include_str!("enqueue.sql");
const FRESH: &str = include_str!("enqueue_fresh.sql");
const FORGET: &str = include_str!("forget.sql");
/// For a transaction of somebody else's driver; `client/sql_call.rs` makes its parameter.
pub(crate) const ENQUEUE_CALL: &str = include_str!("enqueue_call.sql");
const NOTIFY_IN: &str = include_str!("notify_in.sql");

/// The most jobs of one statement.
const MAX_ROWS: usize = 500;
/// The most bytes of one statement, unless a single job has more.
const MAX_BYTES: usize = 1 << 20;
const ASIDE: &str = include_str!("enqueue_aside.sql");
pub(super) const DOING: &str = "enqueue";

/// How long an enqueue that must not wait waits for a key.
const MOMENT: Duration = Duration::from_millis(50);

/// What a call added.
#[derive(Default)]
pub(super) struct Added {
    ids: HashSet<Uuid>,
    /// The answers of jobs that were not added because of their key.
    pub instead: HashMap<Uuid, Enqueued>,
    pub soon: bool,
    pub early: bool,
}

impl Added {
    pub(super) fn wake(&self) -> Option<Wake> {
        match self {
            Added { early: true, .. } => Some(Wake::LookFromStart),
            Added { soon: true, .. } => Some(Wake::Look),
            _ => None,
        }
    }

    /// One answer for each job, in order; of an id given twice only the first was added.
    pub(super) fn answers(mut self, jobs: &[NewJob]) -> Vec<Enqueued> {
        let answer = |job: &NewJob| {
            let id = job.id.as_uuid();
            match self.instead.get(&id) {
                Some(answer) => *answer,
                None if self.ids.remove(&id) => Enqueued::added(job.id),
                None => Enqueued::duplicate(job.id),
            }
        };
        jobs.iter().map(answer).collect()
    }
}

/// How a connection takes our statements.
#[derive(Clone, Copy)]
pub(super) struct How {
    pub named: bool,
    pub now: Option<Timestamp>,
    pub repeat: Repeat,
    /// Other nodes are told by the statement itself, from inside the transaction.
    pub tell: bool,
    /// An id that is there already may fail the transaction: whoever has it tries again, as a repeat.
    pub may_clash: bool,
}

impl How {
    /// Telling nobody: after a commit of ours others are told apart from it.
    pub(super) fn silent(named: bool, now: Option<Timestamp>, repeat: Repeat) -> How {
        How { named, now, repeat, tell: false, may_clash: false }
    }

    pub(super) fn query<'q>(&self, sql: &'static str) -> Query<'q, Postgres, PgArguments> {
        super::session::sent();
        sqlx::query(sql).persistent(self.named)
    }

    /// Whether the short statement does for them.
    fn are_fresh(&self, batch: &[&NewJob]) -> bool {
        let plain = |job: &&NewJob| {
            job.tags.is_empty() && job.redacted.is_empty() && job.payload.len() <= MAX_INLINE_BYTES
        };
        self.may_clash
            && !batch.iter().any(|job| self.may_have_ended(job))
            && batch.iter().all(plain)
    }

    pub(super) fn may_have_ended(&self, job: &NewJob) -> bool {
        self.repeat == Repeat::Yes || job.id_is_callers
    }
}

impl PostgresStore {
    pub(super) async fn add(&self, jobs: &[NewJob], repeat: Repeat) -> Result<Vec<Enqueued>> {
        self.add_waiting(jobs, repeat, self.options.busy_for).await
    }

    pub(super) async fn add_unless_busy(&self, jobs: &[NewJob]) -> Result<Vec<Enqueued>> {
        self.add_waiting(jobs, Repeat::No, MOMENT).await
    }

    async fn add_waiting(
        &self,
        jobs: &[NewJob],
        mut repeat: Repeat,
        key_wait: Duration,
    ) -> Result<Vec<Enqueued>> {
        if jobs.is_empty() {
            return Ok(Vec::new());
        }
        let call = Call::of(jobs);
        let mut tries = Tries::repeatable(DOING);
        let added = loop {
            if tries.lost_a_reply() {
                repeat = Repeat::Yes;
            }
            match within(self.patience(), self.try_add(&call, repeat, key_wait)).await {
                Ok(added) => break added,
                Err(Fault::Db(error)) if sqlstate(&error).as_deref() == Some("55P03") => {
                    return Err(StoreError::KeyBusy);
                }
                Err(Fault::Db(error)) if repeat == Repeat::No && is_clash(&error) => {
                    repeat = Repeat::Yes;
                }
                Err(fault) => tries.after(self, fault).await?,
            }
        };
        if let Some(wake) = added.wake() {
            self.tell(wake);
        }
        Ok(added.answers(jobs))
    }

    async fn try_add(
        &self,
        call: &Call<'_>,
        repeat: Repeat,
        key_wait: Duration,
    ) -> Result<Added, Fault> {
        let how = How::silent(self.named(), self.clock.fixed(), repeat);
        let how = How { may_clash: true, ..how };
        let mut session = match call.is_one_statement(how) {
            true => Session::often(&self.pools.adds, self.mode).await?,
            false => Session::transaction(&self.pools.general, self.mode).await?,
        };
        if call.unique.is_some() {
            session.wait_for_rows(key_wait).await?;
        }
        let added = add_all(session.conn(), call, how).await;
        session.end(added).await
    }

    pub(super) async fn add_in(&self, conn: Conn<'_>, jobs: &[NewJob]) -> Result<Vec<Enqueued>> {
        let conn = match conn.0 {
            Inner::Postgres(conn) => conn.0,
            #[cfg(feature = "sqlite")]
            Inner::Sqlite(_) => {
                return Err(StoreError::config(
                    "the transaction is on SQLite, but the jobs are on PostgreSQL",
                ));
            }
        };
        if jobs.is_empty() {
            return Ok(Vec::new());
        }
        // The caller's connection may go through a pooler, or be closed soon.
        let how = How::silent(false, self.clock.fixed(), Repeat::No);
        let call = Call::of(jobs);
        // Nearly always one statement does it all; otherwise what to say is known after the last.
        let at_once = call.is_one_statement(how);
        let how = How { tell: at_once && self.options.notify, ..how };
        let wanted = async {
            let added = unique::all_or_none(conn, &call, how).await?;
            if let Some(wake) = added.wake().filter(|_| !at_once && self.options.notify) {
                let told = how.query(NOTIFY_IN).bind(super::wake::word(wake));
                told.execute(conn).await?;
            }
            Ok(added)
        };
        match wanted.await {
            Ok(added) => Ok(added.answers(jobs)),
            Err(Fault::Known(error)) => Err(error),
            Err(Fault::Db(error)) => Err(self.explain(DOING, error).await),
        }
    }
}

/// One call, cut into statements.
pub(super) struct Call<'a> {
    plain: Vec<Vec<&'a NewJob>>,
    pub unique: Option<unique::Keyed<'a>>,
}

impl<'a> Call<'a> {
    pub(super) fn of(jobs: &'a [NewJob]) -> Call<'a> {
        Call {
            plain: batches(jobs.iter().filter(|job| job.unique.is_none())),
            unique: unique::Keyed::of(jobs),
        }
    }

    fn is_one_statement(&self, how: How) -> bool {
        let may_have_ended = |batch: &Vec<&NewJob>| batch.iter().any(|job| how.may_have_ended(job));
        self.unique.is_none() && self.plain.len() == 1 && !may_have_ended(&self.plain[0])
    }
}

pub(super) async fn add_all(
    conn: &mut PgConnection,
    call: &Call<'_>,
    how: How,
) -> Result<Added, Fault> {
    let mut added = Added::default();
    for batch in &call.plain {
        add_batch(conn, batch, None, how, &mut added).await?;
    }
    if let Some(keyed) = &call.unique {
        keyed.add(conn, how, &mut added).await?;
    }
    Ok(added)
}

/// Adds jobs whose keys, if they have any, are theirs already.
pub(super) async fn add_batch(
    conn: &mut PgConnection,
    batch: &[&NewJob],
    keys: Option<Vec<&str>>,
    how: How,
    added: &mut Added,
) -> Result<(), sqlx::Error> {
    let mut fresh: Vec<(Uuid, bool, bool)> = Vec::with_capacity(batch.len());
    for row in insert(batch, keys, how).fetch_all(&mut *conn).await? {
        fresh.push((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?));
    }
    if batch.iter().any(|job| how.may_have_ended(job)) && !fresh.is_empty() {
        let ids: Vec<Uuid> = fresh.iter().map(|(id, ..)| *id).collect();
        let forget = how.query(FORGET).bind(ids);
        let mut gone = HashSet::new();
        for row in forget.fetch_all(&mut *conn).await? {
            gone.insert(row.try_get::<Uuid, _>(0)?);
        }
        fresh.retain(|(id, ..)| !gone.contains(id));
        lay_aside(conn, batch, &fresh, how).await?;
    }
    for (id, soon, early) in fresh {
        added.ids.insert(id);
        added.soon |= soon;
        added.early |= early;
    }
    Ok(())
}

/// An id that is there already.
pub(super) fn is_clash(error: &sqlx::Error) -> bool {
    sqlstate(error).as_deref() == Some("23505")
}

/// The payloads of a repeat once more: what kept them may have been pruned between our statements.
async fn lay_aside(
    conn: &mut PgConnection,
    batch: &[&NewJob],
    added: &[(Uuid, bool, bool)],
    how: How,
) -> Result<(), sqlx::Error> {
    let aside = batch.iter().filter(|job| {
        job.payload.len() > MAX_INLINE_BYTES && added.iter().any(|(id, ..)| *id == job.id.as_uuid())
    });
    let (ids, payloads): (Vec<Uuid>, Vec<&str>) =
        aside.map(|job| (job.id.as_uuid(), &*job.payload)).unzip();
    if ids.is_empty() {
        return Ok(());
    }
    how.query(ASIDE).bind(ids).bind(payloads).execute(conn).await.map(|_| ())
}

/// Cuts a call into statements; of jobs with one id only the first is sent.
pub(super) fn batches<'a>(jobs: impl Iterator<Item = &'a NewJob>) -> Vec<Vec<&'a NewJob>> {
    let mut seen = HashSet::new();
    let mut batches: Vec<Vec<&NewJob>> = Vec::new();
    let mut bytes = 0;
    for job in jobs.filter(|job| seen.insert(job.id)) {
        let full = bytes + job.size_bytes() > MAX_BYTES;
        match batches.last_mut() {
            Some(last) if !full && last.len() < MAX_ROWS => last.push(job),
            _ => {
                batches.push(vec![job]);
                bytes = 0;
            }
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
    versions: Vec<i32>,
    redacted: Vec<Option<String>>,
}

/// When a job is due, as the statements take it: a time, or so many microseconds from now.
pub(super) fn due_of(due: Due) -> (Option<Timestamp>, i64) {
    match due {
        Due::Now => (None, 0),
        Due::In(span) => (None, super::micros(span)),
        Due::At(at) => (Some(at), 0),
    }
}

impl<'a> Columns<'a> {
    fn push(&mut self, job: &'a NewJob) {
        let (run_at, delay) = due_of(job.due);
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
        self.versions.push(i32::try_from(job.payload_version).unwrap_or(i32::MAX));
        self.redacted.push(job.redacted_json());
    }
}

/// The statement for a batch, the short one where it does.
fn insert(
    batch: &[&NewJob],
    keys: Option<Vec<&str>>,
    how: How,
) -> Query<'static, Postgres, PgArguments> {
    let fresh = keys.is_none() && how.are_fresh(batch);
    let mut columns = Columns::default();
    batch.iter().for_each(|job| columns.push(job));
    let query = how
        .query(if fresh { FRESH } else { ENQUEUE })
        .bind(columns.ids)
        .bind(columns.kinds)
        .bind(columns.queues)
        .bind(columns.priorities)
        .bind(columns.run_ats)
        .bind(columns.delays)
        .bind(columns.max_attempts)
        .bind(columns.backoffs)
        .bind(columns.timeouts)
        .bind(columns.retains);
    if fresh {
        return query
            .bind(columns.metas)
            .bind(columns.payloads)
            .bind(columns.versions)
            .bind(how.now);
    }
    query
        .bind(columns.tags)
        .bind(columns.metas)
        .bind(columns.payloads)
        .bind(how.now)
        .bind(keys)
        .bind(how.tell)
        .bind(columns.versions)
        .bind(columns.redacted)
}
