//! The log of a job's runs.

use std::collections::BTreeMap;
use std::time::Duration;

use longshore::JobId;
use longshore::store::{LogPlace, LogQuery, LogRow};
use serde_json::value::RawValue;

use super::super::Context;
use crate::args::LogsArgs;
use crate::connect::patiently;
use crate::door::Door;
use crate::exit::{Exit, Failure};
use crate::print::{data, moment, visible};
use crate::signals::Signals;
use longshore_server::wire::{LogsView, json_line};

/// Runs write what they say at most once a second.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Prints the lines there are; with `--follow` also those that come, until the job ends.
pub(super) async fn run(context: &Context, args: LogsArgs) -> Result<Exit, Failure> {
    let door = Door::existing(context).await?;
    let mut signals = Signals::listen()
        .map_err(|error| Failure::failed(format!("could not listen for signals: {error}")))?;
    let mut query = LogQuery {
        attempt: args.attempt,
        level: args.level,
        limit: longshore::store::MAX_LOG_PAGE,
        ..LogQuery::default()
    };
    let mut shown = 0;
    loop {
        // The job before its log: what its last run said was written before its end.
        let job = patiently("look at the job", || door.job(args.id)).await?.job;
        shown += lines(context, &door, args.id, &mut query).await?;
        let over = job.state.is_end() || args.attempt.is_some_and(|attempt| attempt < job.attempt);
        if over || !args.follow {
            break;
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {}
            _ = signals.next() => break,
        }
    }
    if shown == 0 && !context.json {
        eprintln!("no lines");
    }
    Ok(Exit::Ok)
}

/// All lines there are now; how many.
async fn lines(
    context: &Context,
    door: &Door,
    id: JobId,
    query: &mut LogQuery,
) -> Result<usize, Failure> {
    let mut shown = 0;
    loop {
        let page = patiently("read the log", || door.logs(id, query)).await?;
        for line in &page.lines {
            if context.json {
                data(&json_line(line))?;
            } else {
                tell(line, query.attempt.is_none().then_some(line.place))?;
            }
        }
        shown += page.lines.len();
        query.after = LogsView::place(&page.next)
            .ok_or_else(|| Failure::failed(format!("`{}` is no place in a log", page.next)))?;
        if !page.more {
            return Ok(shown);
        }
    }
}

fn tell(line: &LogRow, place: Option<LogPlace>) -> Result<(), Failure> {
    if line.left_out > 0 {
        let lines = if line.left_out == 1 { "line" } else { "lines" };
        data(&format!("… {} {lines} left out", line.left_out))?;
    }
    let attempt = place.map(|place| format!("  #{}", place.attempt)).unwrap_or_default();
    let fields = line.fields.as_deref().map(fields).unwrap_or_default();
    let (at, level) = (moment(line.at), line.level);
    let (target, message) = (visible(&line.target), visible(&line.message));
    data(&format!("{at}{attempt}  {level:<5}  {target}: {message}{fields}"))
}

/// `page=4 of="ten"`, each value as JSON.
fn fields(json: &RawValue) -> String {
    match serde_json::from_str::<BTreeMap<&str, &RawValue>>(json.get()) {
        Ok(fields) => fields
            .iter()
            .map(|(name, value)| format!("  {}={}", visible(name), visible(value.get())))
            .collect(),
        Err(_) => format!("  {}", visible(json.get())),
    }
}
