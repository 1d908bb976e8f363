//! Operations: what starts one, and how one stands.

use std::collections::BTreeMap;

use longshore::operation::{
    Action, DryRun, NewOperation, OperationId, OperationRow, OperationState,
};
use longshore::query::QueryError;
use longshore::store::Relation;
use longshore::{Filter, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::answer::RelationWord;
use super::new_job::{PRIORITIES, wide, within};
use super::{CountView, JobView, Span};
use crate::problem::Problem;

/// What `attempts` may be.
const ATTEMPTS: (i64, i64) = (1, 1_000_000);

/// One action on every job that matches.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OperationBody {
    /// What is done to each.
    #[schema(value_type = ActionWord)]
    pub action: String,
    /// What belongs to the action.
    #[serde(default)]
    #[schema(required = false)]
    pub arguments: ArgumentsBody,
    /// Which jobs, such as `state:dead kind:email.*`.
    #[serde(default)]
    #[schema(required = false)]
    pub query: String,
    /// Without a query: that every job there is is meant.
    #[serde(default)]
    #[schema(required = false)]
    pub everything: bool,
    /// Why, for people.
    #[schema(value_type = Option<String>, required = false)]
    pub why: Option<String>,
    /// Only says how many match, and shows ten of them.
    #[serde(default)]
    #[schema(required = false)]
    pub dry_run: bool,
}

impl OperationBody {
    /// What is done to each. `now`: the store's time.
    ///
    /// # Errors
    /// It is no action, or an argument is missing, foreign or out of its range.
    pub fn action(&self, now: Timestamp) -> Result<Action, Problem> {
        self.arguments.clone().into_action(&self.action, now)
    }

    /// The operation that does this, in somebody's name.
    ///
    /// # Errors
    /// The query cannot be read.
    pub fn operation(&self, action: Action, by: &str) -> Result<NewOperation, QueryError> {
        let mut new = NewOperation::new(action, Filter::parse(&self.query)?).by(by);
        if self.everything {
            new = new.everything();
        }
        Ok(self.why.iter().fold(new, |new, why| new.why(why)))
    }
}

/// What belongs to an action; each names its own.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ArgumentsBody {
    /// `retry`: how many attempts each has left at least. Default 1.
    #[serde(default, deserialize_with = "wide")]
    #[schema(value_type = Option<u32>, required = false, minimum = 1, maximum = 1_000_000)]
    pub attempts: Option<i128>,
    /// `reschedule`: due at this time.
    #[schema(value_type = Option<String>, required = false, format = DateTime)]
    pub run_at: Option<Timestamp>,
    /// `reschedule`: due so long after the start of the operation, instead of `run_at`.
    #[schema(value_type = Option<String>, required = false, example = "5m")]
    pub run_in: Option<Span>,
    /// `priority`: 0 runs first, 9 last.
    #[serde(default, deserialize_with = "wide")]
    #[schema(value_type = Option<u8>, required = false, minimum = 0, maximum = 9)]
    pub priority: Option<i128>,
    /// `move`: the queue they go to.
    #[schema(value_type = Option<String>, required = false, min_length = 1, max_length = 255)]
    pub queue: Option<String>,
}

/// The words of actions.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
#[allow(dead_code, reason = "only the OpenAPI document has it")]
pub(crate) enum ActionWord {
    Retry,
    Cancel,
    Delete,
    Reschedule,
    Priority,
    Move,
}

/// The words of an operation's states.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
#[allow(dead_code, reason = "only the OpenAPI document has it")]
pub(crate) enum OperationStateWord {
    Running,
    Paused,
    Cancelled,
    Succeeded,
    Failed,
}

impl ArgumentsBody {
    /// The action of this word with these arguments. `now` is the store's time.
    pub fn into_action(self, word: &str, now: Timestamp) -> Result<Action, Problem> {
        self.refuse_foreign(word)?;
        let missing = |field: &str| {
            let pointer = format!("/arguments/{field}");
            Problem::value(&pointer, format!("{field} is missing; `{word}` needs it"))
        };
        Ok(match word {
            "retry" => {
                let attempts = within("arguments.attempts", self.attempts.unwrap_or(1), ATTEMPTS)?;
                Action::Retry { attempts }
            }
            "cancel" => Action::Cancel,
            "delete" => Action::Delete,
            "reschedule" => match (self.run_at, self.run_in) {
                (Some(run_at), None) => Action::Reschedule { run_at },
                (None, Some(span)) => Action::Reschedule { run_at: now.plus(span.0) },
                (None, None) => return Err(missing("run_at")),
                (Some(_), Some(_)) => {
                    let detail = "run_in and run_at say it twice; one of them is enough";
                    return Err(Problem::value("/arguments/run_in", detail));
                }
            },
            "priority" => {
                let priority = self.priority.ok_or_else(|| missing("priority"))?;
                Action::Priority { priority: within("arguments.priority", priority, PRIORITIES)? }
            }
            "move" => Action::Move { queue: self.queue.ok_or_else(|| missing("queue"))? },
            _ => {
                let word: String = word.chars().take(64).collect();
                let known = Action::WORDS.join(", ");
                let detail = format!("`{word}` is no action; there are {known}");
                return Err(Problem::value("/action", detail));
            }
        })
    }

    /// An argument of another action is a mistake.
    fn refuse_foreign(&self, word: &str) -> Result<(), Problem> {
        let given = [
            ("attempts", "retry", self.attempts.is_some()),
            ("run_at", "reschedule", self.run_at.is_some()),
            ("run_in", "reschedule", self.run_in.is_some()),
            ("priority", "priority", self.priority.is_some()),
            ("queue", "move", self.queue.is_some()),
        ];
        match given.into_iter().find(|(_, of, given)| *given && *of != word) {
            Some((field, of, _)) => {
                let pointer = format!("/arguments/{field}");
                let detail = format!("{field} belongs to the action `{of}`");
                Err(Problem::value(&pointer, detail))
            }
            None => Ok(()),
        }
    }
}

/// How an operation stands.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct OperationView {
    /// Its id. Newer ones are greater.
    #[schema(value_type = String, format = Uuid)]
    pub id: OperationId,
    /// What is done to each job.
    #[schema(value_type = ActionWord)]
    pub action: String,
    /// What belongs to that.
    #[schema(value_type = Object)]
    pub arguments: Option<Box<RawValue>>,
    /// Which jobs; empty for every one.
    pub query: String,
    /// Who started it.
    pub by: Option<String>,
    /// Why.
    pub why: Option<String>,
    /// How it stands.
    #[schema(value_type = OperationStateWord)]
    pub state: OperationState,
    /// How many jobs matched at its start.
    pub total: TotalView,
    /// Jobs it was done to.
    pub done: u64,
    /// Jobs that matched and could not be changed.
    pub skipped: u64,
    /// Why: how many each. A job's state, `key_held`, `changed` or `error`.
    pub reasons: BTreeMap<String, u64>,
    /// Why it failed.
    pub error: Option<String>,
    /// The node that did its last step.
    #[schema(format = Uuid)]
    pub node: Option<String>,
    /// When it was started.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// When it last changed.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
    /// When it ended.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub ended_at: Option<Timestamp>,
}

impl From<OperationRow> for OperationView {
    fn from(row: OperationRow) -> OperationView {
        OperationView {
            id: row.id,
            arguments: RawValue::from_string(row.arguments).ok(),
            action: row.action,
            query: row.query,
            by: row.by,
            why: row.why,
            state: row.state,
            total: TotalView { value: row.total, relation: row.relation },
            done: row.done,
            skipped: row.skipped,
            reasons: row.reasons,
            error: row.error,
            node: row.runner.map(|(node, _)| node.to_string()),
            created_at: row.created_at,
            updated_at: row.updated_at,
            ended_at: row.ended_at,
        }
    }
}

/// How many jobs matched at the start.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
pub struct TotalView {
    /// So many were found.
    pub value: u64,
    /// Whether that was all: counting takes a second at most.
    #[schema(value_type = RelationWord)]
    pub relation: Relation,
}

/// One page of operations.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct OperationsView {
    /// Newest first.
    pub operations: Vec<OperationView>,
    /// Where to go on (`after`), if there are more.
    pub next: Option<String>,
}

impl OperationsView {
    /// A page, and whether there are more.
    pub fn new(rows: Vec<OperationRow>, more: bool) -> OperationsView {
        let next = rows.last().filter(|_| more).map(|row| row.id.to_string());
        OperationsView { operations: rows.into_iter().map(OperationView::from).collect(), next }
    }
}

/// What an operation would meet now.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct DryRunView {
    /// How many jobs match.
    pub total: CountView,
    /// The newest ten of them, as in a list.
    pub examples: Vec<JobView>,
}

impl From<DryRun> for DryRunView {
    fn from(dry: DryRun) -> DryRunView {
        let examples = dry.examples.into_iter().map(JobView::from).collect();
        DryRunView { total: dry.count.into(), examples }
    }
}
