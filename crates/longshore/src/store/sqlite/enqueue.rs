//! Enqueue: one transaction for a call, of ours or of the caller's.

use sqlx::{Executor, SqliteConnection};

use super::SqliteStore;
use super::error::{failed, is_there};
use super::sql::ENQUEUE;
use super::unique::{self, Settled};
use crate::job::NewJob;
use crate::job::new::MAX_INLINE_BYTES;
use crate::store::{Enqueued, Repeat, Result, Wake};
use crate::time::Timestamp;

pub(super) const DOING: &str = "enqueue";

/// The most jobs of one statement.
const MAX_ROWS: usize = 500;

impl SqliteStore {
    pub(super) async fn add(&self, jobs: &[NewJob], repeat: Repeat) -> Result<Vec<Enqueued>> {
        let now = self.clock.now();
        if jobs.len() <= MAX_ROWS && at_once(jobs, repeat) && !jobs.iter().any(is_aside) {
            let rows = rows(jobs, now);
            let add = || sqlx::query(ENQUEUE.step("add_many")).bind(&rows).bind(now.as_micros());
            match self.write_alone(add).await {
                Ok(_) => {
                    self.hub.wake(Wake::Look);
                    return Ok(jobs.iter().map(|job| Enqueued::added(job.id)).collect());
                }
                Err(error) if is_there(&error) => {}
                Err(error) => return Err(failed(DOING)(error)),
            }
        }
        let mut tx = self.begin(DOING).await?;
        let added = add_all(&mut tx, jobs, repeat, now).await?;
        tx.commit().await.map_err(failed(DOING))?;
        // What was replaced may lie below the marks.
        let from_start = added.iter().any(|answer| answer.is_replaced());
        self.hub.wake(if from_start { Wake::LookFromStart } else { Wake::Look });
        Ok(added)
    }

    /// In the caller's transaction: when a job is refused, those before it must not stay.
    pub(super) async fn add_in(
        &self,
        conn: &mut SqliteConnection,
        jobs: &[NewJob],
    ) -> Result<Vec<Enqueued>> {
        let now = self.clock.now();
        if jobs.iter().all(|job| job.unique.is_none()) {
            return add_all(conn, jobs, Repeat::No, now).await;
        }
        conn.execute("SAVEPOINT longshore_enqueue").await.map_err(failed(DOING))?;
        let added = add_all(conn, jobs, Repeat::No, now).await;
        let end = match added {
            Ok(_) => "RELEASE longshore_enqueue",
            Err(_) => "ROLLBACK TO longshore_enqueue; RELEASE longshore_enqueue",
        };
        let ended = conn.execute(end).await;
        // What went wrong first is what the caller should hear.
        let added = added?;
        ended.map_err(failed(DOING))?;
        Ok(added)
    }
}

pub(super) async fn add_all(
    conn: &mut SqliteConnection,
    jobs: &[NewJob],
    repeat: Repeat,
    now: Timestamp,
) -> Result<Vec<Enqueued>> {
    let mut answers = Vec::with_capacity(jobs.len());
    for (chunk, first) in jobs.chunks(MAX_ROWS).zip((0..).step_by(MAX_ROWS)) {
        if chunk.len() > 1
            && at_once(chunk, repeat)
            && add_many(conn, chunk, now).await.map_err(failed(DOING))?
        {
            answers.extend(chunk.iter().map(|job| Enqueued::added(job.id)));
            continue;
        }
        for (job, index) in chunk.iter().zip(first..) {
            let index = (jobs.len() > 1).then_some(index);
            answers.push(add_one(conn, job, index, repeat, now).await?);
        }
    }
    Ok(answers)
}

/// Whether one statement can add them: none needs a look at what is there.
fn at_once(jobs: &[NewJob], repeat: Repeat) -> bool {
    jobs.iter().all(|job| job.unique.is_none() && !may_have_ended(job, repeat))
}

fn may_have_ended(job: &NewJob, repeat: Repeat) -> bool {
    repeat == Repeat::Yes || job.id_is_callers
}

/// All of them; false, and nothing done, if one is there already.
async fn add_many(
    conn: &mut SqliteConnection,
    jobs: &[NewJob],
    now: Timestamp,
) -> sqlx::Result<bool> {
    conn.execute("SAVEPOINT longshore_add").await?;
    let added = insert_many(conn, jobs, now).await?;
    conn.execute(match added {
        true => "RELEASE longshore_add",
        false => "ROLLBACK TO longshore_add; RELEASE longshore_add",
    })
    .await?;
    Ok(added)
}

/// In one statement; false if one is there already, and then what was done has to be undone.
async fn insert_many(
    conn: &mut SqliteConnection,
    jobs: &[NewJob],
    now: Timestamp,
) -> sqlx::Result<bool> {
    let rows = rows(jobs, now);
    let add = sqlx::query(ENQUEUE.step("add_many")).bind(&rows).bind(now.as_micros());
    match add.execute(&mut *conn).await {
        Err(error) if is_there(&error) => return Ok(false),
        added => added?,
    };
    for job in jobs.iter().filter(|job| is_aside(job)) {
        lay_aside(conn, job).await?;
    }
    Ok(true)
}

/// What `add_many` takes.
fn rows(jobs: &[NewJob], now: Timestamp) -> String {
    let rows: Vec<_> = jobs
        .iter()
        .map(|job| {
            (
                job.id.as_uuid().simple().to_string(),
                &job.kind,
                &job.queue,
                job.priority,
                job.due.at(now).as_micros(),
                job.max_attempts,
                job.backoff_json(),
                job.timeout_ms(),
                job.retain_ms(),
                job.tags_json(),
                job.meta.as_deref(),
                (!is_aside(job)).then_some(&*job.payload),
                job.payload_version,
                job.redacted_json(),
            )
        })
        .collect();
    super::json_array(&rows)
}

async fn add_one(
    conn: &mut SqliteConnection,
    job: &NewJob,
    index: Option<usize>,
    repeat: Repeat,
    now: Timestamp,
) -> Result<Enqueued> {
    let may_have_ended = may_have_ended(job, repeat);
    let mut key = None;
    if let Some(unique) = &job.unique {
        if may_have_ended && is_known(conn, job).await.map_err(failed(DOING))? {
            return Ok(Enqueued::duplicate(job.id));
        }
        match unique::take(conn, job, unique, index, now).await? {
            Settled::Mine(stored) => key = Some(stored),
            Settled::Instead(answer) => return Ok(answer),
        }
    }
    let added = async {
        let added = insert(conn, job, key.as_deref(), now).await?;
        Ok(added && !(may_have_ended && undo_ended(conn, job).await?))
    };
    match added.await.map_err(failed(DOING))? {
        true => Ok(Enqueued::added(job.id)),
        false => Ok(Enqueued::duplicate(job.id)),
    }
}

async fn insert(
    conn: &mut SqliteConnection,
    job: &NewJob,
    key: Option<&str>,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let aside = is_aside(job);
    let added = sqlx::query(ENQUEUE.step("add"))
        .bind(job.id.as_uuid())
        .bind(&job.kind)
        .bind(&job.queue)
        .bind(job.priority)
        .bind(job.due.at(now).as_micros())
        .bind(now.as_micros())
        .bind(job.max_attempts)
        .bind(job.backoff_json())
        .bind(job.timeout_ms())
        .bind(job.retain_ms())
        .bind(job.tags_json())
        .bind(job.meta.as_deref())
        .bind((!aside).then_some(&*job.payload))
        .bind(key)
        .bind(job.payload_version)
        .bind(job.redacted_json())
        .execute(&mut *conn)
        .await?;
    let added = added.rows_affected() > 0;
    if added && aside {
        lay_aside(conn, job).await?;
    }
    Ok(added)
}

fn is_aside(job: &NewJob) -> bool {
    job.payload.len() > MAX_INLINE_BYTES
}

async fn lay_aside(conn: &mut SqliteConnection, job: &NewJob) -> sqlx::Result<()> {
    let laid = sqlx::query(ENQUEUE.step("add_aside"))
        .bind(job.id.as_uuid())
        .bind(&*job.payload)
        .execute(conn);
    laid.await.map(|_| ())
}

async fn is_known(conn: &mut SqliteConnection, job: &NewJob) -> sqlx::Result<bool> {
    let known = sqlx::query(ENQUEUE.step("known")).bind(job.id.as_uuid());
    Ok(known.fetch_optional(conn).await?.is_some())
}

/// Takes the job out again if it ended before; true if it did.
async fn undo_ended(conn: &mut SqliteConnection, job: &NewJob) -> sqlx::Result<bool> {
    let id = job.id.as_uuid();
    let undone = sqlx::query(ENQUEUE.step("undo_ended")).bind(id).execute(&mut *conn).await?;
    if undone.rows_affected() == 0 {
        return Ok(false);
    }
    sqlx::query(ENQUEUE.step("drop_aside")).bind(id).execute(conn).await?;
    Ok(true)
}
