//! Claims: what a node asks for and what it gets.

use std::fmt;

use uuid::Uuid;

use super::{NodeId, PausesSeen};
use crate::job::new::MAX_VERSION;
use crate::job::redact::redact;
use crate::job::{Backoff, JobId};
use crate::time::Timestamp;

/// One lane for each priority.
pub const LANES: usize = 10;

/// Where a look at one lane starts: after this `(run_at, id)`.
pub type LaneMark = (Timestamp, Uuid);

/// The mark that hides nothing: it lies before the earliest time that can be enqueued.
pub const START: LaneMark = (Timestamp::from_micros(Timestamp::MIN.as_micros() - 1), Uuid::nil());

/// A node asks for jobs.
#[derive(Clone, Debug)]
pub struct Claim<'a> {
    /// Who asks.
    pub node: NodeId,
    /// Its own number for this claim, used only once.
    pub no: i64,
    /// From which queues, and how many.
    pub queues: &'a [QueueAsk],
    /// Only of these kinds.
    pub kinds: &'a [KindAsk],
    /// At most this many from all queues together, which are looked into in the order in which they are asked;
    /// `None`: what the queues' own limits allow.
    pub most: Option<u32>,
}

/// A kind that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindAsk {
    /// Its name.
    pub kind: String,
    /// The greatest version of a payload that the node decodes, at least 1; jobs with a greater one are left
    /// to others.
    pub version: u32,
}

/// The version of a node that decodes any.
pub const ANY_VERSION: u32 = MAX_VERSION;

/// What is asked of one queue.
#[derive(Clone, Debug)]
pub struct QueueAsk {
    /// Its name.
    pub queue: String,
    /// At most this many jobs.
    pub limit: u32,
    /// Where each lane's look starts.
    pub marks: [LaneMark; LANES],
}

/// The answer to a claim.
#[derive(Clone, Debug)]
pub struct Claimed {
    /// The jobs, in the order they should start.
    pub jobs: Vec<ClaimedJob>,
    /// Now, by the database.
    pub now: Timestamp,
    /// Whether the node is still alive.
    pub live: bool,
    /// How many rows were found; more than `jobs` when some were changed meanwhile, and then it is
    /// worth looking again from the same marks.
    pub picked: usize,
    /// The pauses that it obeyed.
    pub pauses: PausesSeen,
    /// When the next job of these queues falls due, of whatever kind; `None` if none waits for its time. Not asked for
    /// by a claim that found as much as it asked for.
    pub next_due: Option<Timestamp>,
}

/// A job that this node holds now.
#[derive(Clone)]
pub struct ClaimedJob {
    /// Its id.
    pub id: JobId,
    /// Picks the handler.
    pub kind: String,
    /// Its queue.
    pub queue: String,
    /// Its lane.
    pub priority: u8,
    /// When it was due.
    pub run_at: Timestamp,
    /// The number of this attempt, from 1.
    pub attempt: u32,
    /// Attempts it may have in all.
    pub max_attempts: u32,
    /// When a failed attempt is repeated; `None` for the default.
    pub backoff: Option<Backoff>,
    /// How long this attempt may run, in milliseconds.
    pub timeout_ms: Option<i64>,
    /// The caller's notes.
    pub meta: Option<Box<str>>,
    /// The payload, byte for byte.
    pub payload: Box<str>,
    /// Which version of its payloads this one is.
    pub payload_version: u32,
    /// Fields of the payload that nobody is shown.
    pub redacted: Vec<String>,
    /// The claim's number.
    pub lease: i64,
}

/// With the redacted fields hidden.
impl fmt::Debug for ClaimedJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClaimedJob")
            .field("id", &self.id)
            .field("kind", &self.kind)
            .field("queue", &self.queue)
            .field("priority", &self.priority)
            .field("run_at", &self.run_at)
            .field("attempt", &self.attempt)
            .field("max_attempts", &self.max_attempts)
            .field("backoff", &self.backoff)
            .field("timeout_ms", &self.timeout_ms)
            .field("meta", &self.meta)
            .field("payload", &redact(&self.payload, &self.redacted))
            .field("payload_version", &self.payload_version)
            .field("redacted", &self.redacted)
            .field("lease", &self.lease)
            .finish()
    }
}

impl ClaimedJob {
    /// Sorts a claim's answer: databases answer in no particular order.
    pub(crate) fn sort(jobs: &mut [ClaimedJob]) {
        jobs.sort_unstable_by_key(|job| (job.priority, job.run_at, job.id));
    }
}
