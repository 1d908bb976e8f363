//! Writes how runs ended.

use std::collections::HashMap;

use serde::Serialize;
use sqlx::Row;
use sqlx::postgres::PgRow;
use uuid::Uuid;

use crate::job::state::Marks;
use crate::job::{AttemptFault, JobId, State, text};
use crate::store::{Ack, Ending, Held, MAX_THROTTLES, NodeFault, NodeId, Result, Wake};

use super::PostgresStore;
use super::error::{Fault, Tries};
use super::session::{Session, within};

const FINISH: &str = include_str!("finish.sql");
const RELEASE: &str = include_str!("release.sql");
const REPEATED: &str = include_str!("repeated.sql");

/// What became of each run that was ours.
type States = HashMap<Held, State>;

impl PostgresStore {
    pub(super) async fn end(&self, node: NodeId, ended: &[(Held, Ending)]) -> Result<Vec<Ack>> {
        if ended.is_empty() {
            return Ok(Vec::new());
        }
        let batch = Batch::of(ended);
        let mut tries = Tries::of("record how runs ended");
        let states = loop {
            match within(self.patience(), self.try_end(node, &batch)).await {
                Ok(states) => break states,
                Err(fault) => tries.after(self, fault).await?,
            }
        };
        if let Some(wake) = wake(ended, &states) {
            self.tell(wake);
        }
        let ack = |held: &Held| match states.get(held) {
            Some(state) => Ack::Recorded(*state),
            None => Ack::LeaseLost,
        };
        Ok(ended.iter().map(|(held, _)| ack(held)).collect())
    }

    async fn try_end(&self, node: NodeId, batch: &Batch<'_>) -> Result<States, Fault> {
        let both = !batch.done.ids.is_empty() && !batch.other.ids.is_empty();
        let mut session = match both {
            true => Session::often_in_transaction(&self.pools.hot, self.mode).await?,
            false => Session::often(&self.pools.hot, self.mode).await?,
        };
        let mut states = States::new();
        if !batch.done.ids.is_empty() {
            self.finish(&mut session, node, &batch.done, &mut states).await?;
        }
        if !batch.other.ids.is_empty() {
            self.release(&mut session, node, &batch.other, &mut states).await?;
        }
        session.done().await?;
        if batch.held.iter().any(|held| !states.contains_key(held)) {
            self.recall_ended(node, batch, &mut states).await?;
        }
        Ok(states)
    }

    /// One run that ended well, in its handler's transaction.
    pub(super) async fn finish_one(
        &self,
        session: &mut Session,
        node: NodeId,
        held: Held,
        output: Option<&str>,
    ) -> Result<Option<State>, Fault> {
        let mut done = Done::default();
        done.push(held, output);
        let mut states = States::new();
        self.finish(session, node, &done, &mut states).await?;
        Ok(states.remove(&held))
    }

    async fn finish(
        &self,
        session: &mut Session,
        node: NodeId,
        done: &Done<'_>,
        states: &mut States,
    ) -> Result<(), Fault> {
        let query = session
            .query(FINISH)
            .bind(node.0)
            .bind(&done.ids)
            .bind(&done.leases)
            .bind(done.outputs.iter().any(Option::is_some).then_some(&done.outputs))
            .bind(self.clock.fixed());
        for row in query.fetch_all(session.conn()).await? {
            states.insert(run(&row)?, ended_as(row.try_get(2)?));
        }
        Ok(())
    }

    async fn release(
        &self,
        session: &mut Session,
        node: NodeId,
        other: &Other,
        states: &mut States,
    ) -> Result<(), Fault> {
        let query = session
            .query(RELEASE)
            .bind(node.0)
            .bind(&other.ids)
            .bind(&other.leases)
            .bind(&other.whats)
            .bind(&other.delays)
            .bind(&other.errors)
            .bind(&other.whys)
            .bind(self.clock.fixed())
            .bind(MAX_THROTTLES);
        for row in query.fetch_all(session.conn()).await? {
            let marks = Marks {
                dead: row.try_get(3)?,
                running: false,
                blocked: false,
                run_at: row.try_get(4)?,
                attempt: row.try_get(5)?,
            };
            let state = match row.try_get(2)? {
                true => State::Cancelled,
                false => State::of(&marks, row.try_get(6)?),
            };
            states.insert(run(&row)?, state);
        }
        Ok(())
    }

    /// Jobs that matched nothing may have been recorded by an earlier try.
    async fn recall_ended(
        &self,
        node: NodeId,
        batch: &Batch<'_>,
        states: &mut States,
    ) -> Result<(), Fault> {
        let missing = || batch.held.iter().filter(|held| !states.contains_key(held));
        let ids: Vec<Uuid> = missing().map(|held| held.id.as_uuid()).collect();
        let leases: Vec<i64> = missing().map(|held| held.lease).collect();
        let mut session = Session::single(&self.pools.vital, self.mode).await?;
        let query = session.query(REPEATED).bind(node.0).bind(ids).bind(leases);
        for row in query.bind(self.clock.fixed()).fetch_all(session.conn()).await? {
            states.insert(run(&row)?, ended_as(row.try_get(2)?));
        }
        session.done().await
    }
}

/// The run a row answers for.
fn run(row: &PgRow) -> Result<Held, sqlx::Error> {
    Ok(Held { id: JobId::from_uuid(row.try_get(0)?), lease: row.try_get(1)? })
}

fn ended_as(cancelled: bool) -> State {
    if cancelled { State::Cancelled } else { State::Succeeded }
}

/// One call's endings, sorted by statement and by id: rows are locked in that order everywhere.
#[derive(Default)]
struct Batch<'a> {
    held: Vec<Held>,
    done: Done<'a>,
    other: Other,
}

#[derive(Default)]
struct Done<'a> {
    ids: Vec<Uuid>,
    leases: Vec<i64>,
    outputs: Vec<Option<&'a str>>,
}

#[derive(Default)]
struct Other {
    ids: Vec<Uuid>,
    leases: Vec<i64>,
    whats: Vec<&'static str>,
    delays: Vec<i64>,
    errors: Vec<Option<String>>,
    whys: Vec<Option<String>>,
}

impl<'a> Batch<'a> {
    fn of(ended: &'a [(Held, Ending)]) -> Batch<'a> {
        let mut sorted: Vec<&(Held, Ending)> = ended.iter().collect();
        sorted.sort_by_key(|(held, _)| (held.id, held.lease));
        // The same run twice in one call: the first ending counts.
        sorted.dedup_by_key(|(held, _)| *held);
        let mut batch = Batch::default();
        for (held, ending) in sorted {
            batch.held.push(*held);
            match ending {
                Ending::Succeeded { output } => batch.done.push(*held, output.as_deref()),
                other => batch.other.push(*held, other),
            }
        }
        batch
    }
}

impl<'a> Done<'a> {
    fn push(&mut self, held: Held, output: Option<&'a str>) {
        self.ids.push(held.id.as_uuid());
        self.leases.push(held.lease);
        self.outputs.push(output);
    }
}

impl Other {
    fn push(&mut self, held: Held, ending: &Ending) {
        let (what, delay, error, why) = match ending {
            Ending::Failed { error, delay } => {
                ("failed", super::micros(*delay).max(1_000), Some(error), None)
            }
            Ending::Dead { error } => ("dead", 0, Some(error), None),
            Ending::Snoozed { delay } => ("snoozed", super::micros(*delay), None, None),
            Ending::Throttled { delay, error } => {
                ("throttled", super::micros(*delay).max(1_000), Some(error), None)
            }
            Ending::GivenBack => ("given_back", 0, None, None),
            Ending::Cancelled { why } => ("cancelled", 0, None, Some(why)),
            Ending::Succeeded { .. } => unreachable!("it has a statement of its own"),
        };
        self.ids.push(held.id.as_uuid());
        self.leases.push(held.lease);
        self.whats.push(what);
        self.delays.push(delay);
        self.errors.push(error.map(without_time));
        self.whys.push(why.map(|why| text::fit(why, text::MAX_ERROR_BYTES)));
    }
}

/// An error as JSON without its time, which release.sql puts in front: the database's, not ours.
fn without_time(error: &NodeFault) -> String {
    #[derive(Serialize)]
    struct Timeless<'a> {
        attempt: u32,
        node: Uuid,
        kind: AttemptFault,
        message: &'a str,
        chain: &'a [String],
    }
    super::json(&Timeless {
        attempt: error.attempt,
        node: error.node,
        kind: error.kind,
        message: &error.message,
        chain: &error.chain,
    })
}

/// Jobs that are due again lie below the low-water marks when they were given back.
fn wake(ended: &[(Held, Ending)], states: &States) -> Option<Wake> {
    let queued = |held: &Held| states.get(held) == Some(&State::Queued);
    let mut again = ended.iter().filter(|(held, _)| queued(held)).peekable();
    again.peek()?;
    match again.any(|(_, ending)| matches!(ending, Ending::GivenBack)) {
        true => Some(Wake::LookFromStart),
        false => Some(Wake::Look),
    }
}
