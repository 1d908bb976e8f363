//! `audit`: who changed what.

use std::collections::HashMap;
use std::time::Duration;

use longshore::audit::{AuditQuery, EntryId, InvalidEntryId, MAX_ENTRIES};

use super::Context;
use crate::args::{AuditCommand, TailArgs};
use crate::connect::patiently;
use crate::door::Door;
use crate::exit::{Exit, Failure};
use crate::print::{data, moment, visible};
use crate::signals::Signals;
use longshore_server::wire::{EntryView, json_line};

/// How often a follower looks.
const EVERY: Duration = Duration::from_secs(1);

pub(super) async fn run(context: Context, command: AuditCommand) -> Result<Exit, Failure> {
    let AuditCommand::Tail(args) = command;
    let door = Door::existing(&context).await?;
    let entries = newest(&door, &args).await?;
    entries.iter().try_for_each(|entry| tell(&context, entry))?;
    if !args.follow {
        return Ok(Exit::Ok);
    }
    let mut signals = Signals::listen()
        .map_err(|error| Failure::failed(format!("could not hear signals: {error}")))?;
    let mut told = seen(&entries);
    loop {
        tokio::select! {
            () = tokio::time::sleep(EVERY) => {}
            _ = signals.next() => return Ok(Exit::Ok),
        }
        let query = query(&args);
        let page = patiently("read the audit log", || door.audit(&query)).await?;
        // One that ended is told once more, with its end.
        for entry in page.entries.iter().rev() {
            if told.get(&entry.id) != Some(&entry.status) && newer(&told, entry) {
                tell(&context, entry)?;
            }
        }
        let oldest = page.entries.last().map(|entry| entry.id);
        told.retain(|id, _| oldest.is_some_and(|oldest| *id >= oldest));
        told.extend(seen(&page.entries));
    }
}

/// What was there before the first line that was asked for is not news.
fn newer(told: &HashMap<EntryId, Option<u16>>, entry: &EntryView) -> bool {
    told.contains_key(&entry.id) || told.keys().min().is_none_or(|oldest| entry.id > *oldest)
}

fn seen(entries: &[EntryView]) -> HashMap<EntryId, Option<u16>> {
    entries.iter().map(|entry| (entry.id, entry.status)).collect()
}

fn query(args: &TailArgs) -> AuditQuery {
    AuditQuery {
        actor: args.actor.clone(),
        action: args.action.clone(),
        limit: MAX_ENTRIES,
        ..AuditQuery::default()
    }
}

/// Oldest first.
async fn newest(door: &Door, args: &TailArgs) -> Result<Vec<EntryView>, Failure> {
    let (mut query, most) = (query(args), args.lines as usize);
    let mut found = Vec::new();
    loop {
        let page = door.audit(&query).await?;
        found.extend(page.entries);
        match page.next {
            Some(next) if found.len() < most => {
                let place = next
                    .parse()
                    .map_err(|error: InvalidEntryId| Failure::failed(error.to_string()))?;
                query.before = Some(place);
            }
            _ => break,
        }
    }
    found.truncate(most);
    found.reverse();
    Ok(found)
}

fn tell(context: &Context, entry: &EntryView) -> Result<(), Failure> {
    if context.json {
        return data(&json_line(entry));
    }
    let status = entry.status.map_or("…".to_owned(), |status| status.to_string());
    let mut line = format!("{}  {status:>3}  {}  {}", moment(entry.at), entry.actor, entry.action);
    let more = [
        ("", entry.target.as_deref()),
        ("from ", entry.address.as_deref()),
        ("because ", entry.why.as_deref()),
        ("", entry.detail.as_ref().map(|detail| detail.get())),
    ];
    for (word, text) in more {
        if let Some(text) = text {
            line += &format!("  {word}{text}");
        }
    }
    data(&visible(&line))
}
