//! One job, whole, for people.

use std::time::Duration;

use longshore::Timestamp;

use crate::exit::Failure;
use crate::print::{facts, progress_words, when};
use longshore_server::wire::{ShownView, Span};

/// Prints a job with its payload, output and errors.
pub(super) fn job(shown: &ShownView) -> Result<(), Failure> {
    let ShownView { job, progress } = shown;
    let now = Timestamp::now();
    let time = |at: Option<Timestamp>| at.map(|at| when(at, now));
    let mut lines = vec![
        ("id", job.id.to_string()),
        ("kind", job.kind.clone()),
        ("queue", job.queue.clone()),
        ("state", job.state.to_string()),
        ("priority", job.priority.to_string()),
        ("attempt", format!("{} of {}", job.attempt, job.max_attempts)),
        ("timeout", job.timeout_ms.map_or("none".to_owned(), span)),
        ("enqueued", when(job.created_at, now)),
    ];
    let mut add = |name, value: Option<String>| lines.extend(value.map(|value| (name, value)));
    add("due", time(job.run_at));
    add("claimed", time(job.leased_at));
    add("ended", time(job.finished_at));
    add(
        "progress",
        progress.as_ref().map(|said| format!("{}, {}", progress_words(said), when(said.at, now))),
    );
    add("node", job.node.clone());
    add("unique key", job.unique_key.clone());
    add("version", (job.version > 0).then(|| job.version.to_string()));
    add("tags", (!job.tags.is_empty()).then(|| job.tags.join(", ")));
    add("meta", job.meta.as_ref().map(|meta| meta.get().to_owned()));
    add("payload", job.payload.as_ref().map(|payload| payload.get().to_owned()));
    let newer = job.payload_version > 1;
    add("payload version", newer.then(|| job.payload_version.to_string()));
    add("redacted", (!job.redacted.is_empty()).then(|| job.redacted.join(", ")));
    add("output", job.output.as_ref().map(|output| output.get().to_owned()));
    if let Some(cancel) = &job.cancel {
        let by = cancel.by.as_deref().unwrap_or("somebody");
        let why = cancel.why.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
        add("cancel", Some(format!("asked by {by} {}{why}", when(cancel.at, now))));
    }
    for error in &job.errors {
        let (attempt, kind) = (error.attempt, error.kind.as_str());
        add(
            "error",
            Some(format!("attempt {attempt}, {}, {kind}: {}", when(error.at, now), error.message)),
        );
        for cause in &error.chain {
            add("", Some(format!("caused by: {cause}")));
        }
    }
    facts(lines)
}

fn span(ms: u64) -> String {
    Span(Duration::from_millis(ms)).to_string()
}
