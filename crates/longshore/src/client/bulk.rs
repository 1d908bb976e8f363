//! An enqueue of any size: read, checked and sent in parts.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::Client;
use super::metrics::Tally;
use crate::engine::Engine;
use crate::job::NewJob;
use crate::store::{Enqueued, PART_BYTES, PART_JOBS, Part, Repeat, Result, StoreError};
use crate::trace::Sending;

impl Client {
    /// Adds all of `jobs` or none; answers in order. They may be any number: more than a thousand are
    /// taken from the iterator and sent in parts, all in one transaction, so that memory holds some
    /// of them and the answers. On SQLite nobody else can write until that ends.
    ///
    /// Fails with [`StoreError::Invalid`] for a job that cannot be enqueued, which it names by its
    /// place. After [`StoreError::Unavailable`] all or none may be there.
    pub async fn enqueue_many<I>(&self, jobs: I) -> Result<Vec<Enqueued>>
    where
        I: IntoIterator<Item: Into<NewJob>>,
        I::IntoIter: Send,
    {
        let mut source = Source { jobs: jobs.into_iter(), client: self, taken: 0, sending: None };
        // No more than a part go as one call, which is repeated by itself when its reply is lost.
        let first = source.part(PART_JOBS)?;
        let Some(sending) = source.sending.clone() else { return Ok(Vec::new()) };
        let added = sending.clone().around(self.send_all(first, source)).await?;
        sending.counted(added.len());
        Ok(added)
    }

    async fn send_all<I>(
        &self,
        mut first: Vec<NewJob>,
        mut source: Source<'_, I>,
    ) -> Result<Vec<Enqueued>>
    where
        I: Iterator<Item: Into<NewJob>> + Send,
    {
        // One more tells; not a whole part, for which the database would wait.
        let more = source.part(1)?;
        if more.is_empty() {
            let tally = self.tally(&first);
            let added =
                self.call(|store| async move { store.enqueue(&first, Repeat::No).await }).await?;
            tally.count(&added);
            #[cfg(feature = "testing")]
            self.run_inline(&added).await?;
            return Ok(added);
        }
        first.extend(more);
        // One on its way, one under way: reading goes on meanwhile.
        let (send, parts) = mpsc::channel(1);
        let store = Arc::clone(self.store());
        let engine: &Engine = self.engine();
        let added = engine.spawn(async move { store.enqueue_parts(parts).await });
        let mut tally = Tally::default();
        for part in std::iter::once(Ok(first)).chain(source) {
            let part = match part {
                Ok(jobs) => {
                    tally.add(self.metrics(), &jobs);
                    Part::Jobs(jobs)
                }
                Err(error) => Part::Abort(error),
            };
            // If nobody takes it the call has failed, and says so below.
            if send.send(part).await.is_err() {
                break;
            }
        }
        let _ = send.send(Part::End).await;
        match added.await {
            Ok(answer) => answer.inspect(|added| tally.count(added)),
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }
}

/// The jobs of a call, in parts.
struct Source<'a, I> {
    jobs: I,
    client: &'a Client,
    taken: usize,
    /// The span of the call, made with its first job.
    sending: Option<Sending>,
}

impl<I: Iterator<Item: Into<NewJob>>> Source<'_, I> {
    /// The next jobs, checked.
    fn part(&mut self, most: usize) -> Result<Vec<NewJob>> {
        let (mut part, mut bytes) = (Vec::new(), 0);
        while part.len() < most && bytes < PART_BYTES {
            let Some(mut job) = self.jobs.next().map(|job| self.client.prepare(job)) else { break };
            let sending = self.sending.get_or_insert_with(|| Sending::of(&job));
            sending.stamp(&mut job);
            if let Err(invalid) = job.check(&self.client.inner.limits) {
                let error = StoreError::Invalid(invalid.at(self.taken));
                sending.failed(&error);
                return Err(error);
            }
            self.taken += 1;
            bytes += job.size_bytes();
            part.push(job);
        }
        Ok(part)
    }
}

impl<I: Iterator<Item: Into<NewJob>>> Iterator for Source<'_, I> {
    type Item = Result<Vec<NewJob>>;

    fn next(&mut self) -> Option<Result<Vec<NewJob>>> {
        match self.part(PART_JOBS) {
            Ok(part) => (!part.is_empty()).then_some(Ok(part)),
            Err(error) => Some(Err(error)),
        }
    }
}
