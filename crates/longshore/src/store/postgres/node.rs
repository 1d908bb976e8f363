//! Nodes: joining, heartbeats, leaving.

use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::store::{
    Beat, NewNode, NodeId, NodeRow, NodeState, Pulse, Remote, Result, StoreError, Wake, Wish,
};

use super::PostgresStore;
use super::error::{Fault, Tries};
use super::session::{Session, within};

const JOIN: &str = include_str!("join.sql");
const BEAT: &str = include_str!("beat.sql");
const LEAVE_LOCK: &str = include_str!("leave_lock.sql");
const LEAVE: &str = include_str!("leave.sql");
const WISH: &str = include_str!("wish.sql");
const NODES: &str = include_str!("nodes.sql");

const MAX_NODES: i64 = 1_000;

impl PostgresStore {
    pub(super) async fn add_node(&self, node: &NewNode) -> Result<()> {
        let mut tries = Tries::repeatable("join as a node");
        loop {
            match within(self.options.busy_for, self.try_join(node)).await {
                Ok(()) => return Ok(()),
                Err(fault) => tries.after(self, fault).await?,
            }
        }
    }

    async fn try_join(&self, node: &NewNode) -> Result<(), Fault> {
        let mut session = Session::transaction(&self.pools.beat, self.mode).await?;
        let query = session
            .query(JOIN)
            .bind(node.id.0)
            .bind(&node.name)
            .bind(&node.version)
            .bind(super::json(&node.queues))
            .bind(&node.kinds)
            .bind(super::micros(node.lease_for))
            .bind(self.clock.fixed())
            .bind(node.wish.map(Wish::as_str))
            .bind(Remote::kept(node));
        query.execute(session.conn()).await?;
        if !node.known.is_empty() {
            self.keep_kinds(&mut session, &node.known).await?;
        }
        session.done().await
    }

    pub(super) async fn renew(&self, beat: &Beat) -> Result<Pulse> {
        let mut tries = Tries::repeatable("send a heartbeat");
        loop {
            // Bounded more tightly than other calls: there is one connection for it, and a lease
            // runs out while it waits.
            match within(self.options.busy_for, self.try_beat(beat)).await {
                Ok(pulse) => return Ok(pulse),
                Err(fault) => tries.after(self, fault).await?,
            }
        }
    }

    async fn try_beat(&self, beat: &Beat) -> Result<Pulse, Fault> {
        let mut session = Session::single(&self.pools.beat, self.mode).await?;
        let query = session
            .query(BEAT)
            .bind(beat.node.0)
            .bind(super::micros(beat.lease_for))
            .bind(&beat.over)
            .bind(self.clock.fixed())
            .bind(beat.state.as_str());
        let row = query.fetch_optional(session.conn()).await?;
        let pulse = match row {
            Some(row) => {
                let wish = Wish::from_word(row.try_get(1)?);
                Pulse::Alive { now: row.try_get(0)?, wish, overdue: row.try_get(2)? }
            }
            None => Pulse::Lost,
        };
        session.done().await?;
        Ok(pulse)
    }

    pub(super) async fn remove_node(&self, node: NodeId) -> Result<()> {
        self.repeated("leave", || self.try_leave(node)).await
    }

    async fn try_leave(&self, node: NodeId) -> Result<(), Fault> {
        let mut session = Session::transaction(&self.pools.beat, self.mode).await?;
        session.query(LEAVE_LOCK).bind(node.0).execute(session.conn()).await?;
        let query = session.query(LEAVE).bind(node.0).bind(self.clock.fixed());
        query.execute(session.conn()).await?;
        session.done().await
    }

    pub(super) async fn ask_node(&self, node: NodeId, wish: Option<Wish>) -> Result<()> {
        if !self.repeated("ask a node", || self.try_ask_node(node, wish)).await? {
            return Err(StoreError::NoNode(node));
        }
        self.tell(Wake::Wishes);
        Ok(())
    }

    async fn try_ask_node(&self, node: NodeId, wish: Option<Wish>) -> Result<bool, Fault> {
        let mut session = Session::single(&self.pools.general, self.mode).await?;
        let asked = session
            .query(WISH)
            .bind(node.0)
            .bind(wish.map(Wish::as_str))
            .bind(self.clock.fixed())
            .fetch_optional(session.conn())
            .await?;
        session.done().await?;
        Ok(asked.is_some())
    }

    pub(super) async fn all_nodes(&self) -> Result<Vec<NodeRow>> {
        self.repeated("list nodes", || self.try_nodes()).await
    }

    async fn try_nodes(&self) -> Result<Vec<NodeRow>, Fault> {
        let mut session = Session::single(&self.pools.general, self.mode).await?;
        let query = session.query(NODES).bind(MAX_NODES).bind(self.clock.fixed());
        let rows = query.fetch_all(session.conn()).await?;
        let nodes: Result<Vec<_>, _> = rows.iter().map(node_row).collect();
        session.done().await?;
        Ok(nodes?)
    }
}

fn node_row(row: &PgRow) -> Result<NodeRow, sqlx::Error> {
    Ok(NodeRow {
        id: NodeId(row.try_get("id")?),
        name: row.try_get("name")?,
        version: row.try_get("version")?,
        // Another version of this program may say it differently; it is only shown.
        queues: serde_json::from_str(row.try_get("queues")?).unwrap_or_default(),
        kinds: row.try_get("kinds")?,
        started_at: row.try_get("started_at")?,
        expires_at: row.try_get("expires_at")?,
        lost_at: row.try_get("lost_at")?,
        live: row.try_get("live")?,
        state: NodeState::from_word(row.try_get("state")?),
        wish: Wish::from_word(row.try_get("wish")?),
        remote: row.try_get("remote")?,
        running: row.try_get::<i64, _>("running")? as u64,
    })
}
