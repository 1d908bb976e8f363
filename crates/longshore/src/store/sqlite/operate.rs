//! One step of an operation: looks beside the writer, then as the writer looks again, changes, and notes how far it
//! came.

use std::collections::HashMap;

use sqlx::{Executor, Row, Sqlite, SqliteConnection, Transaction};
use uuid::Uuid;

use super::SqliteStore;
use super::error::failed;
use super::finish::move_cancelled;
use super::list::{View, hex_array};
use super::operation::{operation, operation_row};
use super::rows;
use super::sql::{OPERATION, UNIQUE};
use super::unique;
use crate::job::JobId;
use crate::job::new::Due;
use crate::operation::{
    Action, OperationId, OperationRow, OperationState, OperationStep, fit_error,
};
use crate::query::wanted::Wanted;
use crate::store::look::{self, Batch, For, Rows, Snapshot, Table};
use crate::store::operation::{ERROR, KEY_HELD, Met, Tally, applicable, ids_in, wanted};
use crate::store::{Lead, Result, StoreError, Wake};
use crate::time::Timestamp;

const DOING: &str = "do a step of an operation";

/// How far a step came.
struct Came<'a> {
    state: OperationState,
    place: Option<Uuid>,
    tally: &'a Tally,
    error: Option<&'a str>,
}

impl SqliteStore {
    pub(super) async fn do_step(&self, lead: Lead, step: &OperationStep) -> Result<OperationRow> {
        let id = step.id;
        let seen = self.find_operation(id).await?.ok_or(StoreError::NoOperation(id))?;
        if seen.state != OperationState::Running {
            return Ok(seen);
        }
        let (action, filter) = match seen.plan() {
            Ok(plan) => plan,
            Err(words) => {
                self.give_up_operation(lead, id, &words).await?;
                return self.find_operation(id).await?.ok_or(StoreError::NoOperation(id));
            }
        };
        let now = self.clock.now();
        let wanted = wanted(&seen, &filter, now);
        let span = (seen.place, seen.last_id);
        let batch = {
            let mut view = self.view(DOING).await?;
            let most = step.most.max(1) as usize;
            look::batch(&mut view, &wanted, span, most).await.map_err(failed(DOING))?
        };

        let mut tx = self.begin(DOING).await?;
        self.must_lead(&mut tx, lead, now).await?;
        let row = operation(&mut tx, id).await.map_err(failed(DOING))?;
        let row = row.ok_or(StoreError::NoOperation(id))?;
        if row.state != seen.state || row.place != seen.place {
            // Paused, cancelled, or somebody else did this step.
            return Ok(row);
        }
        let mut tally = Tally::default();
        if step.skip {
            tally.skip(ERROR, batch.found.len() as u64);
        } else if !batch.found.is_empty() {
            let (met, back) = meet(tx, &batch, &wanted).await.map_err(failed(DOING))?;
            tx = back;
            let (hot, cold) = applicable(&action, met, &mut tally);
            let of = Acting { row: &row, action: &action, now };
            of.act(&mut tx, (hot, cold), &mut tally).await?;
        }
        let state = match batch.to {
            Some(_) => OperationState::Running,
            None => OperationState::Succeeded,
        };
        let came = Came { state, place: batch.to, tally: &tally, error: None };
        let after = note(&mut tx, lead, &row, (came, now)).await.map_err(failed(DOING))?;
        tx.commit().await.map_err(failed(DOING))?;
        if tally.done > 0 {
            match action {
                Action::Cancel => self.hub.wake(Wake::Cancels),
                Action::Delete => {}
                _ => self.hub.wake(Wake::LookFromStart),
            }
        }
        Ok(after)
    }

    pub(super) async fn give_up_operation(
        &self,
        lead: Lead,
        id: OperationId,
        error: &str,
    ) -> Result<()> {
        let doing = "end an operation";
        let now = self.clock.now();
        let mut tx = self.begin(doing).await?;
        self.must_lead(&mut tx, lead, now).await?;
        let row = operation(&mut tx, id).await.map_err(failed(doing))?;
        let row = row.ok_or(StoreError::NoOperation(id))?;
        if row.state != OperationState::Running {
            return Ok(());
        }
        let (tally, words) = (Tally::default(), fit_error(error));
        let state = OperationState::Failed;
        let came = Came { state, place: row.place, tally: &tally, error: Some(&words) };
        note(&mut tx, lead, &row, (came, now)).await.map_err(failed(doing))?;
        tx.commit().await.map_err(failed(doing))
    }
}

async fn note(
    conn: &mut SqliteConnection,
    lead: Lead,
    row: &OperationRow,
    (came, now): (Came<'_>, Timestamp),
) -> sqlx::Result<OperationRow> {
    let row = sqlx::query(OPERATION.step("step"))
        .bind(row.id.0)
        .bind(came.state.as_str())
        .bind(came.place)
        .bind(came.tally.done as i64)
        .bind(came.tally.skipped() as i64)
        .bind(came.tally.added_to(&row.reasons))
        .bind(came.error)
        .bind(lead.node.0)
        .bind(lead.term)
        .bind(now.as_micros())
        .fetch_one(conn)
        .await?;
    operation_row(&row)
}

/// The jobs that still match, as the writer sees them.
async fn meet(
    tx: Transaction<'static, Sqlite>,
    batch: &Batch,
    wanted: &Wanted,
) -> sqlx::Result<(Vec<Met>, Transaction<'static, Sqlite>)> {
    let mut view = View(tx);
    let mut still = Vec::new();
    for table in [Table::Hot, Table::Cold] {
        let ids = ids_in(table, &batch.found);
        if ids.is_empty() {
            continue;
        }
        let rows = match table {
            Table::Hot => {
                let query = sqlx::query(OPERATION.step("jobs")).bind(hex_array(&ids));
                query.bind(wanted.now.as_micros()).fetch_all(&mut *view.0).await?
            }
            Table::Cold => {
                let query = sqlx::query(OPERATION.step("ended")).bind(hex_array(&ids));
                query.fetch_all(&mut *view.0).await?
            }
        };
        let mut met = HashMap::with_capacity(rows.len());
        for row in &rows {
            let id: Uuid = row.try_get("id")?;
            let ended_at: Option<i64> = row.try_get("finished_at")?;
            let key: Option<String> = row.try_get("key")?;
            let key = key.map(|key| row.try_get("scope").map(|scope| (scope, key))).transpose()?;
            let ended_at = ended_at.map(Timestamp::from_micros);
            met.insert(id, Met { id, state: rows::state(row)?, ended_at, key });
        }
        let seen = view.look(table, Rows::Ids(&ids), wanted, For::Rows).await?;
        still.extend(seen.these.iter().filter_map(|found| met.remove(&found.id)));
    }
    still.sort_unstable_by_key(|job| job.id);
    Ok((still, view.0))
}

/// An action, in a transaction that nobody else writes in.
struct Acting<'a> {
    row: &'a OperationRow,
    action: &'a Action,
    now: Timestamp,
}

impl Acting<'_> {
    async fn act(
        &self,
        conn: &mut SqliteConnection,
        (hot, cold): (Vec<Met>, Vec<Met>),
        tally: &mut Tally,
    ) -> Result<()> {
        if hot.is_empty() && cold.is_empty() {
            return Ok(());
        }
        if let Action::Retry { attempts } = self.action {
            return self.retry_all(conn, (hot, cold), *attempts, tally).await;
        }
        let done = match self.action {
            Action::Cancel => self.cancel(conn, &hot).await,
            Action::Delete => delete(conn, &hot, &cold).await,
            _ => self.edit(conn, &hot).await,
        };
        tally.changed(hot.len() + cold.len(), done.map_err(failed(DOING))?);
        Ok(())
    }

    async fn cancel(&self, conn: &mut SqliteConnection, hot: &[Met]) -> sqlx::Result<u64> {
        let mut done = 0;
        for step in ["ask_cancel", "mark_cancel"] {
            done += sqlx::query(OPERATION.step(step))
                .bind(ids(hot))
                .bind(self.now.as_micros())
                .bind(&self.row.by)
                .bind(&self.row.why)
                .execute(&mut *conn)
                .await?
                .rows_affected();
        }
        // Nothing that waits is marked but what was marked just now.
        move_cancelled(conn, None, None, self.now).await?;
        Ok(done)
    }

    async fn edit(&self, conn: &mut SqliteConnection, hot: &[Met]) -> sqlx::Result<u64> {
        let edit = self.action.edit().unwrap_or_default();
        let run_at = match edit.due {
            Some(Due::At(at)) => Some(at.as_micros()),
            _ => None,
        };
        let edited = sqlx::query(OPERATION.step("edit"))
            .bind(ids(hot))
            .bind(run_at)
            .bind(edit.priority)
            .bind(edit.queue)
            .execute(conn)
            .await?;
        Ok(edited.rows_affected())
    }

    async fn retry_all(
        &self,
        conn: &mut SqliteConnection,
        (hot, cold): (Vec<Met>, Vec<Met>),
        attempts: u32,
        tally: &mut Tally,
    ) -> Result<()> {
        let (keyed, hot): (Vec<Met>, Vec<Met>) = hot.into_iter().partition(|job| job.key.is_some());
        let (keyed_cold, cold): (Vec<Met>, Vec<Met>) =
            cold.into_iter().partition(|job| job.key.is_some());
        let all: Vec<Met> = hot.into_iter().chain(cold).collect();
        let done = self.again(conn, &all, attempts).await.map_err(failed(DOING))?;
        tally.changed(all.len(), done);
        let mut keyed: Vec<Met> = keyed.into_iter().chain(keyed_cold).collect();
        keyed.sort_unstable_by_key(|job| job.id);
        for job in keyed {
            let failed = failed(DOING);
            (&mut *conn).execute("SAVEPOINT one_job").await.map_err(&failed)?;
            let one = std::slice::from_ref(&job);
            let done = self.again(conn, one, attempts).await.map_err(&failed)?;
            match unique::retake(conn, JobId::from_uuid(job.id), self.now).await {
                Ok(()) => tally.changed(1, done),
                Err(StoreError::KeyHeld { .. }) => {
                    (&mut *conn).execute("ROLLBACK TO one_job").await.map_err(&failed)?;
                    tally.skip(KEY_HELD, 1);
                }
                Err(error) => return Err(error),
            }
            (&mut *conn).execute("RELEASE one_job").await.map_err(&failed)?;
        }
        Ok(())
    }

    async fn again(
        &self,
        conn: &mut SqliteConnection,
        jobs: &[Met],
        attempts: u32,
    ) -> sqlx::Result<u64> {
        if jobs.iter().any(|job| job.ended_at.is_some()) {
            for step in ["restore", "forget"] {
                sqlx::query(OPERATION.step(step)).bind(ids(jobs)).execute(&mut *conn).await?;
            }
        }
        let again = sqlx::query(OPERATION.step("again"))
            .bind(ids(jobs))
            .bind(self.now.as_micros())
            .bind(attempts)
            .execute(conn)
            .await?;
        Ok(again.rows_affected())
    }
}

async fn delete(conn: &mut SqliteConnection, hot: &[Met], cold: &[Met]) -> sqlx::Result<u64> {
    for job in hot.iter().chain(cold).filter(|job| job.key.is_some()) {
        sqlx::query(UNIQUE.step("free")).bind(job.id).execute(&mut *conn).await?;
    }
    let all = hex_array(&hot.iter().chain(cold).map(|job| job.id).collect::<Vec<_>>());
    let mut gone = 0;
    for step in ["delete", "delete_ended"] {
        let query = sqlx::query(OPERATION.step(step)).bind(&all);
        gone += query.execute(&mut *conn).await?.rows_affected();
    }
    for step in ["drop_aside", "drop_progress", "drop_log"] {
        sqlx::query(OPERATION.step(step)).bind(&all).execute(&mut *conn).await?;
    }
    Ok(gone)
}

fn ids(jobs: &[Met]) -> String {
    hex_array(&jobs.iter().map(|job| job.id).collect::<Vec<_>>())
}
