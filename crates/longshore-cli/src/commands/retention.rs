//! `retention`: how long ended jobs are kept.

use longshore::State;
use longshore_server::wire::{RetentionBody, RetentionParams, RetentionRuleView};

use super::Context;
use crate::args::{EndArg, RetentionCommand, ScopeArgs};
use crate::door::Door;
use crate::exit::{Exit, Failure};
use crate::print::{data, json, table};

pub(super) async fn run(context: Context, command: RetentionCommand) -> Result<Exit, Failure> {
    let door = Door::existing(&context).await?;
    match command {
        RetentionCommand::List => {
            let all = door.retention().await?;
            if context.json {
                json(&all)?;
            } else {
                let rows = all.rules.iter().map(row).chain(defaults());
                table(["KIND", "QUEUE", "STATE", "KEPT"], rows.collect())?;
            }
        }
        RetentionCommand::Set { keep, scope } => {
            let RetentionParams { state, queue, kind } = scope.into();
            let rule = door.set_retention(RetentionBody { state, queue, kind, keep }).await?;
            if context.json {
                json(&rule)?;
            }
        }
        RetentionCommand::Remove { scope } => {
            let gone = door.remove_retention(scope.into()).await?;
            if context.json {
                json(&serde_json::json!({ "removed": gone }))?;
            } else if !gone {
                data("there was no such rule")?;
            }
        }
    }
    Ok(Exit::Ok)
}

impl From<ScopeArgs> for RetentionParams {
    fn from(args: ScopeArgs) -> RetentionParams {
        let state = args.state.map(|state| match state {
            EndArg::Succeeded => State::Succeeded,
            EndArg::Cancelled => State::Cancelled,
            EndArg::Dead => State::Dead,
        });
        RetentionParams { state, queue: args.queue, kind: args.kind }
    }
}

fn row(rule: &RetentionRuleView) -> [String; 4] {
    let any = |name: Option<&str>| name.unwrap_or("any").to_owned();
    let state = any(rule.state.map(State::as_str));
    [any(rule.kind.as_deref()), any(rule.queue.as_deref()), state, rule.kept().to_string()]
}

/// What holds where no rule fits.
fn defaults() -> [[String; 4]; 3] {
    [(State::Succeeded, "7d"), (State::Cancelled, "7d"), (State::Dead, "forever")].map(
        |(state, keep)| {
            ["any", "any", state.as_str(), &format!("{keep} (default)")].map(str::to_owned)
        },
    )
}
