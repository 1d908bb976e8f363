//! Lists: filters, pages and cursors, shared by both backends.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

use crate::job::{JobId, JobRow, State};

/// Rows that one page looks at in each of the two tables, at most: so a filter that almost nothing
/// passes costs milliseconds, and says how far it looked.
pub(crate) const MAX_LOOK: i64 = 5_000;
/// Bytes of a payload that a list shows.
pub(crate) const PREVIEW_BYTES: i64 = 200;
/// The most jobs of one page.
pub const MAX_PAGE: u32 = 200;

/// Which jobs to list.
#[derive(Clone, Debug, Default)]
pub struct ListQuery {
    /// Only in one of these states; all if empty.
    pub states: Vec<State>,
    /// Only of this kind.
    pub kind: Option<String>,
    /// Only of this queue.
    pub queue: Option<String>,
    /// Only after this cursor.
    pub after: Option<Cursor>,
    /// At most this many; 1 to 200. 0 means 50.
    pub limit: u32,
}

/// Where the next page starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor(pub(crate) Uuid);

/// The text is no cursor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no cursor; use the one that the page before gave")]
pub struct InvalidCursor(String);

/// One page of jobs.
#[derive(Clone, Debug)]
pub struct Page {
    /// Newest first; payloads are previews.
    pub jobs: Vec<JobRow>,
    /// Where to go on; `None` when everything was looked at.
    pub next: Option<Cursor>,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.simple())
    }
}

impl FromStr for Cursor {
    type Err = InvalidCursor;

    fn from_str(text: &str) -> Result<Cursor, InvalidCursor> {
        Uuid::try_parse(text)
            .map(Cursor)
            .map_err(|_| InvalidCursor(text.chars().take(64).collect()))
    }
}

impl ListQuery {
    pub(crate) fn page_size(&self) -> usize {
        match self.limit {
            0 => 50,
            limit => limit.min(MAX_PAGE) as usize,
        }
    }

    /// Only ids below this one.
    pub(crate) fn below(&self) -> Uuid {
        self.after.map_or(Uuid::max(), |cursor| cursor.0)
    }

    fn wants(&self, kept_in: impl Fn(State) -> bool) -> bool {
        self.states.is_empty() || self.states.iter().any(|state| kept_in(*state))
    }

    /// Whether jobs that can still move are asked for.
    pub(crate) fn wants_hot(&self) -> bool {
        self.wants(|state| !is_cold(state))
    }

    /// Whether jobs in history are asked for.
    pub(crate) fn wants_cold(&self) -> bool {
        self.wants(is_cold)
    }

    /// The states by their words, as the statements compare them.
    pub(crate) fn state_words(&self) -> Vec<String> {
        self.states.iter().map(ToString::to_string).collect()
    }
}

fn is_cold(state: State) -> bool {
    matches!(state, State::Succeeded | State::Cancelled)
}

/// What a look into one of the two tables found.
#[derive(Default)]
pub(crate) struct Look {
    /// Matches, newest first, at most a page.
    pub jobs: Vec<JobRow>,
    /// The oldest id looked at; `None` when the table's end was reached.
    pub looked_to: Option<Uuid>,
}

/// Puts both looks together. Where one stopped early, nothing older may be shown from the other,
/// or a later page would have to go back.
pub(crate) fn merge(hot: Look, cold: Look, page_size: usize) -> Page {
    let border = hot.looked_to.max(cold.looked_to);
    let mut jobs = hot.jobs;
    jobs.extend(cold.jobs);
    jobs.sort_unstable_by_key(|job| std::cmp::Reverse(job.id));
    // The same job may be in both looks if it moved between them: the one in history is newer.
    jobs.dedup_by(|later, first| {
        let same = later.id == first.id;
        if same && later.state.is_end() {
            std::mem::swap(later, first);
        }
        same
    });
    if let Some(border) = border {
        jobs.retain(|job| job.id.as_uuid() >= border);
    }
    let cut = jobs.len() > page_size;
    jobs.truncate(page_size);
    let last = jobs.last().map(|job| job.id.as_uuid());
    let next = if cut { last } else { border };
    Page { jobs, next: next.map(Cursor) }
}

/// How far a look got: to its last match if that filled the page, else to its last row if there
/// may be more.
pub(crate) fn looked_to(
    jobs: &[JobRow],
    page_size: usize,
    last_row: Option<JobId>,
) -> Option<Uuid> {
    if jobs.len() >= page_size {
        return jobs.last().map(|job| job.id.as_uuid());
    }
    last_row.map(|id| id.as_uuid())
}

/// Cuts a listed job's payload to its first bytes; the database cut it by characters.
pub(crate) fn preview(mut job: JobRow) -> JobRow {
    let end = job.payload.floor_char_boundary(PREVIEW_BYTES as usize);
    job.payload = job.payload[..end].into();
    job
}
