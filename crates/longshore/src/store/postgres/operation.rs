//! Operations: kept, asked, listed, pruned. What a step does is in `operate.rs`.

use std::time::Duration;

use sqlx::Row;
use sqlx::postgres::PgRow;
use uuid::Uuid;

use crate::job::{Invalid, Problem};
use crate::operation::{
    MAX_OPEN_OPERATIONS, NewOperation, OperationAsk, OperationId, OperationRow, OperationState,
};
use crate::store::{Count, Lead, NodeId, Relation, Result, StoreError, Wake};

use super::PostgresStore;
use super::error::Fault;
use super::session::Session;

const START: &str = include_str!("operation_start.sql");
const GET: &str = include_str!("operation_get.sql");
const LIST: &str = include_str!("operation_list.sql");
pub(super) const LOCK: &str = include_str!("operation_lock.sql");
const NEXT: &str = include_str!("operation_next.sql");
const ASK: &str = include_str!("operation_ask.sql");
const PRUNE: &str = include_str!("operation_prune.sql");

/// Operations that go in one statement.
const MOST: i64 = 1_000;

impl PostgresStore {
    pub(super) async fn keep_operation(
        &self,
        new: &NewOperation,
        total: Count,
    ) -> Result<OperationRow> {
        let row = self.repeated("start an operation", || self.try_start(new, total)).await?;
        // The leader hears it.
        self.tell(Wake::Look);
        Ok(row)
    }

    async fn try_start(&self, new: &NewOperation, total: Count) -> Result<OperationRow, Fault> {
        let mut session = Session::transaction(&self.pools.general, self.mode).await?;
        let query = session
            .query(START)
            .bind(new.id.0)
            .bind(new.action.word())
            .bind(new.action.arguments())
            .bind(new.filter.to_string())
            .bind(&new.by)
            .bind(&new.why)
            .bind(total.value as i64)
            .bind(total.relation == Relation::AtLeast)
            .bind(self.clock.fixed())
            .bind(i64::from(MAX_OPEN_OPERATIONS));
        let mut row = query.fetch_optional(session.conn()).await?;
        if row.is_none() {
            // A repeat finds what the first try kept.
            row = session.query(GET).bind(new.id.0).fetch_optional(session.conn()).await?;
        }
        let Some(row) = row else {
            session.undo().await?;
            let limit = MAX_OPEN_OPERATIONS as usize;
            let problem = Problem::TooMany { count: limit + 1, limit };
            return Err(StoreError::from(Invalid::new("operations", problem)).into());
        };
        session.done().await?;
        Ok(operation_row(&row)?)
    }

    pub(super) async fn find_operation(&self, id: OperationId) -> Result<Option<OperationRow>> {
        self.repeated("look up an operation", || self.try_find_operation(id)).await
    }

    async fn try_find_operation(&self, id: OperationId) -> Result<Option<OperationRow>, Fault> {
        let mut session = Session::single(&self.pools.general, self.mode).await?;
        let row = session.query(GET).bind(id.0).fetch_optional(session.conn()).await?;
        session.done().await?;
        Ok(row.as_ref().map(operation_row).transpose()?)
    }

    pub(super) async fn list_operations(
        &self,
        before: Option<OperationId>,
        most: u32,
    ) -> Result<Vec<OperationRow>> {
        self.repeated("list operations", || self.try_list_operations(before, most)).await
    }

    async fn try_list_operations(
        &self,
        before: Option<OperationId>,
        most: u32,
    ) -> Result<Vec<OperationRow>, Fault> {
        let mut session = Session::single(&self.pools.general, self.mode).await?;
        let before = before.map_or(Uuid::max(), |id| id.0);
        let query = session.query(LIST).bind(before).bind(i64::from(most));
        let rows = query.fetch_all(session.conn()).await?;
        session.done().await?;
        Ok(rows.iter().map(operation_row).collect::<Result<_, _>>()?)
    }

    pub(super) async fn first_operation(&self) -> Result<Option<OperationId>> {
        self.repeated("look for operations", || self.try_first_operation()).await
    }

    async fn try_first_operation(&self) -> Result<Option<OperationId>, Fault> {
        let mut session = Session::single(&self.pools.chores, self.mode).await?;
        let row = session.query(NEXT).fetch_optional(session.conn()).await?;
        let id = row.map(|row| row.try_get(0).map(OperationId)).transpose()?;
        session.done().await?;
        Ok(id)
    }

    pub(super) async fn tell_operation(
        &self,
        id: OperationId,
        ask: OperationAsk,
    ) -> Result<OperationRow> {
        let row = self.repeated("change an operation", || self.try_tell(id, ask)).await?;
        if ask == OperationAsk::Resume {
            self.tell(Wake::Look);
        }
        Ok(row)
    }

    async fn try_tell(&self, id: OperationId, ask: OperationAsk) -> Result<OperationRow, Fault> {
        let mut session = Session::transaction(&self.pools.vital, self.mode).await?;
        // Waits for a step that is under way.
        let row = session.query(LOCK).bind(id.0).fetch_optional(session.conn()).await?;
        let Some(row) = row.as_ref().map(operation_row).transpose()? else {
            session.undo().await?;
            return Err(StoreError::NoOperation(id).into());
        };
        let state = row.state;
        let Some(then) = ask.next(state) else {
            session.undo().await?;
            return Err(StoreError::OperationRefused { id, state, ask }.into());
        };
        if then == state {
            session.undo().await?;
            return Ok(row);
        }
        let query = session.query(ASK).bind(id.0).bind(then.as_str()).bind(self.clock.fixed());
        let row = operation_row(&query.fetch_one(session.conn()).await?)?;
        session.done().await?;
        Ok(row)
    }

    pub(super) async fn forget_operations(&self, lead: Lead, keep: Duration) -> Result<bool> {
        self.repeated("prune operations", || self.try_forget_operations(lead, keep)).await
    }

    async fn try_forget_operations(&self, lead: Lead, keep: Duration) -> Result<bool, Fault> {
        let mut session = self.lead_session(&self.pools.chores, lead).await?;
        let query =
            session.query(PRUNE).bind(super::micros(keep)).bind(MOST).bind(self.clock.fixed());
        let gone: i64 = query.fetch_one(session.conn()).await?.try_get(0)?;
        session.done().await?;
        Ok(gone == MOST)
    }
}

pub(super) fn operation_row(row: &PgRow) -> Result<OperationRow, sqlx::Error> {
    let number = |name| row.try_get::<i64, _>(name).map(|number| number.max(0) as u64);
    let state: &str = row.try_get("state")?;
    let node: Option<Uuid> = row.try_get("node")?;
    let term: Option<i64> = row.try_get("term")?;
    let at_least: bool = row.try_get("at_least")?;
    Ok(OperationRow {
        id: OperationId(row.try_get("id")?),
        action: row.try_get("action")?,
        arguments: row.try_get("arguments")?,
        query: row.try_get("query")?,
        by: row.try_get("asked_by")?,
        why: row.try_get("why")?,
        state: OperationState::of(state)
            .ok_or_else(|| sqlx::Error::Decode(format!("`{state}` is no state").into()))?,
        total: number("total")?,
        relation: if at_least { Relation::AtLeast } else { Relation::Exact },
        done: number("done")?,
        skipped: number("skipped")?,
        reasons: crate::store::operation::reasons(row.try_get("reasons")?),
        error: row.try_get("error")?,
        runner: node.map(NodeId).zip(term),
        created_at: row.try_get("created_at")?,
        updated_at: row.try_get("updated_at")?,
        ended_at: row.try_get("ended_at")?,
        last_id: row.try_get("last_id")?,
        place: row.try_get("place")?,
    })
}
