//! Changes jobs: their time, what they are, whether they are there at all.

use std::io::Write;
use std::process::Command;

use longshore::operation::Action;
use longshore::{Client, Edit, JobId, StoreError};
use serde_json::json;

use super::Context;
use crate::args::{EditArgs, RetryArgs, WhenArgs, WhichArgs};
use crate::commands::enqueue::payload;
use crate::commands::operations::matching;
use crate::connect::open_existing;
use crate::exit::{Exit, Failure};
use crate::print::{data, json};
use longshore_server::wire::{PRIORITIES, VERSIONS, within};

pub(super) async fn run_now(context: &Context, ids: &[JobId]) -> Result<Exit, Failure> {
    each(context, ids, "is queued", async |client, id| {
        client.edit(id, Edit::new().run_now()).await.map(|_| ())
    })
    .await
}

pub(super) async fn reschedule(
    context: &Context,
    ids: &[JobId],
    when: WhenArgs,
) -> Result<Exit, Failure> {
    let edit = match (when.delay, when.at) {
        (Some(span), _) => Edit::new().run_in(span.0),
        (None, Some(at)) => Edit::new().run_at(at),
        (None, None) => return Err(Failure::usage("say --in or --at")),
    };
    each(context, ids, "has another time", async |client, id| {
        client.edit(id, edit.clone()).await.map(|_| ())
    })
    .await
}

pub(super) async fn delete(context: &Context, args: WhichArgs) -> Result<Exit, Failure> {
    if args.all.matching.is_some() {
        return matching(context, &args.all, (Action::Delete, None)).await;
    }
    each(context, &args.ids, "is deleted", async |client, id| client.delete(id).await).await
}

pub(super) async fn retry(context: &Context, args: RetryArgs) -> Result<Exit, Failure> {
    let RetryArgs { which, attempts, payload: given, payload_version } = args;
    if which.all.matching.is_some() {
        return matching(context, &which.all, (Action::Retry { attempts }, None)).await;
    }
    let mut edit = Edit::new();
    if let Some(given) = given {
        edit = edit.payload(payload::read(&given, context.settings.limits.payload_bytes)?);
    }
    if let Some(version) = payload_version {
        edit = edit.payload_version(within("payload_version", version, VERSIONS)?);
    }
    each(context, &which.ids, "is queued", async |client, id| {
        client.retry_with(id, attempts, edit.clone()).await
    })
    .await
}

/// Does what it can: one that is refused does not keep the others back. Exits by the first refusal.
async fn each(
    context: &Context,
    ids: &[JobId],
    became: &str,
    act: impl AsyncFn(&Client, JobId) -> Result<(), StoreError>,
) -> Result<Exit, Failure> {
    let client = open_existing(&context.settings).await?;
    let (mut exit, mut answers) = (Exit::Ok, Vec::new());
    for id in ids {
        let refused = act(&client, *id).await.err().map(Failure::from);
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
    let client = open_existing(&context.settings).await?;
    let mut edit = wanted(&args, context.settings.limits.payload_bytes)?;
    if let Some(version) = args.if_version {
        edit = edit.if_version(version);
    }
    if is_bare(&args) {
        let Some(written) = written(context, &client, &args).await? else {
            eprintln!("the payload is as it was; nothing was changed");
            return Ok(Exit::Ok);
        };
        edit = written;
    }
    let version = client.edit(args.id, edit).await?;
    match context.json {
        true => json(&json!({ "id": args.id, "version": version }))?,
        false => data(&format!("{} is changed; it is at version {version}", args.id))?,
    }
    Ok(Exit::Ok)
}

fn wanted(args: &EditArgs, payload_limit: usize) -> Result<Edit, Failure> {
    let mut edit = Edit::new();
    if let Some(given) = &args.payload {
        edit = edit.payload(payload::read(given, payload_limit)?);
    }
    if let Some(version) = args.payload_version {
        edit = edit.payload_version(within("payload_version", version, VERSIONS)?);
    }
    if let Some(queue) = &args.queue {
        edit = edit.queue(queue);
    }
    if let Some(priority) = args.priority {
        edit = edit.priority(within("priority", priority, PRIORITIES)?);
    }
    if args.no_tags || !args.tags.is_empty() {
        edit = edit.tags(&args.tags);
    }
    if let Some(span) = args.delay {
        edit = edit.run_in(span.0);
    }
    if let Some(at) = args.at {
        edit = edit.run_at(at);
    }
    Ok(edit)
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

/// The payload as somebody writes it in an editor, guarded by the version it was read with; `None` if it
/// was left as it was.
async fn written(
    context: &Context,
    client: &Client,
    args: &EditArgs,
) -> Result<Option<Edit>, Failure> {
    let named = |name| std::env::var(name).ok().filter(|editor| !editor.trim().is_empty());
    let editor = named("VISUAL").or_else(|| named("EDITOR")).ok_or_else(|| {
        Failure::usage("say what to change, such as --payload; or set VISUAL or EDITOR")
    })?;
    // What is hidden would be overwritten by the words in its place.
    let job = client.reveal(args.id).await?;
    if job.payload_is_hidden && !args.reveal {
        return Err(Failure::usage(format!(
            "the payload has redacted fields; --reveal opens it with them, --payload replaces it"
        )));
    }
    let cannot = |what: &str, error: std::io::Error| Failure::failed(format!("{what}: {error}"));
    let mut file = tempfile::Builder::new()
        .suffix(".json")
        .tempfile()
        .map_err(|error| cannot("could not make a file to edit", error))?;
    file.write_all(job.payload.as_bytes())
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
    let text = match job.payload.ends_with('\n') {
        true => &text,
        false => text.strip_suffix('\n').unwrap_or(&text),
    };
    let changed = *text != *job.payload;
    let version = args.if_version.unwrap_or(job.version);
    Ok(changed.then(|| Edit::new().payload(text).if_version(version)))
}
