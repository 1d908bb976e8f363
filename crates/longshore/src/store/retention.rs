//! How long ended jobs are kept, and what a prune says.

use std::time::Duration;

use crate::job::new::{MAX_SPAN_MS, check_name, check_span_ms};
use crate::job::{Invalid, Problem, State};

use super::node::{Lead, NodeId};

/// How long succeeded and cancelled jobs are kept where no rule says otherwise: 7 days. Dead ones
/// stay until somebody removes them.
pub const DEFAULT_KEEP: Duration = Duration::from_secs(7 * 86_400);

/// The most rules there may be.
pub const MAX_RULES: usize = 200;

/// One rule of retention: what it is for, and how long that is kept.
///
/// Of the rules that fit a job, one that names its kind goes before one that does not, then one that
/// names its queue, then one that names its state. A job's own [`crate::NewJob::retain`] goes before
/// every rule, once it succeeded or was cancelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetentionRule {
    /// Which ended jobs.
    pub scope: RetentionScope,
    /// How long, from their end on.
    pub keep: Keep,
}

/// Which ended jobs a rule is for. `None`: any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RetentionScope {
    /// Succeeded, cancelled or dead. A rule that names none is for dead ones too.
    pub state: Option<State>,
    /// Of this queue.
    pub queue: Option<String>,
    /// Of this kind.
    pub kind: Option<String>,
}

/// How long an ended job is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// This long after its end; to the millisecond.
    For(Duration),
    /// Until somebody removes it.
    Forever,
}

impl Keep {
    pub(crate) fn as_ms(self) -> Option<i64> {
        match self {
            // The check has bounded it.
            Keep::For(span) => Some(i64::try_from(span.as_millis()).unwrap_or(MAX_SPAN_MS)),
            Keep::Forever => None,
        }
    }

    pub(crate) fn from_ms(ms: Option<i64>) -> Keep {
        ms.map_or(Keep::Forever, |ms| Keep::For(Duration::from_millis(ms.max(0) as u64)))
    }
}

impl RetentionScope {
    pub(crate) fn check(&self) -> Result<(), Invalid> {
        if let Some(state) = self.state
            && !state.is_end()
        {
            return Err(Invalid::new("state", Problem::NotAnEnd { state }));
        }
        for (field, name) in [("queue", &self.queue), ("kind", &self.kind)] {
            name.as_ref().map_or(Ok(()), |name| check_name(field, name))?;
        }
        Ok(())
    }

    pub(crate) fn state_word(&self) -> Option<&'static str> {
        self.state.map(State::as_str)
    }
}

impl RetentionRule {
    pub(crate) fn check(&self) -> Result<(), Invalid> {
        self.scope.check()?;
        match self.keep {
            Keep::For(span) => check_span_ms("keep", span, 0),
            Keep::Forever => Ok(()),
        }
    }

    /// Whether it can speak for jobs in `state`.
    pub(crate) fn may_fit(&self, state: State) -> bool {
        self.scope.state.is_none_or(|named| named == state)
    }
}

/// Who prunes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pruner {
    /// The leader: rows, and whole days of history. Refused when its term is over.
    Leader(Lead),
    /// Anybody: rows only. Does no harm beside a leader.
    Hand,
    /// Nobody: counts what is past its time and removes nothing. The id tells one look from another, which counts
    /// from the beginning.
    Look(NodeId),
}

/// Jobs that were removed, by the state they were in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Removed {
    /// Succeeded ones.
    pub succeeded: u64,
    /// Cancelled ones.
    pub cancelled: u64,
    /// Dead ones.
    pub dead: u64,
}

impl Removed {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.succeeded + self.cancelled + self.dead
    }

    pub(crate) fn add(&mut self, more: Removed) {
        self.succeeded += more.succeeded;
        self.cancelled += more.cancelled;
        self.dead += more.dead;
    }
}

/// What one step of a prune did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pruned {
    /// Jobs that are gone, or, for [`Pruner::Look`], would go.
    pub removed: Removed,
    /// Days of history that went as a whole.
    pub days: u32,
    /// Whether there may be more to do at once.
    pub more: bool,
    /// How far it is behind: now, less the oldest expiry that is known and not removed. Until all of
    /// history was looked at once, less the oldest one found so far.
    pub lag: Duration,
    /// How soon to come again, at the latest, once there is no more.
    pub next_in: Duration,
}
