//! Lists and counts: what is asked, and what is answered; the same for both backends.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::job::JobRow;
use crate::query::Filter;

/// Rows that one page looks at in each of the two tables, at most: so a filter that almost nothing
/// passes costs milliseconds, and says how far it looked.
pub(crate) const MAX_LOOK: u64 = 5_000;
/// A bounded count stops above this many.
pub const MAX_COUNT: u64 = 10_000;
/// Bytes of a payload that a list shows.
pub(crate) const PREVIEW_BYTES: i64 = 200;
/// The most jobs of one page.
pub const MAX_PAGE: u32 = 200;
/// Payloads and outputs of one page of whole jobs, about; then the page ends early.
pub(crate) const MAX_WHOLE_BYTES: usize = 8 << 20;

/// Which jobs to list.
#[derive(Clone, Debug, Default)]
pub struct ListQuery {
    /// Only jobs that pass.
    pub filter: Filter,
    /// From where.
    pub at: Position,
    /// At most this many; 1 to 200. 0 means 50.
    pub limit: u32,
    /// How much of each job.
    pub detail: Detail,
}

/// From where a page goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Position {
    /// From the newest job.
    #[default]
    First,
    /// To older jobs: what [`Page::next`] is for.
    After(Cursor),
    /// Back to newer jobs: what [`Page::prev`] is for.
    Before(Cursor),
}

/// How much of each job a list brings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// Payloads as previews, no outputs.
    #[default]
    Preview,
    /// All of it, but for what nobody is shown. The page ends early, with a cursor, when it grows beyond a few
    /// megabytes.
    Whole,
    /// The same with the redacted fields of payloads.
    Revealed,
}

/// A place between two ids, and the filter it belongs to. It needs no row to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// Older jobs have smaller ids than this one; newer ones this one, or greater ones.
    pub(crate) at: Uuid,
    filter: u32,
}

/// The cursor cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidCursor {
    /// The text is none.
    #[error("`{0}` is no cursor; use the one that the page before gave")]
    NoCursor(String),
    /// It belongs to a list of other jobs.
    #[error("the cursor belongs to another query; start from the first page")]
    OtherQuery,
}

/// One page of jobs.
#[derive(Clone, Debug)]
pub struct Page {
    /// Newest first.
    pub jobs: Vec<JobRow>,
    /// Where to go on to older jobs; `None` when everything was looked at.
    pub next: Option<Cursor>,
    /// Where to go back to newer jobs; `None` if the page starts with the newest.
    pub prev: Option<Cursor>,
    /// Rows that were looked at for this page.
    pub looked: u64,
}

/// How many jobs pass a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// So many were found.
    pub value: u64,
    /// Whether there may be more.
    pub relation: Relation,
    /// Rows that were looked at.
    pub looked: u64,
}

/// How a count stands to the truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// It is the number.
    Exact,
    /// There are this many at least: the count stopped at 10,000, or at the most rows it may look at.
    AtLeast,
}

/// How far a count goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// To 10,000, within milliseconds.
    Bounded,
    /// As far as it comes in so long, about; then there are at least so many.
    Within(std::time::Duration),
    /// To the end, however long it takes: one to three seconds for each million rows, about.
    Unbounded,
}

impl Cursor {
    pub(crate) fn new(at: Uuid, filter: &Filter) -> Cursor {
        Cursor { at, filter: short_hash(filter) }
    }

    pub(crate) fn check(self, filter: &Filter) -> Result<Uuid, InvalidCursor> {
        if self.filter == short_hash(filter) { Ok(self.at) } else { Err(InvalidCursor::OtherQuery) }
    }
}

fn short_hash(filter: &Filter) -> u32 {
    let hash = filter.hash();
    (hash >> 32) as u32 ^ hash as u32
}

/// The first letter of a cursor's text: another layout would have another one.
const LAYOUT: &str = "a";

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{LAYOUT}{}{:08x}", self.at.simple(), self.filter)
    }
}

impl FromStr for Cursor {
    type Err = InvalidCursor;

    fn from_str(text: &str) -> Result<Cursor, InvalidCursor> {
        let read = || {
            let (at, filter) = text.strip_prefix(LAYOUT)?.split_at_checked(32)?;
            let hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
            let whole = hex(at) && hex(filter) && filter.len() == 8;
            let filter = u32::from_str_radix(filter, 16).ok().filter(|_| whole)?;
            Some(Cursor { at: Uuid::try_parse(at).ok()?, filter })
        };
        read().ok_or_else(|| InvalidCursor::NoCursor(text.chars().take(64).collect()))
    }
}

impl ListQuery {
    pub(crate) fn page_size(&self) -> usize {
        match self.limit {
            0 => 50,
            limit => limit.min(MAX_PAGE) as usize,
        }
    }
}

/// Cuts a listed job's payload to its first bytes; the database cut it by characters.
pub(crate) fn preview(mut job: JobRow) -> JobRow {
    let end = job.payload.floor_char_boundary(PREVIEW_BYTES as usize);
    job.payload = job.payload[..end].into();
    job.payload_is_cut = job.payload_bytes != Some(job.payload.len());
    job
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_reads_back_and_knows_its_filter() {
        let filter = Filter::all().kind("a");
        let cursor = Cursor::new(Uuid::from_u128(77), &filter);
        let read: Cursor = cursor.to_string().parse().expect("its own text");
        assert_eq!(read, cursor);
        assert_eq!(read.check(&filter), Ok(Uuid::from_u128(77)));
        assert_eq!(read.check(&Filter::all()), Err(InvalidCursor::OtherQuery));
        let good = cursor.to_string();
        for bad in
            ["", "a", "ä", &good[1..], &good[..40], &format!("{good}0"), &good.replace('a', "b")]
        {
            assert!(bad.parse::<Cursor>().is_err(), "{bad}");
        }
    }
}
