//! Which states a job can be in, and the one table of moves between them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// Where a job stands. Derived from its row, never stored beside it, so it cannot drift.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Due later; no attempt has been counted.
    Scheduled,
    /// Due; the next free worker takes it.
    Queued,
    /// Waits for other jobs.
    Blocked,
    /// A node holds its lease.
    Running,
    /// Due later; at least one attempt has been counted.
    Retrying,
    /// Its handler said done. Kept in history.
    Succeeded,
    /// Will not run again by itself; waits for a person.
    Dead,
    /// Stopped by an operator or by its handler. Kept in history.
    Cancelled,
}

/// What can happen to a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// Its `run_at` comes.
    FallDue,
    /// An operator wants it now.
    RunNow,
    /// A node takes it.
    Claim,
    /// Cancel is asked for while it runs.
    AskCancel,
    /// The handler said done.
    Succeed,
    /// The handler wants to run later; the attempt does not count.
    Snooze {
        /// No other attempt has been counted.
        first: bool,
    },
    /// The attempt failed.
    Fail {
        /// No attempt is left.
        last: bool,
    },
    /// The node that held it is lost.
    Rescue {
        /// No attempt is left.
        last: bool,
    },
    /// A stopping node hands it back; the attempt does not count.
    GiveBack,
    /// The handler said dead.
    Bury,
    /// Cancel while it waits.
    Cancel,
    /// The run ends, in whatever way, after cancel was asked for.
    EndAfterCancel,
    /// Its run ends, other than well, after a newer job took its unique key.
    Supersede,
    /// An operator wants it to run again.
    Retry,
    /// An operator changes its payload, time, queue, priority or tags.
    Edit,
    /// An operator wants it gone; no state follows.
    Delete,
}

impl Event {
    /// Every event, those with a choice in both ways.
    pub const ALL: [Event; 19] = {
        use Event::*;
        [
            FallDue,
            RunNow,
            Claim,
            AskCancel,
            Succeed,
            Snooze { first: true },
            Snooze { first: false },
            Fail { last: false },
            Fail { last: true },
            Rescue { last: false },
            Rescue { last: true },
            GiveBack,
            Bury,
            Cancel,
            EndAfterCancel,
            Supersede,
            Retry,
            Edit,
            Delete,
        ]
    };
}

/// The state that `event` moves a job to; `None` where the event does not apply.
#[rustfmt::skip]
pub fn next(from: State, event: Event) -> Option<State> {
    use {Event::*, State::*};
    Some(match (from, event) {
        (Scheduled | Retrying, FallDue | RunNow) | (Queued, RunNow) => Queued,
        (Queued, Claim)                          => Running,
        (Running, AskCancel)                     => Running,
        (Running, Succeed)                       => Succeeded,
        (Running, Snooze { first: true })        => Scheduled,
        (Running, Snooze { first: false } | Fail { last: false })         => Retrying,
        (Running, Rescue { last: false } | GiveBack)                      => Queued,
        (Running, Fail { last: true } | Rescue { last: true } | Bury | Supersede) => Dead,
        (Scheduled | Queued | Blocked | Retrying, Cancel)                 => Cancelled,
        (Running, EndAfterCancel)                => Cancelled,
        (Scheduled | Retrying | Cancelled | Dead, Retry)                  => Queued,
        // Its new time says which of them it is then.
        (Scheduled | Queued | Blocked | Retrying, Edit)                   => from,
        _ => return None,
    })
}

/// The columns of a waiting, running or dead job that its state follows from.
pub(crate) struct Marks {
    pub dead: bool,
    pub running: bool,
    pub blocked: bool,
    pub run_at: Option<Timestamp>,
    pub attempt: i32,
}

impl State {
    /// Every state, in the order of a job's life.
    pub const ALL: [State; 8] = {
        use State::*;
        [Scheduled, Queued, Blocked, Running, Retrying, Succeeded, Dead, Cancelled]
    };

    /// The state of a row in `job`. `store/*/list.sql` says the same in SQL; a test compares them.
    pub(crate) fn of(row: &Marks, now: Timestamp) -> State {
        match row {
            Marks { dead: true, .. } => State::Dead,
            Marks { running: true, .. } => State::Running,
            Marks { blocked: true, .. } => State::Blocked,
            Marks { run_at: Some(at), attempt, .. } if *at > now => {
                if *attempt > 0 {
                    State::Retrying
                } else {
                    State::Scheduled
                }
            }
            _ => State::Queued,
        }
    }

    /// Whether the job is over unless somebody acts: succeeded, dead or cancelled.
    pub fn is_end(self) -> bool {
        matches!(self, State::Succeeded | State::Dead | State::Cancelled)
    }

    /// The word used in SQL, JSON and on screen.
    pub fn as_str(self) -> &'static str {
        match self {
            State::Scheduled => "scheduled",
            State::Queued => "queued",
            State::Blocked => "blocked",
            State::Running => "running",
            State::Retrying => "retrying",
            State::Succeeded => "succeeded",
            State::Dead => "dead",
            State::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The text names no state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no state; there are scheduled, queued, blocked, running, retrying, succeeded, dead and cancelled"
)]
pub struct UnknownState(String);

impl FromStr for State {
    type Err = UnknownState;

    fn from_str(text: &str) -> Result<State, UnknownState> {
        let found = State::ALL.into_iter().find(|state| state.as_str() == text);
        found.ok_or_else(|| UnknownState(text.to_owned()))
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Event::FallDue => "fall due",
            Event::RunNow => "be run now",
            Event::Claim => "be claimed",
            Event::AskCancel | Event::Cancel | Event::EndAfterCancel => "be cancelled",
            Event::Succeed => "succeed",
            Event::Snooze { .. } => "be snoozed",
            Event::Fail { .. } => "fail",
            Event::Rescue { .. } => "be rescued",
            Event::GiveBack => "be given back",
            Event::Bury => "be made dead",
            Event::Supersede => "be superseded",
            Event::Retry => "be retried",
            Event::Edit => "be edited",
            Event::Delete => "be deleted",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ended_well_stays_ended() {
        for event in Event::ALL {
            assert_eq!(next(State::Succeeded, event), None, "{event:?}");
        }
    }

    #[test]
    fn every_state_reads_back() {
        for state in State::ALL {
            assert_eq!(state.as_str().parse(), Ok(state));
        }
        assert!("done".parse::<State>().is_err());
    }
}
