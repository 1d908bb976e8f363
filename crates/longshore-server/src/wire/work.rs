//! What workers over HTTP say and hear. Lists are read one entry at a time, so that a fault names its place.

use longshore::store::{Level, NodeState, Wish};
use longshore::{JobId, State, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::new_job::{present, wide};
use super::{LevelWord, StateWord};

/// A worker that joins.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct JoinBody<'a> {
    /// A name for people; need not be unique. Default: the name of the token.
    #[schema(value_type = Option<String>, required = false, min_length = 1, max_length = 255)]
    pub name: Option<String>,
    /// The program's version, for people.
    #[schema(value_type = Option<String>, required = false, max_length = 255)]
    pub version: Option<String>,
    /// The queues it serves, with 1,000 slots in all.
    #[serde(borrow)]
    #[schema(value_type = Vec<SlotsBody>, min_items = 1, max_items = 100)]
    pub queues: Vec<&'a RawValue>,
    /// The kinds it runs.
    #[serde(borrow)]
    #[schema(value_type = Vec<WorkKindBody>, min_items = 1, max_items = 1000)]
    pub kinds: Vec<&'a RawValue>,
    /// How long its jobs stay its own without a heartbeat, in milliseconds. Default 60,000.
    #[serde(default, deserialize_with = "wide")]
    #[schema(value_type = Option<u32>, required = false, minimum = 5000, maximum = 600_000)]
    pub lease_ms: Option<i128>,
}

/// A queue that a worker serves.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SlotsBody {
    /// Its name.
    #[schema(min_length = 1, max_length = 255, example = "default")]
    pub queue: String,
    /// How many of its jobs run at a time.
    #[serde(default, deserialize_with = "wide")]
    #[schema(value_type = u32, required = true, minimum = 1, maximum = 1000)]
    pub slots: Option<i128>,
}

/// A kind that a worker runs.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkKindBody<'a> {
    /// Its name.
    #[schema(min_length = 1, max_length = 255, example = "send_receipt")]
    pub kind: String,
    /// The greatest version of a payload that it decodes. Default: any.
    #[serde(default, deserialize_with = "wide")]
    #[schema(value_type = Option<u32>, required = false, minimum = 1, maximum = 2_147_483_647)]
    pub version: Option<i128>,
    /// What it does, for people.
    #[schema(value_type = Option<String>, required = false, max_length = 1024)]
    pub description: Option<String>,
    /// What payloads look like: a JSON Schema, at most 64 KiB.
    #[serde(borrow)]
    #[schema(value_type = Option<Object>, required = false)]
    pub schema: Option<&'a RawValue>,
}

/// A worker that has joined.
#[derive(Serialize, ToSchema)]
pub struct JoinedView {
    /// Its node's id, part of the address of every other call.
    #[schema(format = Uuid)]
    pub id: String,
    /// How long its jobs stay its own without a heartbeat, in milliseconds.
    pub lease_ms: u64,
    /// How often it is to send one.
    pub heartbeat_ms: u64,
}

/// A worker that asks for jobs.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LeaseBody<'a> {
    /// From which of its queues, and how many of each. Default: from all, as many as it has slots.
    #[serde(borrow, default)]
    #[schema(value_type = Option<Vec<LimitBody>>, required = false, min_items = 1, max_items = 100)]
    pub queues: Option<Vec<&'a RawValue>>,
    /// How many in all. Default 1.
    #[serde(default, deserialize_with = "wide")]
    #[schema(value_type = Option<u32>, required = false, minimum = 1, maximum = 100)]
    pub limit: Option<i128>,
    /// Every job that it has received and whose end it has not had confirmed.
    #[schema(value_type = Vec<String>, max_items = 2000)]
    pub holds: Vec<JobId>,
    /// How long to wait for a first job, in milliseconds. Default 0.
    #[serde(default, deserialize_with = "wide")]
    #[schema(value_type = Option<u32>, required = false, minimum = 0, maximum = 30_000)]
    pub wait_ms: Option<i128>,
}

/// How many jobs of a queue are asked for.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitBody {
    /// Its name; one that the worker joined with.
    #[schema(min_length = 1, max_length = 255, example = "default")]
    pub queue: String,
    /// At most so many.
    #[serde(default, deserialize_with = "wide")]
    #[schema(value_type = u32, required = true, minimum = 1, maximum = 1000)]
    pub limit: Option<i128>,
}

/// What a worker is asked to be.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
#[allow(dead_code, reason = "describes the words of the library's own type")]
pub enum WishWord {
    /// To lease nothing more, to finish what runs, and to stay.
    Quiet,
    /// To stop.
    Stop,
}

/// Jobs for a worker.
#[derive(Serialize, ToSchema)]
pub struct LeasedView {
    /// The jobs, in the order they should start.
    pub jobs: Vec<LeasedJobView>,
    /// What the worker is asked to be; null: to serve.
    #[schema(value_type = Option<WishWord>)]
    pub wish: Option<Wish>,
}

/// A job that a worker holds now.
#[derive(Serialize, ToSchema)]
pub struct LeasedJobView {
    /// Its id.
    #[schema(value_type = String, format = Uuid)]
    pub id: JobId,
    /// Tells this run from every other one of the job on this node; to be said with all that is said of it.
    #[schema(minimum = 1, maximum = 9_007_199_254_740_991_i64)]
    pub lease: i64,
    /// Picks the handler.
    pub kind: String,
    /// Its queue.
    pub queue: String,
    /// 0 runs first, 9 last.
    pub priority: u8,
    /// The number of this attempt, from 1.
    pub attempt: u32,
    /// Attempts it may have in all.
    pub max_attempts: u32,
    /// When it was due.
    #[schema(value_type = String, format = DateTime)]
    pub run_at: Timestamp,
    /// How long this attempt may run, in milliseconds; null for ever. The worker keeps to it.
    pub timeout_ms: Option<i64>,
    /// The payload, byte for byte.
    #[schema(value_type = serde_json::Value)]
    pub payload: Box<RawValue>,
    /// Which version of its payloads this one is.
    pub payload_version: u32,
    /// Notes of whoever enqueued it.
    #[schema(value_type = Option<Object>)]
    pub meta: Option<Box<RawValue>>,
    /// The trace it was enqueued in (W3C Trace Context).
    pub traceparent: Option<String>,
    /// It was handed out before, and that answer was lost: the attempt is the same.
    pub again: bool,
}

/// A worker's heartbeat.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HeartbeatBody {
    /// What it is at. Default `serving`.
    #[schema(value_type = Option<NodeStateWord>, required = false)]
    pub state: Option<NodeState>,
    /// How long to wait for news, in milliseconds; never longer than a third of the lease. Default 0.
    #[serde(default, deserialize_with = "wide")]
    #[schema(value_type = Option<u32>, required = false, minimum = 0, maximum = 30_000)]
    pub wait_ms: Option<i128>,
}

/// What a worker is at.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
#[allow(dead_code, reason = "describes the words of the library's own type")]
pub enum NodeStateWord {
    /// It leases and runs.
    Serving,
    /// It leases nothing more, as it was asked.
    Quiet,
    /// It stops.
    Stopping,
}

/// The answer to a worker's heartbeat.
#[derive(Serialize, ToSchema)]
pub struct HeartbeatView {
    /// All its jobs that are asked to cancel at this time.
    #[schema(value_type = Vec<String>)]
    pub cancel: Vec<JobId>,
    /// What the worker is asked to be; null: to serve.
    #[schema(value_type = Option<WishWord>)]
    pub wish: Option<Wish>,
    /// How long its jobs stay its own from the sending of the heartbeat, in milliseconds.
    pub lease_ms: u64,
}

/// How runs ended.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EndsBody<'a> {
    /// Each run, a job once.
    #[serde(borrow)]
    #[schema(value_type = Vec<EndBody>, min_items = 1, max_items = 100)]
    pub ends: Vec<&'a RawValue>,
}

/// How one run ended.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EndBody<'a> {
    /// The job.
    #[schema(value_type = String, format = Uuid)]
    pub job: JobId,
    /// The run's lease.
    pub lease: i64,
    /// How it ended.
    pub end: EndWord,
    /// Of `complete`: the output, any JSON. One above 1 MiB is replaced by a marker.
    #[serde(
        borrow,
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(value_type = serde_json::Value, required = false)]
    pub output: Option<&'a RawValue>,
    /// Of `fail`, and needed there: what went wrong.
    #[serde(borrow)]
    #[schema(value_type = Option<ErrorBody>, required = false)]
    pub error: Option<&'a RawValue>,
    /// Of `fail`: when the next attempt is due, in milliseconds. Default: as the job's backoff says.
    #[serde(default, deserialize_with = "wide")]
    #[schema(value_type = Option<u64>, required = false, minimum = 0, maximum = 31_536_000_000_u64)]
    pub retry_in_ms: Option<i128>,
    /// Of `fail`: it will never work.
    pub dead: Option<bool>,
    /// Of `snooze` and `throttle`, and needed there: when it runs again, in milliseconds.
    #[serde(default, deserialize_with = "wide")]
    #[schema(value_type = Option<u64>, required = false, minimum = 0, maximum = 31_536_000_000_u64)]
    pub delay_ms: Option<i128>,
    /// Of `cancel`: why.
    #[schema(value_type = Option<String>, required = false)]
    pub reason: Option<String>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndWord {
    /// The work is done.
    Complete,
    /// The attempt failed; the job's backoff and attempts decide, if nothing else is said.
    Fail,
    /// Run again later; the attempt does not count.
    Snooze,
    /// The same because somebody said "later"; the hundredth time in a row it counts.
    Throttle,
    /// Stop for good, as cancelled.
    Cancel,
    /// Unfinished: it waits again as before, the attempt does not count.
    GiveBack,
}

/// What went wrong.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ErrorBody {
    /// In a sentence. Cut at 8 KiB, together with its causes.
    pub message: String,
    /// What caused it, outermost first; the first 16 are kept.
    #[serde(default)]
    pub chain: Vec<String>,
}

/// What became of each run, in order.
#[derive(Serialize, ToSchema)]
pub struct EndedView {
    /// One for each.
    pub answers: Vec<EndAnswer>,
}

/// What became of one run.
#[derive(Serialize, ToSchema)]
pub struct EndAnswer {
    /// The job.
    #[schema(value_type = String, format = Uuid)]
    pub job: JobId,
    /// The job's state now: the end is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<StateWord>, required = false)]
    pub state: Option<State>,
    /// The run is not this node's any more: nothing was written.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub lost: bool,
}

/// What runs say while they run.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SaysBody<'a> {
    /// Each run, a job once, with 1,000 lines in all.
    #[serde(borrow)]
    #[schema(value_type = Vec<SayBody>, min_items = 1, max_items = 100)]
    pub says: Vec<&'a RawValue>,
}

/// What one run says.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SayBody<'a> {
    /// The job.
    #[schema(value_type = String, format = Uuid)]
    pub job: JobId,
    /// The run's lease.
    pub lease: i64,
    /// How far it is.
    #[serde(borrow)]
    #[schema(value_type = Option<SayProgressBody>, required = false)]
    pub progress: Option<&'a RawValue>,
    /// The number of the first of these lines among all of this run, from 0: with it a repeat adds nothing.
    #[schema(value_type = Option<u64>, required = false, maximum = 9_007_199_254_740_991_i64)]
    pub first: Option<u64>,
    /// Lines for the job's log.
    #[serde(borrow, default)]
    #[schema(value_type = Vec<LineBody>, required = false)]
    pub lines: Vec<&'a RawValue>,
}

/// How far a run is.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SayProgressBody {
    /// From 0 to 1.
    #[schema(minimum = 0, maximum = 1)]
    pub fraction: f64,
    /// A word about it; cut at 255 bytes.
    #[serde(default)]
    pub text: String,
}

/// One log line; all of it together is cut at 8 KiB.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LineBody {
    /// How grave it is. Default `info`.
    #[schema(value_type = Option<LevelWord>, required = false)]
    pub level: Option<Level>,
    /// What is said.
    pub message: String,
    /// Which part of the program says it. Default: the job's kind.
    #[schema(value_type = Option<String>, required = false)]
    pub target: Option<String>,
    /// With which values; above 4 KiB they are left out.
    #[serde(default)]
    #[schema(value_type = Object, required = false)]
    pub fields: serde_json::Map<String, serde_json::Value>,
    /// When, by the worker's clock. Default now.
    #[schema(value_type = Option<String>, required = false, format = DateTime)]
    pub at: Option<Timestamp>,
}

/// What became of what each run said, in order.
#[derive(Serialize, ToSchema)]
pub struct SaidView {
    /// One for each.
    pub answers: Vec<SaidAnswer>,
}

/// What became of what one run said.
#[derive(Serialize, ToSchema)]
pub struct SaidAnswer {
    /// The job.
    #[schema(value_type = String, format = Uuid)]
    pub job: JobId,
    /// The run is not this node's any more: nothing was written.
    pub lost: bool,
}
