//! Operations: one action on every job that matches, done by the leader in small steps that survive a restart.

mod action;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

pub use action::Action;

use crate::job::{Invalid, JobRow, Limits, Problem, text};
use crate::query::{Filter, Moment, Range, Test};
use crate::store::{Count, NodeId, Relation, Term};
use crate::time::Timestamp;

/// The most operations that run or are paused at a time.
pub const MAX_OPEN_OPERATIONS: u32 = 100;
/// The most operations of a page.
pub const MAX_OPERATIONS: u32 = 200;
/// Jobs of one step: some hundredths of a second.
pub const STEP_JOBS: u32 = 500;
/// How long an operation that ended is kept.
pub const KEEP_OPERATIONS: Duration = Duration::from_secs(30 * 86_400);
/// How long the count at the start may take; then it is "at least".
pub(crate) const COUNT_FOR: Duration = Duration::from_secs(1);
/// Jobs that a dry run shows.
pub(crate) const EXAMPLES: u32 = 10;
/// Bytes of who asked for it.
const MAX_BY: usize = 255;
/// Bytes of the reason, and of what went wrong.
const MAX_TEXT: usize = 8 * 1024;

/// The id of an operation. Newer ones are greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OperationId(pub(crate) Uuid);

/// The text is no operation's id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no id of an operation")]
pub struct InvalidOperationId(String);

impl fmt::Display for OperationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl FromStr for OperationId {
    type Err = InvalidOperationId;

    fn from_str(text: &str) -> Result<OperationId, InvalidOperationId> {
        let id = Uuid::parse_str(text);
        id.map(OperationId).map_err(|_| InvalidOperationId(text.chars().take(64).collect()))
    }
}

/// How an operation stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OperationState {
    /// The leader is at it.
    Running,
    /// It waits for somebody to resume it.
    Paused,
    /// Somebody ended it before its end; what was done stays done.
    Cancelled,
    /// It came to its end, whatever it had to skip.
    Succeeded,
    /// It could not go on; its error says why.
    Failed,
}

impl OperationState {
    /// Every state.
    pub const ALL: [OperationState; 5] = [
        OperationState::Running,
        OperationState::Paused,
        OperationState::Cancelled,
        OperationState::Succeeded,
        OperationState::Failed,
    ];

    /// The word for it, in the database and everywhere else.
    pub fn as_str(self) -> &'static str {
        match self {
            OperationState::Running => "running",
            OperationState::Paused => "paused",
            OperationState::Cancelled => "cancelled",
            OperationState::Succeeded => "succeeded",
            OperationState::Failed => "failed",
        }
    }

    /// Whether nothing more comes.
    pub fn is_end(self) -> bool {
        !matches!(self, OperationState::Running | OperationState::Paused)
    }

    /// The state of this word.
    pub(crate) fn of(word: &str) -> Option<OperationState> {
        OperationState::ALL.into_iter().find(|state| state.as_str() == word)
    }
}

impl fmt::Display for OperationState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a person may ask of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationAsk {
    /// Do not go on, for now.
    Pause,
    /// Go on.
    Resume,
    /// Do not go on, for good.
    Cancel,
}

impl OperationAsk {
    /// The state it leads to; `None` where it does not apply. Asking again changes nothing.
    pub fn next(self, from: OperationState) -> Option<OperationState> {
        use OperationState::{Cancelled, Paused, Running};
        match (from, self) {
            (Running | Paused, OperationAsk::Pause) => Some(Paused),
            (Running | Paused, OperationAsk::Resume) => Some(Running),
            (Running | Paused | Cancelled, OperationAsk::Cancel) => Some(Cancelled),
            _ => None,
        }
    }

    /// What it does to an operation: `paused`, `resumed`, `cancelled`.
    pub fn done(self) -> &'static str {
        match self {
            OperationAsk::Pause => "paused",
            OperationAsk::Resume => "resumed",
            OperationAsk::Cancel => "cancelled",
        }
    }
}

/// An operation to start.
#[derive(Clone, Debug)]
pub struct NewOperation {
    pub(crate) id: OperationId,
    pub(crate) action: Action,
    pub(crate) filter: Filter,
    pub(crate) everything: bool,
    pub(crate) by: Option<String>,
    pub(crate) why: Option<String>,
}

impl NewOperation {
    /// This action on every job that passes. A filter without a term is refused, unless
    /// [`NewOperation::everything`] says that it is meant.
    pub fn new(action: Action, filter: Filter) -> NewOperation {
        let id = OperationId(Uuid::now_v7());
        NewOperation { id, action, filter, everything: false, by: None, why: None }
    }

    /// A filter without a term is meant: every job there is.
    pub fn everything(mut self) -> NewOperation {
        self.everything = true;
        self
    }

    /// Who. Cut at 255 bytes.
    pub fn by(mut self, by: &str) -> NewOperation {
        self.by = Some(text::fit(by, MAX_BY));
        self
    }

    /// Why; jobs that are cancelled keep it too. Cut at 8 KiB.
    pub fn why(mut self, why: &str) -> NewOperation {
        self.why = Some(text::fit(why, MAX_TEXT));
        self
    }

    pub(crate) fn check(&self, limits: &Limits) -> Result<(), Invalid> {
        self.action.check(limits)?;
        if self.filter.terms().is_empty() && !self.everything {
            return Err(Invalid::new("query", Problem::Everything));
        }
        Ok(())
    }
}

/// What an operation would meet now.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DryRun {
    /// How many jobs match.
    pub count: Count,
    /// The newest ten of them.
    pub examples: Vec<JobRow>,
}

/// An operation as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OperationRow {
    /// Its id.
    pub id: OperationId,
    /// The word for what it does: `retry`, `cancel`, `delete`, `reschedule`, `priority`, `move`.
    pub action: String,
    /// What belongs to that, a JSON object.
    pub arguments: String,
    /// Which jobs, as a query.
    pub query: String,
    /// Who started it.
    pub by: Option<String>,
    /// Why.
    pub why: Option<String>,
    /// How it stands.
    pub state: OperationState,
    /// How many jobs matched when it was started.
    pub total: u64,
    /// Whether that is the number, or the count stopped there.
    pub relation: Relation,
    /// Jobs it was done to.
    pub done: u64,
    /// Jobs that matched, but could not be changed.
    pub skipped: u64,
    /// Why: a job's state (`running`), `key_held` (another job holds its unique key), `changed` (somebody else was
    /// at it), `error` (the database refused, or somebody held it for long). How many each.
    pub reasons: BTreeMap<String, u64>,
    /// Why it failed.
    pub error: Option<String>,
    /// The node that did the last step, and its term.
    pub runner: Option<(NodeId, Term)>,
    /// When it was started.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// The greatest id that was there at its start.
    pub(crate) last_id: Uuid,
    /// The id up to which it has come.
    pub(crate) place: Option<Uuid>,
}

impl OperationRow {
    /// What it does and to which jobs; in words, if this program cannot read it.
    pub(crate) fn plan(&self) -> Result<(Action, Filter), String> {
        let action = Action::read(&self.action, &self.arguments)
            .ok_or_else(|| format!("this program does not know the action `{}`", self.action))?;
        let filter = Filter::parse(&self.query)
            .map_err(|error| format!("this program cannot read the query: {error}"))?;
        // Jobs that came later are not meant, also those whose ids are not in the order of time.
        let there = Test::Created(vec![Range::UpTo(Moment::At(self.created_at))]);
        Ok((action, filter.and(there)))
    }
}

/// One step of an operation.
#[derive(Clone, Copy, Debug)]
pub struct OperationStep {
    /// Of which.
    pub id: OperationId,
    /// Jobs it changes at most.
    pub most: u32,
    /// Changes none, but counts them as skipped: the way past a job that the database refuses.
    pub skip: bool,
}

/// Fits what went wrong into a row.
pub(crate) fn fit_error(words: &str) -> String {
    text::fit(words, MAX_TEXT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_asked_of_an_operation() {
        use OperationAsk::{Cancel, Pause, Resume};
        use OperationState::{Cancelled, Failed, Paused, Running, Succeeded};
        for (from, pause, resume, cancel) in [
            (Running, Some(Paused), Some(Running), Some(Cancelled)),
            (Paused, Some(Paused), Some(Running), Some(Cancelled)),
            (Cancelled, None, None, Some(Cancelled)),
            (Succeeded, None, None, None),
            (Failed, None, None, None),
        ] {
            let asked = [Pause, Resume, Cancel].map(|ask| ask.next(from));
            assert_eq!(asked, [pause, resume, cancel], "{from}");
        }
    }
}
