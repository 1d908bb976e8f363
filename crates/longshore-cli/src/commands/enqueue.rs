//! `enqueue`: adds a job, and follows it if asked to; or adds many.

mod lines;
pub(super) mod payload;
mod wait;

use longshore_server::wire::JobBody;

use super::Context;
use crate::args::EnqueueArgs;
use crate::door::Door;
use crate::exit::{Exit, Failure};
use crate::print::{data, json};

pub(super) async fn run(context: Context, args: EnqueueArgs) -> Result<Exit, Failure> {
    let limit = context.settings.limits.payload_bytes;
    if let Some(file) = &args.lines {
        return lines::run(&context, &args, file).await;
    }
    let payload = payload::read(&args.payload, limit)?;
    // What is wrong with it is said before what is wrong with the database.
    let _checked = options(&args).into_job()?;
    let door = Door::open(&context).await?;
    let added = door.enqueue(door.ready(options(&args), Some(&payload))?).await?;
    if added.replaced {
        eprintln!("job {} has this payload now", added.id);
    } else if added.duplicate && args.id == Some(added.id) {
        eprintln!("this id was enqueued before; nothing was added");
    } else if added.duplicate {
        eprintln!("job {} holds the unique key; nothing was added", added.id);
    }
    if !context.json {
        data(&added.id.to_string())?;
    }
    if args.wait {
        let limit = args.timeout_wait.map(|span| span.0);
        return wait::follow(&context, &door, added.id, limit).await;
    }
    if context.json {
        json(&added)?;
    }
    Ok(Exit::Ok)
}

/// What the options say of a job: all but its payload.
fn options(args: &EnqueueArgs) -> JobBody<'static> {
    JobBody {
        kind: args.kind.clone(),
        payload: None,
        payload_version: args.payload_version,
        redacted: args.redacted.clone(),
        queue: Some(args.queue.clone()),
        priority: args.priority,
        run_at: args.at,
        run_in: args.delay,
        max_attempts: args.max_attempts,
        timeout: args.timeout,
        retain: args.retain,
        backoff: args.backoff.as_ref().map(|policy| policy.0.clone()),
        tags: args.tags.clone(),
        meta: None,
        id: args.id,
        unique_key: args.unique_key.clone(),
        unique_within: args.unique_within,
        unique_for_good: args.unique_for_good,
        on_conflict: Some(args.on_conflict.into()),
    }
}
