//! Enqueue: one transaction for a call, of ours or of the caller's.

use sqlx::SqliteConnection;

use super::SqliteStore;
use super::error::failed;
use super::sql::ENQUEUE;
use crate::job::NewJob;
use crate::job::new::{Due, MAX_INLINE_BYTES};
use crate::store::{Enqueued, Repeat, Result, Wake};
use crate::time::Timestamp;

const DOING: &str = "enqueue";

impl SqliteStore {
    pub(super) async fn add(&self, jobs: &[NewJob], repeat: Repeat) -> Result<Vec<Enqueued>> {
        let mut tx = self.begin(DOING).await?;
        let answers =
            add_all(&mut tx, jobs, repeat, self.clock.now()).await.map_err(failed(DOING))?;
        tx.commit().await.map_err(failed(DOING))?;
        self.hub.wake(Wake::Look);
        Ok(answers)
    }

    pub(super) async fn add_in(
        &self,
        conn: &mut SqliteConnection,
        jobs: &[NewJob],
    ) -> Result<Vec<Enqueued>> {
        add_all(conn, jobs, Repeat::No, self.clock.now()).await.map_err(failed(DOING))
    }
}

async fn add_all(
    conn: &mut SqliteConnection,
    jobs: &[NewJob],
    repeat: Repeat,
    now: Timestamp,
) -> sqlx::Result<Vec<Enqueued>> {
    let mut answers = Vec::with_capacity(jobs.len());
    for job in jobs {
        let mut added = add_one(conn, job, now).await?;
        if added && (repeat == Repeat::Yes || job.id_is_callers) {
            added = !undo_ended(conn, job).await?;
        }
        answers.push(Enqueued { id: job.id, duplicate: !added });
    }
    Ok(answers)
}

async fn add_one(conn: &mut SqliteConnection, job: &NewJob, now: Timestamp) -> sqlx::Result<bool> {
    let due = match job.due {
        Due::Now => now,
        Due::In(delay) => now.plus(delay),
        Due::At(at) => at,
    };
    let aside = job.payload.len() > MAX_INLINE_BYTES;
    let added = sqlx::query(ENQUEUE.step("add"))
        .bind(job.id.as_uuid())
        .bind(&job.kind)
        .bind(&job.queue)
        .bind(job.priority)
        .bind(due.as_micros())
        .bind(now.as_micros())
        .bind(job.max_attempts)
        .bind(job.backoff_json())
        .bind(job.timeout_ms())
        .bind(job.retain_ms())
        .bind(job.tags_json())
        .bind(job.meta.as_deref())
        .bind((!aside).then_some(&*job.payload))
        .execute(&mut *conn)
        .await?;
    let added = added.rows_affected() > 0;
    if added && aside {
        sqlx::query(ENQUEUE.step("add_aside"))
            .bind(job.id.as_uuid())
            .bind(&*job.payload)
            .execute(conn)
            .await?;
    }
    Ok(added)
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
