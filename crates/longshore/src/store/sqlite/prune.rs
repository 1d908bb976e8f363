//! Prune: removes what is past its time, a little at once, since there is one writer.

use std::time::{Duration, Instant};

use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection};
use uuid::Uuid;

use super::SqliteStore;
use super::error::failed;
use super::retention::rules;
use super::sql::PRUNE;
use crate::store::walk::{DeadAsk, Place, Seen, Task, Walk};
use crate::store::{Pruned, Pruner, Removed, Result};
use crate::time::Timestamp;

const DOING: &str = "prune";
/// Rows of one chunk: to remove them all holds the write lock for a few milliseconds.
const CHUNK: i64 = 512;
/// Bytes that go at once, where rows are large.
const MAX_BYTES: i64 = 4 << 20;
/// Dead jobs that are looked at together.
const DEAD: i64 = 500;
/// One step looks no longer than this, as far as it found nothing to remove.
const LOOK_FOR: Duration = Duration::from_millis(10);

impl SqliteStore {
    pub(super) async fn prune_step(&self, pruner: Pruner) -> Result<Pruned> {
        let mut walk = self.walks.of(pruner).lock().await;
        let pruned = self.step(pruner, &mut walk).await;
        let over = pruned.as_ref().is_ok_and(|pruned| !pruned.more);
        if pruned.is_err() || (over && !matches!(pruner, Pruner::Leader(_))) {
            // What was done of a step that failed is not known.
            walk.reset();
        }
        pruned
    }

    async fn step(&self, pruner: Pruner, walk: &mut Walk) -> Result<Pruned> {
        let now = self.clock.now();
        let began = Instant::now();
        let mut conn = self.read(DOING).await?;
        if let Pruner::Leader(lead) = pruner {
            self.must_lead(&mut conn, lead, now).await?;
        }
        walk.begin(pruner, rules(&mut conn).await.map_err(failed(DOING))?);
        if walk.wants_map() {
            let end: Option<i64> = sqlx::query_scalar(PRUNE.step("end"))
                .fetch_one(&mut *conn)
                .await
                .map_err(failed(DOING))?;
            // Keys are made by SQLite, from 1; one made by hand below that is in the first chunk.
            let chunks = end.map_or(0, |end| end.max(0) / CHUNK + 1) as usize;
            // Rows come after the last one; if that goes, its number comes again.
            walk.map(&[Place {
                key: 0,
                chunks,
                hot_from: chunks.saturating_sub(2),
                closed: false,
            }]);
        }
        drop(conn);

        let now_us = now.as_micros();
        let mut removed = Removed::default();
        let mut more = false;
        if let Some(ask) = walk.next_dead(now_us) {
            removed.add(self.prune_dead(pruner, walk, ask, now).await?);
            more = walk.next_dead(now_us).is_some();
        }
        while removed == Removed::default() {
            let Some(task) = walk.next(now_us) else { break };
            if let Task::Look(_, at) | Task::Remove(_, at) = task {
                removed.add(self.prune_chunk(pruner, walk, at, now).await?);
            }
            if began.elapsed() > LOOK_FOR {
                more = true;
                break;
            }
        }
        more |= removed != Removed::default();
        Ok(Pruned { removed, days: 0, more, lag: walk.lag(now_us), next_in: walk.next_in(now_us) })
    }

    async fn prune_chunk(
        &self,
        pruner: Pruner,
        walk: &mut Walk,
        at: usize,
        now: Timestamp,
    ) -> Result<Removed> {
        let chunk = Chunk { at: at as i64, now: now.as_micros() };
        let mut conn = self.read(DOING).await?;
        let most = if looks(pruner) { i64::MAX } else { MAX_BYTES };
        let mut look = look(&mut conn, &chunk, most).await.map_err(failed(DOING))?;
        drop(conn);
        if looks(pruner) || look.goes == Removed::default() {
            walk.seen(0, at, chunk.now, look.seen);
            return Ok(look.goes);
        }
        // What a power cut brings back goes again, since the memory of the walk goes with the process.
        let mut tx = self.begin_lightly(DOING).await?;
        if let Pruner::Leader(lead) = pruner {
            self.must_lead(tx.conn(), lead, self.clock.now()).await?;
        }
        look = remove(tx.conn(), &chunk).await.map_err(failed(DOING))?;
        tx.commit(DOING).await?;
        walk.seen(0, at, chunk.now, look.seen);
        Ok(look.goes)
    }

    async fn prune_dead(
        &self,
        pruner: Pruner,
        walk: &mut Walk,
        ask: DeadAsk,
        now: Timestamp,
    ) -> Result<Removed> {
        let now_us = now.as_micros();
        let mut conn = self.read(DOING).await?;
        let looks = looks(pruner);
        let most = if looks { i64::MAX } else { MAX_BYTES };
        let mut dead = look_dead(&mut conn, &ask, now_us, most).await.map_err(failed(DOING))?;
        drop(conn);
        if !looks && dead.goes > 0 {
            let mut tx = self.begin_lightly(DOING).await?;
            if let Pruner::Leader(lead) = pruner {
                self.must_lead(tx.conn(), lead, self.clock.now()).await?;
            }
            dead = remove_dead(tx.conn(), &ask, now_us).await.map_err(failed(DOING))?;
            tx.commit(DOING).await?;
        }
        // Those that were too large to go together are still there: look again from the same place.
        let last = if dead.left_over { Some(ask.after) } else { dead.last };
        walk.seen_dead(now_us, last, dead.earliest);
        Ok(Removed { dead: dead.goes, ..Removed::default() })
    }
}

/// Whether nothing is to be removed.
fn looks(pruner: Pruner) -> bool {
    matches!(pruner, Pruner::Look(_))
}

struct Chunk {
    at: i64,
    now: i64,
}

/// What is in a chunk, and which of it goes.
struct Look {
    seen: Seen,
    goes: Removed,
    aside: i64,
    seqs: String,
}

async fn look(conn: &mut SqliteConnection, chunk: &Chunk, most: i64) -> sqlx::Result<Look> {
    // The first reaches down to whatever was numbered by hand.
    let from = if chunk.at == 0 { i64::MIN } else { chunk.at * CHUNK };
    let row = sqlx::query(PRUNE.step("look"))
        .bind(from)
        .bind((chunk.at + 1) * CHUNK)
        .bind(chunk.now)
        .bind(most)
        .fetch_one(conn)
        .await?;
    let goes = Removed {
        succeeded: count(&row, "succeeded")?,
        cancelled: count(&row, "cancelled")?,
        dead: 0,
    };
    let left_over: Option<i64> = row.try_get("left_over")?;
    let seen = Seen {
        rows: count(&row, "seen_rows")? - goes.total(),
        earliest: left_over.or(row.try_get("earliest")?),
        newest: row.try_get("newest")?,
        shortest: row.try_get("shortest")?,
        found: row.try_get("found")?,
        ..Seen::default()
    };
    Ok(Look { seen, goes, aside: row.try_get("aside")?, seqs: row.try_get("seqs")? })
}

async fn remove(conn: &mut SqliteConnection, chunk: &Chunk) -> sqlx::Result<Look> {
    let look = look(conn, chunk, MAX_BYTES).await?;
    if look.aside > 0 {
        sqlx::query(PRUNE.step("drop_payloads")).bind(&look.seqs).execute(&mut *conn).await?;
    }
    for step in ["drop_progress", "drop_log"] {
        sqlx::query(PRUNE.step(step)).bind(&look.seqs).execute(&mut *conn).await?;
    }
    sqlx::query(PRUNE.step("drop")).bind(&look.seqs).execute(&mut *conn).await?;
    Ok(look)
}

/// Some dead jobs, and which of them go.
struct Dead {
    goes: u64,
    aside: i64,
    seqs: String,
    left_over: bool,
    /// Where to go on; `None` at the end.
    last: Option<(i64, Uuid)>,
    earliest: Option<i64>,
}

async fn look_dead(
    conn: &mut SqliteConnection,
    ask: &DeadAsk,
    now: i64,
    most: i64,
) -> sqlx::Result<Dead> {
    let row = sqlx::query(PRUNE.step("dead"))
        .bind(ask.after.0)
        .bind(ask.after.1)
        .bind(ask.until)
        .bind(DEAD)
        .bind(now)
        .bind(most)
        .fetch_one(conn)
        .await?;
    let goes = count(&row, "dead")?;
    let last = match (row.try_get("last_at")?, row.try_get::<Option<Uuid>, _>("last_id")?) {
        (Some(at), Some(id)) if count(&row, "seen_rows")? == DEAD as u64 => Some((at, id)),
        _ => None,
    };
    Ok(Dead {
        goes,
        aside: row.try_get("aside")?,
        seqs: row.try_get("seqs")?,
        left_over: count(&row, "old_rows")? > goes,
        last,
        earliest: row.try_get("earliest")?,
    })
}

async fn remove_dead(conn: &mut SqliteConnection, ask: &DeadAsk, now: i64) -> sqlx::Result<Dead> {
    let dead = look_dead(conn, ask, now, MAX_BYTES).await?;
    if dead.aside > 0 {
        sqlx::query(PRUNE.step("drop_dead_payloads")).bind(&dead.seqs).execute(&mut *conn).await?;
    }
    for step in ["drop_dead_progress", "drop_dead_log"] {
        sqlx::query(PRUNE.step(step)).bind(&dead.seqs).execute(&mut *conn).await?;
    }
    sqlx::query(PRUNE.step("drop_dead")).bind(&dead.seqs).execute(&mut *conn).await?;
    Ok(dead)
}

fn count(row: &SqliteRow, name: &str) -> sqlx::Result<u64> {
    Ok(row.try_get::<i64, _>(name)? as u64)
}
