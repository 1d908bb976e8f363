//! One action on all jobs that match, page by page.

use futures_util::future::join_all;

use super::Client;
use crate::job::JobId;
use crate::query::Filter;
use crate::store::{AskCancel, ListQuery, Position, Result, StoreError};

/// So many are under way at once.
const AT_ONCE: usize = 16;
/// So many refusals are told one by one.
const MOST_TOLD: usize = 100;

/// What became of an action on all jobs that match.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Acted {
    /// Jobs it was done to.
    pub done: u64,
    /// Jobs that were in the wrong state, or gone, when their turn came.
    pub refused: u64,
    /// The first hundred of those, with the reason.
    pub refusals: Vec<(JobId, StoreError)>,
}

impl Client {
    /// [`Client::retry`] on every job that matches, newest first; jobs that begin to match meanwhile may be left
    /// out. Each is done by itself: an error of the database ends it in the middle, and a repeat goes on with
    /// those that still match.
    pub async fn retry_all(&self, filter: Filter, attempts: u32) -> Result<Acted> {
        self.each(filter, &Action::Retry(attempts)).await
    }

    /// [`Client::cancel`] on every job that matches, as [`Client::retry_all`] does it.
    pub async fn cancel_all(&self, filter: Filter, ask: AskCancel) -> Result<Acted> {
        self.each(filter, &Action::Cancel(ask)).await
    }

    /// [`Client::delete`] on every job that matches, as [`Client::retry_all`] does it.
    pub async fn delete_all(&self, filter: Filter) -> Result<Acted> {
        self.each(filter, &Action::Delete).await
    }

    async fn each(&self, filter: Filter, action: &Action) -> Result<Acted> {
        let mut acted = Acted::default();
        let mut query = ListQuery { filter, limit: 200, ..ListQuery::default() };
        loop {
            let page = self.list(query.clone()).await?;
            for jobs in page.jobs.chunks(AT_ONCE) {
                let answers = join_all(jobs.iter().map(|job| action.act(self, job.id))).await;
                for (job, answer) in jobs.iter().zip(answers) {
                    acted.take(job.id, answer)?;
                }
            }
            let Some(next) = page.next else { return Ok(acted) };
            query.at = Position::After(next);
        }
    }
}

enum Action {
    Retry(u32),
    Cancel(AskCancel),
    Delete,
}

impl Action {
    async fn act(&self, client: &Client, id: JobId) -> Result<()> {
        match self {
            Action::Retry(attempts) => client.retry(id, *attempts).await,
            Action::Cancel(ask) => client.cancel(id, ask.clone()).await.map(|_| ()),
            Action::Delete => client.delete(id).await,
        }
    }
}

impl Acted {
    fn take(&mut self, id: JobId, answer: Result<()>) -> Result<()> {
        match answer {
            Ok(()) => self.done += 1,
            Err(
                refused @ (StoreError::Refused { .. }
                | StoreError::NotFound(_)
                | StoreError::KeyHeld { .. }
                | StoreError::KeyBusy),
            ) => {
                self.refused += 1;
                if self.refusals.len() < MOST_TOLD {
                    self.refusals.push((id, refused));
                }
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
}
