//! Nodes and the lead.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::claim::KindAsk;
use super::kind::KnownKind;
use crate::job::JobId;
use crate::time::Timestamp;

/// One start of one process that runs jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
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

/// The text is no node's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a node's id is a UUID such as 019364bb-3f3c-7c6e-8f6a-3d2f1b7c9e10")]
pub struct InvalidNodeId;

impl FromStr for NodeId {
    type Err = InvalidNodeId;

    fn from_str(text: &str) -> Result<NodeId, InvalidNodeId> {
        text.parse().map(NodeId).map_err(|_| InvalidNodeId)
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
    /// What somebody asked the process to be, when it joined before under another id.
    pub wish: Option<Wish>,
    /// What it can tell of its kinds; at most [`super::MAX_KNOWN`] are kept.
    pub known: Vec<KnownKind>,
    /// For a node that works over a server: its kinds with their versions. `None`: it works in its own process.
    pub remote: Option<Vec<KindAsk>>,
}

/// What a node may be asked to be, beside serving.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Wish {
    /// It claims nothing more, finishes what runs, and stays.
    Quiet,
    /// Its worker stops, as when the process is told to.
    Stop,
}

impl Wish {
    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Wish::Quiet => "quiet",
            Wish::Stop => "stop",
        }
    }

    /// What the word says; one of a newer program's nothing.
    pub(crate) fn from_word(word: Option<&str>) -> Option<Wish> {
        [Wish::Quiet, Wish::Stop].into_iter().find(|wish| Some(wish.as_str()) == word)
    }
}

/// What a node is at, in its own words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeState {
    /// It claims and runs.
    #[default]
    Serving,
    /// It was asked to be quiet: it claims nothing.
    Quiet,
    /// It stops: what runs may end, then it is gone.
    Stopping,
}

impl NodeState {
    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            NodeState::Serving => "serving",
            NodeState::Quiet => "quiet",
            NodeState::Stopping => "stopping",
        }
    }

    #[cfg(any(feature = "sqlite", feature = "postgres"))]
    pub(crate) fn from_word(word: Option<&str>) -> NodeState {
        let known = [NodeState::Quiet, NodeState::Stopping];
        known.into_iter().find(|state| Some(state.as_str()) == word).unwrap_or_default()
    }
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
    /// What the node is at.
    pub state: NodeState,
}

/// The answer to a heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pulse {
    /// The lease was renewed.
    Alive {
        /// Now, by the database.
        now: Timestamp,
        /// What the node is asked to be; `None`: to serve.
        wish: Option<Wish>,
        /// The lease of another node has run out, and nobody has rescued its jobs yet.
        overdue: bool,
    },
    /// The node is lost: its jobs were or will be given away.
    Lost,
}

/// A node as it is stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
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
    /// What it is at, as it said last.
    pub state: NodeState,
    /// What it was asked to be; `None`: to serve.
    pub wish: Option<Wish>,
    /// Whether it works over a server.
    #[serde(default)]
    pub remote: bool,
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
