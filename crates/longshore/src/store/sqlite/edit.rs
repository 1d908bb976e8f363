//! What a person does to one job: cancel, retry, edit, delete.

use sqlx::SqliteConnection;

use super::SqliteStore;
use super::error::failed;
use super::finish::{asked, move_cancelled};
use super::rows;
use super::sql::{CANCEL, EDIT, GET, RETRY, SAY, UNIQUE};
use super::unique;
use crate::job::new::MAX_INLINE_BYTES;
use crate::job::state::next;
use crate::job::{Event, JobId, JobRow, State, text};
use crate::store::{AskCancel, Edit, NodeId, Result, StoreError, Wake};
use crate::time::Timestamp;

const MAX_BY_BYTES: usize = 255;

impl SqliteStore {
    pub(super) async fn ask_cancel(&self, id: JobId, ask: &AskCancel) -> Result<State> {
        let doing = "cancel a job";
        let now = self.clock.now();
        let mut tx = self.begin(doing).await?;
        let state = state_of(&mut tx, id, now).await.map_err(failed(doing))?;
        let state = state.ok_or(StoreError::NotFound(id))?;
        let (step, after) = match state {
            State::Running => ("ask", State::Running),
            State::Scheduled | State::Queued | State::Blocked | State::Retrying => {
                ("mark", State::Cancelled)
            }
            State::Succeeded | State::Dead | State::Cancelled => {
                return Err(StoreError::Refused { id, state, event: Event::Cancel });
            }
        };
        sqlx::query(CANCEL.step(step))
            .bind(id.as_uuid())
            .bind(now.as_micros())
            .bind(ask.by.as_deref().map(|by| text::fit(by, MAX_BY_BYTES)))
            .bind(ask.why.as_deref().map(|why| text::fit(why, text::MAX_ERROR_BYTES)))
            .execute(&mut *tx)
            .await
            .map_err(failed(doing))?;
        if after == State::Cancelled {
            move_cancelled(&mut tx, Some(id.as_uuid()), None, now).await.map_err(failed(doing))?;
        }
        tx.commit().await.map_err(failed(doing))?;
        if after == State::Running {
            self.hub.wake(Wake::Cancels);
        }
        Ok(after)
    }

    pub(super) async fn asked(&self, node: NodeId) -> Result<Vec<JobId>> {
        let doing = "look for cancels";
        let mut conn = self.read(doing).await?;
        asked(&mut conn, node).await.map_err(failed(doing))
    }

    pub(super) async fn again(&self, id: JobId, attempts: u32, edit: &Edit) -> Result<()> {
        let doing = "retry a job";
        let now = self.clock.now();
        let mut tx = self.begin(doing).await?;
        let job = find(&mut tx, id, now).await.map_err(failed(doing))?;
        let job = job.ok_or(StoreError::NotFound(id))?;
        let state = job.state;
        if next(state, Event::Retry).is_none() {
            return Err(StoreError::Refused { id, state, event: Event::Retry });
        }
        if state == State::Cancelled {
            for step in ["restore", "forget"] {
                sqlx::query(RETRY.step(step))
                    .bind(id.as_uuid())
                    .execute(&mut *tx)
                    .await
                    .map_err(failed(doing))?;
            }
        }
        sqlx::query(RETRY.step("again"))
            .bind(id.as_uuid())
            .bind(now.as_micros())
            .bind(attempts.max(1))
            .execute(&mut *tx)
            .await
            .map_err(failed(doing))?;
        unique::retake(&mut tx, id, now).await?;
        must_have(id, job.version, edit)?;
        if !edit.is_empty() {
            change_waiting(&mut tx, id, edit, now).await.map_err(failed(doing))?;
        }
        tx.commit().await.map_err(failed(doing))?;
        self.hub.wake(Wake::LookFromStart);
        Ok(())
    }

    pub(super) async fn change(&self, id: JobId, edit: &Edit) -> Result<u32> {
        let doing = "edit a job";
        let now = self.clock.now();
        let mut tx = self.begin(doing).await?;
        let job = find(&mut tx, id, now).await.map_err(failed(doing))?;
        let job = job.ok_or(StoreError::NotFound(id))?;
        if !job.state.is_end() {
            must_have(id, job.version, edit)?;
        }
        if next(job.state, edit.event()).is_none() {
            return Err(StoreError::Refused { id, state: job.state, event: edit.event() });
        }
        let version = change_waiting(&mut tx, id, edit, now).await.map_err(failed(doing))?;
        tx.commit().await.map_err(failed(doing))?;
        self.hub.wake(Wake::LookFromStart);
        Ok(version)
    }

    pub(super) async fn remove(&self, id: JobId) -> Result<()> {
        let doing = "delete a job";
        let mut tx = self.begin(doing).await?;
        let state = state_of(&mut tx, id, self.clock.now()).await.map_err(failed(doing))?;
        let state = state.ok_or(StoreError::NotFound(id))?;
        if state == State::Running {
            return Err(StoreError::Refused { id, state, event: Event::Delete });
        }
        for step in [
            UNIQUE.step("free"),
            EDIT.step("delete"),
            EDIT.step("delete_ended"),
            EDIT.step("drop_aside"),
            SAY.step("drop_progress"),
            SAY.step("drop_log"),
        ] {
            let query = sqlx::query(step).bind(id.as_uuid());
            query.execute(&mut *tx).await.map_err(failed(doing))?;
        }
        tx.commit().await.map_err(failed(doing))
    }
}

/// Refuses an edit of another version than the job has.
fn must_have(id: JobId, found: u32, edit: &Edit) -> Result<()> {
    match edit.version {
        Some(expected) if expected != found => {
            Err(StoreError::VersionChanged { id, found, expected })
        }
        _ => Ok(()),
    }
}

/// Changes a job that waits; answers its version after that.
pub(super) async fn change_waiting(
    conn: &mut SqliteConnection,
    id: JobId,
    edit: &Edit,
    now: Timestamp,
) -> sqlx::Result<u32> {
    let version: i64 = sqlx::query_scalar(EDIT.step("change"))
        .bind(id.as_uuid())
        .bind(edit.due.map(|due| due.at(now).as_micros()))
        .bind(edit.priority)
        .bind(&edit.queue)
        .bind(edit.tags.as_ref().map(|tags| super::json_array(tags)))
        .bind(edit.payload_version)
        .bind(edit.redacted.as_ref().map(|fields| super::json_array(fields)))
        .fetch_one(&mut *conn)
        .await?;
    if let Some(payload) = &edit.payload {
        let aside = payload.len() > MAX_INLINE_BYTES;
        sqlx::query(EDIT.step("payload"))
            .bind(id.as_uuid())
            .bind((!aside).then_some(&**payload))
            .execute(&mut *conn)
            .await?;
        if aside {
            sqlx::query(EDIT.step("aside"))
                .bind(id.as_uuid())
                .bind(&**payload)
                .execute(conn)
                .await?;
        } else {
            sqlx::query(EDIT.step("drop_aside")).bind(id.as_uuid()).execute(conn).await?;
        }
    }
    Ok(u32::try_from(version).unwrap_or_default())
}

async fn state_of(
    conn: &mut SqliteConnection,
    id: JobId,
    now: Timestamp,
) -> sqlx::Result<Option<State>> {
    Ok(find(conn, id, now).await?.map(|job| job.state))
}

/// A job, wherever it is.
pub(super) async fn find(
    conn: &mut SqliteConnection,
    id: JobId,
    now: Timestamp,
) -> sqlx::Result<Option<JobRow>> {
    let row =
        sqlx::query(GET).bind(id.as_uuid()).bind(now.as_micros()).fetch_optional(conn).await?;
    row.as_ref().map(rows::job_row).transpose()
}
