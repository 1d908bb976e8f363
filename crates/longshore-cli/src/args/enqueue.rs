//! What `enqueue` takes.

use clap::ValueEnum;
use longshore::{JobId, Timestamp};

use crate::backoff::BackoffArg;
use longshore_server::wire::{OnConflictWord, Span, Timeout};

#[derive(Debug, clap::Args)]
pub(crate) struct EnqueueArgs {
    /// Picks the handler; with --lines of lines that name no kind
    #[arg(required_unless_present = "lines")]
    pub kind: Option<String>,
    /// The payload: JSON, @FILE, or - for stdin
    #[arg(long, short, value_name = "JSON", default_value = "null")]
    pub payload: String,
    /// Which version of its kind's payloads it is [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub payload_version: Option<i128>,
    /// A top-level field of the payload that nobody is shown; repeatable
    #[arg(long = "redact", value_name = "FIELD")]
    pub redacted: Vec<String>,
    /// The queue
    #[arg(long, short, default_value = "default")]
    pub queue: String,
    /// Add many jobs: a JSON object a line from this file, or - for stdin. Its fields are named as in
    /// `jobs show --json` (kind, payload, payload_version, redacted, queue, priority, run_at, max_attempts, timeout, retain,
    /// backoff, tags, meta, id, unique_key, unique_within, unique_for_good, on_conflict); other options
    /// of this command hold for lines that do not say otherwise
    #[arg(long, value_name = "FILE", conflicts_with_all = ["payload", "id", "wait"])]
    pub lines: Option<String>,
    /// Go on from this line, the first being 1, after a run that stopped
    #[arg(long, value_name = "N", default_value_t = 1, requires = "lines", value_parser = clap::value_parser!(u64).range(1..))]
    pub from_line: u64,
    /// Print the id of every line's job
    #[arg(long, requires = "lines")]
    pub ids: bool,
    /// 0 runs first, 9 last [default: 5]
    #[arg(long, value_name = "0-9", allow_negative_numbers = true)]
    pub priority: Option<i128>,
    /// Due this long from now, such as 5m
    #[arg(long = "in", value_name = "SPAN", conflicts_with = "at")]
    pub delay: Option<Span>,
    /// Due at this time, RFC 3339
    #[arg(long, value_name = "TIME")]
    pub at: Option<Timestamp>,
    /// How often it may run in all [default: 10]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub max_attempts: Option<i128>,
    /// How long it waits after a failure: fixed:5s, exponential:1s,3,1h (first, factor, longest),
    /// polynomial:1s,4,1h (first, exponent, longest), or list:1s,10s,1m [default: exponential:1s,3,1h]
    #[arg(long, value_name = "POLICY")]
    pub backoff: Option<BackoffArg>,
    /// How long it is kept once it succeeded or was cancelled, whatever the rules say
    #[arg(long, value_name = "SPAN")]
    pub retain: Option<Span>,
    /// How long one attempt may run, or none [default: 1h]
    #[arg(long, value_name = "SPAN|none")]
    pub timeout: Option<Timeout>,
    /// A tag; repeatable
    #[arg(long = "tag", value_name = "TAG")]
    pub tags: Vec<String>,
    /// At most one job of its kind with this key waits or runs
    #[arg(long, value_name = "KEY")]
    pub unique_key: Option<String>,
    /// At most one in each stretch of time of this length, even if it ended; by key, or by payload
    #[arg(long, value_name = "SPAN")]
    pub unique_within: Option<Span>,
    /// At most one for ever, once it succeeded; by key, or by payload
    #[arg(long, conflicts_with = "unique_within")]
    pub unique_for_good: bool,
    /// When another job holds the key: keep it, replace its payload, time and priority, or refuse
    #[arg(long, value_name = "RULE", default_value = "keep")]
    pub on_conflict: OnConflictArg,
    /// The job's id, so that repeating the command adds nothing
    #[arg(long)]
    pub id: Option<JobId>,
    /// Follow the job to its end; exit 0 if it succeeded, 8 if not
    #[arg(long)]
    pub wait: bool,
    /// Wait no longer than this; exit 7 then
    #[arg(long, value_name = "SPAN", requires = "wait")]
    pub timeout_wait: Option<Span>,
}

/// The rules by their words.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum OnConflictArg {
    Keep,
    Replace,
    Refuse,
}

impl From<OnConflictArg> for OnConflictWord {
    fn from(rule: OnConflictArg) -> OnConflictWord {
        match rule {
            OnConflictArg::Keep => OnConflictWord::Keep,
            OnConflictArg::Replace => OnConflictWord::Replace,
            OnConflictArg::Refuse => OnConflictWord::Refuse,
        }
    }
}
