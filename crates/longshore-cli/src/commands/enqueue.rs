//! `enqueue`: adds a job, and follows it if asked to.

mod payload;
mod wait;

use longshore::NewJob;
use longshore::job::{Invalid, Problem};

use super::Context;
use crate::args::{EnqueueArgs, Timeout};
use crate::connect::open_now;
use crate::exit::{Exit, Failure};
use crate::print::{data, json};

/// As in the library, whose numbers are narrower than what people may type.
const PRIORITIES: (i64, i64) = (0, 9);
const MAX_ATTEMPTS: (i64, i64) = (1, 1_000_000_000);

pub(super) async fn run(context: Context, args: EnqueueArgs) -> Result<Exit, Failure> {
    let job = new_job(&args, context.settings.limits.payload_bytes)?;
    let client = open_now(&context.settings).await?;
    let added = client.enqueue(job).await?;
    if added.duplicate {
        eprintln!("this id was enqueued before; nothing was added");
    }
    if !context.json {
        data(&added.id.to_string())?;
    }
    if args.wait {
        let limit = args.timeout_wait.map(|span| span.0);
        return wait::follow(&context, &client, added.id, limit).await;
    }
    if context.json {
        json(&serde_json::json!({ "id": added.id, "duplicate": added.duplicate }))?;
    }
    Ok(Exit::Ok)
}

fn new_job(args: &EnqueueArgs, payload_limit: usize) -> Result<NewJob, Failure> {
    let payload = payload::read(&args.payload, payload_limit)?;
    let mut job = NewJob::new(&args.kind).payload(payload).queue(&args.queue);
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
    Ok(args.tags.iter().fold(job, |job, tag| job.tag(tag)))
}

fn within<T: TryFrom<i128>>(
    field: &'static str,
    value: i128,
    (min, max): (i64, i64),
) -> Result<T, Failure> {
    let fits = (i128::from(min)..=i128::from(max)).contains(&value);
    T::try_from(value).ok().filter(|_| fits).ok_or_else(|| {
        Invalid { field, problem: Problem::OutOfRange { value, min, max }, index: None }.into()
    })
}
