//! How long ended jobs are kept, and what a prune did.

use longshore::{Keep, PruneReport, RetentionRule, RetentionScope, State};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};

use super::{Kept, Span};

/// All rules of retention.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct RetentionView {
    /// The most particular first.
    pub rules: Vec<RetentionRuleView>,
}

/// One rule: which ended jobs, and how long they are kept.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct RetentionRuleView {
    /// In which state they ended; null: any.
    #[schema(value_type = Option<EndedStateWord>)]
    pub state: Option<State>,
    /// Of which queue; null: any.
    pub queue: Option<String>,
    /// Of which kind; null: any.
    pub kind: Option<String>,
    /// How long from their end on, in milliseconds; null: until somebody removes them.
    pub keep_ms: Option<u64>,
}

/// A rule that is to be.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RetentionBody {
    /// In which state the jobs ended. Default: any, dead ones too.
    #[schema(value_type = Option<EndedStateWord>, required = false)]
    pub state: Option<State>,
    /// Of which queue. Default: any.
    #[schema(required = false, min_length = 1, max_length = 255)]
    pub queue: Option<String>,
    /// Of which kind. Default: any.
    #[schema(required = false, min_length = 1, max_length = 255)]
    pub kind: Option<String>,
    /// How long from their end on, or `forever`.
    #[schema(value_type = String, example = "30d")]
    pub keep: Kept,
}

/// The scope of a rule.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RetentionParams {
    /// The rule's state. Default: the rule that names none.
    #[param(value_type = Option<EndedStateWord>, required = false)]
    pub state: Option<State>,
    /// The rule's queue. Default: the rule that names none.
    #[param(required = false, min_length = 1, max_length = 255)]
    pub queue: Option<String>,
    /// The rule's kind. Default: the rule that names none.
    #[param(required = false, min_length = 1, max_length = 255)]
    pub kind: Option<String>,
}

/// The states in which a job has ended.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[allow(dead_code, reason = "describes the words of the library's own type")]
pub enum EndedStateWord {
    /// The handler was done.
    Succeeded,
    /// Somebody, or the handler, said stop.
    Cancelled,
    /// It will not run again by itself.
    Dead,
}

/// How a prune is asked for.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PruneBody {
    /// Only counts what would go.
    #[serde(default)]
    #[schema(required = false)]
    pub dry_run: bool,
    /// Ends once so many jobs are gone; it may be some more. Default: no such limit.
    #[schema(required = false, minimum = 1)]
    pub limit: Option<u64>,
}

/// What a prune did.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct PruneView {
    /// Whether it only counted.
    pub dry_run: bool,
    /// Jobs that are gone, or would go.
    pub removed: RemovedView,
    /// Days of history that went as a whole.
    pub days: u32,
    /// Whether more may be past its time: the limit, or the end of the time, was reached.
    pub more: bool,
    /// How far behind it was, in milliseconds.
    pub lag_ms: u64,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
}

/// Jobs by the state that they were in.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct RemovedView {
    /// Succeeded ones.
    pub succeeded: u64,
    /// Cancelled ones.
    pub cancelled: u64,
    /// Dead ones.
    pub dead: u64,
}

impl From<RetentionBody> for RetentionRule {
    fn from(body: RetentionBody) -> RetentionRule {
        let RetentionBody { state, queue, kind, keep } = body;
        let keep = match keep {
            Kept::For(span) => Keep::For(span.0),
            Kept::Forever => Keep::Forever,
        };
        RetentionRule { scope: RetentionScope { state, queue, kind }, keep }
    }
}

impl From<RetentionParams> for RetentionScope {
    fn from(params: RetentionParams) -> RetentionScope {
        let RetentionParams { state, queue, kind } = params;
        RetentionScope { state, queue, kind }
    }
}

impl From<Vec<RetentionRule>> for RetentionView {
    fn from(rules: Vec<RetentionRule>) -> RetentionView {
        RetentionView { rules: rules.into_iter().map(RetentionRuleView::from).collect() }
    }
}

impl From<RetentionRule> for RetentionRuleView {
    fn from(rule: RetentionRule) -> RetentionRuleView {
        let RetentionScope { state, queue, kind } = rule.scope;
        RetentionRuleView { state, queue, kind, keep_ms: keep_ms(rule.keep) }
    }
}

impl RetentionRuleView {
    /// How long, in words that are read back: a span or `forever`.
    pub fn kept(&self) -> Kept {
        match self.keep_ms {
            Some(ms) => Kept::For(Span(std::time::Duration::from_millis(ms))),
            None => Kept::Forever,
        }
    }
}

/// What a rule was before a change and is after it, for the audit log; null: no rule has this scope.
pub(crate) fn retention_change(
    scope: &RetentionScope,
    before: Option<Keep>,
    after: Option<Keep>,
) -> Value {
    let side = |keep: Option<Keep>| keep.map(|keep| json!({ "keep_ms": keep_ms(keep) }));
    json!({
        "state": scope.state,
        "queue": scope.queue,
        "kind": scope.kind,
        "before": side(before),
        "after": side(after),
    })
}

fn keep_ms(keep: Keep) -> Option<u64> {
    match keep {
        Keep::For(span) => Some(span.as_millis() as u64),
        Keep::Forever => None,
    }
}

impl PruneView {
    /// What the report says. `dry_run`: it only counted.
    pub fn new(report: &PruneReport, dry_run: bool) -> PruneView {
        let removed = report.removed;
        PruneView {
            dry_run,
            removed: RemovedView {
                succeeded: removed.succeeded,
                cancelled: removed.cancelled,
                dead: removed.dead,
            },
            days: report.days,
            more: report.more,
            lag_ms: report.lag.as_millis() as u64,
            took_ms: report.took.as_millis() as u64,
        }
    }

    /// This and what came before it, as one.
    pub fn and(self, next: PruneView) -> PruneView {
        PruneView {
            dry_run: self.dry_run,
            removed: RemovedView {
                succeeded: self.removed.succeeded + next.removed.succeeded,
                cancelled: self.removed.cancelled + next.removed.cancelled,
                dead: self.removed.dead + next.removed.dead,
            },
            days: self.days + next.days,
            more: next.more,
            lag_ms: self.lag_ms.max(next.lag_ms),
            took_ms: self.took_ms + next.took_ms,
        }
    }
}

impl RemovedView {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.succeeded + self.cancelled + self.dead
    }
}
