//! All jobs of a filter, a page at a time.

use super::Client;
use crate::job::JobRow;
use crate::query::Filter;
use crate::store::{Detail, ListQuery, MAX_PAGE, Position, Result};

/// Walks over all jobs that pass a filter; made by [`Client::export`]. Holds one page at a time, at most 200 jobs,
/// which ends early where jobs are large.
///
/// ```no_run
/// # async fn example(client: longshore::Client) -> Result<(), Box<dyn std::error::Error>> {
/// let mut dead = client.export("state:dead finished:>-1d".parse()?);
/// while let Some(jobs) = dead.next().await? {
///     for job in jobs {
///         println!("{} {}", job.id, job.kind);
///     }
/// }
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Export {
    client: Client,
    query: ListQuery,
    over: bool,
    looked: u64,
}

impl Export {
    pub(super) fn new(client: Client, filter: Filter) -> Export {
        let query =
            ListQuery { filter, limit: MAX_PAGE, detail: Detail::Whole, ..ListQuery::default() };
        Export { client, query, over: false, looked: 0 }
    }

    /// With the redacted fields of payloads.
    pub fn reveal(mut self) -> Export {
        self.query.detail = Detail::Revealed;
        self
    }

    /// The next jobs; may be none though more come. `None` at the end. After an error, the same page
    /// is asked for again.
    pub async fn next(&mut self) -> Result<Option<Vec<JobRow>>> {
        if self.over {
            return Ok(None);
        }
        let page = self.client.list(self.query.clone()).await?;
        self.looked += page.looked;
        match page.next {
            Some(cursor) => self.query.at = Position::After(cursor),
            None => self.over = true,
        }
        Ok(Some(page.jobs))
    }

    /// Rows looked at so far.
    pub fn looked(&self) -> u64 {
        self.looked
    }
}
