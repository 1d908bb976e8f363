//! Jobs as JSON: stable names, our words. Payloads, notes and outputs are the stored bytes, but for what is
//! redacted.

use longshore::job::{AttemptError, Cancel};
use longshore::store::ProgressRow;
use longshore::{Backoff, JobId, JobRow, Timestamp};
use serde::Serialize;
use serde_json::value::RawValue;

/// A job.
#[derive(Serialize)]
pub(crate) struct JobView<'a> {
    id: JobId,
    kind: &'a str,
    queue: &'a str,
    priority: u8,
    state: &'static str,
    attempt: u32,
    max_attempts: u32,
    run_at: Option<Timestamp>,
    created_at: Timestamp,
    leased_at: Option<Timestamp>,
    finished_at: Option<Timestamp>,
    /// Absent in a list when it is too long for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<&'a RawValue>,
    payload_bytes: Option<usize>,
    payload_version: u32,
    redacted: &'a [String],
    output: Option<&'a RawValue>,
    unique_key: Option<&'a str>,
    version: u32,
    tags: &'a [String],
    meta: Option<&'a RawValue>,
    timeout_ms: Option<u128>,
    retain_ms: Option<u128>,
    backoff: &'a Backoff,
    errors: &'a [AttemptError],
    cancel: Option<&'a Cancel>,
    node: Option<String>,
    lease: Option<i64>,
}

/// A job with how far it is.
#[derive(Serialize)]
pub(crate) struct ShownView<'a> {
    #[serde(flatten)]
    pub job: JobView<'a>,
    /// What it said last; null if it said nothing.
    pub progress: Option<ProgressRow>,
}

/// One page of jobs.
#[derive(Serialize)]
pub(crate) struct PageView<'a> {
    pub jobs: Vec<JobView<'a>>,
    /// For `--after`; null when there is no more.
    pub next: Option<String>,
    /// For `--before`; null when the page starts with the newest.
    pub prev: Option<String>,
    /// Rows that were looked at.
    pub looked: u64,
}

impl<'a> JobView<'a> {
    pub fn new(job: &'a JobRow) -> JobView<'a> {
        JobView {
            id: job.id,
            kind: &job.kind,
            queue: &job.queue,
            priority: job.priority,
            state: job.state.as_str(),
            attempt: job.attempt,
            max_attempts: job.max_attempts,
            run_at: job.run_at,
            created_at: job.created_at,
            leased_at: job.leased_at,
            finished_at: job.finished_at,
            payload: if job.payload_is_cut { None } else { raw(&job.payload) },
            payload_bytes: job.payload_bytes,
            payload_version: job.payload_version,
            redacted: &job.redacted,
            output: job.output.as_deref().and_then(raw),
            unique_key: job.unique_key.as_deref(),
            version: job.version,
            tags: &job.tags,
            meta: job.meta.as_deref().and_then(raw),
            timeout_ms: job.timeout.map(|span| span.as_millis()),
            retain_ms: job.retain.map(|span| span.as_millis()),
            backoff: &job.backoff,
            errors: &job.errors,
            cancel: job.cancel.as_ref(),
            node: job.node.map(|node| node.to_string()),
            lease: job.lease,
        }
    }
}

/// Stored JSON, as it is.
fn raw(text: &str) -> Option<&RawValue> {
    serde_json::from_str(text).ok()
}
