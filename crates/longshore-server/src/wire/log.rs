//! Lines of a job's log.

use longshore::store::{LogPage, LogPlace, LogRow};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How grave a line is.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
#[allow(dead_code, reason = "describes the words of the library's own type")]
pub enum LevelWord {
    /// Something failed.
    Error,
    /// Something is odd.
    Warn,
    /// What one wants to know.
    Info,
    /// What one wants to know while looking for a fault.
    Debug,
    /// Everything.
    Trace,
}

/// Lines of a log, oldest first.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct LogsView {
    /// The lines.
    #[schema(value_type = Vec<LineView>)]
    pub lines: Vec<LogRow>,
    /// For `after`: where the next page goes on. It is there also when there are no more lines by now.
    pub next: String,
    /// Whether there is more by now.
    pub more: bool,
}

/// One line.
#[derive(ToSchema)]
#[allow(dead_code, reason = "describes the library's own type")]
pub struct LineView {
    /// The attempt that said it.
    attempt: u32,
    /// Its number in that attempt.
    line: u64,
    /// So many lines before it are not there.
    left_out: u64,
    /// When it was said, by the clock of the machine that ran the job.
    #[schema(format = DateTime)]
    at: String,
    /// How grave it is.
    level: LevelWord,
    /// Which part of the program said it.
    target: String,
    /// The words.
    message: String,
    /// Values beside the words.
    #[schema(value_type = Option<Object>)]
    fields: Option<String>,
}

impl From<LogPage> for LogsView {
    fn from(page: LogPage) -> LogsView {
        LogsView { lines: page.lines, next: LogsView::text(page.next), more: page.more }
    }
}

impl LogsView {
    /// A place as `after` and `next` have it: `ATTEMPT.LINE`.
    pub fn text(place: LogPlace) -> String {
        format!("{}.{}", place.attempt, place.line)
    }

    /// The place that such a text names.
    pub fn place(text: &str) -> Option<LogPlace> {
        let (attempt, line) = text.split_once('.')?;
        Some(LogPlace { attempt: attempt.parse().ok()?, line: line.parse().ok()? })
    }
}
