//! Jobs as JSON: stable names, our words. Payloads, notes and outputs are the stored bytes, but for what is
//! redacted.

use longshore::job::{AttemptError, Cancel};
use longshore::store::ProgressRow;
use longshore::{Backoff, JobId, JobRow, Timestamp};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::new_job::BackoffBody;

/// A job.
#[derive(Serialize, ToSchema)]
pub struct JobView<'a> {
    /// Its id, a UUID.
    #[schema(value_type = String, format = Uuid)]
    id: JobId,
    /// Picks the handler.
    kind: &'a str,
    /// Its queue.
    queue: &'a str,
    /// 0 runs first, 9 last.
    priority: u8,
    /// Where it stands.
    #[schema(value_type = crate::wire::StateWord)]
    state: &'static str,
    /// Attempts counted so far.
    attempt: u32,
    /// Attempts it may have in all.
    max_attempts: u32,
    /// When it is, or was, due; null for a dead job.
    #[schema(value_type = Option<String>, format = DateTime)]
    run_at: Option<Timestamp>,
    /// When it was enqueued.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// When it was claimed.
    #[schema(value_type = Option<String>, format = DateTime)]
    leased_at: Option<Timestamp>,
    /// When it ended: succeeded, cancelled or dead.
    #[schema(value_type = Option<String>, format = DateTime)]
    finished_at: Option<Timestamp>,
    /// The stored bytes, but for what `redacted` names. Absent in a list when it is too long for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = serde_json::Value, required = false)]
    payload: Option<&'a RawValue>,
    /// In a list, the first bytes of a payload that is too long for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_preview: Option<&'a str>,
    /// Bytes of the whole payload; null in a list when it lies aside.
    payload_bytes: Option<usize>,
    /// Which version of its payloads this one is.
    payload_version: u32,
    /// Fields of the payload that nobody is shown.
    redacted: &'a [String],
    /// What the handler returned, as it wrote it.
    #[schema(value_type = Option<serde_json::Value>)]
    output: Option<&'a RawValue>,
    /// Its unique key, in the caller's words.
    unique_key: Option<&'a str>,
    /// Counts its edits. 0 once it ended.
    version: u32,
    /// Its tags.
    tags: &'a [String],
    /// Notes of the caller.
    #[schema(value_type = Option<Object>)]
    meta: Option<&'a RawValue>,
    /// How long one attempt may run, in milliseconds; null for ever.
    #[schema(value_type = Option<u64>)]
    timeout_ms: Option<u128>,
    /// How long it is kept once it succeeded or was cancelled; null: as the rules of retention say.
    #[schema(value_type = Option<u64>)]
    retain_ms: Option<u128>,
    /// When a failed attempt is repeated.
    #[schema(value_type = BackoffBody)]
    backoff: &'a Backoff,
    /// The newest failed attempts, oldest first; at most 10.
    #[schema(value_type = Vec<crate::wire::AttemptView>)]
    errors: &'a [AttemptError],
    /// Who asked for cancel, when and why.
    #[schema(value_type = Option<crate::wire::CancelView>)]
    cancel: Option<&'a Cancel>,
    /// The node that runs it, or ran it last if it ended.
    #[schema(format = Uuid)]
    node: Option<String>,
    /// That node's own number for the claim.
    lease: Option<i64>,
}

/// A job with how far it is.
#[derive(Serialize, ToSchema)]
pub struct ShownView<'a> {
    /// The job.
    #[serde(flatten)]
    pub job: JobView<'a>,
    /// What it said last of how far it is; null if it said nothing.
    #[schema(value_type = Option<ProgressView>)]
    pub progress: Option<ProgressRow>,
}

/// How far a run is, in its own words.
#[derive(ToSchema)]
#[allow(dead_code, reason = "describes the library's own type")]
pub struct ProgressView {
    /// The attempt that said it.
    attempt: u32,
    /// From 0 to 1.
    #[schema(minimum = 0, maximum = 1)]
    fraction: f64,
    /// What it does.
    text: String,
    /// When it said so.
    #[schema(format = DateTime)]
    at: String,
}

/// One page of jobs, newest first.
#[derive(Serialize, ToSchema)]
pub struct PageView<'a> {
    /// The jobs.
    pub jobs: Vec<JobView<'a>>,
    /// For `after`; null when there is no more.
    pub next: Option<String>,
    /// For `before`; null when the page starts with the newest.
    pub prev: Option<String>,
    /// Rows that were looked at.
    pub looked: u64,
}

impl<'a> JobView<'a> {
    /// A job as people and programs are shown it.
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
            payload_preview: (job.payload_is_cut && !job.payload.is_empty())
                .then_some(&job.payload),
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

/// Where a job stands.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
#[allow(dead_code, reason = "describes the words of the library's own type")]
pub enum StateWord {
    /// Due later, and never attempted.
    Scheduled,
    /// Due, and not claimed yet.
    Queued,
    /// A node runs it.
    Running,
    /// Failed, and due again later.
    Retrying,
    /// Ended well.
    Succeeded,
    /// Ended because somebody asked for it.
    Cancelled,
    /// Failed for good; waits for a person.
    Dead,
}

/// How one attempt failed.
#[derive(ToSchema)]
#[allow(dead_code, reason = "describes the library's own type")]
pub struct AttemptView {
    /// The attempt's number, from 1.
    attempt: u32,
    /// When it was recorded.
    #[schema(format = DateTime)]
    at: String,
    /// The node that ran it.
    #[schema(format = Uuid)]
    node: String,
    /// `error`, `panic`, `timeout`, `node_lost`, `never_started`, `interrupted`, `throttled` or `superseded`.
    kind: String,
    /// The error's own text.
    message: String,
    /// What caused it, outermost first.
    chain: Vec<String>,
}

/// That somebody asked for cancel.
#[derive(ToSchema)]
#[allow(dead_code, reason = "describes the library's own type")]
pub struct CancelView {
    /// When.
    #[schema(format = DateTime)]
    at: String,
    /// Who.
    by: Option<String>,
    /// Why.
    why: Option<String>,
}
