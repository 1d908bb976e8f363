//! Nodes: they join, say that they are still here, leave or are lost; one of them leads.

use std::time::Duration;

use sqlx::{Row, Sqlite, Transaction};
use uuid::Uuid;

use super::SqliteStore;
use super::error::failed;
use super::finish::move_cancelled;
use super::sql::{LEADER, NODE, RESCUE};
use super::{kinds, rows};
use crate::store::{
    Beat, Lead, NewNode, NodeId, NodeRow, Pulse, Remote, Rescued, Result, StoreError, Term, Wake,
    Wish,
};
use crate::time::Timestamp;

/// A lost node's row is kept this long, for people to see.
const KEEP_LOST: Duration = Duration::from_secs(3_600);

impl SqliteStore {
    pub(super) async fn add_node(&self, node: &NewNode) -> Result<()> {
        let doing = "join as a node";
        let now = self.clock.now();
        let mut tx = self.begin(doing).await?;
        self.no_others(&mut tx).await?;
        sqlx::query(NODE.step("join"))
            .bind(node.id.0)
            .bind(&node.name)
            .bind(&node.version)
            .bind(super::json_array(&node.queues))
            .bind(super::json_array(&node.kinds))
            .bind(now.as_micros())
            .bind(now.plus(node.lease_for).as_micros())
            .bind(&self.host)
            .bind(node.wish.map(Wish::as_str))
            .bind(Remote::kept(node))
            .execute(&mut *tx)
            .await
            .map_err(failed(doing))?;
        if !node.known.is_empty() {
            kinds::keep(&mut tx, &node.known, now).await.map_err(failed(doing))?;
        }
        tx.commit().await.map_err(failed(doing))
    }

    pub(super) async fn renew(&self, beat: &Beat) -> Result<Pulse> {
        let doing = "renew the lease";
        let now = self.clock.now();
        let mut tx = self.begin(doing).await?;
        let renewed: Option<(Option<String>, bool)> = sqlx::query_as(NODE.step("beat"))
            .bind(beat.node.0)
            .bind(now.plus(beat.lease_for).as_micros())
            .bind(now.as_micros())
            .bind(beat.state.as_str())
            .fetch_optional(&mut *tx)
            .await
            .map_err(failed(doing))?;
        tx.commit().await.map_err(failed(doing))?;
        Ok(renewed.map_or(Pulse::Lost, |(wish, overdue)| Pulse::Alive {
            now,
            wish: Wish::from_word(wish.as_deref()),
            overdue,
        }))
    }

    pub(super) async fn ask_node(&self, node: NodeId, wish: Option<Wish>) -> Result<()> {
        let doing = "ask a node";
        let mut tx = self.begin(doing).await?;
        let asked = sqlx::query(NODE.step("wish"))
            .bind(node.0)
            .bind(wish.map(Wish::as_str))
            .bind(self.clock.now().as_micros())
            .execute(&mut *tx)
            .await
            .map_err(failed(doing))?;
        tx.commit().await.map_err(failed(doing))?;
        if asked.rows_affected() == 0 {
            return Err(StoreError::NoNode(node));
        }
        self.hub.wake(Wake::Wishes);
        Ok(())
    }

    pub(super) async fn remove_node(&self, node: NodeId) -> Result<()> {
        let doing = "leave";
        let mut tx = self.begin(doing).await?;
        for step in ["leave", "expire"] {
            let mut query = sqlx::query(NODE.step(step)).bind(node.0);
            if step == "expire" {
                query = query.bind(self.clock.now().as_micros());
            }
            query.execute(&mut *tx).await.map_err(failed(doing))?;
        }
        tx.commit().await.map_err(failed(doing))
    }

    pub(super) async fn all_nodes(&self) -> Result<Vec<NodeRow>> {
        let doing = "list nodes";
        let mut conn = self.read(doing).await?;
        let rows = sqlx::query(NODE.step("list"))
            .bind(self.clock.now().as_micros())
            .fetch_all(&mut *conn)
            .await
            .map_err(failed(doing))?;
        rows.iter().map(rows::node_row).collect::<sqlx::Result<_>>().map_err(failed(doing))
    }

    pub(super) async fn rescue_lost(&self) -> Result<Rescued> {
        let doing = "rescue jobs of lost nodes";
        let now = self.clock.now();
        // Nearly always there is nothing to do, and then nothing is locked.
        let mut conn = self.read(doing).await?;
        let none = lost(&mut conn, now).await.map_err(failed(doing))?.is_empty();
        drop(conn);
        if none {
            return Ok(Rescued::default());
        }
        let mut rescued = Rescued::default();
        let mut tx = self.begin(doing).await?;
        for node in lost(&mut tx, now).await.map_err(failed(doing))? {
            rescue_one(&mut tx, node, now, &mut rescued).await.map_err(failed(doing))?;
        }
        tx.commit().await.map_err(failed(doing))?;
        if !rescued.queued.is_empty() {
            self.hub.wake(Wake::LookFromStart);
        }
        Ok(rescued)
    }

    pub(super) async fn forget_lost(&self, lead: Lead) -> Result<Rescued> {
        let doing = "forget lost nodes";
        let now = self.clock.now();
        let mut tx = self.begin(doing).await?;
        self.must_lead(&mut tx, lead, now).await?;
        let mut rescued = Rescued::default();
        let stray: Vec<Uuid> = sqlx::query_scalar(RESCUE.step("stray"))
            .fetch_all(&mut *tx)
            .await
            .map_err(failed(doing))?;
        for node in stray {
            rescue_one(&mut tx, node, now, &mut rescued).await.map_err(failed(doing))?;
        }
        sqlx::query(RESCUE.step("forget"))
            .bind(now.minus(KEEP_LOST).as_micros())
            .execute(&mut *tx)
            .await
            .map_err(failed(doing))?;
        tx.commit().await.map_err(failed(doing))?;
        if !rescued.queued.is_empty() {
            self.hub.wake(Wake::LookFromStart);
        }
        Ok(rescued)
    }

    pub(super) async fn take_lead(&self, node: NodeId, span: Duration) -> Result<Option<Term>> {
        let doing = "take the lead";
        let now = self.clock.now();
        let mut tx = self.begin(doing).await?;
        let row = sqlx::query(LEADER.step("lead"))
            .bind(node.0)
            .bind(now.as_micros())
            .bind(now.plus(span).as_micros())
            .fetch_optional(&mut *tx)
            .await
            .map_err(failed(doing))?;
        tx.commit().await.map_err(failed(doing))?;
        row.map(|row| row.try_get("term")).transpose().map_err(failed(doing))
    }

    pub(super) async fn give_up_lead(&self, lead: Lead) -> Result<()> {
        let doing = "give up the lead";
        let mut tx = self.begin(doing).await?;
        sqlx::query(LEADER.step("resign"))
            .bind(lead.node.0)
            .bind(lead.term)
            .execute(&mut *tx)
            .await
            .map_err(failed(doing))?;
        tx.commit().await.map_err(failed(doing))
    }

    /// Guards a leader's write: refused when the term is over.
    pub(super) async fn must_lead(
        &self,
        conn: &mut sqlx::SqliteConnection,
        lead: Lead,
        now: Timestamp,
    ) -> Result<()> {
        let leads: i64 = sqlx::query_scalar(LEADER.step("leads"))
            .bind(lead.node.0)
            .bind(lead.term)
            .bind(now.as_micros())
            .fetch_one(conn)
            .await
            .map_err(failed("check the lead"))?;
        if leads == 1 { Ok(()) } else { Err(StoreError::NotLeader) }
    }
}

async fn lost(conn: &mut sqlx::SqliteConnection, now: Timestamp) -> sqlx::Result<Vec<Uuid>> {
    sqlx::query_scalar(RESCUE.step("lost")).bind(now.as_micros()).fetch_all(conn).await
}

async fn rescue_one(
    tx: &mut Transaction<'static, Sqlite>,
    node: Uuid,
    now: Timestamp,
    rescued: &mut Rescued,
) -> sqlx::Result<()> {
    sqlx::query(RESCUE.step("note"))
        .bind(node)
        .bind(now.to_string())
        .bind(node.to_string())
        .execute(&mut **tx)
        .await?;
    rescued.cancelled.extend(move_cancelled(tx, None, Some(node), now).await?);
    let back = sqlx::query(RESCUE.step("back"))
        .bind(node)
        .bind(now.as_micros())
        .fetch_all(&mut **tx)
        .await?;
    for row in &back {
        let to = if row.try_get("dead")? { &mut rescued.dead } else { &mut rescued.queued };
        to.push(rows::id(row)?);
    }
    let marked = sqlx::query(RESCUE.step("mark"))
        .bind(node)
        .bind(now.as_micros())
        .execute(&mut **tx)
        .await?;
    if marked.rows_affected() == 1 {
        rescued.nodes.push(NodeId(node));
    }
    Ok(())
}
