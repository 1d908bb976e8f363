//! The numbers of now.

use std::collections::BTreeMap;

use longshore::Stats;
use serde::Serialize;
use utoipa::ToSchema;

use super::{CountView, QueueView};

/// How things are now. Every number is bounded: see `relation`, and a queue's `depth_is_capped`.
#[derive(Debug, Serialize, ToSchema)]
pub struct StatsView {
    /// Jobs by state, to 10,000 each.
    pub states: BTreeMap<String, CountView>,
    /// The queues, by name.
    pub queues: Vec<QueueView>,
    /// Live nodes.
    pub nodes: u32,
    /// Jobs that run.
    pub running: u64,
    /// Jobs that may run at once, over all live nodes.
    pub slots: u64,
    /// How long the job that waits longest has been due, in milliseconds; null if none waits, or nobody has counted.
    pub oldest_ms: Option<u64>,
}

impl From<Stats> for StatsView {
    fn from(stats: Stats) -> StatsView {
        let states =
            stats.states.into_iter().map(|(state, count)| (state.to_string(), count.into()));
        let states = states.collect();
        let queues: Vec<QueueView> = stats.queues.into_iter().map(QueueView::from).collect();
        let waiting = queues.iter().filter(|queue| queue.depth.is_some_and(|depth| depth > 0));
        StatsView {
            states,
            nodes: stats.nodes,
            running: queues.iter().map(|queue| queue.running).sum(),
            slots: queues.iter().map(|queue| queue.slots).sum(),
            oldest_ms: waiting.filter_map(|queue| queue.oldest_ms).max(),
            queues,
        }
    }
}
