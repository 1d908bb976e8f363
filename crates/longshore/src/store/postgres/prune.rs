//! Prune: removes what is past its time, in statements of some milliseconds. Whole days: `days.rs`.

use std::time::{Duration, Instant};

use sqlx::Row;
use uuid::Uuid;

use crate::job::State;
use crate::store::walk::{DeadAsk, PAGES, Seen, Task, Walk};
use crate::store::{Keep, Pruned, Pruner, Removed, Result, RetentionRule, RetentionScope};
use crate::time::Timestamp;

use super::PostgresStore;
use super::days::{Leaving, day_start};
use super::error::{Fault, Tries};
use super::session::{Session, within};

const BEGIN: &str = include_str!("prune_begin.sql");
const CHUNK: &str = include_str!("prune_chunk.sql");
const DEAD: &str = include_str!("prune_dead.sql");

/// Rows that go in one statement: some 10 ms.
const MOST_ROWS: i64 = 1_000;
/// Bytes that go in one statement, where rows are large.
const MOST_BYTES: i64 = 8 << 20;
/// Dead jobs that are looked at together.
const DEAD_ROWS: i64 = 500;
/// One step looks no longer than this, as far as it found nothing to remove.
const LOOK_FOR: Duration = Duration::from_millis(10);

/// What is remembered between two steps.
#[derive(Default)]
pub(super) struct Memory {
    pub walk: Walk,
    /// The day's table that is being taken away.
    pub leaving: Option<Leaving>,
    /// No table is taken away before.
    pub leave_not_before: i64,
}

/// What one transaction came to.
pub(super) enum Came {
    Done(Pruned),
    /// What is next is done outside of a transaction that holds the lead.
    Day(Task, i64),
    Left(Leaving, i64),
}

impl PostgresStore {
    pub(super) async fn prune_step(&self, pruner: Pruner) -> Result<Pruned> {
        let mut memory = self.walks.of(pruner).lock().await;
        let mut tries = Tries::repeatable("prune");
        loop {
            let fault = match within(self.patience(), self.try_prune(pruner, &mut memory)).await {
                Ok(pruned) => {
                    if !pruned.more && !matches!(pruner, Pruner::Leader(_)) {
                        *memory = Memory::default();
                    }
                    return Ok(pruned);
                }
                Err(fault) => fault,
            };
            // What was done of a step that failed is not known.
            *memory = Memory::default();
            tries.after(self, fault).await?;
        }
    }

    async fn try_prune(&self, pruner: Pruner, memory: &mut Memory) -> Result<Pruned, Fault> {
        let (done, now) = match self.prune_rows(pruner, memory).await? {
            Came::Done(pruned) => return Ok(pruned),
            Came::Day(task, now) => (self.prune_day(pruner, memory, task, now).await?, now),
            Came::Left(leaving, now) => (self.prune_left(pruner, memory, leaving, now).await?, now),
        };
        let (removed, days) = done;
        let (lag, next_in) = (memory.walk.lag(now), memory.walk.next_in(now));
        Ok(Pruned { removed, days, more: true, lag, next_in })
    }

    async fn prune_rows(&self, pruner: Pruner, memory: &mut Memory) -> Result<Came, Fault> {
        let began = Instant::now();
        let mut session = match pruner {
            Pruner::Leader(lead) => self.lead_session(&self.pools.chores, lead).await?,
            Pruner::Hand | Pruner::Look(_) => {
                Session::transaction(&self.pools.chores, self.mode).await?
            }
        };
        let query = session.query(BEGIN).bind(self.clock.fixed());
        let row = query.fetch_one(session.conn()).await?;
        let now: Timestamp = row.try_get(0)?;
        let now_us = now.as_micros();
        memory.walk.begin(pruner, rules(row.try_get("rules")?));
        if memory.walk.wants_map() {
            let (places, left) = self.days(&mut session, now_us).await?;
            memory.walk.map(&places);
            let may = matches!(pruner, Pruner::Leader(_)) && now_us >= memory.leave_not_before;
            if let Some(left) = left.filter(|_| may) {
                session.done().await?;
                return Ok(Came::Left(left, now_us));
            }
        }
        let walk = &mut memory.walk;
        let mut removed = Removed::default();
        let mut more = false;
        if let Some(ask) = walk.next_dead(now_us) {
            removed.dead = self.prune_dead(&mut session, pruner, walk, ask, now_us).await?;
            more = walk.next_dead(now_us).is_some();
        }
        while removed == Removed::default() {
            let Some(task) = walk.next(now_us) else { break };
            if let Task::Leave(_) | Task::Compact(_) = task {
                session.done().await?;
                return Ok(Came::Day(task, now_us));
            }
            removed.add(self.prune_chunk(&mut session, pruner, walk, task, now_us).await?);
            if began.elapsed() > LOOK_FOR {
                more = true;
                break;
            }
        }
        session.done().await?;
        more |= removed != Removed::default();
        let (lag, next_in) = (walk.lag(now_us), walk.next_in(now_us));
        Ok(Came::Done(Pruned { removed, days: 0, more, lag, next_in }))
    }

    async fn prune_chunk(
        &self,
        session: &mut Session,
        pruner: Pruner,
        walk: &mut Walk,
        task: Task,
        now: i64,
    ) -> Result<Removed, Fault> {
        let (day, at, most, only_aside) = match task {
            Task::Look(day, at) => (day, at, 0, false),
            Task::Remove(day, at) => (day, at, MOST_ROWS, false),
            Task::RemoveAside(day, at) => (day, at, MOST_ROWS, true),
            Task::Leave(_) | Task::Compact(_) => return Ok(Removed::default()),
        };
        let row = session
            .query(CHUNK)
            .bind(day_start(day))
            .bind(day_start(day + 1))
            .bind(format!("({},0)", at as u64 * PAGES))
            .bind(format!("({},0)", (at as u64 + 1) * PAGES))
            .bind(most)
            .bind(MOST_BYTES)
            .bind(only_aside)
            .bind(self.clock.fixed())
            .fetch_one(session.conn())
            .await?;
        let count = |name| Ok::<u64, sqlx::Error>(row.try_get::<i64, _>(name)? as u64);
        let time = |name| {
            let at: Option<Timestamp> = row.try_get(name)?;
            Ok::<Option<i64>, sqlx::Error>(at.map(Timestamp::as_micros))
        };
        let seen = Seen {
            rows: count("rows")?,
            earliest: time("earliest")?,
            latest: time("latest")?,
            aside: count("aside")?,
            newest: time("newest")?,
            shortest: row.try_get("shortest")?,
            found: time("found")?,
        };
        walk.seen(day, at, now, seen);
        let [succeeded, cancelled] = match pruner {
            Pruner::Look(_) => ["old_succeeded", "old_cancelled"],
            Pruner::Leader(_) | Pruner::Hand => ["succeeded", "cancelled"],
        };
        Ok(Removed { succeeded: count(succeeded)?, cancelled: count(cancelled)?, dead: 0 })
    }

    async fn prune_dead(
        &self,
        session: &mut Session,
        pruner: Pruner,
        walk: &mut Walk,
        ask: DeadAsk,
        now: i64,
    ) -> Result<u64, Fault> {
        let looks = matches!(pruner, Pruner::Look(_));
        let row = session
            .query(DEAD)
            .bind(Timestamp::from_micros(ask.after.0))
            .bind(ask.after.1)
            .bind(Timestamp::from_micros(ask.until))
            .bind(DEAD_ROWS)
            .bind(MOST_BYTES)
            .bind(looks)
            .bind(self.clock.fixed())
            .fetch_one(session.conn())
            .await?;
        let rows: i64 = row.try_get("rows")?;
        let last_at: Option<Timestamp> = row.try_get("last_at")?;
        let last_id: Option<Uuid> = row.try_get("last_id")?;
        let last = last_at.map(Timestamp::as_micros).zip(last_id).filter(|_| rows == DEAD_ROWS);
        // Those that were too large to go together are still there: look again from the same place.
        let left_over = row.try_get::<bool, _>("left_over")? && !looks;
        let earliest: Option<Timestamp> = row.try_get("earliest")?;
        let last = if left_over { Some(ask.after) } else { last };
        walk.seen_dead(now, last, earliest.map(Timestamp::as_micros));
        Ok(row.try_get::<i64, _>(if looks { "old" } else { "gone" })? as u64)
    }
}

/// The rules as prune_begin.sql tells them.
fn rules(json: &str) -> Vec<RetentionRule> {
    type Row = (Option<String>, Option<String>, Option<String>, Option<i64>);
    let rows: Vec<Row> = serde_json::from_str(json).unwrap_or_default();
    let rule = |(state, queue, kind, keep): Row| {
        let state = state.and_then(|word| word.parse::<State>().ok());
        let scope = RetentionScope { state, queue, kind };
        RetentionRule { scope, keep: Keep::from_ms(keep) }
    };
    rows.into_iter().map(rule).collect()
}
