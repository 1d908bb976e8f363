//! `queues` and `kinds`: what waits and what is paused.

use std::time::Duration;

use longshore::store::{Effort, MAX_DEPTH, PauseScope};
use longshore::{Filter, Timestamp};
use longshore_server::wire::{PauseBody, PauseView, QueueView};

use super::{Context, user_name};
use crate::args::{PauseArgs, QueuesCommand};
use crate::door::{Door, PauseAsk};
use crate::exit::{Exit, Failure};
use crate::print::{data, distance, grouped, json, roughly, short, table, visible};

pub(super) async fn run(context: Context, command: QueuesCommand) -> Result<Exit, Failure> {
    let door = Door::existing(&context).await?;
    match command {
        QueuesCommand::List => list(&context, &door).await?,
        QueuesCommand::Pause(args) => pause(&context, &door, PauseScope::Queue, args).await?,
        QueuesCommand::Resume { name } => {
            resume(&context, &door, PauseScope::Queue, &name).await?;
        }
        QueuesCommand::Empty { name, yes } => empty(&context, &door, &name, yes).await?,
    }
    Ok(Exit::Ok)
}

async fn list(context: &Context, door: &Door) -> Result<(), Failure> {
    let all = door.queues().await?;
    if context.json {
        return json(&all);
    }
    let now = Timestamp::now();
    let rows = all.queues.iter().map(|queue| row(queue, now)).collect();
    table(["QUEUE", "WAITING", "OLDEST", "RUNNING", "SLOTS", "NODES", "PAUSED"], rows)
}

fn row(queue: &QueueView, now: Timestamp) -> [String; 7] {
    let waiting = queue.depth.map_or("?".to_owned(), |depth| {
        let plus = if queue.depth_is_capped { "+" } else { "" };
        format!("{}{plus}", grouped(depth.into()))
    });
    let oldest = queue.oldest_ms.filter(|_| queue.depth > Some(0));
    let oldest = oldest.map(|ms| roughly(Duration::from_millis(ms)));
    [
        queue.name.clone(),
        waiting,
        oldest.unwrap_or_default(),
        grouped(queue.running),
        grouped(queue.slots),
        queue.nodes.to_string(),
        queue.paused.as_ref().map(|pause| pause_words(pause, now)).unwrap_or_default(),
    ]
}

/// A pause in one cell of a table.
pub(super) fn pause_words(pause: &PauseView, now: Timestamp) -> String {
    let mut words = distance(pause.since, now);
    if let Some(by) = &pause.by {
        words = format!("{words} by {}", short(by, 24));
    }
    if let Some(until) = pause.until {
        words = format!("{words}, until {}", distance(until, now));
    }
    match &pause.why {
        Some(why) => format!("{words}: {}", short(why, 48)),
        None => words,
    }
}

pub(super) async fn pause(
    context: &Context,
    door: &Door,
    scope: PauseScope,
    args: PauseArgs,
) -> Result<(), Failure> {
    let PauseArgs { name, why, by, lasting, until } = args;
    let body = PauseBody { why, until, lasting };
    let ask = PauseAsk { scope, name: name.clone(), body, by, user: user_name() };
    let set = door.pause(ask).await?;
    if context.json {
        return json(&set);
    }
    let name = visible(&name);
    match set.until {
        Some(until) => data(&format!("{scope} {name} is paused until {until}")),
        None => data(&format!("{scope} {name} is paused until somebody resumes it")),
    }
}

pub(super) async fn resume(
    context: &Context,
    door: &Door,
    scope: PauseScope,
    name: &str,
) -> Result<(), Failure> {
    let was_paused = door.resume(scope, name).await?;
    if context.json {
        return json(&serde_json::json!({ "was_paused": was_paused }));
    }
    let name = visible(name);
    if was_paused {
        data(&format!("{scope} {name} goes on"))
    } else {
        data(&format!("{scope} {name} was not paused"))
    }
}

async fn empty(context: &Context, door: &Door, name: &str, yes: bool) -> Result<(), Failure> {
    if yes {
        let emptied = door.empty_queue(name).await?;
        if context.json {
            return json(&emptied);
        }
        return data(&format!("{} jobs are gone", grouped(emptied.removed)));
    }
    let waiting = Filter::parse("state:queued,scheduled,retrying").expect("a query of ours");
    let waiting = waiting.queue(name);
    let count = door.count(waiting, Effort::Bounded).await?;
    if context.json {
        return json(&serde_json::json!({ "would_remove": count.value }));
    }
    let plus = if count.value >= MAX_DEPTH.into() { " or more" } else { "" };
    data(&format!("{}{plus} jobs wait; with --yes they are deleted", grouped(count.value)))
}
