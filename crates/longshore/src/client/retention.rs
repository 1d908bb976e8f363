//! Retention: the rules, and a prune by hand.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Client;
use crate::store::{
    Lead, NodeId, Pruner, Removed, Result, RetentionRule, RetentionScope, Store, StoreError,
};
use crate::upkeep::breath;

/// How a prune by hand goes.
#[derive(Clone, Debug, Default)]
pub struct PruneOptions {
    /// Only counts what would go.
    pub dry_run: bool,
    /// Ends once so many jobs are gone; it may be some more. `None`: goes on to the end.
    pub limit: Option<u64>,
    /// Ends after so long, and a step's time; waits no longer for another prune by hand of this process either. A
    /// repeat within a minute goes on where this one ended; a dry run always begins anew. Removes rows only, and
    /// leaves whole days of history to a leader. `None`: goes on to the end.
    pub within: Option<Duration>,
}

/// What a prune by hand did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PruneReport {
    /// Jobs that are gone, or would go.
    pub removed: Removed,
    /// Days of history that went as a whole. Only where no other node leads.
    pub days: u32,
    /// Whether more may be past its time: the limit, or the end of the time, was reached.
    pub more: bool,
    /// How far behind it was when it began.
    pub lag: Duration,
    /// How long it took.
    pub took: Duration,
}

/// How long a prune by hand holds the lead without renewing it.
const LEAD_FOR: Duration = Duration::from_secs(30);

impl Client {
    /// The rules of retention, the most particular first. What no rule fits is kept for
    /// [`crate::store::DEFAULT_KEEP`]; dead jobs for ever.
    pub async fn retention(&self) -> Result<Vec<RetentionRule>> {
        self.call(|store| async move { store.retention().await }).await
    }

    /// Adds a rule, or gives the one with the same scope another span. All nodes heed it within half a
    /// minute, for jobs that have ended already as well. [`StoreError::Invalid`] for a rule that cannot
    /// be, or one too many.
    pub async fn set_retention(&self, rule: RetentionRule) -> Result<()> {
        rule.check()?;
        self.call(|store| async move { store.set_retention(&rule).await }).await
    }

    /// Removes the rule with this scope; whether there was one.
    pub async fn remove_retention(&self, scope: RetentionScope) -> Result<bool> {
        scope.check()?;
        self.call(|store| async move { store.remove_retention(&scope).await }).await
    }

    /// Removes what is past its time, now and to the end. The leader does so by itself all the time;
    /// this is for a database without a worker, or for impatience. Where nobody leads it leads
    /// meanwhile, since only a leader takes whole days of history away.
    /// In one process, one goes after the other.
    pub async fn prune(&self, options: PruneOptions) -> Result<PruneReport> {
        let turn = Arc::clone(&self.inner.by_hand).lock_owned();
        self.call(|store| async move {
            let began = Instant::now();
            let turn = match options.within {
                Some(span) => tokio::time::timeout(span, turn).await.ok(),
                None => Some(turn.await),
            };
            match turn {
                Some(_turn) => prune(store, options, began).await,
                None => {
                    let took = began.elapsed();
                    Ok(PruneReport { more: true, took, ..PruneReport::default() })
                }
            }
        })
        .await
    }
}

async fn prune(
    store: Arc<dyn Store>,
    options: PruneOptions,
    began: Instant,
) -> Result<PruneReport> {
    // What is remembered goes with a term, so one who leads anew in each call would not get far.
    if options.dry_run || options.within.is_some() {
        return to_the_end(&*store, None, &options, began).await;
    }
    let node = NodeId::new();
    let lead = store.lead(node, LEAD_FOR).await?.map(|term| Lead { node, term });
    let report = to_the_end(&*store, lead, &options, began).await;
    if let Some(lead) = lead {
        store.resign(lead).await?;
    }
    report
}

async fn to_the_end(
    store: &dyn Store,
    lead: Option<Lead>,
    options: &PruneOptions,
    began: Instant,
) -> Result<PruneReport> {
    let (mut lead, mut led) = (lead, Instant::now());
    let by_hand = if options.dry_run { Pruner::Look(NodeId::new()) } else { Pruner::Hand };
    let mut report = PruneReport::default();
    loop {
        let step = Instant::now();
        if let Some(ours) = lead
            && led.elapsed() > LEAD_FOR / 3
        {
            let term = store.lead(ours.node, LEAD_FOR).await?;
            (lead, led) = (term.map(|term| Lead { term, ..ours }), step);
        }
        let pruner = lead.map_or(by_hand, Pruner::Leader);
        let pruned = match store.prune(pruner).await {
            // Somebody took the lead; then he takes the days away.
            Err(StoreError::NotLeader) => {
                lead = None;
                continue;
            }
            pruned => pruned?,
        };
        report.removed.add(pruned.removed);
        report.days += pruned.days;
        report.lag = report.lag.max(pruned.lag);
        report.took = began.elapsed();
        report.more = pruned.more;
        let enough = options.limit.is_some_and(|limit| report.removed.total() >= limit);
        let late = options.within.is_some_and(|span| began.elapsed() >= span);
        if !pruned.more || enough || late {
            return Ok(report);
        }
        tokio::time::sleep(breath(step.elapsed())).await;
    }
}
