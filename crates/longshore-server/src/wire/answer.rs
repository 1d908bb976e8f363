//! What the API answers beside jobs.

use longshore::store::{Count, NodeRow, Relation};
use longshore::{Enqueued, JobId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::problem::Problem;

/// The answer for one job that was enqueued.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct EnqueuedView {
    /// The job's id; that of the holder, if another job has its unique key.
    #[schema(value_type = String, format = Uuid)]
    pub id: JobId,
    /// It was there already; nothing was added.
    pub duplicate: bool,
    /// It was there already, and has the new payload, time and priority now.
    pub replaced: bool,
}

impl From<Enqueued> for EnqueuedView {
    fn from(enqueued: Enqueued) -> EnqueuedView {
        EnqueuedView {
            id: enqueued.id,
            // Programs ask it whether the job is new, so a replacement is one too.
            duplicate: !enqueued.is_added(),
            replaced: enqueued.is_replaced(),
        }
    }
}

/// The answers of a batch, in its order.
#[derive(Debug, Serialize, ToSchema)]
pub struct BatchAnswer {
    /// One for each job: what became of it, or what is wrong with it.
    pub results: Vec<BatchResult>,
    /// How many were added.
    pub added: usize,
    /// How many were there already.
    pub duplicates: usize,
    /// How many were refused; 0 unless `partial` was asked for.
    pub refused: usize,
}

/// What became of one job of a batch.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum BatchResult {
    /// It is there.
    Enqueued(EnqueuedView),
    /// It is not.
    Refused {
        /// Why.
        problem: Problem,
    },
}

impl BatchAnswer {
    /// Counts the results.
    pub fn new(results: Vec<BatchResult>) -> BatchAnswer {
        let mut answer = BatchAnswer { results, added: 0, duplicates: 0, refused: 0 };
        for result in &answer.results {
            match result {
                BatchResult::Enqueued(EnqueuedView { duplicate: false, .. }) => answer.added += 1,
                BatchResult::Enqueued(_) => answer.duplicates += 1,
                BatchResult::Refused { .. } => answer.refused += 1,
            }
        }
        answer
    }
}

/// How many jobs pass a query.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
pub struct CountView {
    /// So many were found.
    pub value: u64,
    /// Whether that is all.
    #[schema(value_type = RelationWord)]
    pub relation: Relation,
    /// Rows that were looked at.
    pub looked: u64,
}

/// How a count stands to the truth.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
#[allow(dead_code, reason = "describes the words of the library's own type")]
pub enum RelationWord {
    /// It is the number.
    Exact,
    /// There are this many at least.
    AtLeast,
}

impl From<Count> for CountView {
    fn from(count: Count) -> CountView {
        CountView { value: count.value, relation: count.relation, looked: count.looked }
    }
}

/// All nodes, live ones first.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct NodesView {
    /// The nodes.
    #[schema(value_type = Vec<NodeView>)]
    pub nodes: Vec<NodeRow>,
}

/// One start of one process that runs jobs.
#[derive(ToSchema)]
#[allow(dead_code, reason = "describes the library's own type")]
pub struct NodeView {
    /// Its id.
    #[schema(format = Uuid)]
    id: String,
    /// A name for people.
    name: String,
    /// The program's version.
    version: String,
    /// The queues it serves, each with its slots.
    queues: Vec<(String, u32)>,
    /// The kinds it can run.
    kinds: Vec<String>,
    /// When it joined.
    #[schema(format = DateTime)]
    started_at: String,
    /// When its lease ends.
    #[schema(format = DateTime)]
    expires_at: String,
    /// When it was found to be lost.
    #[schema(format = DateTime)]
    lost_at: Option<String>,
    /// What it is at, as it said last: `serving`, `quiet` or `stopping`.
    state: String,
    /// What it was asked to be: `quiet` or `stop`; null: to serve.
    wish: Option<String>,
    /// Whether its lease holds now.
    live: bool,
    /// Whether it works over HTTP.
    remote: bool,
    /// How many jobs it runs.
    running: u64,
}
