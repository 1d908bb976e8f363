//! Nodes that work over a server: what the database keeps of them, since no process of ours does.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Held, KindAsk, NewNode, Wish};
use crate::job::Backoff;

/// A node that works over a server, as it joined, and what it is asked to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    /// The queues it serves, each with its slots.
    pub queues: Vec<(String, u32)>,
    /// The kinds it runs, with the versions of payloads that it decodes.
    pub kinds: Vec<KindAsk>,
    /// How long its claims stay its own without a heartbeat.
    pub lease_for: Duration,
    /// What it is asked to be; `None`: to serve.
    pub wish: Option<Wish>,
}

/// A run that a node holds, as far as writing its end needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldRun {
    /// Which run.
    pub held: Held,
    /// The job's kind.
    pub kind: String,
    /// Its queue.
    pub queue: String,
    /// The number of this attempt, from 1.
    pub attempt: u32,
    /// Attempts it may have in all.
    pub max_attempts: u32,
    /// When a failed attempt is repeated; `None` for the default.
    pub backoff: Option<Backoff>,
    /// How long ago it was claimed, by the store's clock.
    pub ran: Duration,
}

/// What is kept beside a node's other columns.
#[derive(Serialize, Deserialize)]
struct Kept {
    lease_ms: u64,
    /// Each kind with the greatest version that it decodes.
    kinds: Vec<(String, u32)>,
}

impl Remote {
    /// What is kept of a node that joins; `None` for one that works in its own process.
    pub(crate) fn kept(node: &NewNode) -> Option<String> {
        let kinds = node.remote.as_ref()?;
        let lease_ms = u64::try_from(node.lease_for.as_millis()).unwrap_or(u64::MAX);
        let kinds = kinds.iter().map(|ask| (ask.kind.clone(), ask.version)).collect();
        Some(serde_json::to_string(&Kept { lease_ms, kinds }).expect("texts and numbers"))
    }

    /// What the row of one says.
    pub(crate) fn read(
        queues: &str,
        kept: &str,
        wish: Option<&str>,
    ) -> Result<Remote, serde_json::Error> {
        let Kept { lease_ms, kinds } = serde_json::from_str(kept)?;
        let ask = |(kind, version)| KindAsk { kind, version };
        Ok(Remote {
            queues: serde_json::from_str(queues)?,
            kinds: kinds.into_iter().map(ask).collect(),
            lease_for: Duration::from_millis(lease_ms),
            wish: Wish::from_word(wish),
        })
    }
}
