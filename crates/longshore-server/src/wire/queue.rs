//! Queues, pauses, and what is asked about them.

use longshore::QueueRow;
use longshore::Timestamp;
use longshore::store::{NewPause, Pause, PauseScope};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Span;
use crate::problem::{Problem, Result};

/// How a pause is asked for.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PauseBody {
    /// Why, for people.
    #[schema(value_type = Option<String>, required = false)]
    pub why: Option<String>,
    /// It ends by itself at this time. Default: when somebody resumes it.
    #[schema(value_type = Option<String>, required = false, format = DateTime)]
    pub until: Option<Timestamp>,
    /// It ends by itself so long from now; instead of `until`.
    #[serde(rename = "for")]
    #[schema(value_type = Option<String>, required = false, example = "30m")]
    pub lasting: Option<Span>,
}

impl PauseBody {
    /// The pause that it describes. `by`: who asks.
    ///
    /// # Errors
    /// It says twice when it ends.
    pub fn into_pause(self, scope: PauseScope, name: &str, by: Option<&str>) -> Result<NewPause> {
        let mut pause = NewPause::of(scope, name);
        pause.by = by.map(str::to_owned);
        pause.why = self.why;
        match (self.until, self.lasting) {
            (Some(_), Some(_)) => {
                let detail = "for and until say it twice; one of them is enough";
                Err(Problem::value("/for", detail))
            }
            (Some(until), None) => Ok(pause.until(until)),
            (None, Some(span)) => Ok(pause.lasting(span.0)),
            (None, None) => Ok(pause),
        }
    }
}

/// All queues that somebody knows of.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct QueuesView {
    /// By name.
    pub queues: Vec<QueueView>,
}

/// A queue, as it was a few seconds ago at most.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct QueueView {
    /// Its name.
    pub name: String,
    /// Jobs that are due and wait, to 10,000. Null: nobody has counted lately.
    pub depth: Option<u32>,
    /// Whether there are more than `depth` says.
    pub depth_is_capped: bool,
    /// How long the oldest of them has been due, in milliseconds; 0 if none waits.
    pub oldest_ms: Option<u64>,
    /// How long ago that was counted, in milliseconds.
    pub counted_ms_ago: Option<u64>,
    /// Jobs that run.
    pub running: u64,
    /// Jobs that may run at once, over all live nodes.
    pub slots: u64,
    /// Live nodes that serve it.
    pub nodes: u32,
    /// Its pause, if it is paused.
    pub paused: Option<PauseView>,
}

/// A pause in force.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct PauseView {
    /// Who asked for it last.
    pub by: Option<String>,
    /// Why.
    pub why: Option<String>,
    /// Since when.
    #[schema(value_type = String, format = DateTime)]
    pub since: Timestamp,
    /// When it ends by itself; null: when somebody resumes it.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub until: Option<Timestamp>,
}

/// That a pause was ended.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct ResumedView {
    /// Whether there was one.
    pub was_paused: bool,
}

/// A queue whose pause was ended.
#[derive(Debug, Serialize, ToSchema)]
pub struct ResumedQueueView {
    /// The queue as it is now.
    #[serde(flatten)]
    pub queue: QueueView,
    /// Whether it was paused.
    pub was_paused: bool,
}

/// What was removed.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct EmptiedView {
    /// Jobs that are gone.
    pub removed: u64,
}

impl From<Vec<QueueRow>> for QueuesView {
    fn from(rows: Vec<QueueRow>) -> QueuesView {
        QueuesView { queues: rows.into_iter().map(QueueView::from).collect() }
    }
}

impl From<QueueRow> for QueueView {
    fn from(row: QueueRow) -> QueueView {
        let millis = |span: std::time::Duration| span.as_millis() as u64;
        QueueView {
            name: row.name,
            depth: row.count.as_ref().map(|count| count.depth),
            depth_is_capped: row.count.as_ref().is_some_and(|count| count.capped),
            oldest_ms: row.count.as_ref().map(|count| millis(count.oldest_for)),
            counted_ms_ago: row.count.as_ref().map(|count| millis(count.counted_for)),
            running: row.running,
            slots: row.slots,
            nodes: row.nodes,
            paused: row.pause.map(PauseView::from),
        }
    }
}

impl From<Pause> for PauseView {
    fn from(pause: Pause) -> PauseView {
        PauseView { by: pause.by, why: pause.why, since: pause.since, until: pause.until }
    }
}
