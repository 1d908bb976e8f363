//! What people change of one job: edit it, delete it.

use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row};

use crate::job::{Event, JobId, State};
use crate::store::{Edit, Result, StoreError, Wake};
use crate::time::Timestamp;

use super::PostgresStore;
use super::change::{LOOKS, ended, refuse, state_of};
use super::enqueue::due_of;
use super::error::{Fault, Tries};
use super::read::near;
use super::session::{Session, within};

const DELETE: &str = include_str!("delete.sql");
const EDIT: &str = include_str!("edit.sql");

/// What an edit met.
pub(super) struct Found {
    pub state: State,
    pub version: u32,
    pub changed: bool,
}

impl PostgresStore {
    pub(super) async fn change(&self, id: JobId, edit: &Edit) -> Result<u32> {
        // With a version a repeat would be refused by what the first try did.
        let mut tries = match edit.version {
            Some(_) => Tries::of("edit a job"),
            None => Tries::repeatable("edit a job"),
        };
        let version = loop {
            match within(self.patience(), self.try_change(id, edit)).await {
                Ok(version) => break version,
                Err(fault) => tries.after(self, fault).await?,
            }
        };
        // It may lie below the low-water marks now, or in a queue whose nodes sleep.
        self.tell(Wake::LookFromStart);
        Ok(version)
    }

    async fn try_change(&self, id: JobId, edit: &Edit) -> Result<u32, Fault> {
        let mut session = Session::transaction(&self.pools.general, self.mode).await?;
        for _ in 0..LOOKS {
            if let Some(found) = edit_waiting(session.conn(), id, edit, self.clock.fixed()).await? {
                if found.changed {
                    session.done().await?;
                    return Ok(found.version);
                }
                return refuse_edit(session, id, edit, &found).await;
            }
            if let Some(state) = ended(&mut session, id).await? {
                return refuse(session, id, state, edit.event()).await;
            }
        }
        session.undo().await?;
        Err(StoreError::NotFound(id).into())
    }

    pub(super) async fn remove(&self, id: JobId) -> Result<()> {
        let mut tries = Tries::repeatable("delete a job");
        loop {
            match within(self.patience(), self.try_remove(id)).await {
                Ok(()) => return Ok(()),
                // An earlier try did it, only its reply was lost.
                Err(Fault::Known(StoreError::NotFound(_))) if tries.lost_a_reply() => return Ok(()),
                Err(fault) => tries.after(self, fault).await?,
            }
        }
    }

    async fn try_remove(&self, id: JobId) -> Result<(), Fault> {
        let mut session = Session::transaction(&self.pools.general, self.mode).await?;
        // A job that moves between the tables in the meantime is found by another look.
        for _ in 0..LOOKS {
            let query = session.query(DELETE).bind(id.as_uuid()).bind(self.clock.fixed());
            let row = query.fetch_one(session.conn()).await?;
            if row.try_get("removed")? {
                return session.done().await;
            }
            if row.try_get::<Option<bool>, _>(0)?.is_some() {
                let state = state_of(&row)?;
                return refuse(session, id, state, Event::Delete).await;
            }
        }
        session.undo().await?;
        Err(StoreError::NotFound(id).into())
    }
}

/// Changes a job if it waits, and has the version that the edit names; `None` if it is not in `job`.
pub(super) async fn edit_waiting(
    conn: &mut PgConnection,
    id: JobId,
    edit: &Edit,
    now: Option<Timestamp>,
) -> Result<Option<Found>, sqlx::Error> {
    let (run_at, delay) = match edit.due {
        Some(due) => {
            let (run_at, delay) = due_of(due);
            (run_at, run_at.is_none().then_some(delay))
        }
        None => (None, None),
    };
    super::session::sent();
    let row = sqlx::query(EDIT)
        .persistent(false)
        .bind(id.as_uuid())
        .bind(edit.version.map(i64::from))
        .bind(run_at)
        .bind(delay)
        .bind(edit.priority.map(i16::from))
        .bind(&edit.queue)
        .bind(edit.payload.as_deref())
        .bind(edit.tags.as_ref().map(super::json))
        .bind(edit.event() != Event::RunNow)
        .bind(now)
        .bind(edit.payload_version.map(|version| i32::try_from(version).unwrap_or(i32::MAX)))
        .bind(edit.redacted.as_ref().map(super::json))
        .fetch_optional(conn)
        .await?;
    row.as_ref().map(found).transpose()
}

fn found(row: &PgRow) -> Result<Found, sqlx::Error> {
    let before: i32 = row.try_get("version")?;
    let after: Option<i32> = row.try_get("version_after")?;
    Ok(Found {
        state: state_of(row)?,
        version: near(after.unwrap_or(before)),
        changed: after.is_some(),
    })
}

pub(super) async fn refuse_edit<T>(
    session: Session,
    id: JobId,
    edit: &Edit,
    found: &Found,
) -> Result<T, Fault> {
    match edit.version {
        Some(expected) if expected != found.version && !found.state.is_end() => {
            session.undo().await?;
            Err(StoreError::VersionChanged { id, found: found.version, expected }.into())
        }
        _ => refuse(session, id, found.state, edit.event()).await,
    }
}
