//! Queues: pausing them and kinds, and emptying them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::Client;
use crate::job::new::check_name;
use crate::store::{
    Lead, NewPause, NodeId, NodeRow, Pause, PauseScope, QueueCount, Result, Store, Wish,
};
use crate::time::Timestamp;

/// A queue, as far as anybody knows of it.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct QueueRow {
    /// Its name.
    pub name: String,
    /// What waited when the leader last counted, seconds ago; `None`: nobody has counted lately.
    pub count: Option<QueueCount>,
    /// Jobs that run.
    pub running: u64,
    /// Jobs that may run at once, over all live nodes.
    pub slots: u64,
    /// Live nodes that serve it.
    pub nodes: u32,
    /// Its pause, if it is paused.
    pub pause: Option<Pause>,
}

/// A kind, as far as anybody knows of it.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct KindRow {
    /// Its name.
    pub name: String,
    /// The greatest version of a payload that a node decoded; `None`: any, or not known.
    pub version: Option<u32>,
    /// What payloads look like, as a JSON Schema: as the node with that version said.
    pub schema: Option<String>,
    /// When a node said so last.
    pub seen_at: Option<Timestamp>,
    /// Live nodes that can run it.
    pub nodes: u32,
    /// Its pause, if it is paused.
    pub pause: Option<Pause>,
}

/// Counts that are older were made by nobody who leads now; then whoever asks counts.
const COUNTED_LATELY: Duration = Duration::from_secs(30);
/// How long such a count may take.
const LEAD_FOR: Duration = Duration::from_secs(10);

impl Client {
    /// Pauses a queue or a kind, or sets its pause anew: a claim that begins after the answer takes nothing of it, on
    /// whatever node; one that is under way may. Jobs that run go on, and so do the few that a node had taken already.
    /// Enqueues, cancels, edits, retries and unique keys work as ever.
    ///
    /// [`crate::StoreError::Invalid`] for a bad name, an end that is past, or when [`crate::store::MAX_PAUSES`] others
    /// are in force.
    pub async fn pause(&self, pause: NewPause) -> Result<Pause> {
        pause.scope.check(&pause.name)?;
        self.call(|store| async move {
            let pause = pause.settled(store.now().await?)?;
            store.pause(&pause).await
        })
        .await
    }

    /// Ends a pause; whether it was in force. What waited is looked for at once, by every node that can be told.
    pub async fn resume(&self, scope: PauseScope, name: &str) -> Result<bool> {
        scope.check(name)?;
        let name = name.to_owned();
        self.call(move |store| async move { store.resume(scope, &name).await }).await
    }

    /// The pauses in force: queues first, by name.
    pub async fn pauses(&self) -> Result<Vec<Pause>> {
        self.call(|store| async move { store.pauses().await }).await
    }

    /// The queues that have due jobs, a running job, a live node or a pause, by name. Depths are the leader's latest
    /// count; where nobody leads, this call counts.
    pub async fn queues(&self) -> Result<Vec<QueueRow>> {
        self.call(queues).await
    }

    /// One queue, whether or not anybody knows of it.
    pub async fn queue(&self, name: &str) -> Result<QueueRow> {
        check_name("queue", name)?;
        let found = self.queues().await?.into_iter().find(|queue| queue.name == name);
        Ok(found.unwrap_or_else(|| QueueRow { name: name.to_owned(), ..QueueRow::default() }))
    }

    /// The kinds that nodes have described, that live nodes run, or that are paused, by name.
    pub async fn kinds(&self) -> Result<Vec<KindRow>> {
        self.call(kinds).await
    }

    /// Asks a live node to claim nothing more; it finishes what runs, and stays. [`crate::StoreError::NoNode`] if there
    /// is none with this id. It hears of it within 5 s (its [`crate::WorkerConfig::heartbeat_every`]), and at once where
    /// it can be told.
    pub async fn quiet_node(&self, id: NodeId) -> Result<()> {
        self.ask_node(id, Some(Wish::Quiet)).await
    }

    /// Lets a quiet node claim again, as soon as it hears of it.
    pub async fn resume_node(&self, id: NodeId) -> Result<()> {
        self.ask_node(id, None).await
    }

    /// Asks a live node to stop, as its process does when it is told to: what runs may end, then it is gone. In somebody
    /// else's program the worker stops; whether the program does is its own affair. There is no way back.
    pub async fn stop_node(&self, id: NodeId) -> Result<()> {
        self.ask_node(id, Some(Wish::Stop)).await
    }

    async fn ask_node(&self, id: NodeId, wish: Option<Wish>) -> Result<()> {
        self.call(move |store| async move { store.wish(id, wish).await }).await
    }

    /// Deletes the jobs that wait in a queue (queued, scheduled, retrying), with all that is known of them, and answers
    /// how many those were. Running and dead ones stay, and so does what is enqueued from now on. Goes in steps; when
    /// it fails or is cut short, what is gone is gone, and a repeat does the rest.
    pub async fn empty_queue(&self, queue: &str) -> Result<u64> {
        check_name("queue", queue)?;
        let queue = queue.to_owned();
        self.call(|store| async move {
            let came_by = store.now().await?;
            let mut removed = 0;
            loop {
                let step = store.empty_queue(&queue, came_by).await?;
                removed += step.removed;
                if !step.more {
                    return Ok(removed);
                }
                // Others want the database as well.
                tokio::task::yield_now().await;
            }
        })
        .await
    }
}

async fn queues(store: Arc<dyn Store>) -> Result<Vec<QueueRow>> {
    let mut rows = BTreeMap::new();
    for count in counts(&*store).await? {
        let queue = count.queue.clone();
        row(&mut rows, &queue).count = Some(count);
    }
    for (queue, running) in store.running().await? {
        row(&mut rows, &queue).running = running;
    }
    for (queue, slots) in live(&store.nodes().await?).flat_map(|node| &node.queues) {
        let row = row(&mut rows, queue);
        row.slots += u64::from(*slots);
        row.nodes += 1;
    }
    for pause in of_scope(store.pauses().await?, PauseScope::Queue) {
        let queue = pause.name.clone();
        row(&mut rows, &queue).pause = Some(pause);
    }
    Ok(rows.into_values().collect())
}

fn row<'a>(rows: &'a mut BTreeMap<String, QueueRow>, name: &str) -> &'a mut QueueRow {
    let new = || QueueRow { name: name.to_owned(), ..QueueRow::default() };
    rows.entry(name.to_owned()).or_insert_with(new)
}

/// The leader's counts, or, where nobody leads, our own.
async fn counts(store: &dyn Store) -> Result<Vec<QueueCount>> {
    let counts = store.queue_counts().await?;
    if counts.iter().any(|count| count.counted_for < COUNTED_LATELY) {
        return Ok(counts);
    }
    let node = NodeId::new();
    let Some(term) = store.lead(node, LEAD_FOR).await? else { return Ok(counts) };
    let lead = Lead { node, term };
    let counted = store.count_queues(lead).await;
    store.resign(lead).await?;
    counted?;
    store.queue_counts().await
}

async fn kinds(store: Arc<dyn Store>) -> Result<Vec<KindRow>> {
    // The nodes first: whoever is among them has told of its kinds.
    let nodes = store.nodes().await?;
    let mut rows = BTreeMap::new();
    for kind in store.kinds().await? {
        let row = kind_row(&mut rows, &kind.known.name);
        row.version = kind.known.version;
        row.schema = kind.known.schema;
        row.seen_at = Some(kind.seen_at);
    }
    for kind in live(&nodes).flat_map(|node| &node.kinds) {
        kind_row(&mut rows, kind).nodes += 1;
    }
    for pause in of_scope(store.pauses().await?, PauseScope::Kind) {
        let kind = pause.name.clone();
        kind_row(&mut rows, &kind).pause = Some(pause);
    }
    Ok(rows.into_values().collect())
}

fn kind_row<'a>(rows: &'a mut BTreeMap<String, KindRow>, name: &str) -> &'a mut KindRow {
    let new = || KindRow { name: name.to_owned(), ..KindRow::default() };
    rows.entry(name.to_owned()).or_insert_with(new)
}

fn live(nodes: &[NodeRow]) -> impl Iterator<Item = &NodeRow> {
    nodes.iter().filter(|node| node.live)
}

fn of_scope(pauses: Vec<Pause>, scope: PauseScope) -> impl Iterator<Item = Pause> {
    pauses.into_iter().filter(move |pause| pause.scope == scope)
}
