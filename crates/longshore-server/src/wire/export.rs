//! Jobs written out: a line of JSON or a row of a table each.

use longshore::{JobRow, Timestamp};
use serde::Serialize;

use super::JobView;

/// How jobs are written out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ExportFormat {
    /// A row each, below a row of names.
    Csv,
    /// A JSON object a line.
    Jsonl,
}

const COLUMNS: [&str; 22] = [
    "id",
    "kind",
    "queue",
    "priority",
    "state",
    "attempt",
    "max_attempts",
    "created_at",
    "run_at",
    "leased_at",
    "finished_at",
    "node",
    "tags",
    "meta",
    "payload",
    "output",
    "errors",
    "cancelled_by",
    "cancel_reason",
    "timeout_ms",
    "payload_version",
    "redacted",
];

impl ExportFormat {
    /// What stands before the first job.
    pub fn head(self) -> Vec<u8> {
        match self {
            ExportFormat::Csv => row(COLUMNS.map(str::to_owned)),
            ExportFormat::Jsonl => Vec::new(),
        }
    }

    /// One job, with the end of its line.
    pub fn line(self, job: JobRow) -> Vec<u8> {
        match self {
            ExportFormat::Csv => row(cells(&job)),
            ExportFormat::Jsonl => (json_line(&JobView::from(job)) + "\n").into_bytes(),
        }
    }

    /// Its media type.
    pub fn media_type(self) -> &'static str {
        match self {
            ExportFormat::Csv => "text/csv; charset=utf-8; header=present",
            ExportFormat::Jsonl => "application/jsonl",
        }
    }
}

/// A value as JSON on one line. Line breaks of stored JSON stand between its parts, where a blank says
/// the same.
pub fn json_line(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("texts and numbers").replace(['\n', '\r'], " ")
}

/// Lists and objects as JSON; what is not there is empty.
fn cells(job: &JobRow) -> [String; 22] {
    let time = |at: Option<Timestamp>| at.map(|at| at.to_string()).unwrap_or_default();
    let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
    let list = |empty: bool, list: String| if empty { String::new() } else { list };
    let cancel = job.cancel.as_ref();
    [
        job.id.to_string(),
        job.kind.clone(),
        job.queue.clone(),
        job.priority.to_string(),
        job.state.to_string(),
        job.attempt.to_string(),
        job.max_attempts.to_string(),
        job.created_at.to_string(),
        time(job.run_at),
        time(job.leased_at),
        time(job.finished_at),
        job.node.map(|node| node.to_string()).unwrap_or_default(),
        list(job.tags.is_empty(), json_line(&job.tags)),
        text(job.meta.as_deref()),
        job.payload.to_string(),
        text(job.output.as_deref()),
        list(job.errors.is_empty(), json_line(&job.errors)),
        text(cancel.and_then(|cancel| cancel.by.as_deref())),
        text(cancel.and_then(|cancel| cancel.why.as_deref())),
        job.timeout.map(|span| span.as_millis().to_string()).unwrap_or_default(),
        job.payload_version.to_string(),
        list(job.redacted.is_empty(), json_line(&job.redacted)),
    ]
}

/// One row, quoted where it must be. A cell is the stored text, whatever it begins with: a changed one
/// could not be read back.
fn row(cells: [String; 22]) -> Vec<u8> {
    let mut row = csv::Writer::from_writer(Vec::new());
    row.write_record(cells).expect("memory takes all");
    row.into_inner().expect("memory takes all")
}
