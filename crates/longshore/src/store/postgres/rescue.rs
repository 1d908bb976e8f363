//! Gives away what lost nodes hold.

use sqlx::Row;
use uuid::Uuid;

use crate::job::JobId;
use crate::store::{Lead, NodeId, Rescued, Result, Wake};

use super::PostgresStore;
use super::error::{Fault, Tries};
use super::session::{Session, within};

const RESCUE_NODES: &str = include_str!("rescue_nodes.sql");
const RESCUE_JOBS: &str = include_str!("rescue_jobs.sql");
const GIVE_AWAY: &str = include_str!("give_away.sql");
const MARK_LOST: &str = include_str!("mark_lost.sql");
const SWEEP: &str = include_str!("sweep.sql");
const FORGET_NODES: &str = include_str!("forget_nodes.sql");

/// Nodes that one rescue takes care of.
const MAX_NODES: i64 = 10;
/// Rows that one statement of a sweep looks at: some 20 ms.
const SWEEP_ROWS: i64 = 20_000;
/// Statements of one sweep; the next sweep goes on where it stopped.
const SWEEP_STATEMENTS: usize = 50;

impl PostgresStore {
    pub(super) async fn rescue_lost(&self) -> Result<Rescued> {
        let rescued = self.repeated("rescue the jobs of lost nodes", || self.try_rescue()).await?;
        self.tell_rescued(&rescued);
        Ok(rescued)
    }

    async fn try_rescue(&self) -> Result<Rescued, Fault> {
        let mut session = Session::transaction(&self.pools.vital, self.mode).await?;
        let query = session.query(RESCUE_NODES).bind(MAX_NODES).bind(self.clock.fixed());
        let mut nodes = Vec::new();
        let mut rescued = Rescued::default();
        for row in query.fetch_all(session.conn()).await? {
            let node = row.try_get(0)?;
            nodes.push(node);
            if row.try_get(1)? {
                rescued.nodes.push(NodeId(node));
            }
        }
        if !nodes.is_empty() {
            let query = session.query(RESCUE_JOBS).bind(&nodes);
            let mut ids: Vec<Uuid> = Vec::new();
            for row in query.fetch_all(session.conn()).await? {
                ids.push(row.try_get(0)?);
            }
            self.give_away(&mut session, &ids, &nodes, &mut rescued).await?;
            let query = session.query(MARK_LOST).bind(&nodes).bind(self.clock.fixed());
            query.execute(session.conn()).await?;
        }
        session.done().await?;
        Ok(rescued)
    }

    async fn give_away(
        &self,
        session: &mut Session,
        ids: &[Uuid],
        nodes: &[Uuid],
        rescued: &mut Rescued,
    ) -> Result<(), Fault> {
        if ids.is_empty() {
            return Ok(());
        }
        let query = session.query(GIVE_AWAY).bind(ids).bind(nodes).bind(self.clock.fixed());
        for row in query.fetch_all(session.conn()).await? {
            let id = JobId::from_uuid(row.try_get(0)?);
            match row.try_get(1)? {
                "queued" => rescued.queued.push(id),
                "dead" => rescued.dead.push(id),
                _ => rescued.cancelled.push(id),
            }
        }
        for ids in [&mut rescued.queued, &mut rescued.dead, &mut rescued.cancelled] {
            ids.sort_unstable();
        }
        Ok(())
    }

    pub(super) async fn sweep_strays(&self, lead: Lead) -> Result<Rescued> {
        let mut rescued = Rescued::default();
        let mut tries = Tries::repeatable("sweep for jobs that no node holds");
        let mut left = SWEEP_STATEMENTS;
        while left > 0 {
            let after = *self.swept_to.lock().expect("nobody panics holding it");
            match within(self.patience(), self.try_sweep(lead, after)).await {
                Ok((found, walked_to)) => {
                    rescued.queued.extend(found.queued);
                    rescued.dead.extend(found.dead);
                    rescued.cancelled.extend(found.cancelled);
                    let to = walked_to.unwrap_or(Uuid::nil());
                    *self.swept_to.lock().expect("nobody panics holding it") = to;
                    left = if walked_to.is_some() { left - 1 } else { 0 };
                }
                Err(fault) => tries.after(self, fault).await?,
            }
        }
        self.tell_rescued(&rescued);
        Ok(rescued)
    }

    /// One stretch of the walk; how far it came, `None` at the end, where old nodes are forgotten.
    async fn try_sweep(&self, lead: Lead, after: Uuid) -> Result<(Rescued, Option<Uuid>), Fault> {
        let mut session = self.lead_session(&self.pools.vital, lead).await?;
        let mut rescued = Rescued::default();
        let mut walked_to: Option<Uuid> = None;
        let (mut ids, mut nodes) = (Vec::new(), Vec::new());
        let query = session.query(SWEEP).bind(after).bind(SWEEP_ROWS);
        for row in query.fetch_all(session.conn()).await? {
            walked_to = row.try_get(0)?;
            if let (Some(id), Some(node)) = (row.try_get(1)?, row.try_get(2)?) {
                ids.push(id);
                nodes.push(node);
            }
        }
        self.give_away(&mut session, &ids, &nodes, &mut rescued).await?;
        if walked_to.is_none() {
            let query = session.query(FORGET_NODES).bind(self.clock.fixed());
            query.execute(session.conn()).await?;
        }
        session.done().await?;
        Ok((rescued, walked_to))
    }

    /// What was running lies below the low-water marks.
    fn tell_rescued(&self, rescued: &Rescued) {
        if !rescued.queued.is_empty() {
            self.tell(Wake::LookFromStart);
        }
    }
}
