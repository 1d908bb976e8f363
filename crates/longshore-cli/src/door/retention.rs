//! How long ended jobs are kept, and a prune by hand.

use std::time::Duration;

use longshore::{PruneOptions, RetentionRule};
use longshore_server::wire::{
    PruneBody, PruneView, RetentionBody, RetentionParams, RetentionRuleView, RetentionView,
};

use super::Door;
use super::access::was_there;
use crate::exit::Failure;
use crate::remote::Ask;

/// A server may prune so long before it answers.
const PRUNES_FOR: Duration = Duration::from_secs(10);

impl Door {
    /// The rules of retention, the most particular first.
    pub async fn retention(&self) -> Result<RetentionView, Failure> {
        match self {
            Door::Database(client) => Ok(client.retention().await?.into()),
            Door::Server(remote) => remote.read(&Ask::get(["retention"])).await,
        }
    }

    /// Adds a rule, or gives the one with the same scope another span.
    pub async fn set_retention(&self, body: RetentionBody) -> Result<RetentionRuleView, Failure> {
        match self {
            Door::Database(client) => {
                let rule = RetentionRule::from(body);
                client.set_retention(rule.clone()).await?;
                Ok(rule.into())
            }
            Door::Server(remote) => remote.read(&Ask::put(["retention"]).json(&body)).await,
        }
    }

    /// Removes the rule with this scope; whether there was one.
    pub async fn remove_retention(&self, scope: RetentionParams) -> Result<bool, Failure> {
        match self {
            Door::Database(client) => Ok(client.remove_retention(scope.into()).await?),
            Door::Server(remote) => {
                let ask = Ask::delete(["retention"])
                    .with_some("state", scope.state.map(|state| state.as_str()))
                    .with_some("queue", scope.queue.as_deref())
                    .with_some("kind", scope.kind.as_deref());
                was_there(remote.done(&ask).await)
            }
        }
    }

    /// Removes what is past its time, or counts it. A server answers before it is at the end, and is asked again.
    pub async fn prune(&self, body: PruneBody) -> Result<PruneView, Failure> {
        let PruneBody { dry_run, limit } = body;
        match self {
            Door::Database(client) => {
                let options = PruneOptions { dry_run, limit, within: None };
                Ok(PruneView::new(&client.prune(options).await?, dry_run))
            }
            Door::Server(remote) => {
                let mut all = PruneView { dry_run, more: true, ..PruneView::default() };
                let mut left = limit;
                while all.more && left != Some(0) {
                    let body = PruneBody { dry_run, limit: left };
                    let ask = Ask::post(["prune"]).json(&body).waiting(PRUNES_FOR);
                    all = all.and(remote.read(&ask).await?);
                    left = limit.map(|limit| limit.saturating_sub(all.removed.total()));
                    // The next count would begin anew.
                    if dry_run {
                        break;
                    }
                }
                Ok(all)
            }
        }
    }
}
