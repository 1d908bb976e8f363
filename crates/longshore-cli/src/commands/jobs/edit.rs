//! Changes jobs: their time, what they are, whether they are there at all.

use std::io::Write;
use std::process::Command;

use longshore::JobId;
use serde_json::json;

use super::Context;
use crate::args::{EditArgs, RetryArgs, WhenArgs, WhichArgs};
use crate::commands::enqueue::payload;
use crate::commands::operations::{matching, operation};
use crate::door::{Change, Door, Retry};
use crate::exit::{Exit, Failure};
use crate::print::{data, json};
use longshore_server::wire::{ArgumentsBody, EditBody, JobView, OperationBody, RescheduleBody};

pub(super) async fn run_now(context: &Context, ids: &[JobId]) -> Result<Exit, Failure> {
    each(context, ids, "is queued", async |door, id| door.run_now(id).await).await
}

pub(super) async fn reschedule(
    context: &Context,
    ids: &[JobId],
    when: WhenArgs,
) -> Result<Exit, Failure> {
    let when = RescheduleBody { run_at: when.at, run_in: when.delay };
    if when.run_at.is_none() && when.run_in.is_none() {
        return Err(Failure::usage("say --in or --at"));
    }
    each(context, ids, "has another time", async |door, id| door.reschedule(id, &when).await).await
}

pub(super) async fn delete(context: &Context, args: WhichArgs) -> Result<Exit, Failure> {
    if args.all.matching.is_some() {
        return matching(context, &args.all, operation("delete")).await;
    }
    each(context, &args.ids, "is deleted", async |door, id| door.delete(id).await).await
}

pub(super) async fn retry(context: &Context, args: RetryArgs) -> Result<Exit, Failure> {
    let RetryArgs { which, attempts, payload: given, payload_version } = args;
    if which.all.matching.is_some() {
        let arguments =
            ArgumentsBody { attempts: Some(attempts.into()), ..ArgumentsBody::default() };
        let body = OperationBody { arguments, ..operation("retry") };
        return matching(context, &which.all, body).await;
    }
    let limit = context.settings.limits.payload_bytes;
    let payload = given.map(|given| payload::read(&given, limit)).transpose()?;
    let again = Retry { attempts, payload: payload.as_deref(), payload_version };
    each(context, &which.ids, "is queued", async |door, id| door.retry(id, again).await).await
}

/// Does what it can: one that is refused does not keep the others back. Exits by the first refusal.
async fn each(
    context: &Context,
    ids: &[JobId],
    became: &str,
    act: impl AsyncFn(&Door, JobId) -> Result<(), Failure>,
) -> Result<Exit, Failure> {
    let door = Door::existing(context).await?;
    let (mut exit, mut answers) = (Exit::Ok, Vec::new());
    for id in ids {
        let refused = act(&door, *id).await.err();
        let words = refused.as_ref().map(|failure| failure.words.clone());
        answers.push(json!({ "id": id, "done": refused.is_none(), "error": words }));
        match refused {
            Some(failure) => {
                failure.tell();
                exit = if exit == Exit::Ok { failure.exit } else { exit };
            }
            None if context.json => {}
            None => data(&format!("{id} {became}"))?,
        }
    }
    if context.json {
        json(&json!({ "jobs": answers }))?;
    }
    Ok(exit)
}

pub(super) async fn edit(context: &Context, args: EditArgs) -> Result<Exit, Failure> {
    let door = Door::existing(context).await?;
    let limit = context.settings.limits.payload_bytes;
    let (mut if_version, mut payload) = (args.if_version, None);
    if is_bare(&args) {
        let Some(written) = written(context, &door, &args).await? else {
            eprintln!("the payload is as it was; nothing was changed");
            return Ok(Exit::Ok);
        };
        payload = Some(written.text);
        if_version = if_version.or(Some(written.version));
    } else if let Some(given) = &args.payload {
        payload = Some(payload::read(given, limit)?);
    }
    let change = Change { body: wanted(&args), payload: payload.as_deref(), if_version };
    let version = door.edit(args.id, change).await?;
    match context.json {
        true => json(&json!({ "id": args.id, "version": version }))?,
        false => data(&format!("{} is changed; it is at version {version}", args.id))?,
    }
    Ok(Exit::Ok)
}

/// What the options say, but for the payload.
fn wanted(args: &EditArgs) -> EditBody<'static> {
    EditBody {
        run_at: args.at,
        run_in: args.delay,
        priority: args.priority,
        queue: args.queue.clone(),
        payload: None,
        payload_version: args.payload_version,
        tags: (args.no_tags || !args.tags.is_empty()).then(|| args.tags.clone()),
    }
}

/// Whether no option says what to change.
fn is_bare(args: &EditArgs) -> bool {
    let EditArgs { payload, payload_version, queue, priority, tags, no_tags, delay, at, .. } = args;
    payload.is_none()
        && payload_version.is_none()
        && queue.is_none()
        && priority.is_none()
        && tags.is_empty()
        && !no_tags
        && delay.is_none()
        && at.is_none()
}

/// A payload that somebody wrote.
struct Written {
    text: String,
    /// The job's, when it was read.
    version: u32,
}

/// The payload as somebody writes it in an editor, with the version it was read with; `None` if it was left
/// as it was.
async fn written(
    context: &Context,
    door: &Door,
    args: &EditArgs,
) -> Result<Option<Written>, Failure> {
    let named = |name| std::env::var(name).ok().filter(|editor| !editor.trim().is_empty());
    let editor = named("VISUAL").or_else(|| named("EDITOR")).ok_or_else(|| {
        Failure::usage("say what to change, such as --payload; or set VISUAL or EDITOR")
    })?;
    // What is hidden would be overwritten by the words in its place.
    let mut job = door.job(args.id).await?.job;
    if job.payload_is_hidden && !args.reveal {
        let words =
            "the payload has redacted fields; --reveal opens it with them, --payload replaces it";
        return Err(Failure::usage(words));
    }
    if job.payload_is_hidden {
        job = door.reveal(args.id).await?.job;
    }
    let before = before(&job);
    let cannot = |what: &str, error: std::io::Error| Failure::failed(format!("{what}: {error}"));
    let mut file = tempfile::Builder::new()
        .suffix(".json")
        .tempfile()
        .map_err(|error| cannot("could not make a file to edit", error))?;
    file.write_all(before.as_bytes())
        .map_err(|error| cannot("could not write the file to edit", error))?;
    // Through the shell, as git does it: an editor may be named with its options.
    let ended = Command::new("sh")
        .args(["-c", &format!("{editor} \"$1\""), "sh"])
        .arg(file.path())
        .status()
        .map_err(|error| cannot("could not start the editor", error))?;
    if !ended.success() {
        return Err(Failure::failed(format!("the editor ended with {ended}; nothing was changed")));
    }
    let path = file.path().display();
    let text = payload::read(&format!("@{path}"), context.settings.limits.payload_bytes)?;
    // Editors end the last line; the job's payload did not have to.
    let text = text.strip_suffix('\n').unwrap_or(&text).to_owned();
    Ok((text != before).then_some(Written { text, version: job.version }))
}

fn before(job: &JobView) -> &str {
    job.payload.as_ref().map_or("null", |payload| payload.get())
}
