//! `operations`: one action on all jobs that match.

mod follow;

use longshore::operation::{OperationAsk, OperationId};
use longshore::store::Relation;
use longshore::{Filter, Timestamp};
use longshore_server::wire::{
    ArgumentsBody, CountView, DryRunView, JobView, OperationBody, OperationView, TotalView,
};
use serde::Serialize;

use super::Context;
use super::trace::actor;
use crate::args::{OperationsCommand, StartArgs};
use crate::door::Door;
use crate::exit::{Exit, Failure};
use crate::print::{data, distance, facts, grouped, json, short, table, when};

pub(super) async fn run(context: Context, command: OperationsCommand) -> Result<Exit, Failure> {
    let door = Door::existing(&context).await?;
    match command {
        OperationsCommand::Start(args) => {
            let (dry_run, no_wait) = (args.dry_run, args.no_wait);
            let body = wanted(args)?;
            if dry_run {
                let dry = door.try_operation(body, &actor()).await?;
                return tell_dry(&context, &dry, "").map(|()| Exit::Ok);
            }
            start(&context, &door, (body, no_wait)).await
        }
        OperationsCommand::List { limit, after } => list(&context, &door, limit, after).await,
        OperationsCommand::Show { id } => tell(&context, door.operation(id).await?),
        OperationsCommand::Wait { id } => {
            let row = follow::to_its_end(&door, door.operation(id).await?).await?;
            ended(&context, row)
        }
        OperationsCommand::Pause { id } => ask(&context, &door, id, OperationAsk::Pause).await,
        OperationsCommand::Resume { id } => ask(&context, &door, id, OperationAsk::Resume).await,
        OperationsCommand::Cancel { id } => ask(&context, &door, id, OperationAsk::Cancel).await,
    }
}

fn wanted(args: StartArgs) -> Result<OperationBody, Failure> {
    let word = clap::ValueEnum::to_possible_value(&args.action).expect("no word is hidden");
    let arguments = ArgumentsBody {
        attempts: args.attempts,
        run_at: args.at,
        run_in: args.delay,
        priority: args.priority,
        queue: args.queue,
    };
    // What is wrong with them is said before what is wrong with the query.
    arguments.clone().into_action(word.get_name(), Timestamp::now())?;
    let query = args.matching.unwrap_or_default();
    Filter::parse(&query)?;
    let (everything, why) = (args.everything, args.why);
    Ok(OperationBody { arguments, query, everything, why, ..operation(word.get_name()) })
}

/// An operation with this action on nothing yet.
pub(super) fn operation(action: &str) -> OperationBody {
    OperationBody {
        action: action.to_owned(),
        arguments: ArgumentsBody::default(),
        query: String::new(),
        everything: false,
        why: None,
        dry_run: false,
    }
}

/// Starts it, and waits for its end unless it is left to the nodes.
async fn start(
    context: &Context,
    door: &Door,
    (body, no_wait): (OperationBody, bool),
) -> Result<Exit, Failure> {
    let row = door.start_operation(body, &actor()).await?;
    if no_wait {
        let all = door.nodes_for_a_hint().await?;
        if all.is_some_and(|all| !all.nodes.iter().any(|node| node.live)) {
            eprintln!("no node is live: operation {} begins as soon as one is", row.id);
        }
        return match context.json {
            true => tell(context, row),
            false => data(&row.id.to_string()).map(|()| Exit::Ok),
        };
    }
    let row = follow::to_its_end(door, row).await?;
    ended(context, row)
}

/// What became of it, once nobody waits any longer.
fn ended(context: &Context, row: OperationView) -> Result<Exit, Failure> {
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
fn done_words(action: &str) -> &'static str {
    match action {
        "retry" => "queued",
        "cancel" => "cancelled, or asked to stop",
        "delete" => "deleted",
        "move" => "moved",
        _ => "changed",
    }
}

/// A dry run as JSON. No `Value`, in which payloads would not stay as they are.
#[derive(Serialize)]
struct Dry<'a> {
    at_least: bool,
    done: u64,
    examples: &'a [JobView],
    matching: u64,
}

/// What a dry run found; `then` goes on with the line.
fn tell_dry(context: &Context, dry: &DryRunView, then: &str) -> Result<(), Failure> {
    let CountView { value, relation, .. } = dry.total;
    let more = relation == Relation::AtLeast;
    if context.json {
        return json(&Dry { at_least: more, done: 0, examples: &dry.examples, matching: value });
    }
    let plus = if more { "+" } else { "" };
    data(&format!("{}{plus} match{then}", grouped(value)))?;
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
    door: &Door,
    id: OperationId,
    ask: OperationAsk,
) -> Result<Exit, Failure> {
    let row = door.ask_operation(id, ask).await?;
    if context.json {
        return tell(context, row);
    }
    data(&format!("{id} is {}; {} done", ask.done(), grouped(row.done)))?;
    Ok(Exit::Ok)
}

async fn list(
    context: &Context,
    door: &Door,
    limit: u32,
    after: Option<OperationId>,
) -> Result<Exit, Failure> {
    let page = door.operations(after, limit).await?;
    if context.json {
        json(&page)?;
        return Ok(Exit::Ok);
    }
    let now = Timestamp::now();
    let lines = page.operations.iter().map(|row| {
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
    if let Some(last) = page.next {
        eprintln!("there are more: --after {last}");
    }
    Ok(Exit::Ok)
}

fn tell(context: &Context, row: OperationView) -> Result<Exit, Failure> {
    if context.json {
        json(&row)?;
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

fn what(row: &OperationView) -> String {
    let arguments = row.arguments.as_ref().map_or("", |arguments| arguments.get());
    let arguments = if arguments == "{}" { "" } else { arguments };
    format!("{} {arguments}", row.action).trim_end().to_owned()
}

fn query(row: &OperationView) -> &str {
    if row.query.is_empty() { "(everything)" } else { &row.query }
}

fn total(row: &OperationView) -> String {
    let TotalView { value, relation } = row.total;
    let plus = if relation == Relation::AtLeast { "+" } else { "" };
    format!("{}{plus}", grouped(value))
}

fn reasons(row: &OperationView) -> String {
    let each = row.reasons.iter().map(|(reason, jobs)| format!("{} {reason}", grouped(*jobs)));
    each.collect::<Vec<_>>().join(", ")
}

/// `jobs retry|cancel|delete --matching`: without `--yes` only how many.
pub(super) async fn matching(
    context: &Context,
    args: &crate::args::MatchingArgs,
    body: OperationBody,
) -> Result<Exit, Failure> {
    let query = args.matching.clone().unwrap_or_default();
    Filter::parse(&query)?;
    let body = OperationBody { query, ..body };
    let door = Door::existing(context).await?;
    if !args.yes {
        let words = done_words(&body.action);
        let dry = door.try_operation(body, &actor()).await?;
        tell_dry(context, &dry, &format!("; with --yes they are {words}"))?;
        return Ok(Exit::Ok);
    }
    start(context, &door, (body, args.no_wait)).await
}
