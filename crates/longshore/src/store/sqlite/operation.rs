//! Operations: kept, asked, listed, pruned. What a step does is in `operate.rs`.

use std::time::Duration;

use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection};
use uuid::Uuid;

use super::SqliteStore;
use super::error::failed;
use super::sql::OPERATION;
use crate::job::{Invalid, Problem};
use crate::operation::{
    MAX_OPEN_OPERATIONS, NewOperation, OperationAsk, OperationId, OperationRow, OperationState,
};
use crate::store::{Count, Lead, NodeId, Relation, Result, StoreError, Wake};
use crate::time::Timestamp;

/// Operations that go in one statement.
const MOST: i64 = 500;

impl SqliteStore {
    pub(super) async fn keep_operation(
        &self,
        new: &NewOperation,
        total: Count,
    ) -> Result<OperationRow> {
        let doing = "start an operation";
        let mut tx = self.begin(doing).await?;
        let mut row = sqlx::query(OPERATION.step("start"))
            .bind(new.id.0)
            .bind(new.action.word())
            .bind(new.action.arguments())
            .bind(new.filter.to_string())
            .bind(&new.by)
            .bind(&new.why)
            .bind(total.value as i64)
            .bind(total.relation == Relation::AtLeast)
            .bind(self.clock.now().as_micros())
            .bind(i64::from(MAX_OPEN_OPERATIONS))
            .fetch_optional(&mut *tx)
            .await
            .map_err(failed(doing))?
            .as_ref()
            .map(operation_row)
            .transpose()
            .map_err(failed(doing))?;
        if row.is_none() {
            // A repeat finds what the first call kept.
            row = operation(&mut tx, new.id).await.map_err(failed(doing))?;
        }
        let Some(row) = row else {
            let limit = MAX_OPEN_OPERATIONS as usize;
            let problem = Problem::TooMany { count: limit + 1, limit };
            return Err(Invalid::new("operations", problem).into());
        };
        tx.commit().await.map_err(failed(doing))?;
        // The leader hears it.
        self.hub.wake(Wake::Look);
        Ok(row)
    }

    pub(super) async fn find_operation(&self, id: OperationId) -> Result<Option<OperationRow>> {
        let doing = "look up an operation";
        let mut conn = self.read(doing).await?;
        operation(&mut conn, id).await.map_err(failed(doing))
    }

    pub(super) async fn list_operations(
        &self,
        before: Option<OperationId>,
        most: u32,
    ) -> Result<Vec<OperationRow>> {
        let doing = "list operations";
        let query =
            sqlx::query(OPERATION.step("list")).bind(before.map(|id| id.0)).bind(i64::from(most));
        self.rows(doing, query, operation_row).await
    }

    pub(super) async fn first_operation(&self) -> Result<Option<OperationId>> {
        let doing = "look for operations";
        let mut conn = self.read(doing).await?;
        let id: Option<Uuid> = sqlx::query_scalar(OPERATION.step("next"))
            .fetch_optional(&mut *conn)
            .await
            .map_err(failed(doing))?;
        Ok(id.map(OperationId))
    }

    pub(super) async fn tell_operation(
        &self,
        id: OperationId,
        ask: OperationAsk,
    ) -> Result<OperationRow> {
        let doing = "change an operation";
        let mut tx = self.begin(doing).await?;
        let row = operation(&mut tx, id).await.map_err(failed(doing))?;
        let row = row.ok_or(StoreError::NoOperation(id))?;
        let state = row.state;
        let then = ask.next(state).ok_or(StoreError::OperationRefused { id, state, ask })?;
        if then == state {
            return Ok(row);
        }
        let row = sqlx::query(OPERATION.step("ask"))
            .bind(id.0)
            .bind(then.as_str())
            .bind(self.clock.now().as_micros())
            .fetch_one(&mut *tx)
            .await
            .map_err(failed(doing))?;
        let row = operation_row(&row).map_err(failed(doing))?;
        tx.commit().await.map_err(failed(doing))?;
        if ask == OperationAsk::Resume {
            self.hub.wake(Wake::Look);
        }
        Ok(row)
    }

    pub(super) async fn forget_operations(&self, lead: Lead, keep: Duration) -> Result<bool> {
        let doing = "prune operations";
        let now = self.clock.now();
        let mut tx = self.begin(doing).await?;
        self.must_lead(&mut tx, lead, now).await?;
        let gone = sqlx::query(OPERATION.step("prune"))
            .bind(now.minus(keep).as_micros())
            .bind(MOST)
            .execute(&mut *tx)
            .await
            .map_err(failed(doing))?;
        tx.commit().await.map_err(failed(doing))?;
        Ok(gone.rows_affected() == MOST as u64)
    }
}

pub(super) async fn operation(
    conn: &mut SqliteConnection,
    id: OperationId,
) -> sqlx::Result<Option<OperationRow>> {
    let row = sqlx::query(OPERATION.step("get")).bind(id.0).fetch_optional(conn).await?;
    row.as_ref().map(operation_row).transpose()
}

pub(super) fn operation_row(row: &SqliteRow) -> sqlx::Result<OperationRow> {
    let number = |name| row.try_get::<i64, _>(name).map(|number| number.max(0) as u64);
    let at = |name| row.try_get::<i64, _>(name).map(Timestamp::from_micros);
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
        created_at: at("created_at")?,
        updated_at: at("updated_at")?,
        ended_at: row.try_get::<Option<i64>, _>("ended_at")?.map(Timestamp::from_micros),
        last_id: row.try_get("last_id")?,
        place: row.try_get("place")?,
    })
}
