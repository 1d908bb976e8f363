//! Work for programs that have no database: a server hands jobs out for them, and takes in how they ended.
//!
//! A worker that speaks with a server is a node like any other: it joins, leases jobs, renews its lease, says how runs
//! ended, and leaves. All that is known of it lies in the database, so any server on it may answer any call, and one
//! that is started anew goes on where the other stopped. What an answer means for a job is decided by the code that
//! decides it for a [`crate::Worker`].
//!
//! A lease call whose reply was lost is asked again: it names the jobs that the worker knows of, and is answered with
//! those that it holds beside them.

mod beat; // the heartbeat, and what it waits for
mod ear; // hears other processes while somebody waits
mod ends; // how runs ended
mod error; // what is refused
mod lease; // hands jobs out
mod pace; // how often a worker that waits looks
mod says; // what runs say

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use crate::client::Client;
use crate::engine::within;
use crate::job::JobId;
use crate::job::name::MAX_NAME_BYTES;
use crate::job::new::check_name;
use crate::store::{
    ANY_VERSION, KindAsk, KnownKind, MAX_KNOWN, NewNode, NodeId, Remote, Rescued, Store,
};
use crate::upkeep::note_rescued;
use crate::worker::CALL_LIMIT;
pub use beat::Beaten;
pub use ends::End;
pub use error::{WorkError, WorkResult};
pub use lease::{Lease, Leased, LeasedJob, MAX_BYTES, MAX_HOLDS, MAX_JOBS};
pub use says::{Line, MAX_LINES, Say};

use ear::Ear;

/// The most queues that one worker serves.
pub const MAX_QUEUES: usize = 100;
/// The most slots of one worker, of one queue and of all.
pub const MAX_SLOTS: u32 = 1_000;
/// The shortest lease. A worker beats three times in it, over a network.
pub const SHORTEST_LEASE: Duration = Duration::from_secs(5);
/// The longest lease. So long jobs of a worker that is gone wait for their rescue.
pub const LONGEST_LEASE: Duration = Duration::from_secs(600);
/// No call waits longer, whatever it asks for.
pub const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// The most entries of one call that ends runs, or says something of them.
pub const MAX_ENTRIES: usize = 100;

/// So many look for jobs at a time: ends and heartbeats need connections, too.
const LOOKS_AT_ONCE: usize = 2;

/// Hands out the work of one database. Cheap to clone.
#[derive(Clone)]
pub struct Work {
    client: Client,
    ear: Ear,
    looks: Arc<Semaphore>,
}

/// A worker that joins.
#[derive(Clone, Debug)]
pub struct NewWorker {
    /// A name for people; need not be unique. 1 to 255 bytes.
    pub name: String,
    /// The program's version, for people; at most 255 bytes.
    pub version: String,
    /// The queues it serves, 1 to [`MAX_QUEUES`], each with its slots, 1 to [`MAX_SLOTS`] in all.
    pub queues: Vec<(String, u32)>,
    /// The kinds it runs, 1 to 1,000.
    pub kinds: Vec<KnownKind>,
    /// How long its claims stay its own without a heartbeat, [`SHORTEST_LEASE`] to [`LONGEST_LEASE`].
    pub lease_for: Duration,
}

impl Work {
    /// Of the database of this client.
    pub fn new(client: Client) -> Work {
        let ear = Ear::new(&client);
        Work { client, ear, looks: Arc::new(Semaphore::new(LOOKS_AT_ONCE)) }
    }

    /// Adds a node; its lease starts now. A reply that is lost leaves a node without jobs, which is gone with its
    /// lease. [`WorkError::Refused`] for a worker that cannot be.
    pub async fn join(&self, worker: NewWorker) -> WorkResult<NodeId> {
        worker.check()?;
        let id = NodeId::new();
        let NewWorker { name, version, queues, kinds, lease_for } = worker;
        let ask = |kind: &KnownKind| KindAsk {
            kind: kind.name.clone(),
            version: kind.version.unwrap_or(ANY_VERSION),
        };
        let node = NewNode {
            id,
            name,
            version,
            queues,
            kinds: kinds.iter().map(|kind| kind.name.clone()).collect(),
            lease_for,
            wish: None,
            remote: Some(kinds.iter().map(ask).collect()),
            known: KnownKind::bounded(kinds),
        };
        let name = node.name.clone();
        self.call("join as a node", move |store| async move { store.join(&node).await }).await?;
        tracing::info!(node = %id, name, "a worker joined over a server");
        Ok(id)
    }

    /// Removes a node. What it still holds is given away at once, as when it is lost.
    /// [`WorkError`] with [`crate::StoreError::NodeLost`] if it is lost or unknown.
    pub async fn leave(&self, node: NodeId) -> WorkResult<()> {
        self.remote(node).await?;
        self.call("leave", move |store| async move { store.leave(node).await }).await?;
        tracing::info!(%node, "a worker left");
        let rescued = self.call("rescue", |store| async move { store.rescue().await }).await?;
        if rescued != Rescued::default() {
            note_rescued(self.client.metrics(), &rescued);
        }
        Ok(())
    }

    /// The node as it joined, if it is there.
    async fn remote(&self, node: NodeId) -> WorkResult<Remote> {
        let doing = "look up a node";
        let found = self.call(doing, move |store| async move { store.remote(node).await }).await?;
        found.ok_or_else(|| WorkError::lost(node))
    }

    /// One call of the store, which is carried out even if nobody waits for it any more.
    async fn call<T, F>(
        &self,
        doing: &'static str,
        call: impl FnOnce(Arc<dyn Store>) -> F,
    ) -> WorkResult<T>
    where
        T: Send + 'static,
        F: Future<Output = crate::store::Result<T>> + Send + 'static,
    {
        let call = call(Arc::clone(self.client.store()));
        Ok(self.client.engine().run(within(CALL_LIMIT, doing, call)).await?)
    }
}

impl NewWorker {
    fn check(&self) -> WorkResult<()> {
        check_name("name", &self.name).map_err(|invalid| WorkError::at("/name", invalid))?;
        if self.version.len() > MAX_NAME_BYTES || self.version.contains('\0') {
            let detail = format!("version may have {} bytes, and no NUL", MAX_NAME_BYTES);
            return Err(WorkError::refused("/version", detail));
        }
        if !(SHORTEST_LEASE..=LONGEST_LEASE).contains(&self.lease_for) {
            return Err(WorkError::range(
                "/lease_ms",
                "lease_ms",
                self.lease_for.as_millis(),
                (SHORTEST_LEASE.as_millis(), LONGEST_LEASE.as_millis()),
            ));
        }
        counted("/queues", "queues", self.queues.len(), (1, MAX_QUEUES))?;
        let mut slots = 0;
        for (at, (queue, count)) in self.queues.iter().enumerate() {
            check_name("queue", queue)
                .map_err(|invalid| WorkError::at(&format!("/queues/{at}/queue"), invalid))?;
            if !(1..=MAX_SLOTS).contains(count) {
                let place = format!("/queues/{at}/slots");
                let range = (1, u128::from(MAX_SLOTS));
                return Err(WorkError::range(&place, "slots", u128::from(*count), range));
            }
            slots += count;
        }
        if slots > MAX_SLOTS {
            let detail = format!("the queues have {slots} slots; a worker has at most {MAX_SLOTS}");
            return Err(WorkError::refused("/queues", detail));
        }
        twice("/queues", "queue", self.queues.iter().map(|(queue, _)| queue))?;
        counted("/kinds", "kinds", self.kinds.len(), (1, MAX_KNOWN))?;
        for (at, kind) in self.kinds.iter().enumerate() {
            check_name("kind", &kind.name)
                .map_err(|invalid| WorkError::at(&format!("/kinds/{at}/kind"), invalid))?;
        }
        twice("/kinds", "kind", self.kinds.iter().map(|kind| &kind.name))
    }
}

/// Refuses a list that is too short or too long.
fn counted(at: &str, name: &str, count: usize, (least, most): (usize, usize)) -> WorkResult<()> {
    if (least..=most).contains(&count) {
        return Ok(());
    }
    let detail = format!("{name} has {count} entries; it may have {least} to {most}");
    Err(WorkError::refused(at, detail))
}

/// Refuses a name that comes twice.
fn twice<'a>(at: &str, what: &str, names: impl Iterator<Item = &'a String>) -> WorkResult<()> {
    let mut seen = std::collections::HashSet::new();
    for (index, name) in names.enumerate() {
        if !seen.insert(name) {
            let place = format!("{at}/{index}/{what}");
            let shown = crate::job::name::shown(name);
            return Err(WorkError::refused(&place, format!("{what} `{shown}` comes twice")));
        }
    }
    Ok(())
}

/// Refuses a job that comes twice: each entry has an answer of its own.
fn each_once(at: &str, ids: impl Iterator<Item = JobId>) -> WorkResult<()> {
    let mut seen = std::collections::HashSet::new();
    for (index, id) in ids.enumerate() {
        if !seen.insert(id) {
            let place = format!("{at}/{index}/job");
            let detail = format!("job {id} comes twice in this call; it may come once");
            return Err(WorkError::refused(&place, detail));
        }
    }
    Ok(())
}
