//! The page of metrics, and what is counted of enqueues.

use std::sync::Arc;
use std::time::Duration;

use super::Client;
use crate::job::NewJob;
use crate::observe::{Database, Metrics, Pair, Seen};
use crate::store::Enqueued;

/// A page of metrics does not wait longer for the database; it then goes without what that would say.
const PATIENCE: Duration = Duration::from_secs(2);

impl Client {
    /// What is counted in this process, by all clones of this client and by the workers on it.
    pub fn metrics(&self) -> &Metrics {
        &self.inner.metrics
    }

    /// All of it as a page in the text format of Prometheus, 0.0.4, together with the depth of each queue, which the
    /// leader has counted. Takes one short read; without an answer of the database within 2 s the page says so
    /// (`longshore_database_up 0`) and goes without the queues.
    pub async fn metrics_text(&self) -> String {
        let asked = self.call(|store| async move {
            let queues = store.queue_counts().await?;
            Ok(Database { schema: store.schema_version().await?, queues })
        });
        let database = tokio::time::timeout(PATIENCE, asked).await.ok().and_then(Result::ok);
        self.metrics().text(&Seen { traffic: self.store().traffic(), database })
    }

    /// Where these jobs will be counted once they are added.
    pub(super) fn tally(&self, jobs: &[NewJob]) -> Tally {
        let mut tally = Tally::default();
        tally.add(self.metrics(), jobs);
        tally
    }
}

/// Where jobs are counted, in their order: neighbours alike stand together, so that a million of them are one.
#[derive(Default)]
pub(super) struct Tally(Vec<(Arc<Pair>, usize)>);

impl Tally {
    pub fn add(&mut self, metrics: &Metrics, jobs: &[NewJob]) {
        for alike in jobs.chunk_by(|a, b| a.kind == b.kind && a.queue == b.queue) {
            let pair = metrics.pair(&alike[0].kind, &alike[0].queue);
            match self.0.last_mut() {
                Some((last, count)) if Arc::ptr_eq(last, &pair) => *count += alike.len(),
                _ => self.0.push((pair, alike.len())),
            }
        }
    }

    /// Counts those that are new.
    pub fn count(&self, answers: &[Enqueued]) {
        let mut answers = answers.iter();
        for (pair, count) in &self.0 {
            let added = answers.by_ref().take(*count).filter(|answer| answer.is_added());
            pair.enqueued(added.count() as u64);
        }
    }
}
