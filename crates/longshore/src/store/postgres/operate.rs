//! One step of an operation: looks without a lock, then locks, looks again, changes, and notes how far it came.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use sqlx::Row;
use uuid::Uuid;

use crate::job::State;
use crate::job::new::Due;
use crate::operation::{
    Action, OperationId, OperationRow, OperationState, OperationStep, fit_error,
};
use crate::query::wanted::Wanted;
use crate::store::look::{self, Batch, For, Found, Rows, Snapshot, Table};
use crate::store::operation::{ERROR, KEY_HELD, Met, Tally, applicable, ids_in, wanted};
use crate::store::{Lead, Result, StoreError, Wake};
use crate::time::Timestamp;

use super::PostgresStore;
use super::change::state_of;
use super::error::Fault;
use super::list::View;
use super::operation::{LOCK, operation_row};
use super::session::Session;
use super::unique;

const CANCEL: &str = include_str!("operation_cancel.sql");
const DELETE: &str = include_str!("operation_delete.sql");
const EDIT: &str = include_str!("operation_edit.sql");
const ENDED: &str = include_str!("operation_ended.sql");
const JOBS: &str = include_str!("operation_jobs.sql");
const RETAKE: &str = include_str!("operation_retake.sql");
const RETRY: &str = include_str!("operation_retry.sql");
const RETRY_ENDED: &str = include_str!("operation_retry_ended.sql");
const STEP: &str = include_str!("operation_step.sql");

/// A job that somebody holds is waited for so long: meanwhile the lead cannot be renewed.
const ROW_WAIT: Duration = Duration::from_secs(1);

/// How far a step came.
struct Came<'a> {
    state: OperationState,
    place: Option<Uuid>,
    tally: &'a Tally,
    error: Option<&'a str>,
}

impl PostgresStore {
    pub(super) async fn do_step(&self, lead: Lead, step: &OperationStep) -> Result<OperationRow> {
        // One that was carried out, but whose reply was lost, is not found at its place again.
        self.repeated("do a step of an operation", || self.try_step(lead, step)).await
    }

    async fn try_step(&self, lead: Lead, step: &OperationStep) -> Result<OperationRow, Fault> {
        let seen = self.must_find(step.id).await?;
        if seen.state != OperationState::Running {
            return Ok(seen);
        }
        let (action, filter) = match seen.plan() {
            Ok(plan) => plan,
            Err(words) => return self.try_fail(lead, step.id, &words).await,
        };
        let (mut view, now) = self.view().await?;
        let wanted_then = wanted(&seen, &filter, now);
        let span = (seen.place, seen.last_id);
        let batch = look::batch(&mut view, &wanted_then, span, step.most.max(1) as usize).await?;
        view.0.done().await?;

        let mut session = self.lead_session(&self.pools.chores, lead).await?;
        session.wait_for_rows(ROW_WAIT).await?;
        let row = session.query(LOCK).bind(step.id.0).fetch_optional(session.conn()).await?;
        let row = row.as_ref().map(operation_row).transpose()?;
        let Some(row) = row.filter(|row| row.state == seen.state && row.place == seen.place) else {
            // Paused, cancelled, or somebody else did this step.
            session.undo().await?;
            return self.must_find(step.id).await;
        };
        let mut tally = Tally::default();
        if step.skip {
            tally.skip(ERROR, batch.found.len() as u64);
        } else if !batch.found.is_empty() {
            let (met, back) = self.meet(session, &batch, &wanted_then).await?;
            session = back;
            let (hot, cold) = applicable(&action, met, &mut tally);
            self.act(&mut session, &row, &action, (hot, cold), &mut tally).await?;
        }
        let state = match batch.to {
            Some(_) => OperationState::Running,
            None => OperationState::Succeeded,
        };
        let came = Came { state, place: batch.to, tally: &tally, error: None };
        let after = self.note(&mut session, lead, &row, came).await?;
        session.done().await?;
        if tally.done > 0 {
            match action {
                Action::Cancel => self.tell(Wake::Cancels),
                Action::Delete => {}
                _ => self.tell(Wake::LookFromStart),
            }
        }
        Ok(after)
    }

    async fn must_find(&self, id: OperationId) -> Result<OperationRow, Fault> {
        match self.find_operation(id).await? {
            Some(row) => Ok(row),
            None => Err(StoreError::NoOperation(id).into()),
        }
    }

    pub(super) async fn give_up_operation(
        &self,
        lead: Lead,
        id: OperationId,
        error: &str,
    ) -> Result<()> {
        self.repeated("end an operation", || self.try_fail(lead, id, error)).await?;
        Ok(())
    }

    async fn try_fail(
        &self,
        lead: Lead,
        id: OperationId,
        error: &str,
    ) -> Result<OperationRow, Fault> {
        let mut session = self.lead_session(&self.pools.chores, lead).await?;
        let row = session.query(LOCK).bind(id.0).fetch_optional(session.conn()).await?;
        let Some(row) = row.as_ref().map(operation_row).transpose()? else {
            session.undo().await?;
            return Err(StoreError::NoOperation(id).into());
        };
        if row.state != OperationState::Running {
            session.undo().await?;
            return Ok(row);
        }
        let (tally, words) = (Tally::default(), fit_error(error));
        let state = OperationState::Failed;
        let came = Came { state, place: row.place, tally: &tally, error: Some(&words) };
        let row = self.note(&mut session, lead, &row, came).await?;
        session.done().await?;
        Ok(row)
    }

    async fn note(
        &self,
        session: &mut Session,
        lead: Lead,
        row: &OperationRow,
        came: Came<'_>,
    ) -> Result<OperationRow, Fault> {
        let query = session
            .query(STEP)
            .bind(row.id.0)
            .bind(came.state.as_str())
            .bind(came.place)
            .bind(came.tally.done as i64)
            .bind(came.tally.skipped() as i64)
            .bind(came.tally.added_to(&row.reasons))
            .bind(came.error)
            .bind(lead.node.0)
            .bind(lead.term)
            .bind(self.clock.fixed());
        Ok(operation_row(&query.fetch_one(session.conn()).await?)?)
    }

    /// Locks the jobs, and answers those that still match.
    async fn meet(
        &self,
        mut session: Session,
        batch: &Batch,
        wanted: &Wanted,
    ) -> Result<(Vec<Met>, Session), Fault> {
        let mut met = HashMap::new();
        let hot = ids_in(Table::Hot, &batch.found);
        let query = session.query(JOBS).bind(hot.as_slice()).bind(self.clock.fixed());
        for row in query.fetch_all(session.conn()).await? {
            let (id, state) = (row.try_get("id")?, state_of(&row)?);
            let key = row.try_get::<Option<String>, _>("key")?;
            let key = key.map(|key| row.try_get("scope").map(|scope| (scope, key))).transpose()?;
            met.insert(id, Met { id, state, ended_at: None, key });
        }
        let cold = ids_in(Table::Cold, &batch.found);
        if let Some((from, to)) = ended_between(&batch.found) {
            let query = session.query(ENDED).bind(cold.as_slice()).bind(from).bind(to);
            for row in query.fetch_all(session.conn()).await? {
                let id = row.try_get("id")?;
                let state: &str = row.try_get("state")?;
                let state: State = state.parse().map_err(|_| {
                    sqlx::Error::Decode(format!("`{state}` is no state of a job").into())
                })?;
                let key = row.try_get::<Option<String>, _>("key")?;
                let key =
                    key.map(|key| row.try_get("scope").map(|scope| (scope, key))).transpose()?;
                met.insert(id, Met { id, state, ended_at: row.try_get("finished_at")?, key });
            }
        }
        let mut view = View(session);
        let mut still = Vec::with_capacity(met.len());
        for (table, ids) in [(Table::Hot, hot), (Table::Cold, cold)] {
            if !ids.is_empty() {
                let seen = view.look(table, Rows::Ids(&ids), wanted, For::Rows).await?;
                still.extend(seen.these.iter().filter_map(|found| met.remove(&found.id)));
            }
        }
        still.sort_unstable_by_key(|job| job.id);
        Ok((still, view.0))
    }

    async fn act(
        &self,
        session: &mut Session,
        row: &OperationRow,
        action: &Action,
        (hot, cold): (Vec<Met>, Vec<Met>),
        tally: &mut Tally,
    ) -> Result<(), Fault> {
        if hot.is_empty() && cold.is_empty() {
            return Ok(());
        }
        let now = self.clock.fixed();
        match action {
            Action::Retry { attempts } => {
                return self.retry_all(session, (hot, cold), *attempts, tally).await;
            }
            Action::Cancel => {
                let query =
                    session.query(CANCEL).bind(ids(&hot)).bind(&row.by).bind(&row.why).bind(now);
                let done: i64 = query.fetch_one(session.conn()).await?.try_get(0)?;
                tally.changed(hot.len(), done as u64);
            }
            Action::Delete => {
                let (from, to) = ends(&cold);
                let query =
                    session.query(DELETE).bind(ids(&hot)).bind(ids(&cold)).bind(from).bind(to);
                let done: i64 = query.fetch_one(session.conn()).await?.try_get(0)?;
                tally.changed(hot.len() + cold.len(), done as u64);
            }
            Action::Reschedule { .. } | Action::Priority { .. } | Action::Move { .. } => {
                let edit = action.edit().unwrap_or_default();
                let run_at = match edit.due {
                    Some(Due::At(at)) => Some(at),
                    _ => None,
                };
                let query = session
                    .query(EDIT)
                    .bind(ids(&hot))
                    .bind(run_at)
                    .bind(edit.priority.map(i16::from))
                    .bind(edit.queue);
                let done = query.execute(session.conn()).await?.rows_affected();
                tally.changed(hot.len(), done);
            }
        }
        Ok(())
    }

    async fn retry_all(
        &self,
        session: &mut Session,
        (mut hot, mut cold): (Vec<Met>, Vec<Met>),
        attempts: u32,
        tally: &mut Tally,
    ) -> Result<(), Fault> {
        let keyed: Vec<&Met> = hot.iter().chain(&cold).filter(|job| job.key.is_some()).collect();
        if !keyed.is_empty() {
            let refused = self.retake_all(session, &keyed).await?;
            tally.skip(KEY_HELD, refused.len() as u64);
            hot.retain(|job| !refused.contains(&job.id));
            cold.retain(|job| !refused.contains(&job.id));
        }
        let (attempts, now) = (i64::from(attempts), self.clock.fixed());
        let mut done = 0;
        if !cold.is_empty() {
            let (from, to) = ends(&cold);
            let query = session.query(RETRY_ENDED).bind(ids(&cold)).bind(attempts).bind(now);
            let query = query.bind(from).bind(to);
            done += query.fetch_all(session.conn()).await?.len() as u64;
        }
        if !hot.is_empty() {
            let query = session.query(RETRY).bind(ids(&hot)).bind(attempts).bind(now);
            done += query.execute(session.conn()).await?.rows_affected();
        }
        tally.changed(hot.len() + cold.len(), done);
        Ok(())
    }

    /// Takes the keys of jobs that are to run again; answers those whose key another job has.
    async fn retake_all(
        &self,
        session: &mut Session,
        keyed: &[&Met],
    ) -> Result<HashSet<Uuid>, Fault> {
        let of = |job: &&Met| job.key.clone().unwrap_or_default();
        let (scopes, keys): (Vec<String>, Vec<String>) = keyed.iter().map(of).unzip();
        let asking: Vec<Uuid> = keyed.iter().map(|job| job.id).collect();
        let now = self.clock.fixed();
        let query = session.query(RETAKE).bind(asking).bind(scopes).bind(keys).bind(now);
        let mut holders = HashMap::new();
        for row in query.fetch_all(session.conn()).await? {
            let key: (String, String) = (row.try_get("scope")?, row.try_get("key")?);
            let holder: Uuid = row.try_get("holder")?;
            holders.insert(key, (holder, row.try_get::<bool, _>("while_active")?));
        }
        let mut refused = HashSet::new();
        for job in keyed {
            let Some(key) = job.key.as_ref() else { continue };
            let Some((holder, while_active)) = holders.get(key).copied() else { continue };
            if holder == job.id {
                continue;
            }
            // One of this step comes to life in a moment.
            let ours = keyed.iter().any(|other| other.id == holder);
            if ours || !while_active || unique::is_alive(session.conn(), holder, now).await? {
                refused.insert(job.id);
                continue;
            }
            // The holder is gone without having given it back.
            unique::hand_to(session.conn(), key, (job.id, holder), now).await?;
            holders.insert(key.clone(), (job.id, true));
        }
        Ok(refused)
    }
}

fn ids(jobs: &[Met]) -> Vec<Uuid> {
    jobs.iter().map(|job| job.id).collect()
}

/// When the first and the last of them ended.
fn ends(jobs: &[Met]) -> (Option<Timestamp>, Option<Timestamp>) {
    let ends = || jobs.iter().filter_map(|job| job.ended_at);
    (ends().min(), ends().max())
}

fn ended_between(found: &[(Table, Found)]) -> Option<(Timestamp, Timestamp)> {
    let ends = || found.iter().filter_map(|(_, found)| found.finished_at);
    ends().min().zip(ends().max())
}
