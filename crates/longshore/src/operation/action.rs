//! What an operation does to each job.

use serde::{Deserialize, Serialize};

use crate::job::{Event, Invalid, Limits, Problem};
use crate::store::Edit;
use crate::time::Timestamp;

/// What an operation does to each job, with the same rules as the call for a single one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case", deny_unknown_fields)]
pub enum Action {
    /// Queued again, with at least so many attempts left ([`crate::Client::retry`]).
    Retry {
        /// Attempts it has left then, 1 to 2,147,483,647.
        attempts: u32,
    },
    /// Ended as cancelled; one that runs is asked to stop, which counts as done ([`crate::Client::cancel`]).
    Cancel,
    /// Removed ([`crate::Client::delete`]).
    Delete,
    /// Due at another time; one in the past is due at once. Waiting jobs only.
    Reschedule {
        /// That time.
        run_at: Timestamp,
    },
    /// Another priority. Waiting jobs only.
    Priority {
        /// 0 runs first, 9 last.
        priority: u8,
    },
    /// To another queue. Waiting jobs only.
    Move {
        /// That queue.
        queue: String,
    },
}

impl Action {
    /// The words of all actions.
    pub const WORDS: [&'static str; 6] =
        ["retry", "cancel", "delete", "reschedule", "priority", "move"];

    /// The word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Action::Retry { .. } => "retry",
            Action::Cancel => "cancel",
            Action::Delete => "delete",
            Action::Reschedule { .. } => "reschedule",
            Action::Priority { .. } => "priority",
            Action::Move { .. } => "move",
        }
    }

    /// What belongs to it, as a JSON object.
    pub fn arguments(&self) -> String {
        let mut all = serde_json::to_value(self).unwrap_or_default();
        if let Some(fields) = all.as_object_mut() {
            fields.remove("action");
        }
        all.to_string()
    }

    /// The action of this word and these arguments; `None` if this program knows none.
    pub fn read(word: &str, arguments: &str) -> Option<Action> {
        let mut all: serde_json::Value = serde_json::from_str(arguments).ok()?;
        all.as_object_mut()?.insert("action".to_owned(), word.into());
        serde_json::from_value(all).ok()
    }

    /// What it does to a job, as the table of moves names it.
    pub(crate) fn event(&self) -> Event {
        match self {
            Action::Retry { .. } => Event::Retry,
            Action::Cancel => Event::Cancel,
            Action::Delete => Event::Delete,
            Action::Reschedule { .. } | Action::Priority { .. } | Action::Move { .. } => {
                Event::Edit
            }
        }
    }

    /// The change that it makes of a waiting job, if it is one.
    pub(crate) fn edit(&self) -> Option<Edit> {
        match self {
            Action::Reschedule { run_at } => Some(Edit::new().run_at(*run_at)),
            Action::Priority { priority } => Some(Edit::new().priority(*priority)),
            Action::Move { queue } => Some(Edit::new().queue(queue)),
            Action::Retry { .. } | Action::Cancel | Action::Delete => None,
        }
    }

    pub(crate) fn check(&self, limits: &Limits) -> Result<(), Invalid> {
        if let Action::Retry { attempts: attempts @ (0 | 2_147_483_648..) } = self {
            let value = i128::from(*attempts);
            let problem = Problem::OutOfRange { value, min: 1, max: i64::from(i32::MAX) };
            return Err(Invalid::new("attempts", problem));
        }
        self.edit().map_or(Ok(()), |edit| edit.check(limits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_action_is_read_back_from_its_word_and_arguments() {
        let all = [
            Action::Retry { attempts: 3 },
            Action::Cancel,
            Action::Delete,
            Action::Reschedule { run_at: Timestamp::from_micros(7) },
            Action::Priority { priority: 0 },
            Action::Move { queue: "a \"b\"".into() },
        ];
        assert_eq!(all.clone().map(|action| action.word()), Action::WORDS);
        for action in all {
            assert_eq!(Action::read(action.word(), &action.arguments()), Some(action));
        }
        assert_eq!(Action::Cancel.arguments(), "{}");
        for (word, arguments) in [("fly", "{}"), ("retry", "{}"), ("cancel", "[]"), ("move", "")] {
            assert_eq!(Action::read(word, arguments), None, "{word} {arguments}");
        }
    }

    #[test]
    fn an_action_that_cannot_be_is_refused() {
        let limits = Limits::default();
        for (action, words) in [
            (Action::Retry { attempts: 0 }, "attempts is 0; it may be 1 to 2147483647"),
            (Action::Priority { priority: 10 }, "priority is 10; it may be 0 to 9"),
            (Action::Move { queue: "..".into() }, "queue `..` is `.` or `..`"),
        ] {
            assert_eq!(action.check(&limits).unwrap_err().to_string(), words);
        }
    }
}
