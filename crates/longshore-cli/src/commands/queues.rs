//! `queues` and `kinds`: what waits and what is paused.

use longshore::store::{Effort, MAX_DEPTH, NewPause, Pause, PauseScope};
use longshore::{Client, Filter, QueueRow, Timestamp};
use longshore_server::wire::{EmptiedView, PauseView, QueueView, QueuesView};

use super::{Context, user_name};
use crate::args::{PauseArgs, QueuesCommand};
use crate::connect::open_existing;
use crate::exit::{Exit, Failure};
use crate::print::{data, distance, grouped, json, roughly, short, table, visible};

pub(super) async fn run(context: Context, command: QueuesCommand) -> Result<Exit, Failure> {
    let client = open_existing(&context.settings).await?;
    match command {
        QueuesCommand::List => list(&context, &client).await?,
        QueuesCommand::Pause(args) => pause(&context, &client, PauseScope::Queue, args).await?,
        QueuesCommand::Resume { name } => {
            resume(&context, &client, PauseScope::Queue, &name).await?;
        }
        QueuesCommand::Empty { name, yes } => empty(&context, &client, &name, yes).await?,
    }
    Ok(Exit::Ok)
}

async fn list(context: &Context, client: &Client) -> Result<(), Failure> {
    let queues = client.queues().await?;
    if context.json {
        let queues = queues.into_iter().map(QueueView::from).collect();
        return json(&QueuesView { queues });
    }
    let now = Timestamp::now();
    let rows = queues.iter().map(|queue| row(queue, now)).collect();
    table(["QUEUE", "WAITING", "OLDEST", "RUNNING", "SLOTS", "NODES", "PAUSED"], rows)
}

fn row(queue: &QueueRow, now: Timestamp) -> [String; 7] {
    let count = queue.count.as_ref();
    let waiting = count.map_or("?".to_owned(), |count| {
        let plus = if count.capped { "+" } else { "" };
        format!("{}{plus}", grouped(count.depth.into()))
    });
    let oldest = count.filter(|count| count.depth > 0).map(|count| roughly(count.oldest_for));
    [
        queue.name.clone(),
        waiting,
        oldest.unwrap_or_default(),
        grouped(queue.running),
        grouped(queue.slots),
        queue.nodes.to_string(),
        queue.pause.as_ref().map(|pause| pause_words(pause, now)).unwrap_or_default(),
    ]
}

/// A pause in one cell of a table.
pub(super) fn pause_words(pause: &Pause, now: Timestamp) -> String {
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
    client: &Client,
    scope: PauseScope,
    args: PauseArgs,
) -> Result<(), Failure> {
    let mut pause = NewPause::of(scope, args.name);
    pause.by = args.by.or_else(user_name);
    pause.why = args.why;
    if let Some(span) = args.lasting {
        pause = pause.lasting(span.0);
    }
    if let Some(until) = args.until {
        pause = pause.until(until);
    }
    let set = client.pause(pause).await?;
    if context.json {
        return json(&PauseView::from(set));
    }
    let name = visible(&set.name);
    match set.until {
        Some(until) => data(&format!("{scope} {name} is paused until {until}")),
        None => data(&format!("{scope} {name} is paused until somebody resumes it")),
    }
}

pub(super) async fn resume(
    context: &Context,
    client: &Client,
    scope: PauseScope,
    name: &str,
) -> Result<(), Failure> {
    let was_paused = client.resume(scope, name).await?;
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

async fn empty(context: &Context, client: &Client, name: &str, yes: bool) -> Result<(), Failure> {
    if yes {
        let removed = client.empty_queue(name).await?;
        if context.json {
            return json(&EmptiedView { removed });
        }
        return data(&format!("{} jobs are gone", grouped(removed)));
    }
    let waiting = Filter::parse("state:queued,scheduled,retrying").expect("a query of ours");
    let waiting = waiting.queue(name);
    let count = client.count(waiting, Effort::Bounded).await?;
    if context.json {
        return json(&serde_json::json!({ "would_remove": count.value }));
    }
    let plus = if count.value >= MAX_DEPTH.into() { " or more" } else { "" };
    data(&format!("{}{plus} jobs wait; with --yes they are deleted", grouped(count.value)))
}
