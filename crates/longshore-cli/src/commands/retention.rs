//! `retention`: how long ended jobs are kept.

use longshore::{Keep, RetentionRule, RetentionScope, State};
use serde::Serialize;

use super::Context;
use crate::args::{EndArg, KeepArg, RetentionCommand, ScopeArgs};
use crate::connect::open_existing;
use crate::exit::{Exit, Failure};
use crate::print::{data, json, table};
use longshore_server::wire::Span;

/// A rule as JSON: null is any, and for `keep_ms` for ever.
#[derive(Serialize)]
struct RuleView<'a> {
    state: Option<&'static str>,
    queue: Option<&'a str>,
    kind: Option<&'a str>,
    keep_ms: Option<u128>,
}

pub(super) async fn run(context: Context, command: RetentionCommand) -> Result<Exit, Failure> {
    let client = open_existing(&context.settings).await?;
    match command {
        RetentionCommand::List => {
            let rules = client.retention().await?;
            if context.json {
                let rules: Vec<RuleView<'_>> = rules.iter().map(view).collect();
                json(&serde_json::json!({ "rules": rules }))?;
            } else {
                let rows = rules.iter().map(row).chain(defaults());
                table(["KIND", "QUEUE", "STATE", "KEPT"], rows.collect())?;
            }
        }
        RetentionCommand::Set { keep, scope } => {
            let keep = match keep {
                KeepArg::For(span) => Keep::For(span.0),
                KeepArg::Forever => Keep::Forever,
            };
            let rule = RetentionRule { scope: scope.into(), keep };
            client.set_retention(rule.clone()).await?;
            if context.json {
                json(&view(&rule))?;
            }
        }
        RetentionCommand::Remove { scope } => {
            let gone = client.remove_retention(scope.into()).await?;
            if context.json {
                json(&serde_json::json!({ "removed": gone }))?;
            } else if !gone {
                data("there was no such rule")?;
            }
        }
    }
    Ok(Exit::Ok)
}

impl From<ScopeArgs> for RetentionScope {
    fn from(args: ScopeArgs) -> RetentionScope {
        let state = args.state.map(|state| match state {
            EndArg::Succeeded => State::Succeeded,
            EndArg::Cancelled => State::Cancelled,
            EndArg::Dead => State::Dead,
        });
        RetentionScope { state, queue: args.queue, kind: args.kind }
    }
}

fn view(rule: &RetentionRule) -> RuleView<'_> {
    RuleView {
        state: rule.scope.state.map(State::as_str),
        queue: rule.scope.queue.as_deref(),
        kind: rule.scope.kind.as_deref(),
        keep_ms: match rule.keep {
            Keep::For(span) => Some(span.as_millis()),
            Keep::Forever => None,
        },
    }
}

fn row(rule: &RetentionRule) -> [String; 4] {
    let any = |name: Option<&str>| name.unwrap_or("any").to_owned();
    let scope = &rule.scope;
    let keep = match rule.keep {
        Keep::For(span) => Span(span).to_string(),
        Keep::Forever => "forever".to_owned(),
    };
    let state = any(scope.state.map(State::as_str));
    [any(scope.kind.as_deref()), any(scope.queue.as_deref()), state, keep]
}

/// What holds where no rule fits.
fn defaults() -> [[String; 4]; 3] {
    [(State::Succeeded, "7d"), (State::Cancelled, "7d"), (State::Dead, "forever")].map(
        |(state, keep)| {
            ["any", "any", state.as_str(), &format!("{keep} (default)")].map(str::to_owned)
        },
    )
}
