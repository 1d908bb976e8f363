//! `enqueue`: adds a job, and follows it if asked to; or adds many.

mod lines;
pub(super) mod payload;
mod wait;

use longshore::{EnqueueOutcome, NewJob};
use longshore_server::wire::{
    EnqueuedView, MAX_ATTEMPTS, PRIORITIES, Timeout, UniqueParts, VERSIONS, within,
};

use super::Context;
use crate::args::EnqueueArgs;
use crate::connect::open_now;
use crate::exit::{Exit, Failure};
use crate::print::{data, json};

pub(super) async fn run(context: Context, args: EnqueueArgs) -> Result<Exit, Failure> {
    let limit = context.settings.limits.payload_bytes;
    if let Some(file) = &args.lines {
        return lines::run(&context, &args, file).await;
    }
    let payload = payload::read(&args.payload, limit)?;
    let kind = args.kind.clone().expect("asked for, as there are no lines");
    let job = new_job(&args, kind)?.payload(payload);
    let client = open_now(&context.settings).await?;
    let id = job.id();
    let added = client.enqueue(job).await?;
    match added.outcome {
        EnqueueOutcome::Added => {}
        EnqueueOutcome::Replaced => eprintln!("job {} has this payload now", added.id),
        EnqueueOutcome::Duplicate if added.id == id => {
            eprintln!("this id was enqueued before; nothing was added");
        }
        EnqueueOutcome::Duplicate => {
            eprintln!("job {} holds the unique key; nothing was added", added.id);
        }
    }
    if !context.json {
        data(&added.id.to_string())?;
    }
    if args.wait {
        let limit = args.timeout_wait.map(|span| span.0);
        return wait::follow(&context, &client, added.id, limit).await;
    }
    if context.json {
        json(&EnqueuedView::from(added))?;
    }
    Ok(Exit::Ok)
}

/// A job of this kind, as the options have it, but for its payload.
fn new_job(args: &EnqueueArgs, kind: String) -> Result<NewJob, Failure> {
    let mut job = NewJob::new(kind).queue(&args.queue);
    if let Some(priority) = args.priority {
        job = job.priority(within("priority", priority, PRIORITIES)?);
    }
    if let Some(attempts) = args.max_attempts {
        job = job.max_attempts(within("max_attempts", attempts, MAX_ATTEMPTS)?);
    }
    if let Some(delay) = args.delay {
        job = job.run_in(delay.0);
    }
    if let Some(at) = args.at {
        job = job.run_at(at);
    }
    job = match args.timeout {
        Some(Timeout::After(span)) => job.timeout(span.0),
        Some(Timeout::Never) => job.no_timeout(),
        None => job,
    };
    if let Some(policy) = &args.backoff {
        job = job.backoff(policy.0.clone());
    }
    if let Some(span) = args.retain {
        job = job.retain(span.0);
    }
    if let Some(id) = args.id {
        job = job.with_id(id);
    }
    if let Some(unique) = unique(args).unique() {
        job = job.unique(unique);
    }
    if let Some(version) = args.payload_version {
        job = job.payload_version(within("payload_version", version, VERSIONS)?);
    }
    job = args.redacted.iter().fold(job, |job, field| job.redact(field));
    Ok(args.tags.iter().fold(job, |job, tag| job.tag(tag)))
}

/// What the options say of a unique key.
fn unique(args: &EnqueueArgs) -> UniqueParts {
    UniqueParts {
        key: args.unique_key.clone(),
        within: args.unique_within,
        for_good: args.unique_for_good,
        on_conflict: args.on_conflict.into(),
    }
}
