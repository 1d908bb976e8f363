//! Nodes and the lead.

use std::fmt;
use std::time::Duration;

use serde::Serialize;
use uuid::Uuid;

use crate::job::JobId;
use crate::time::Timestamp;

/// One start of one process that runs jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct NodeId(pub Uuid);

impl NodeId {
    /// A fresh one.
    #[allow(
        clippy::new_without_default,
        reason = "a default that differs each time would surprise"
    )]
    pub fn new() -> NodeId {
        NodeId(Uuid::now_v7())
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// A node that joins.
#[derive(Clone, Debug)]
pub struct NewNode {
    /// Its fresh id.
    pub id: NodeId,
    /// A name for people; need not be unique.
    pub name: String,
    /// The program's version.
    pub version: String,
    /// The queues it serves, each with its slots.
    pub queues: Vec<(String, u32)>,
    /// The kinds it can run.
    pub kinds: Vec<String>,
    /// How long its claims stay its own without a heartbeat.
    pub lease_for: Duration,
}

/// A heartbeat.
#[derive(Clone, Debug)]
pub struct Beat {
    /// Whose.
    pub node: NodeId,
    /// How long its claims stay its own from now on.
    pub lease_for: Duration,
    /// Claim numbers of which every job is over; their notes are forgotten.
    pub over: Vec<i64>,
}

/// The answer to a heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pulse {
    /// The lease was renewed; now, by the database.
    Alive(Timestamp),
    /// The node is lost: its jobs were or will be given away.
    Lost,
}

/// A node as it is stored.
#[derive(Clone, Debug, Serialize)]
pub struct NodeRow {
    /// Its id.
    pub id: NodeId,
    /// A name for people.
    pub name: String,
    /// The program's version.
    pub version: String,
    /// The queues it serves, each with its slots.
    pub queues: Vec<(String, u32)>,
    /// The kinds it can run.
    pub kinds: Vec<String>,
    /// When it joined.
    pub started_at: Timestamp,
    /// When its lease ends.
    pub expires_at: Timestamp,
    /// When it was found to be lost.
    pub lost_at: Option<Timestamp>,
    /// Whether its lease holds now.
    pub live: bool,
    /// How many jobs it runs.
    pub running: u64,
}

/// What a rescue did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rescued {
    /// Nodes that were marked lost.
    pub nodes: Vec<NodeId>,
    /// Jobs that are queued again.
    pub queued: Vec<JobId>,
    /// Jobs that are dead, their attempts used up.
    pub dead: Vec<JobId>,
    /// Jobs that ended cancelled, since that was asked for.
    pub cancelled: Vec<JobId>,
}

/// Counts the changes of leader.
pub type Term = i64;

/// That a node leads, and since which change: every write of the leader names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lead {
    /// The leader.
    pub node: NodeId,
    /// Its term.
    pub term: Term,
}
