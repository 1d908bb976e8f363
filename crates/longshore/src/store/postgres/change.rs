//! What people do to one job: cancel it, run it again.

use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::job::state::{Marks, next};
use crate::job::{Event, JobId, State, text};
use crate::store::{AskCancel, Edit, NodeId, Result, StoreError, Wake};

use super::PostgresStore;
use super::edit::{edit_waiting, refuse_edit};
use super::error::{Fault, Tries};
use super::session::{Session, within};
use super::unique;

const CANCEL: &str = include_str!("cancel.sql");
const CANCELS: &str = include_str!("cancels.sql");
const ENDED: &str = include_str!("ended.sql");
const RETRY: &str = include_str!("retry.sql");
const RETRY_ENDED: &str = include_str!("retry_ended.sql");

const MAX_BY_BYTES: usize = 255;
const MAX_WHY_BYTES: usize = 8 * 1024;
/// A job that is in neither table just moved from the second back to the first; once is enough to
/// find it, unless somebody plays with it.
pub(super) const LOOKS: usize = 3;

impl PostgresStore {
    pub(super) async fn ask_cancel(&self, id: JobId, cancel: &AskCancel) -> Result<State> {
        let mut tries = Tries::repeatable("cancel a job");
        let state = loop {
            match within(self.patience(), self.try_cancel(id, cancel)).await {
                Ok(state) => break state,
                // An earlier try did it, only its reply was lost.
                Err(Fault::Known(StoreError::Refused { state: State::Cancelled, .. }))
                    if tries.lost_a_reply() =>
                {
                    return Ok(State::Cancelled);
                }
                Err(fault) => tries.after(self, fault).await?,
            }
        };
        if state == State::Running {
            self.tell(Wake::Cancels);
        }
        Ok(state)
    }

    async fn try_cancel(&self, id: JobId, cancel: &AskCancel) -> Result<State, Fault> {
        let cut = |words: &Option<String>, most| words.as_deref().map(|said| text::fit(said, most));
        let mut session = Session::transaction(&self.pools.vital, self.mode).await?;
        for _ in 0..LOOKS {
            let query = session
                .query(CANCEL)
                .bind(id.as_uuid())
                .bind(cut(&cancel.by, MAX_BY_BYTES))
                .bind(cut(&cancel.why, MAX_WHY_BYTES))
                .bind(self.clock.fixed());
            if let Some(row) = query.fetch_optional(session.conn()).await? {
                let state = state_of(&row)?;
                let event = if state == State::Running { Event::AskCancel } else { Event::Cancel };
                return match next(state, event) {
                    Some(then) => session.done().await.map(|()| then),
                    None => refuse(session, id, state, Event::Cancel).await,
                };
            }
            if let Some(state) = ended(&mut session, id).await? {
                return refuse(session, id, state, Event::Cancel).await;
            }
        }
        session.undo().await?;
        Err(StoreError::NotFound(id).into())
    }

    pub(super) async fn asked_to_cancel(&self, node: NodeId) -> Result<Vec<JobId>> {
        self.repeated("look for cancels", || self.try_cancels(node)).await
    }

    async fn try_cancels(&self, node: NodeId) -> Result<Vec<JobId>, Fault> {
        let mut session = Session::single(&self.pools.vital, self.mode).await?;
        let rows = session.query(CANCELS).bind(node.0).fetch_all(session.conn()).await?;
        let ids: Result<Vec<_>, _> =
            rows.iter().map(|row| row.try_get(0).map(JobId::from_uuid)).collect();
        session.done().await?;
        Ok(ids?)
    }

    pub(super) async fn queue_again(&self, id: JobId, attempts: u32, edit: &Edit) -> Result<()> {
        let mut tries = Tries::of("retry a job");
        loop {
            match within(self.patience(), self.try_retry(id, attempts, edit)).await {
                Ok(()) => break,
                Err(fault) => tries.after(self, fault).await?,
            }
        }
        self.tell(Wake::LookFromStart);
        Ok(())
    }

    async fn try_retry(&self, id: JobId, attempts: u32, edit: &Edit) -> Result<(), Fault> {
        // Without an attempt left it would be dead as soon as anything goes wrong.
        let attempts = i64::from(attempts.max(1));
        let mut session = Session::transaction(&self.pools.general, self.mode).await?;
        for _ in 0..LOOKS {
            let query = session.query(RETRY).bind(id.as_uuid()).bind(attempts);
            let query = query.bind(self.clock.fixed());
            if let Some(row) = query.fetch_optional(session.conn()).await? {
                let state = state_of(&row)?;
                return match next(state, Event::Retry) {
                    Some(_) => self.queued_again(session, id, edit).await,
                    None => refuse(session, id, state, Event::Retry).await,
                };
            }
            let query = session.query(RETRY_ENDED).bind(id.as_uuid()).bind(attempts);
            let query = query.bind(self.clock.fixed());
            if query.fetch_optional(session.conn()).await?.is_some() {
                return self.queued_again(session, id, edit).await;
            }
            // Cancelled here means that somebody else just moved it: look again.
            let state = ended(&mut session, id).await?;
            if let Some(state) = state.filter(|state| *state != State::Cancelled) {
                return refuse(session, id, state, Event::Retry).await;
            }
        }
        session.undo().await?;
        Err(StoreError::NotFound(id).into())
    }

    /// Commits a retry, if the job gets its unique key again, with the change that comes with it.
    async fn queued_again(
        &self,
        mut session: Session,
        id: JobId,
        edit: &Edit,
    ) -> Result<(), Fault> {
        let taken = unique::retake(session.conn(), id, self.clock.fixed()).await;
        if taken.is_ok() && !edit.is_empty() {
            // The retry itself was a change.
            let version = edit.version.map(|version| version.saturating_add(1));
            let after = Edit { version, ..edit.clone() };
            let found = edit_waiting(session.conn(), id, &after, self.clock.fixed()).await?;
            if let Some(mut found) = found.filter(|found| !found.changed) {
                found.version = found.version.saturating_sub(1);
                return refuse_edit(session, id, edit, &found).await;
            }
        }
        session.end(taken).await
    }
}

/// The state a job was in when it was locked.
pub(super) fn state_of(row: &PgRow) -> Result<State, sqlx::Error> {
    let marks = Marks {
        dead: row.try_get(0)?,
        running: row.try_get(1)?,
        blocked: row.try_get(2)?,
        run_at: row.try_get(3)?,
        attempt: row.try_get(4)?,
    };
    Ok(State::of(&marks, row.try_get(5)?))
}

pub(super) async fn ended(session: &mut Session, id: JobId) -> Result<Option<State>, Fault> {
    let query = session.query(ENDED).bind(id.as_uuid());
    let Some(row) = query.fetch_optional(session.conn()).await? else { return Ok(None) };
    Ok(row.try_get::<&str, _>(0)?.parse().ok())
}

pub(super) async fn refuse<T>(
    session: Session,
    id: JobId,
    state: State,
    event: Event,
) -> Result<T, Fault> {
    session.undo().await?;
    Err(StoreError::Refused { id, state, event }.into())
}
