//! What a step of an operation does with the jobs it meets: the same on both backends.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::look::{Found, Table};
use crate::job::State;
use crate::job::state::next;
use crate::operation::{Action, OperationRow};
use crate::query::Filter;
use crate::query::wanted::Wanted;
use crate::time::Timestamp;

/// Why a job was skipped whose unique key another one holds.
pub(crate) const KEY_HELD: &str = "key_held";
/// Why one was that somebody else changed in the same moment.
pub(crate) const CHANGED: &str = "changed";
/// Why one was that the database refused to change.
pub(crate) const ERROR: &str = "error";

/// A job of a step, locked.
#[derive(Clone, Debug)]
pub(crate) struct Met {
    pub id: Uuid,
    pub state: State,
    /// In history: when it ended.
    pub ended_at: Option<Timestamp>,
    /// Scope and key, as stored, if it has one.
    pub key: Option<(String, String)>,
}

/// How many jobs a step changed, and how many it skipped for which reason.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub done: u64,
    pub reasons: BTreeMap<String, u64>,
}

impl Tally {
    pub fn skip(&mut self, reason: &str, jobs: u64) {
        if jobs > 0 {
            *self.reasons.entry(reason.to_owned()).or_default() += jobs;
        }
    }

    pub fn skipped(&self) -> u64 {
        self.reasons.values().sum()
    }

    /// Of those that were to be changed, so many were.
    pub fn changed(&mut self, of: usize, done: u64) {
        self.done += done;
        self.skip(CHANGED, (of as u64).saturating_sub(done));
    }

    /// The reasons of the whole operation after this step, as JSON.
    pub fn added_to(&self, before: &BTreeMap<String, u64>) -> String {
        let mut all = before.clone();
        for (reason, jobs) in &self.reasons {
            *all.entry(reason.clone()).or_default() += jobs;
        }
        serde_json::to_string(&all).unwrap_or_default()
    }
}

/// Jobs that the action applies to, by where they are. The others are skipped.
pub(crate) fn applicable(
    action: &Action,
    met: Vec<Met>,
    tally: &mut Tally,
) -> (Vec<Met>, Vec<Met>) {
    let (mut hot, mut cold) = (Vec::new(), Vec::new());
    for job in met {
        let event = match (action, job.state) {
            (Action::Cancel, State::Running) => crate::job::Event::AskCancel,
            _ => action.event(),
        };
        let may = match action {
            // A job that is removed moves to no state.
            Action::Delete => job.state != State::Running,
            _ => next(job.state, event).is_some(),
        };
        match (may, job.ended_at) {
            (false, _) => tally.skip(job.state.as_str(), 1),
            (true, None) => hot.push(job),
            (true, Some(_)) => cold.push(job),
        }
    }
    (hot, cold)
}

/// What an operation's filter wants now: times relative to "now" are relative to its start, but what a job's state
/// is follows from the time it is.
pub(crate) fn wanted(row: &OperationRow, filter: &Filter, now: Timestamp) -> Wanted {
    Wanted { now, ..filter.wanted(row.created_at) }
}

/// The ids of one table's jobs.
pub(crate) fn ids_in(table: Table, found: &[(Table, Found)]) -> Vec<Uuid> {
    found.iter().filter(|(place, _)| *place == table).map(|(_, found)| found.id).collect()
}

/// Both backends' way to read reasons.
pub(crate) fn reasons(json: &str) -> BTreeMap<String, u64> {
    serde_json::from_str(json).unwrap_or_default()
}
