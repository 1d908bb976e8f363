//! Finish: runs that ended go to history, or back to wait, or wait for a person.

use std::collections::HashMap;
use std::time::Duration;

use sqlx::sqlite::SqliteRow;
use sqlx::{Row, Sqlite, SqliteConnection, Transaction};
use uuid::Uuid;

use super::SqliteStore;
use super::error::failed;
use super::rows;
use super::say;
use super::sql::{CANCEL, FINISH, RELEASE};
use crate::job::state::Marks;
use crate::job::{AttemptError, AttemptFault, JobId, State, text};
use crate::store::{Ack, Ending, Held, MAX_THROTTLES, NodeId, Result, Wake};
use crate::time::Timestamp;

const DOING: &str = "write how jobs ended";
/// A failed job never comes back in the same instant.
const SHORTEST: Duration = Duration::from_millis(1);

/// What every statement here needs to know.
pub(super) struct At {
    pub node: NodeId,
    pub now: Timestamp,
}

impl SqliteStore {
    pub(super) async fn end(&self, node: NodeId, ended: &[(Held, Ending)]) -> Result<Vec<Ack>> {
        let at = At { node, now: self.clock.now() };
        let done = Done::of(ended);
        let mut tx = self.begin(DOING).await?;
        let mut states = finish_done(&mut tx, &at, &done).await.map_err(failed(DOING))?;
        let mut given_back = false;
        for (held, ending) in ended {
            if !matches!(ending, Ending::Succeeded { .. }) {
                let state = release(&mut tx, &at, *held, ending).await.map_err(failed(DOING))?;
                given_back |= state == Some(State::Queued);
                states.extend(state.map(|state| (held.id, state)));
            }
        }
        let mut acks = Vec::with_capacity(ended.len());
        for (held, _) in ended {
            let state = match states.get(&held.id) {
                Some(state) => Some(*state),
                None => recorded(&mut tx, &at, *held).await.map_err(failed(DOING))?,
            };
            acks.push(state.map_or(Ack::LeaseLost, Ack::Recorded));
        }
        tx.commit().await.map_err(failed(DOING))?;
        if given_back {
            self.hub.wake(Wake::LookFromStart);
        }
        Ok(acks)
    }
}

/// Those that were done, as the statements take them: made before the lock is taken, which others wait for.
pub(super) struct Done {
    held: Vec<Held>,
    rows: String,
}

impl Done {
    pub fn of(ended: &[(Held, Ending)]) -> Done {
        let (mut held, mut rows) = (Vec::new(), Vec::new());
        for (one, ending) in ended {
            if let Ending::Succeeded { output } = ending {
                held.push(*one);
                rows.push((one.id.as_uuid().simple().to_string(), one.lease, output.as_deref()));
            }
        }
        Done { held, rows: super::json_array(&rows) }
    }
}

/// All that were done: copied to history, then taken out.
pub(super) async fn finish_done(
    tx: &mut Transaction<'static, Sqlite>,
    at: &At,
    done: &Done,
) -> sqlx::Result<HashMap<JobId, State>> {
    let Done { held, rows } = done;
    if held.is_empty() {
        return Ok(HashMap::new());
    }
    let asked = asked(tx, at.node).await?;
    let kept = sqlx::query(FINISH.step("keep"))
        .bind(at.node.0)
        .bind(rows)
        .bind(at.now.as_micros())
        .execute(&mut **tx)
        .await?;
    let drop = |step| sqlx::query(FINISH.step(step)).bind(at.node.0).bind(rows);
    if kept.rows_affected() == held.len() as u64 {
        drop("drop_kept").execute(&mut **tx).await?;
        let state = |id| if asked.contains(&id) { State::Cancelled } else { State::Succeeded };
        return Ok(held.iter().map(|held| (held.id, state(held.id))).collect());
    }
    let gone = drop("drop").fetch_all(&mut **tx).await?;
    let mut states = HashMap::with_capacity(gone.len());
    for row in &gone {
        let id = rows::id(row)?;
        states.insert(id, rows::state(row)?);
        drop_orphans(tx, id, row).await?;
    }
    Ok(states)
}

/// Which running jobs of a node were asked to cancel.
pub(super) async fn asked(conn: &mut SqliteConnection, node: NodeId) -> sqlx::Result<Vec<JobId>> {
    let rows = sqlx::query(CANCEL.step("asked")).bind(node.0).fetch_all(conn).await?;
    rows.iter().map(rows::id).collect()
}

/// What an ending has to know of the run it ends.
struct Holding {
    attempt: i64,
    max_attempts: i64,
    throttles: i64,
    superseded_by: Option<Uuid>,
    cancelled: bool,
}

/// One that was not done; `None` if the lease is lost.
async fn release(
    conn: &mut SqliteConnection,
    at: &At,
    held: Held,
    ending: &Ending,
) -> sqlx::Result<Option<State>> {
    let Some(holding) = holding(conn, at, held).await? else { return Ok(None) };
    let mut after = After::of(ending, &holding, at.now);
    if let Ending::Cancelled { why } = ending {
        sqlx::query(RELEASE.step("ask_cancel"))
            .bind(held.id.as_uuid())
            .bind(at.node.0)
            .bind(held.lease)
            .bind(at.now.as_micros())
            .bind(text::fit(why, text::MAX_ERROR_BYTES))
            .execute(&mut *conn)
            .await?;
    }
    if let Some(newer) = holding.superseded_by {
        // Its own error first, then why that was the end.
        if let Some(error) = after.error.replace(superseded(at, &holding, newer)) {
            note(conn, at, held, &error).await?;
        }
        after.dead_at = Some(at.now);
    }
    if holding.cancelled || matches!(ending, Ending::Cancelled { .. }) {
        if let Some(error) = after.error {
            note(conn, at, held, &error).await?;
        }
        let moved = move_cancelled(conn, Some(held.id.as_uuid()), Some(at.node.0), at.now).await?;
        return Ok((!moved.is_empty()).then_some(State::Cancelled));
    }
    let row = sqlx::query(RELEASE.step("again"))
        .bind(held.id.as_uuid())
        .bind(at.node.0)
        .bind(held.lease)
        .bind(after.attempts_back)
        .bind(after.run_at.map(Timestamp::as_micros))
        .bind(after.dead_at.map(Timestamp::as_micros))
        .bind(after.error.as_ref().map(json))
        .bind(after.throttles)
        .fetch_one(&mut *conn)
        .await?;
    let marks = Marks {
        dead: after.dead_at.is_some(),
        running: false,
        blocked: false,
        run_at: after.run_at,
        attempt: row.try_get("attempt")?,
    };
    Ok(Some(State::of(&marks, at.now)))
}

/// What a job is after a run that was not done.
struct After {
    attempts_back: i64,
    /// `None`: as before.
    run_at: Option<Timestamp>,
    dead_at: Option<Timestamp>,
    error: Option<AttemptError>,
    /// `None`: as before.
    throttles: Option<i64>,
}

impl After {
    fn of(ending: &Ending, holding: &Holding, now: Timestamp) -> After {
        let later = |delay: Duration| Some(now.plus(delay.max(SHORTEST)));
        let with_time = |error: &AttemptError| Some(AttemptError { at: now, ..error.clone() });
        let as_before =
            After { attempts_back: 0, run_at: None, dead_at: None, error: None, throttles: None };
        let throttles = holding.throttles + 1;
        match ending {
            Ending::Failed { error, delay } => After {
                run_at: later(*delay),
                error: with_time(error),
                throttles: Some(0),
                ..as_before
            },
            Ending::Dead { error } => {
                After { dead_at: Some(now), error: with_time(error), ..as_before }
            }
            Ending::Snoozed { delay } => {
                After { attempts_back: 1, run_at: Some(now.plus(*delay)), ..as_before }
            }
            Ending::Throttled { delay, .. } if throttles < MAX_THROTTLES.into() => After {
                attempts_back: 1,
                run_at: later(*delay),
                throttles: Some(throttles),
                ..as_before
            },
            Ending::Throttled { delay, error } if holding.attempt < holding.max_attempts => After {
                run_at: later(*delay),
                error: with_time(error),
                throttles: Some(0),
                ..as_before
            },
            Ending::Throttled { error, .. } => {
                After { dead_at: Some(now), error: with_time(error), ..as_before }
            }
            Ending::GivenBack => After { attempts_back: 1, ..as_before },
            Ending::Cancelled { .. } | Ending::Succeeded { .. } => as_before,
        }
    }
}

/// Only this lease's: what follows is guarded by node and id.
async fn holding(
    conn: &mut SqliteConnection,
    at: &At,
    held: Held,
) -> sqlx::Result<Option<Holding>> {
    let row = sqlx::query(RELEASE.step("holds"))
        .bind(held.id.as_uuid())
        .bind(at.node.0)
        .bind(held.lease)
        .fetch_optional(conn)
        .await?;
    let Some(row) = row else { return Ok(None) };
    Ok(Some(Holding {
        attempt: row.try_get("attempt")?,
        max_attempts: row.try_get("max_attempts")?,
        throttles: row.try_get("throttles")?,
        superseded_by: row.try_get("superseded_by")?,
        cancelled: row.try_get("cancelled")?,
    }))
}

fn superseded(at: &At, holding: &Holding, newer: Uuid) -> AttemptError {
    AttemptError {
        attempt: u32::try_from(holding.attempt).unwrap_or_default(),
        at: at.now,
        node: at.node.0,
        kind: AttemptFault::Superseded,
        message: format!("job {newer} has its unique key"),
        chain: Vec::new(),
    }
}

/// Appends an error, and changes nothing else.
async fn note(
    conn: &mut SqliteConnection,
    at: &At,
    held: Held,
    error: &AttemptError,
) -> sqlx::Result<()> {
    let noted = sqlx::query(RELEASE.step("note"))
        .bind(held.id.as_uuid())
        .bind(at.node.0)
        .bind(held.lease)
        .bind(json(error))
        .execute(conn);
    noted.await.map(|_| ())
}

fn json(error: &AttemptError) -> String {
    serde_json::to_string(error).expect("our own struct is JSON")
}

/// Moves jobs marked as cancelled to history: one job, or all of a node.
pub(super) async fn move_cancelled(
    conn: &mut SqliteConnection,
    id: Option<Uuid>,
    node: Option<Uuid>,
    now: Timestamp,
) -> sqlx::Result<Vec<JobId>> {
    sqlx::query(CANCEL.step("keep"))
        .bind(id)
        .bind(node)
        .bind(now.as_micros())
        .execute(&mut *conn)
        .await?;
    let gone = sqlx::query(CANCEL.step("drop")).bind(id).bind(node).fetch_all(&mut *conn).await?;
    let mut moved = Vec::with_capacity(gone.len());
    for row in &gone {
        let id = rows::id(row)?;
        drop_orphans(conn, id, row).await?;
        moved.push(id);
    }
    Ok(moved)
}

/// What a job that keeps nothing leaves behind.
async fn drop_orphans(conn: &mut SqliteConnection, id: JobId, row: &SqliteRow) -> sqlx::Result<()> {
    if row.try_get("orphans_payload")? {
        sqlx::query(FINISH.step("drop_payload")).bind(id.as_uuid()).execute(&mut *conn).await?;
    }
    if row.try_get("orphans_said")? {
        say::forget(conn, id).await?;
    }
    Ok(())
}

async fn recorded(conn: &mut SqliteConnection, at: &At, held: Held) -> sqlx::Result<Option<State>> {
    let row = sqlx::query(FINISH.step("recorded"))
        .bind(held.id.as_uuid())
        .bind(at.node.0)
        .bind(held.lease)
        .fetch_optional(conn)
        .await?;
    row.as_ref().map(rows::state).transpose()
}
