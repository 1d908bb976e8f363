//! `operations`: one action on all jobs that match.

mod follow;

use longshore::operation::{Action, DryRun, NewOperation, OperationAsk, OperationId, OperationRow};
use longshore::store::Relation;
use longshore::{Client, Filter, Timestamp};
use longshore_server::wire::{ArgumentsBody, JobView, OperationView, OperationsView};
use serde_json::json;

use super::Context;
use super::trace::actor;
use crate::args::{OperationsCommand, StartArgs};
use crate::connect::open_existing;
use crate::exit::{Exit, Failure};
use crate::print::{data, distance, facts, grouped, json, short, table, when};

pub(super) async fn run(context: Context, command: OperationsCommand) -> Result<Exit, Failure> {
    let client = open_existing(&context.settings).await?;
    match command {
        OperationsCommand::Start(args) => {
            let now = client.now().await?;
            let (dry_run, no_wait) = (args.dry_run, args.no_wait);
            let new = wanted(args, now)?;
            if dry_run {
                let dry = client.try_operation(&new).await?;
                return tell_dry(&context, &dry, "").map(|()| Exit::Ok);
            }
            start(&context, &client, (new, no_wait)).await
        }
        OperationsCommand::List { limit, after } => list(&context, &client, limit, after).await,
        OperationsCommand::Show { id } => tell(&context, client.operation(id).await?),
        OperationsCommand::Wait { id } => {
            let row = follow::to_its_end(&client, client.operation(id).await?).await?;
            ended(&context, row)
        }
        OperationsCommand::Pause { id } => ask(&context, &client, id, OperationAsk::Pause).await,
        OperationsCommand::Resume { id } => ask(&context, &client, id, OperationAsk::Resume).await,
        OperationsCommand::Cancel { id } => ask(&context, &client, id, OperationAsk::Cancel).await,
    }
}

fn wanted(args: StartArgs, now: Timestamp) -> Result<NewOperation, Failure> {
    let word = clap::ValueEnum::to_possible_value(&args.action).expect("no word is hidden");
    let arguments = ArgumentsBody {
        attempts: args.attempts,
        run_at: args.at,
        run_in: args.delay,
        priority: args.priority,
        queue: args.queue,
    };
    let action = arguments
        .into_action(word.get_name(), now)
        .map_err(|problem| Failure::usage(problem.detail().to_owned()))?;
    let filter = Filter::parse(args.matching.as_deref().unwrap_or_default())?;
    let mut new = NewOperation::new(action, filter).by(&actor());
    if args.everything {
        new = new.everything();
    }
    Ok(match &args.why {
        Some(why) => new.why(why),
        None => new,
    })
}

/// Starts it, and waits for its end unless it is left to the nodes.
pub(super) async fn start(
    context: &Context,
    client: &Client,
    (new, no_wait): (NewOperation, bool),
) -> Result<Exit, Failure> {
    let row = client.start_operation(new).await?;
    if no_wait {
        if !client.nodes().await?.iter().any(|node| node.live) {
            eprintln!("no node is live: operation {} begins as soon as one is", row.id);
        }
        return match context.json {
            true => tell(context, row),
            false => data(&row.id.to_string()).map(|()| Exit::Ok),
        };
    }
    let row = follow::to_its_end(client, row).await?;
    ended(context, row)
}

/// What became of it, once nobody waits any longer.
fn ended(context: &Context, row: OperationRow) -> Result<Exit, Failure> {
    use longshore::operation::OperationState::{Cancelled, Failed, Paused, Running, Succeeded};
    let (id, state, error) = (row.id, row.state, row.error.clone());
    if context.json {
        tell(context, row)?;
    } else if state.is_end() {
        data(&format!("{} {}", grouped(row.done), done_words(&row.action)))?;
        if row.skipped > 0 {
            eprintln!("{} were skipped: {}", grouped(row.skipped), reasons(&row));
        }
    }
    match state {
        Succeeded | Running | Paused => Ok(Exit::Ok),
        Cancelled => Err(Failure::new(Exit::Conflict, format!("operation {id} was cancelled"))),
        Failed => {
            let why = error.unwrap_or_default();
            Err(Failure::failed(format!("operation {id} failed: {why}")))
        }
    }
}

/// What a job is then.
pub(super) fn done_words(action: &str) -> &'static str {
    match action {
        "retry" => "queued",
        "cancel" => "cancelled, or asked to stop",
        "delete" => "deleted",
        "move" => "moved",
        _ => "changed",
    }
}

/// What a dry run found; `then` goes on with the line.
pub(super) fn tell_dry(context: &Context, dry: &DryRun, then: &str) -> Result<(), Failure> {
    let more = dry.count.relation == Relation::AtLeast;
    if context.json {
        let examples: Vec<JobView> = dry.examples.iter().map(JobView::new).collect();
        return json(&json!({
            "matching": dry.count.value, "at_least": more, "done": 0, "examples": examples,
        }));
    }
    let plus = if more { "+" } else { "" };
    data(&format!("{}{plus} match{then}", grouped(dry.count.value)))?;
    if dry.examples.is_empty() {
        return Ok(());
    }
    let rows = dry.examples.iter().map(|job| {
        [job.id.to_string(), job.kind.clone(), job.queue.clone(), job.state.to_string()]
    });
    table(["ID", "KIND", "QUEUE", "STATE"], rows.collect())
}

async fn ask(
    context: &Context,
    client: &Client,
    id: OperationId,
    ask: OperationAsk,
) -> Result<Exit, Failure> {
    let row = client.ask_operation(id, ask).await?;
    if context.json {
        return tell(context, row);
    }
    data(&format!("{id} is {}; {} done", ask.done(), grouped(row.done)))?;
    Ok(Exit::Ok)
}

async fn list(
    context: &Context,
    client: &Client,
    limit: u32,
    after: Option<OperationId>,
) -> Result<Exit, Failure> {
    let (rows, more) = client.operations(after, limit).await?;
    if context.json {
        json(&OperationsView::new(rows, more))?;
        return Ok(Exit::Ok);
    }
    let now = Timestamp::now();
    let last = rows.last().map(|row| row.id);
    let lines = rows.iter().map(|row| {
        [
            row.id.to_string(),
            row.state.to_string(),
            what(row),
            short(query(row), 40),
            total(row),
            grouped(row.done),
            grouped(row.skipped),
            row.by.clone().unwrap_or_default(),
            distance(row.created_at, now),
        ]
    });
    let header = ["ID", "STATE", "ACTION", "QUERY", "TOTAL", "DONE", "SKIPPED", "BY", "STARTED"];
    table(header, lines.collect())?;
    if let Some(last) = last.filter(|_| more) {
        eprintln!("there are more: --after {last}");
    }
    Ok(Exit::Ok)
}

fn tell(context: &Context, row: OperationRow) -> Result<Exit, Failure> {
    if context.json {
        json(&OperationView::from(row))?;
        return Ok(Exit::Ok);
    }
    let now = Timestamp::now();
    let mut all = vec![
        ("id", row.id.to_string()),
        ("state", row.state.to_string()),
        ("action", what(&row)),
        ("query", query(&row).to_owned()),
        ("total", total(&row)),
        ("done", grouped(row.done)),
        ("skipped", grouped(row.skipped)),
        ("started", when(row.created_at, now)),
        ("changed", when(row.updated_at, now)),
    ];
    if row.skipped > 0 {
        all.insert(7, ("because", reasons(&row)));
    }
    let more = [
        ("by", row.by.clone()),
        ("why", row.why.clone()),
        ("ended", row.ended_at.map(|at| when(at, now))),
        ("error", row.error.clone()),
    ];
    all.extend(more.into_iter().filter_map(|(name, value)| Some((name, value?))));
    facts(all)?;
    Ok(Exit::Ok)
}

fn what(row: &OperationRow) -> String {
    let arguments = if row.arguments == "{}" { "" } else { &row.arguments };
    format!("{} {arguments}", row.action).trim_end().to_owned()
}

fn query(row: &OperationRow) -> &str {
    if row.query.is_empty() { "(everything)" } else { &row.query }
}

fn total(row: &OperationRow) -> String {
    let plus = if row.relation == Relation::AtLeast { "+" } else { "" };
    format!("{}{plus}", grouped(row.total))
}

fn reasons(row: &OperationRow) -> String {
    let each = row.reasons.iter().map(|(reason, jobs)| format!("{} {reason}", grouped(*jobs)));
    each.collect::<Vec<_>>().join(", ")
}

/// `jobs retry|cancel|delete --matching`: without `--yes` only how many.
pub(super) async fn matching(
    context: &Context,
    args: &crate::args::MatchingArgs,
    (action, why): (Action, Option<&str>),
) -> Result<Exit, Failure> {
    let query = args.matching.as_deref().unwrap_or_default();
    let filter = Filter::parse(query)?;
    let client = open_existing(&context.settings).await?;
    let words = done_words(action.word());
    let mut new = NewOperation::new(action, filter).by(&actor());
    if let Some(why) = why {
        new = new.why(why);
    }
    if !args.yes {
        let dry = client.try_operation(&new).await?;
        tell_dry(context, &dry, &format!("; with --yes they are {words}"))?;
        return Ok(Exit::Ok);
    }
    start(context, &client, (new, args.no_wait)).await
}
