//! The chores that keep a database in order. Rescue is everybody's; the rest is the leader's.
//!
//! Each chore is one call of the store, bounded and repeatable, and names the leader's term.

pub(crate) mod operations;
mod prune;
mod queues;

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::engine::within;
use crate::observe::{Gauges, Metrics};
use crate::store::{Lead, NodeId, Rescued, Result, Store};
use crate::worker::patience::Patience;
use crate::worker::{Beating, CALL_LIMIT, Hooks, RunReport};
pub(crate) use prune::breath;
#[cfg(feature = "bench")]
pub(crate) use prune::run as prune;

/// The heartbeat says whose lease has run out. What it cannot see, the claims of a node of which nothing else is
/// left, is looked for this often.
const RESCUE_EVERY: Duration = Duration::from_secs(60);
/// The leader looks for what a rescue cannot see this often.
const SWEEP_EVERY: Duration = Duration::from_secs(600);
/// And makes history's partitions ahead this often, for so many days.
const PARTITIONS_EVERY: Duration = Duration::from_secs(3_600);
/// And removes old entries of the audit log; as long as there are more, some in each round.
const AUDIT_EVERY: Duration = Duration::from_secs(600);
const PARTITIONS_AHEAD: u32 = 7;

/// One node's part in upkeep.
pub(crate) struct Upkeep {
    pub store: Arc<dyn Store>,
    pub node: NodeId,
    pub lease_for: Duration,
    pub audit_for: Duration,
    pub beating: watch::Receiver<Beating>,
    pub gauges: Gauges,
    pub hooks: Hooks,
}

/// When which chore is due next.
struct Due {
    lead: Instant,
    rescue: Instant,
    sweep: Instant,
    partitions: Instant,
    audit: Instant,
}

impl Due {
    fn from(now: Instant) -> Due {
        Due { lead: now, rescue: now, sweep: now + SWEEP_EVERY, partitions: now, audit: now }
    }
}

impl Upkeep {
    /// Goes round until told to end, or the node is lost; then gives up the lead.
    pub async fn run(mut self, mut end: watch::Receiver<bool>) {
        let mut patience = Patience::new("upkeep");
        let mut next = Instant::now();
        let mut due = Due::from(next);
        let mut lead = None;
        // Beside the other chores, so that it holds up neither a rescue nor the renewal of the lead.
        let (tell, leads) = watch::channel(None);
        let (found, operates) = watch::channel(());
        let steps = tokio::spawn(operations::run(Arc::clone(&self.store), leads.clone(), operates));
        let counts = tokio::spawn(queues::run(Arc::clone(&self.store), leads.clone(), found));
        let prune = tokio::spawn(prune::run(Arc::clone(&self.store), leads, self.gauges.clone()));
        loop {
            let beating = *self.beating.borrow_and_update();
            if *end.borrow_and_update() || beating.lost {
                break;
            }
            let now = Instant::now();
            if beating.overdue && patience.down_since().is_none() {
                (due.rescue, next) = (now, now);
            }
            if let Some(until) = beating.quiet_until.filter(|until| now < *until) {
                next = until;
            } else if now >= next {
                next = match self.round(&mut lead, &mut due).await {
                    Ok(()) => {
                        patience.worked();
                        due.lead.min(due.rescue)
                    }
                    Err(error) => patience.failed(&error),
                };
                tell.send_if_modified(|told| std::mem::replace(told, lead) != lead);
            }
            tokio::select! {
                () = tokio::time::sleep_until(next.into()) => {}
                _ = end.changed() => {}
                beat = self.beating.changed() => if beat.is_err() { break },
            }
        }
        // Without anybody to tell it more, it ends after the step it is at.
        drop(tell);
        let _ = prune.await;
        let _ = counts.await;
        let _ = steps.await;
        self.gauges.leads(false);
        if let Some(lead) = lead {
            // Nobody then has to wait for the term to run out.
            let _ = within(CALL_LIMIT.min(self.lease_for), "resign", self.store.resign(lead)).await;
        }
    }

    async fn round(&mut self, lead: &mut Option<Lead>, due: &mut Due) -> Result<()> {
        let now = Instant::now();
        self.gauges.side_file(self.store.side_file_bytes());
        let elected = if now >= due.lead { self.elect(lead).await } else { Ok(()) };
        // Everybody's, whoever leads, and also when that cannot be found out.
        if now >= due.rescue {
            self.rescue().await?;
            due.rescue = now + RESCUE_EVERY;
        }
        elected?;
        if now >= due.lead {
            // About half of it: one renewal may fail, and is then tried again at once.
            due.lead = now + self.lease_for.mul_f64(0.45 + fastrand::f64() / 10.0);
        }
        let Some(lead) = *lead else { return Ok(()) };
        if now >= due.partitions {
            within(
                CALL_LIMIT,
                "make history's partitions",
                self.store.make_partitions(lead, PARTITIONS_AHEAD),
            )
            .await?;
            due.partitions = now + PARTITIONS_EVERY;
        }
        if now >= due.audit {
            let prune = self.store.prune_entries(lead, self.audit_for);
            if !within(CALL_LIMIT, "prune the audit log", prune).await? {
                due.audit = now + AUDIT_EVERY;
            }
        }
        if now >= due.sweep {
            let swept = within(CALL_LIMIT, "sweep", self.store.sweep(lead)).await?;
            self.tell(&swept).await;
            due.sweep = now + SWEEP_EVERY;
        }
        Ok(())
    }

    async fn elect(&self, lead: &mut Option<Lead>) -> Result<()> {
        let node = self.node;
        let term = within(CALL_LIMIT, "lead", self.store.lead(node, self.lease_for)).await?;
        let now_leads = term.map(|term| Lead { node, term });
        if now_leads != *lead {
            tracing::info!(%node, term, "the lead changed");
        }
        *lead = now_leads;
        self.gauges.leads(lead.is_some());
        Ok(())
    }

    /// Repeats at once while there may be more.
    async fn rescue(&self) -> Result<()> {
        loop {
            let rescued = within(CALL_LIMIT, "rescue", self.store.rescue()).await?;
            if rescued == Rescued::default() {
                return Ok(());
            }
            self.tell(&rescued).await;
        }
    }

    async fn tell(&self, rescued: &Rescued) {
        if *rescued == Rescued::default() {
            return;
        }
        note_rescued(self.gauges.metrics(), rescued);
        for id in rescued.dead.iter().filter(|_| self.hooks.any()) {
            if let Ok(Some(row)) = within(CALL_LIMIT, "look up a job", self.store.get(*id)).await {
                self.hooks.ended(RunReport::of_lost(row));
            }
        }
    }
}

/// Counts what a rescue did, and says so.
pub(crate) fn note_rescued(metrics: &Metrics, rescued: &Rescued) {
    metrics.rescued(rescued);
    let Rescued { nodes, queued, dead, cancelled } = rescued;
    tracing::warn!(
        nodes = nodes.len(),
        queued = queued.len(),
        dead = dead.len(),
        cancelled = cancelled.len(),
        "rescued the jobs of lost nodes"
    );
}
