//! Jobs with unique keys: who gets the key, and what becomes of who does not.
//!
//! One writer, so every look below is still true when the next statement acts on it.

use sqlx::{Row, SqliteConnection};
use uuid::Uuid;

use super::SqliteStore;
use super::edit::change_waiting;
use super::enqueue::DOING;
use super::error::failed;
use super::sql::UNIQUE;
use crate::job::unique::{callers, scope, until};
use crate::job::{JobId, NewJob, OnConflict, Unique};
use crate::store::keys::HeldKey;
use crate::store::{Edit, Enqueued, Lead, Result, StoreError};
use crate::time::Timestamp;

/// Keys that go in one transaction.
const MOST: i64 = 500;

impl SqliteStore {
    pub(super) async fn forget_old_keys(&self, lead: Lead) -> Result<bool> {
        let doing = "forget old unique keys";
        let now = self.clock.now();
        let mut tx = self.begin(doing).await?;
        self.must_lead(&mut tx, lead, now).await?;
        let gone = sqlx::query(UNIQUE.step("forget"))
            .bind(now.as_micros())
            .bind(MOST)
            .execute(&mut *tx)
            .await
            .map_err(failed(doing))?;
        tx.commit().await.map_err(failed(doing))?;
        Ok(gone.rows_affected() == MOST as u64)
    }
}

/// What came of asking for a key.
pub(super) enum Settled {
    /// The job has it; this is how it is stored.
    Mine(String),
    /// The job is not added; this is its answer.
    Instead(Enqueued),
}

/// Who holds a key.
struct Holder {
    id: JobId,
    until: Option<Timestamp>,
    fingerprint: Option<Vec<u8>>,
}

/// Takes the key of a new job, or settles by its rule what becomes of it.
pub(super) async fn take(
    conn: &mut SqliteConnection,
    job: &NewJob,
    unique: &Unique,
    index: Option<usize>,
    now: Timestamp,
) -> Result<Settled> {
    let bug = failed(DOING);
    let (scope, stored) = (scope(&job.kind), unique.stored(&job.payload, job.due.at(now)));
    let other = other(conn, &scope, &stored, job.id, now).await.map_err(&bug)?;
    if let Some((held, running)) = other {
        let fingerprint = held.fingerprint.as_deref();
        let key = HeldKey { stored: &stored, holder: held.id, fingerprint };
        key.refuse(job, unique, index)?;
        match (unique.on_conflict, running) {
            (OnConflict::Replace, Some(false)) => {
                let edit = Edit::replacement(job);
                change_waiting(conn, held.id, &edit, now).await.map_err(&bug)?;
                return Ok(Settled::Instead(Enqueued::replaced(held.id)));
            }
            (OnConflict::Replace, Some(true)) => {
                supersede(conn, held.id, job.id).await.map_err(&bug)?;
            }
            _ => return Ok(Settled::Instead(Enqueued::duplicate(held.id))),
        }
    }
    let fingerprint = unique.fingerprint(&job.payload);
    give(conn, &scope, &stored, job.id, fingerprint, now).await.map_err(&bug)?;
    Ok(Settled::Mine(stored))
}

/// Takes the key of a job that is to run again; refused if another job has it by now.
pub(super) async fn retake(conn: &mut SqliteConnection, id: JobId, now: Timestamp) -> Result<()> {
    let bug = failed("retry a job");
    let mine = sqlx::query(UNIQUE.step("mine")).bind(id.as_uuid()).fetch_optional(&mut *conn);
    let Some(row) = mine.await.map_err(&bug)? else { return Ok(()) };
    let scope: String = row.try_get("scope").map_err(&bug)?;
    let stored: String = row.try_get("key").map_err(&bug)?;
    let other = other(conn, &scope, &stored, id, now).await.map_err(&bug)?;
    if let Some((held, _)) = other {
        let key = callers(&stored).to_owned();
        return Err(StoreError::KeyHeld { key, holder: held.id, index: None });
    }
    give(conn, &scope, &stored, id, None, now).await.map_err(&bug)
}

/// Which job but `id` holds a key, and whether it runs or waits; `None` for the latter if it ended
/// but keeps its key. A holder that is gone without having given it back (a row deleted by hand) holds
/// nothing, nor does one whose time is over.
async fn other(
    conn: &mut SqliteConnection,
    scope: &str,
    stored: &str,
    id: JobId,
    now: Timestamp,
) -> sqlx::Result<Option<(Holder, Option<bool>)>> {
    let Some(held) = holder(conn, scope, stored).await? else { return Ok(None) };
    if held.id == id || held.until.is_some_and(|until| until <= now) {
        return Ok(None);
    }
    let running = running(conn, held.id).await?;
    let holds = running.is_some() || held.until.is_some();
    Ok(holds.then_some((held, running)))
}

async fn holder(
    conn: &mut SqliteConnection,
    scope: &str,
    stored: &str,
) -> sqlx::Result<Option<Holder>> {
    let held = sqlx::query(UNIQUE.step("held")).bind(scope).bind(stored);
    let Some(row) = held.fetch_optional(conn).await? else { return Ok(None) };
    Ok(Some(Holder {
        id: JobId::from_uuid(row.try_get::<Uuid, _>("job_id")?),
        until: row.try_get::<Option<i64>, _>("until")?.map(Timestamp::from_micros),
        fingerprint: row.try_get("fingerprint")?,
    }))
}

/// Whether a job runs, or waits; `None` if it does neither.
async fn running(conn: &mut SqliteConnection, id: JobId) -> sqlx::Result<Option<bool>> {
    let row = sqlx::query(UNIQUE.step("holder")).bind(id.as_uuid()).fetch_optional(conn).await?;
    row.map(|row| row.try_get("running")).transpose()
}

async fn supersede(conn: &mut SqliteConnection, runner: JobId, newer: JobId) -> sqlx::Result<()> {
    let told = sqlx::query(UNIQUE.step("supersede"))
        .bind(runner.as_uuid())
        .bind(newer.as_uuid())
        .execute(conn);
    told.await.map(|_| ())
}

async fn give(
    conn: &mut SqliteConnection,
    scope: &str,
    stored: &str,
    id: JobId,
    fingerprint: Option<Vec<u8>>,
    now: Timestamp,
) -> sqlx::Result<()> {
    let given = sqlx::query(UNIQUE.step("take"))
        .bind(scope)
        .bind(stored)
        .bind(id.as_uuid())
        .bind(until(stored, now).map(Timestamp::as_micros))
        .bind(fingerprint)
        .execute(conn);
    given.await.map(|_| ())
}
