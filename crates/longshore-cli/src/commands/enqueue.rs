//! `enqueue`: adds a job, and follows it if asked to; or adds many.

mod lines;
pub(super) mod payload;
mod wait;

use longshore::job::{Invalid, Problem};
use longshore::{EnqueueOutcome, NewJob, Unique};

use super::Context;
use crate::args::{EnqueueArgs, OnConflictArg, Timeout};
use crate::connect::open_now;
use crate::exit::{Exit, Failure};
use crate::print::{data, json};
use crate::span::Span;

/// As in the library, whose numbers are narrower than what people may type.
pub(super) const PRIORITIES: (i64, i64) = (0, 9);
const MAX_ATTEMPTS: (i64, i64) = (1, 1_000_000_000);
pub(super) const VERSIONS: (i64, i64) = (1, i32::MAX as i64);

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
        // Scripts ask `.duplicate` whether the job is new, so a replacement is one too.
        json(&serde_json::json!({
            "id": added.id, "duplicate": !added.is_added(), "replaced": added.is_replaced()
        }))?;
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
    let hold = (args.unique_within, args.unique_for_good);
    if let Some(unique) = unique(args.unique_key.as_deref(), hold, args.on_conflict) {
        job = job.unique(unique);
    }
    if let Some(version) = args.payload_version {
        job = job.payload_version(within("payload_version", version, VERSIONS)?);
    }
    job = args.redacted.iter().fold(job, |job, field| job.redact(field));
    Ok(args.tags.iter().fold(job, |job, tag| job.tag(tag)))
}

/// Unique by the key, or, if only a hold is given, by the payload.
fn unique(
    key: Option<&str>,
    (within, for_good): (Option<Span>, bool),
    on_conflict: OnConflictArg,
) -> Option<Unique> {
    let unique = match key {
        Some(key) => Unique::key(key),
        None if within.is_some() || for_good => Unique::payload(),
        None => return None,
    };
    let unique = match within {
        Some(span) => unique.within(span.0),
        None if for_good => unique.for_good(),
        None => unique,
    };
    Some(unique.on_conflict(on_conflict.into()))
}

pub(super) fn within<T: TryFrom<i128>>(
    field: &'static str,
    value: i128,
    (min, max): (i64, i64),
) -> Result<T, Failure> {
    let fits = (i128::from(min)..=i128::from(max)).contains(&value);
    T::try_from(value).ok().filter(|_| fits).ok_or_else(|| {
        Invalid { field, problem: Problem::OutOfRange { value, min, max }, index: None }.into()
    })
}
