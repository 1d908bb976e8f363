//! Follows a job to its end.

use std::time::{Duration, Instant};

use longshore::{JobId, State};

use super::Context;
use crate::connect::patiently;
use crate::door::Door;
use crate::exit::{Exit, Failure};
use crate::print::{json, progress_words, roughly, stored, visible};
use longshore_server::wire::{JobView, ShownView};

/// A job that waits longer than this may have nobody to run it.
const WONDER_AFTER: Duration = Duration::from_secs(2);

/// Progress comes at most once a second.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Waits for the job's end, prints it and exits by it. An outage is waited out too.
pub(super) async fn follow(
    context: &Context,
    door: &Door,
    id: JobId,
    limit: Option<Duration>,
) -> Result<Exit, Failure> {
    let give_up = limit.map(|limit| Instant::now() + limit);
    let first = limit.map_or(WONDER_AFTER, |limit| limit.min(WONDER_AFTER));
    let mut job = patiently("look at the job", || door.wait(id, first)).await?.job;
    if !job.state.is_end() {
        if job.state != State::Running && !has_a_node(door, &job).await? {
            let (kind, queue) = (visible(&job.kind), visible(&job.queue));
            eprintln!("no live node runs kind `{kind}` of queue `{queue}`; still waiting");
        }
        job = with_progress(context, door, id, give_up).await?;
    }
    if context.json {
        json(&job)?;
    } else {
        tell(&job)?;
    }
    Ok(match job.state {
        State::Succeeded => Exit::Ok,
        State::Dead | State::Cancelled => Exit::JobFailed,
        _ => Exit::TimedOut,
    })
}

/// Waits for the end, and says meanwhile how far the job is.
async fn with_progress(
    context: &Context,
    door: &Door,
    id: JobId,
    give_up: Option<Instant>,
) -> Result<JobView, Failure> {
    let mut said = None;
    loop {
        let left = give_up.map(|at| at.saturating_duration_since(Instant::now()));
        let span = left.map_or(LOOK_EVERY, |left| left.min(LOOK_EVERY));
        let ShownView { job, progress } =
            patiently("look at the job", || door.wait(id, span)).await?;
        if said != progress
            && !context.json
            && let Some(progress) = &progress
        {
            eprintln!("{}", progress_words(progress));
        }
        said = progress;
        if job.state.is_end() || left.is_some_and(|left| left <= span) {
            return Ok(job);
        }
    }
}

async fn has_a_node(door: &Door, job: &JobView) -> Result<bool, Failure> {
    let Some(all) = patiently("look for nodes", || door.nodes_for_a_hint()).await? else {
        return Ok(true);
    };
    Ok(all.nodes.iter().any(|node| {
        let serves = node.queues.iter().any(|(queue, _)| *queue == job.queue);
        node.live && serves && node.kinds.contains(&job.kind)
    }))
}

fn tell(job: &JobView) -> Result<(), Failure> {
    let took = job.finished_at.map(|at| format!(" after {}", roughly(at.since(job.created_at))));
    let attempt = format!("attempt {} of {}", job.attempt, job.max_attempts);
    let waited = if job.state.is_end() { "" } else { "timed out waiting: " };
    eprintln!("{waited}{}{}, {attempt}", job.state, took.unwrap_or_default());
    if job.state != State::Succeeded
        && let Some(error) = job.errors.last()
    {
        let (kind, message) = (error.kind.as_str(), visible(&error.message));
        eprintln!("{kind}: {message}");
        error.chain.iter().for_each(|cause| eprintln!("caused by: {}", visible(cause)));
    }
    match &job.output {
        Some(output) => stored(output.get()),
        None => Ok(()),
    }
}
