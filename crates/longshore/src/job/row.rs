//! What is kept of a job, and the history of its attempts.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::redact::redact;
use super::{Backoff, JobId, State};
use crate::time::Timestamp;

/// A job as it is stored.
#[derive(Clone)]
#[non_exhaustive]
pub struct JobRow {
    /// Its id.
    pub id: JobId,
    /// Picks the handler.
    pub kind: String,
    /// Its queue.
    pub queue: String,
    /// 0 runs first, 9 last.
    pub priority: u8,
    /// Where it stands.
    pub state: State,
    /// When it is, or was, due; `None` for a dead job.
    pub run_at: Option<Timestamp>,
    /// When it was enqueued.
    pub created_at: Timestamp,
    /// Attempts counted so far.
    pub attempt: u32,
    /// Attempts it may have in all.
    pub max_attempts: u32,
    /// When a failed attempt is repeated.
    pub backoff: Backoff,
    /// How long one attempt may run; `None` for ever.
    pub timeout: Option<Duration>,
    /// How long it is kept once it succeeded or was cancelled; `None`: as the rules of retention say.
    pub retain: Option<Duration>,
    /// Its unique key, in the caller's words.
    pub unique_key: Option<String>,
    /// Counts its edits; see [`crate::Edit::if_version`]. 0 once it ended.
    pub version: u32,
    /// Its tags.
    pub tags: Vec<String>,
    /// The caller's notes, a JSON object.
    pub meta: Option<Box<str>>,
    /// The payload, byte for byte but for what is hidden: the fields that [`JobRow::redacted`] names, and those at any
    /// depth that are called like a secret. In a list only its first bytes, and nothing if it lies aside.
    pub payload: Box<str>,
    /// Whether something of it is hidden.
    pub payload_is_hidden: bool,
    /// Whether `payload` is not all of it.
    pub payload_is_cut: bool,
    /// Bytes of the whole payload, as it is stored; `None` in a list when it lies aside.
    pub payload_bytes: Option<usize>,
    /// Which version of its payloads this one is.
    pub payload_version: u32,
    /// Fields of the payload that nobody is shown.
    pub redacted: Vec<String>,
    /// The newest failed attempts, oldest first; at most 10.
    pub errors: Vec<AttemptError>,
    /// Who asked for cancel, when and why.
    pub cancel: Option<Cancel>,
    /// The node that runs it, or ran it last if it ended.
    pub node: Option<uuid::Uuid>,
    /// That node's own number for the claim.
    pub lease: Option<i64>,
    /// When it was claimed.
    pub leased_at: Option<Timestamp>,
    /// When it ended: succeeded, cancelled or dead.
    pub finished_at: Option<Timestamp>,
    /// What the handler returned, as JSON.
    pub output: Option<Box<str>>,
}

impl JobRow {
    /// As people are shown it.
    pub(crate) fn for_people(mut self) -> JobRow {
        let shown = redact(&self.payload, &self.redacted);
        self.payload_is_hidden = shown != self.payload;
        self.payload = shown;
        self
    }
}

/// With the redacted fields hidden.
impl fmt::Debug for JobRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobRow")
            .field("id", &self.id)
            .field("kind", &self.kind)
            .field("queue", &self.queue)
            .field("priority", &self.priority)
            .field("state", &self.state)
            .field("run_at", &self.run_at)
            .field("created_at", &self.created_at)
            .field("attempt", &self.attempt)
            .field("max_attempts", &self.max_attempts)
            .field("backoff", &self.backoff)
            .field("timeout", &self.timeout)
            .field("retain", &self.retain)
            .field("unique_key", &self.unique_key)
            .field("version", &self.version)
            .field("tags", &self.tags)
            .field("meta", &self.meta)
            .field("payload", &redact(&self.payload, &self.redacted))
            .field("payload_bytes", &self.payload_bytes)
            .field("payload_version", &self.payload_version)
            .field("redacted", &self.redacted)
            .field("errors", &self.errors)
            .field("cancel", &self.cancel)
            .field("node", &self.node)
            .field("lease", &self.lease)
            .field("leased_at", &self.leased_at)
            .field("finished_at", &self.finished_at)
            .field("output", &self.output)
            .finish()
    }
}

/// That somebody asked for cancel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cancel {
    /// When.
    pub at: Timestamp,
    /// Who, in the caller's words.
    pub by: Option<String>,
    /// Why, in the caller's words.
    pub why: Option<String>,
}

/// How one attempt failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptError {
    /// The attempt's number, from 1.
    pub attempt: u32,
    /// When it was recorded.
    pub at: Timestamp,
    /// The node that ran it.
    pub node: uuid::Uuid,
    /// In which way.
    pub kind: AttemptFault,
    /// The error's own text, at most 8 KiB.
    pub message: String,
    /// What caused it, outermost first.
    #[serde(default)]
    pub chain: Vec<String>,
}

/// The ways an attempt can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptFault {
    /// The handler returned an error.
    Error,
    /// The handler panicked.
    Panic,
    /// It ran longer than it may.
    Timeout,
    /// Its node was lost while it ran.
    NodeLost,
    /// Its node was lost before it ran.
    NeverStarted,
    /// It was stopped with its node, after its attempt had been counted.
    Interrupted,
    /// It was told to come later more often than one attempt may be.
    Throttled,
    /// A newer job took its unique key while it ran, and it did not end well.
    Superseded,
}

impl AttemptFault {
    /// The word used in SQL, JSON and on screen.
    pub fn as_str(self) -> &'static str {
        match self {
            AttemptFault::Error => "error",
            AttemptFault::Panic => "panic",
            AttemptFault::Timeout => "timeout",
            AttemptFault::NodeLost => "node_lost",
            AttemptFault::NeverStarted => "never_started",
            AttemptFault::Interrupted => "interrupted",
            AttemptFault::Throttled => "throttled",
            AttemptFault::Superseded => "superseded",
        }
    }
}
