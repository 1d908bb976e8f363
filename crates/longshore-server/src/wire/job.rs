//! Jobs as JSON: stable names, our words. Payloads, notes and outputs are the stored bytes, but for what is
//! redacted.

use std::time::Duration;

use longshore::job::{AttemptError, Cancel};
use longshore::store::{Page, ProgressRow};
use longshore::{Backoff, JobId, JobRow, State, Timestamp};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::new_job::BackoffBody;

/// A job.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct JobView {
    /// Its id, a UUID.
    #[schema(value_type = String, format = Uuid)]
    pub id: JobId,
    /// Picks the handler.
    pub kind: String,
    /// Its queue.
    pub queue: String,
    /// 0 runs first, 9 last.
    pub priority: u8,
    /// Where it stands.
    #[schema(value_type = crate::wire::StateWord)]
    pub state: State,
    /// Attempts counted so far.
    pub attempt: u32,
    /// Attempts it may have in all.
    pub max_attempts: u32,
    /// When it is, or was, due; null for a dead job.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub run_at: Option<Timestamp>,
    /// When it was enqueued.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// When it was claimed.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub leased_at: Option<Timestamp>,
    /// When it ended: succeeded, cancelled or dead.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub finished_at: Option<Timestamp>,
    /// The stored bytes, but for what is hidden. Absent in a list when it is too long for one.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = serde_json::Value, required = false)]
    pub payload: Option<Box<RawValue>>,
    /// In a list, the first bytes of a payload that is too long for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, required = false)]
    pub payload_preview: Option<String>,
    /// Bytes of the whole payload; null in a list when it lies aside.
    pub payload_bytes: Option<usize>,
    /// Which version of its payloads this one is.
    pub payload_version: u32,
    /// Whether something of it is hidden: fields that `redacted` names, or that are called like a secret.
    pub payload_is_hidden: bool,
    /// Fields of the payload that nobody is shown.
    pub redacted: Vec<String>,
    /// What the handler returned, as it wrote it.
    #[schema(value_type = Option<serde_json::Value>)]
    pub output: Option<Box<RawValue>>,
    /// Its unique key, in the caller's words.
    pub unique_key: Option<String>,
    /// Counts its edits. 0 once it ended.
    pub version: u32,
    /// Its tags.
    pub tags: Vec<String>,
    /// Notes of the caller.
    #[schema(value_type = Option<Object>)]
    pub meta: Option<Box<RawValue>>,
    /// How long one attempt may run, in milliseconds; null for ever.
    pub timeout_ms: Option<u64>,
    /// How long it is kept once it succeeded or was cancelled; null: as the rules of retention say.
    pub retain_ms: Option<u64>,
    /// When a failed attempt is repeated.
    #[schema(value_type = BackoffBody)]
    pub backoff: Backoff,
    /// The newest failed attempts, oldest first; at most 10.
    #[schema(value_type = Vec<crate::wire::AttemptView>)]
    pub errors: Vec<AttemptError>,
    /// Who asked for cancel, when and why.
    #[schema(value_type = Option<crate::wire::CancelView>)]
    pub cancel: Option<Cancel>,
    /// The node that runs it, or ran it last if it ended.
    #[schema(format = Uuid)]
    pub node: Option<String>,
    /// That node's own number for the claim.
    pub lease: Option<i64>,
}

/// A job with how far it is.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ShownView {
    /// The job.
    #[serde(flatten)]
    pub job: JobView,
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
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PageView {
    /// The jobs.
    pub jobs: Vec<JobView>,
    /// For `after`; null when there is no more.
    pub next: Option<String>,
    /// For `before`; null when the page starts with the newest.
    pub prev: Option<String>,
    /// Rows that were looked at.
    pub looked: u64,
}

impl From<JobRow> for JobView {
    fn from(job: JobRow) -> JobView {
        let cut = job.payload_is_cut;
        JobView {
            id: job.id,
            kind: job.kind,
            queue: job.queue,
            priority: job.priority,
            state: job.state,
            attempt: job.attempt,
            max_attempts: job.max_attempts,
            run_at: job.run_at,
            created_at: job.created_at,
            leased_at: job.leased_at,
            finished_at: job.finished_at,
            payload_preview: (cut && !job.payload.is_empty()).then(|| job.payload.to_string()),
            payload: if cut { None } else { raw(job.payload) },
            payload_bytes: job.payload_bytes,
            payload_version: job.payload_version,
            payload_is_hidden: job.payload_is_hidden,
            redacted: job.redacted,
            output: job.output.and_then(raw),
            unique_key: job.unique_key,
            version: job.version,
            tags: job.tags,
            meta: job.meta.and_then(raw),
            timeout_ms: job.timeout.map(millis),
            retain_ms: job.retain.map(millis),
            backoff: job.backoff,
            errors: job.errors,
            cancel: job.cancel,
            node: job.node.map(|node| node.to_string()),
            lease: job.lease,
        }
    }
}

impl From<Page> for PageView {
    fn from(page: Page) -> PageView {
        PageView {
            jobs: page.jobs.into_iter().map(JobView::from).collect(),
            next: page.next.map(|cursor| cursor.to_string()),
            prev: page.prev.map(|cursor| cursor.to_string()),
            looked: page.looked,
        }
    }
}

/// Stored JSON, as it is.
fn raw(text: Box<str>) -> Option<Box<RawValue>> {
    RawValue::from_string(text.into_string()).ok()
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// Tells a payload that is `null` from one that is not in the answer.
fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::<RawValue>::deserialize(from).map(Some)
}

/// Not by serde's own `flatten`: that looks into what has to stay as it was written.
impl<'de> Deserialize<'de> for ShownView {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<ShownView, D::Error> {
        #[derive(Deserialize)]
        struct Beside {
            progress: Option<ProgressRow>,
        }
        let whole = Box::<RawValue>::deserialize(from)?;
        let wrong = serde::de::Error::custom;
        let job = serde_json::from_str(whole.get()).map_err(wrong)?;
        let Beside { progress } = serde_json::from_str(whole.get()).map_err(wrong)?;
        Ok(ShownView { job, progress })
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What the API answers for a job, with this payload.
    fn shown(payload: &str, progress: &str) -> String {
        format!(
            r#"{{"id":"019364bb-3f3c-7c6e-8f6a-3d2f1b7c9e10","kind":"k","queue":"default","priority":5,"state":"retrying","attempt":1,"max_attempts":10,"run_at":"2026-03-01T12:00:00.000001Z","created_at":"2026-03-01T11:00:00.000000Z","leased_at":null,"finished_at":null,{payload}"payload_bytes":9,"payload_version":1,"payload_is_hidden":true,"redacted":["card"],"output":{{"n": 1.0}},"unique_key":null,"version":2,"tags":["a"],"meta":{{"big": 123456789012345678901234567890}},"timeout_ms":3600000,"retain_ms":null,"backoff":{{"fixed":{{"delay_ms":5000}}}},"errors":[{{"attempt":1,"at":"2026-03-01T11:30:00.000000Z","node":"019364bb-3f3c-7c6e-8f6a-3d2f1b7c9e11","kind":"node_lost","message":"gone","chain":[]}}],"cancel":{{"at":"2026-03-01T11:40:00.000000Z","by":null,"why":"no"}},"node":null,"lease":null,"progress":{progress}}}"#
        )
    }

    #[test]
    fn an_answer_reads_back_byte_for_byte() {
        let said =
            r#"{"attempt":1,"fraction":0.5,"text":"half","at":"2026-03-01T11:20:00.000000Z"}"#;
        for payload in [
            r#""payload":{"n": 12345678901234567890123.00, "n": 1e5},"#,
            r#""payload":null,"#,
            r#""payload_preview":"{\"cut","#,
            "",
        ] {
            for progress in ["null", said] {
                let text = shown(payload, progress);
                let view: ShownView = serde_json::from_str(&text).unwrap();
                assert_eq!(serde_json::to_string(&view).unwrap(), text);
            }
        }
    }

    #[test]
    fn what_a_newer_server_says_more_is_passed_over() {
        let text = shown("", "null").replacen('{', "{\"news\":[1],", 1);
        assert!(serde_json::from_str::<ShownView>(&text).is_ok());
    }
}
