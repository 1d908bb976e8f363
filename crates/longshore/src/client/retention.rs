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
}

/// What a prune by hand did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PruneReport {
    /// Jobs that are gone, or would go.
    pub removed: Removed,
    /// Days of history that went as a whole. Only where no other node leads.
    pub days: u32,
    /// Whether more is past its time: the limit was reached.
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
    pub async fn prune(&self, options: PruneOptions) -> Result<PruneReport> {
        self.call(|store| prune(store, options)).await
    }
}

async fn prune(store: Arc<dyn Store>, options: PruneOptions) -> Result<PruneReport> {
    if options.dry_run {
        return to_the_end(&*store, None, &options).await;
    }
    let node = NodeId::new();
    let lead = store.lead(node, LEAD_FOR).await?.map(|term| Lead { node, term });
    let report = to_the_end(&*store, lead, &options).await;
    if let Some(lead) = lead {
        store.resign(lead).await?;
    }
    report
}

async fn to_the_end(
    store: &dyn Store,
    lead: Option<Lead>,
    options: &PruneOptions,
) -> Result<PruneReport> {
    let began = Instant::now();
    let (mut lead, mut led) = (lead, began);
    let mut report = PruneReport::default();
    loop {
        let step = Instant::now();
        if let Some(ours) = lead
            && led.elapsed() > LEAD_FOR / 3
        {
            let term = store.lead(ours.node, LEAD_FOR).await?;
            (lead, led) = (term.map(|term| Lead { term, ..ours }), step);
        }
        let pruner = match lead {
            Some(lead) => Pruner::Leader(lead),
            None if options.dry_run => Pruner::Look,
            None => Pruner::Hand,
        };
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
        if !pruned.more || enough {
            return Ok(report);
        }
        tokio::time::sleep(breath(step.elapsed())).await;
    }
}
