//! Follows one job, or a list as it changes.

use std::collections::HashMap;
use std::io::IsTerminal;

use longshore::store::ListQuery;
use longshore::{Filter, JobId, State, Timestamp};

use super::super::Context;
use super::list;
use crate::args::WatchArgs;
use crate::connect::patiently;
use crate::door::Door;
use crate::exit::{Exit, Failure};
use crate::print::{data, moment, progress_words, visible};
use crate::signals::Signals;
use longshore_server::wire::{JobView, ShownView, json_line};

/// Changes whenever something worth a line happened.
type Stage = (State, u32);

pub(super) async fn run(context: &Context, args: WatchArgs) -> Result<Exit, Failure> {
    let one = match args.which.query.as_slice() {
        [word] => word.parse::<JobId>().ok(),
        _ => None,
    };
    let filter = if one.is_some() { Filter::all() } else { args.which.filter()? };
    let door = Door::existing(context).await?;
    match one {
        Some(id) => follow(context, &door, id, &args).await,
        None => look_on(context, &door, filter, &args).await,
    }
}

fn stage(job: &JobView) -> Stage {
    (job.state, job.attempt)
}

/// A line for each change of the job, until it ends; exits by how it did.
async fn follow(
    context: &Context,
    door: &Door,
    id: JobId,
    args: &WatchArgs,
) -> Result<Exit, Failure> {
    let (mut last, mut said) = (None, None);
    loop {
        let shown = patiently("look at the job", || door.job(id)).await?;
        let ShownView { job, progress } = &shown;
        if last != Some(stage(job)) && !context.json {
            tell(job)?;
        }
        let news = last != Some(stage(job)) || said != *progress;
        if news && context.json {
            data(&json_line(&shown))?;
        }
        if said != *progress {
            if let Some(progress) = progress.as_ref().filter(|_| !context.json) {
                let at = moment(progress.at);
                data(&format!("{at}  {:<9}  {}", "progress", progress_words(progress)))?;
            }
            said = progress.clone();
        }
        last = Some(stage(job));
        match job.state {
            State::Succeeded => return Ok(Exit::Ok),
            State::Dead | State::Cancelled => return Ok(Exit::JobFailed),
            _ => tokio::time::sleep(args.every.0).await,
        }
    }
}

fn tell(job: &JobView) -> Result<(), Failure> {
    let at = moment(Timestamp::now());
    let why = match (job.state, job.errors.last()) {
        (State::Retrying | State::Dead, Some(error)) => format!(": {}", visible(&error.message)),
        _ => String::new(),
    };
    data(&format!("{at}  {:<9}  attempt {}/{}{why}", job.state, job.attempt, job.max_attempts))
}

/// The newest jobs of a list: a table that is drawn again on a terminal, else a line of JSON for each
/// job that is new or changed. Ends when asked to.
async fn look_on(
    context: &Context,
    door: &Door,
    filter: Filter,
    args: &WatchArgs,
) -> Result<Exit, Failure> {
    let mut signals = Signals::listen()
        .map_err(|error| Failure::failed(format!("could not listen for signals: {error}")))?;
    let draw = std::io::stdout().is_terminal() && !context.json;
    let query = ListQuery { filter, limit: args.limit, ..ListQuery::default() };
    let mut known: HashMap<JobId, Stage> = HashMap::new();
    loop {
        let look = patiently("list jobs", || door.list(&query));
        let page = tokio::select! {
            page = look => page?,
            _ = signals.next() => return Ok(Exit::Ok),
        };
        if draw {
            let at = moment(Timestamp::now());
            // To the corner, and everything below it gone.
            data(&format!("\u{1b}[H\u{1b}[J{at}  {}", visible(&query.filter.to_string())))?;
            list::show(&page.jobs)?;
        } else {
            // The oldest first, as they came about.
            for job in page.jobs.iter().rev() {
                if known.get(&job.id) != Some(&stage(job)) {
                    data(&json_line(job))?;
                }
            }
            known = page.jobs.iter().map(|job| (job.id, stage(job))).collect();
        }
        tokio::select! {
            () = tokio::time::sleep(args.every.0) => {}
            _ = signals.next() => return Ok(Exit::Ok),
        }
    }
}
