//! The lead, and the chores that only the leader does.

use std::time::Duration;

use sqlx::{PgPool, Row};

use crate::store::{Lead, NodeId, Result, StoreError, Term};

use super::PostgresStore;
use super::error::Fault;
use super::session::{Session, within};

const LEADS: &str = include_str!("leads.sql");
const LEAD: &str = include_str!("lead.sql");
const RESIGN: &str = include_str!("resign.sql");
const MAKE_PARTITIONS: &str = include_str!("make_partitions.sql");

impl PostgresStore {
    pub(super) async fn take_lead(&self, node: NodeId, span: Duration) -> Result<Option<Term>> {
        // A repeat renews what the lost try took.
        self.repeated("take the lead", || self.try_lead(node, span)).await
    }

    async fn try_lead(&self, node: NodeId, span: Duration) -> Result<Option<Term>, Fault> {
        let mut session = Session::single(&self.pools.vital, self.mode).await?;
        let query = session.query(LEAD).bind(node.0).bind(super::micros(span));
        let row = query.bind(self.clock.fixed()).fetch_optional(session.conn()).await?;
        let term = row.map(|row| row.try_get(0)).transpose()?;
        session.done().await?;
        Ok(term)
    }

    pub(super) async fn give_up_lead(&self, lead: Lead) -> Result<()> {
        self.repeated("give up the lead", || self.try_resign(lead)).await
    }

    async fn try_resign(&self, lead: Lead) -> Result<(), Fault> {
        let mut session = Session::single(&self.pools.vital, self.mode).await?;
        let query = session.query(RESIGN).bind(lead.node.0).bind(lead.term);
        query.execute(session.conn()).await?;
        session.done().await
    }

    /// A transaction in which this node leads, and goes on leading until it ends.
    pub(super) async fn lead_session(&self, pool: &PgPool, lead: Lead) -> Result<Session, Fault> {
        let mut session = Session::transaction(pool, self.mode).await?;
        let query = session.query(LEADS).bind(lead.node.0).bind(lead.term);
        let row = query.bind(self.clock.fixed()).fetch_optional(session.conn()).await?;
        if row.is_none() {
            session.undo().await?;
            return Err(StoreError::NotLeader.into());
        }
        Ok(session)
    }

    pub(super) async fn make_days(&self, lead: Lead, days: u32) -> Result<()> {
        self.repeated("make history's partitions", || self.try_make_days(lead, days)).await
    }

    async fn try_make_days(&self, lead: Lead, days: u32) -> Result<(), Fault> {
        let mut session = self.lead_session(&self.pools.vital, lead).await?;
        self.make_partitions_in(&mut session, days).await?;
        session.done().await
    }

    /// For a call that found no partition for today; anyone may do it.
    pub(super) async fn make_today(&self) -> Result<()> {
        match within(self.patience(), self.try_make_today()).await {
            Ok(()) => Ok(()),
            Err(Fault::Known(error)) => Err(error),
            Err(Fault::Db(error)) => {
                Err(self.explain("make history's partition of today", error).await)
            }
        }
    }

    async fn try_make_today(&self) -> Result<(), Fault> {
        let mut session = Session::transaction(&self.pools.vital, self.mode).await?;
        self.make_partitions_in(&mut session, 0).await?;
        session.done().await
    }

    async fn make_partitions_in(&self, session: &mut Session, days: u32) -> Result<(), Fault> {
        let days = i32::try_from(days).unwrap_or(i32::MAX);
        let query = session.query(MAKE_PARTITIONS).bind(days).bind(self.clock.fixed());
        query.execute(session.conn()).await?;
        Ok(())
    }
}
