//! Whole days of history: taken away when all of it is past, written anew when little is left.
//!
//! A day goes in three steps, each of which finds what an attempt that was cut off has left: its table
//! is detached, looked through once more while nobody can write to it, and dropped. If the look finds a
//! row that stays after all, the table is attached again.

use sqlx::{AssertSqlSafe, Executor, Row};

use crate::store::walk::{PAGES, Place, Task};
use crate::store::{Pruner, Removed, Result, StoreError};
use crate::time::Timestamp;

use super::PostgresStore;
use super::connect::Mode;
use super::error::{Fault, sqlstate};
use super::prune::Memory;
use super::session::Session;

const DAYS: &str = include_str!("prune_days.sql");
const DAY_US: i64 = 86_400_000_000;
/// Pages of a detached table that one step looks through.
const VERIFY_PAGES: u64 = 4_096;
/// Rows of logs that one step removes.
const MOST_PARTS: i64 = 2_000;

/// A day's table on its way out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Leaving {
    day: i64,
    table: String,
    pages: u64,
    /// The detaching is not over.
    pending: bool,
    /// Looked through so far.
    verified: u64,
    removed: Removed,
}

/// What became of a table that was on its way out.
enum Step {
    GoOn,
    /// A row in it stays, so it is back in its place.
    Attached,
    Dropped,
}

/// What is on some pages of a detached table.
struct Verified {
    /// A row stays, or has a payload aside.
    stays: bool,
    rows: Removed,
}

/// What was removed, and how many whole days.
type Done = (Removed, u32);

/// The first instant of a day, counted from 1970.
pub(super) fn day_start(day: i64) -> Timestamp {
    Timestamp::from_micros(day.saturating_mul(DAY_US))
}

/// The day that a table is named for.
fn day_of(table: &str) -> Option<i64> {
    let digits = table.strip_prefix("history_")?;
    let (year, rest) = digits.split_at_checked(4)?;
    let (month, day) = rest.split_at_checked(2)?;
    let start: Timestamp = format!("{year}-{month}-{day}T00:00:00Z").parse().ok()?;
    Some(start.as_micros().div_euclid(DAY_US))
}

/// Over, and for a day already: whoever began to end a job on it has long committed.
fn closed(day: i64, now: i64) -> bool {
    day_start(day + 2).as_micros() <= now
}

impl PostgresStore {
    /// The days there are, and one that is half gone.
    pub(super) async fn days(
        &self,
        session: &mut Session,
        now: i64,
    ) -> Result<(Vec<Place>, Option<Leaving>), Fault> {
        let (mut places, mut left) = (Vec::new(), None);
        for row in session.query(DAYS).fetch_all(session.conn()).await? {
            let table: String = row.try_get(0)?;
            let (attached, pending): (bool, bool) = (row.try_get(1)?, row.try_get(2)?);
            let pages = row.try_get::<i64, _>(3)?.max(0) as u64;
            let Some(day) = day_of(&table) else { continue };
            let closed = closed(day, now);
            if attached && !pending {
                let hot_from = if closed { usize::MAX } else { 0 };
                let chunks = pages.div_ceil(PAGES) as usize;
                places.push(Place { key: day, chunks, hot_from, closed });
            } else if closed && left.is_none() {
                let removed = Removed::default();
                left = Some(Leaving { day, table, pages, pending, verified: 0, removed });
            }
        }
        Ok((places, left))
    }

    /// Begins to take a day away, or writes it anew.
    pub(super) async fn prune_day(
        &self,
        pruner: Pruner,
        memory: &mut Memory,
        task: Task,
        now: i64,
    ) -> Result<Done, Fault> {
        let (day, done) = match task {
            Task::Leave(day) => (day, self.detach(pruner, day).await),
            Task::Compact(day) => (day, self.compact(pruner, day).await),
            Task::Look(..) | Task::Remove(..) | Task::RemoveAside(..) => return Ok(Done::default()),
        };
        match done {
            Ok(()) => memory.walk.forget(day),
            // A reader is in the way. What it left half done is found by the next map.
            Err(fault) if in_the_way(&fault) => {
                memory.walk.put_off(day, now);
                memory.leave_not_before = now + 10_000_000;
            }
            Err(fault) => return Err(fault),
        }
        Ok(Done::default())
    }

    async fn detach(&self, pruner: Pruner, day: i64) -> Result<(), Fault> {
        let table = table_of(day);
        if self.mode == Mode::Pooled {
            // Behind a pooler nothing bounds a statement outside a transaction. Inside one the detaching
            // takes the strongest lock, so it waits for that no longer than anybody may be held up.
            let mut session = self.holding_lead(pruner).await?;
            bound(&mut session, "20ms", "1s").await?;
            let lock = format!("lock table longshore.{table} in access exclusive mode");
            session.conn().execute(AssertSqlSafe(lock)).await?;
            let detach =
                format!("alter table longshore.history detach partition longshore.{table}");
            session.conn().execute(AssertSqlSafe(detach)).await?;
            return session.done().await;
        }
        self.holding_lead(pruner).await?.undo().await?;
        // Not in a transaction; the settings go with the connection.
        let mut conn = self.pools.chores.acquire().await?;
        conn.close_on_drop();
        conn.execute("set lock_timeout = '2s'").await?;
        conn.execute("set statement_timeout = '5s'").await?;
        let detach = format!(
            "alter table longshore.history detach partition longshore.{table} concurrently"
        );
        conn.execute(AssertSqlSafe(detach)).await?;
        Ok(())
    }

    /// The day anew with the rows that stay, so that its space comes back: one transaction, under a lock
    /// on that day's table alone. No finish writes to a day that is over.
    async fn compact(&self, pruner: Pruner, day: i64) -> Result<(), Fault> {
        let table = table_of(day);
        let mut session = self.holding_lead(pruner).await?;
        bound(&mut session, "50ms", "5s").await?;
        // All columns, also those that a later program has added: it is the same table.
        for step in [
            format!("lock table longshore.{table} in access exclusive mode"),
            format!(
                "create temp table longshore_stay on commit drop as select * from longshore.{table}"
            ),
            format!("truncate longshore.{table}"),
            format!("insert into longshore.{table} select * from longshore_stay"),
        ] {
            session.conn().execute(AssertSqlSafe(step)).await?;
        }
        session.done().await
    }

    /// Goes on with a table that is detached, or half so.
    pub(super) async fn prune_left(
        &self,
        pruner: Pruner,
        memory: &mut Memory,
        found: Leaving,
        now: i64,
    ) -> Result<Done, Fault> {
        let mut left = match memory.leaving.take() {
            Some(known) if known.day == found.day && !found.pending => known,
            _ => found,
        };
        let done = self.go_on(pruner, &mut left, now).await;
        memory.walk.forget(left.day);
        match done {
            Ok(Step::Dropped) => Ok((left.removed, 1)),
            Ok(Step::Attached) => Ok(Done::default()),
            Ok(Step::GoOn) => {
                memory.leaving = Some(left);
                Ok(Done::default())
            }
            Err(fault) if in_the_way(&fault) => {
                memory.leave_not_before = now + 10_000_000;
                Ok(Done::default())
            }
            Err(fault) => Err(fault),
        }
    }

    async fn go_on(&self, pruner: Pruner, left: &mut Leaving, now: i64) -> Result<Step, Fault> {
        let table = &left.table;
        if left.pending {
            self.holding_lead(pruner).await?.undo().await?;
            let mut session = Session::transaction(&self.pools.chores, self.mode).await?;
            bound(&mut session, "2s", "5s").await?;
            let detach = format!(
                "alter table longshore.history detach partition longshore.{table} finalize"
            );
            session.conn().execute(AssertSqlSafe(detach)).await?;
            session.done().await?;
            left.pending = false;
            return Ok(Step::GoOn);
        }
        let mut session = self.holding_lead(pruner).await?;
        bound(&mut session, "1s", "20s").await?;
        if left.verified < left.pages {
            let to = left.verified + VERIFY_PAGES;
            let Verified { stays, rows } = self.stays(&mut session, left, to, now).await?;
            if !stays && self.forget_said(&mut session, left, to).await? {
                session.done().await?;
                return Ok(Step::GoOn);
            }
            if stays {
                let day = day_start(left.day).to_string();
                let attach = format!("select longshore.make_history_day(date '{}')", &day[..10]);
                session.conn().execute(AssertSqlSafe(attach)).await?;
            }
            left.verified = to;
            left.removed.add(rows);
            session.done().await?;
            return Ok(if stays { Step::Attached } else { Step::GoOn });
        }
        session.conn().execute(AssertSqlSafe(format!("drop table longshore.{table}"))).await?;
        session.done().await?;
        Ok(Step::Dropped)
    }

    /// Looks through some pages of a detached table: whether a row in them stays, or has a payload aside.
    async fn stays(
        &self,
        session: &mut Session,
        left: &Leaving,
        to: u64,
        now: i64,
    ) -> Result<Verified, Fault> {
        let sql = format!(
            "with seen as materialized (
                select h.state, h.queue, h.kind, h.retain_ms, h.finished_at, h.payload is null as aside
                from longshore.{table} h
                where h.ctid >= '({from},0)'::tid and h.ctid < '({to},0)'::tid),
            keeps as materialized (
                select d.state, d.queue, d.kind, coalesce((
                    select coalesce(r.keep_ms, -1) from longshore.retention r
                    where (r.kind is null or r.kind = d.kind) and (r.queue is null or r.queue = d.queue)
                      and (r.state is null or r.state = d.state)
                    order by r.kind is null, r.queue is null, r.state is null
                    limit 1), 604800000) as keep_ms
                from (select distinct s.state, s.queue, s.kind from seen s) d),
            timed as materialized (
                select s.state, s.aside, coalesce(s.retain_ms, k.keep_ms) >= 0
                    and s.finished_at + least(coalesce(s.retain_ms, k.keep_ms), 3162240000000)
                        * interval '1 millisecond' <= to_timestamp({now}::float8 / 1000000) as past
                from seen s join keeps k on k.kind = s.kind and k.queue = s.queue and k.state = s.state)
            select coalesce(bool_or(not t.past or t.aside), false),
                count(*) filter (where t.state = 'succeeded'), count(*) filter (where t.state = 'cancelled')
            from timed t",
            table = left.table,
            from = left.verified,
        );
        let row = sqlx::query(AssertSqlSafe(sql)).persistent(false);
        let row = row.fetch_one(session.conn()).await?;
        let (succeeded, cancelled): (i64, i64) = (row.try_get(1)?, row.try_get(2)?);
        let (succeeded, cancelled) = (succeeded as u64, cancelled as u64);
        Ok(Verified { stays: row.try_get(0)?, rows: Removed { succeeded, cancelled, dead: 0 } })
    }

    /// Some of what the jobs on these pages said, which has no other way out; whether there may be more.
    async fn forget_said(
        &self,
        session: &mut Session,
        left: &Leaving,
        to: u64,
    ) -> Result<bool, Fault> {
        let sql = format!(
            "with ids as materialized (
                select h.id from longshore.{table} h
                where h.ctid >= '({from},0)'::tid and h.ctid < '({to},0)'::tid),
            unsaid as (
                delete from longshore.progress p where p.id = any(array(select i.id from ids i))),
            unlogged as (
                delete from longshore.log l
                where l.ctid = any(array(
                    select k.ctid from longshore.log k
                    where k.id = any(array(select i.id from ids i))
                    limit {MOST_PARTS}))
                returning 1)
            select count(*) from unlogged",
            table = left.table,
            from = left.verified,
        );
        let row = sqlx::query(AssertSqlSafe(sql)).persistent(false);
        let row = row.fetch_one(session.conn()).await?;
        Ok(row.try_get::<i64, _>(0)? == MOST_PARTS)
    }

    async fn holding_lead(&self, pruner: Pruner) -> Result<Session, Fault> {
        match pruner {
            Pruner::Leader(lead) => self.lead_session(&self.pools.chores, lead).await,
            Pruner::Hand | Pruner::Look(_) => Err(StoreError::NotLeader.into()),
        }
    }
}

fn table_of(day: i64) -> String {
    let start = day_start(day).to_string();
    format!("history_{}", start[..10].replace('-', ""))
}

/// Bounds what follows in this transaction.
async fn bound(session: &mut Session, lock: &str, statement: &str) -> Result<(), Fault> {
    let sql = format!(
        "select set_config('lock_timeout', '{lock}', true), set_config('statement_timeout', '{statement}', true)"
    );
    session.conn().execute(AssertSqlSafe(sql)).await?;
    Ok(())
}

/// Somebody holds what the step needs, or began it himself: later.
fn in_the_way(fault: &Fault) -> bool {
    let Fault::Db(error) = fault else { return false };
    // lock_timeout, statement_timeout, deadlock, "already pending detach", "in use by active queries".
    let codes = ["55P03", "57014", "40P01", "55000", "55006"];
    sqlstate(error).is_some_and(|code| codes.contains(&&*code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_named_for_its_day() {
        for day in [0, -1, 20_000, 2_932_896] {
            assert_eq!(day_of(&table_of(day)), Some(day), "{}", table_of(day));
        }
        for other in ["history", "history_2026", "history_20261301", "job_20260101"] {
            assert_eq!(day_of(other), None, "{other}");
        }
    }
}
