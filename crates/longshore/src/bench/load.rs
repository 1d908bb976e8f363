//! Some jobs that wait, drained by the bare loop and by a worker.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::{Duration, Instant};

use super::bare::{self, Bare, Fails, never};
use super::seen::{Seen, job, number_in};
use super::throughput::A_CALL;
use super::{KIND, QUEUE, Refused, until_ended, worker_named};
use crate::client::Client;
use crate::job::{JobError, NewJob, Outcome};
use crate::store::Result;
use crate::worker::{Run, Working};

/// What is drained.
#[derive(Clone)]
pub(super) struct Load {
    pub jobs: u32,
    /// How many queues share them; one is the queue that jobs are in unless they say otherwise.
    pub queues: u32,
    /// Makes a job of its number; its queue is set here.
    pub make: fn(u32) -> NewJob,
    /// Which runs fail.
    pub fails: Fails,
}

impl Load {
    pub fn plain(jobs: u32) -> Load {
        Load { jobs, queues: 1, make: job, fails: never }
    }

    pub fn queue_names(&self) -> Vec<String> {
        match self.queues {
            1 => vec![QUEUE.to_owned()],
            many => (0..many).map(|n| format!("bench.{n}")).collect(),
        }
    }

    /// Adds them by the list, and brings the database to rest.
    pub async fn fill(&self, client: &Client) -> Result<()> {
        add(client, 0..self.jobs, |n| match self.queues {
            1 => (self.make)(n),
            many => (self.make)(n).queue(format!("bench.{}", n % many)),
        })
        .await?;
        client.store().meter().settle().await
    }

    /// Drains it in one bare loop; jobs a second.
    pub async fn bare(&self, client: &Client) -> Result<f64, Refused> {
        let (store, load) = (Arc::clone(client.store()), self.clone());
        let measured = client.engine().run(async move {
            let mut bare = Bare::join_queues(&store, &load.queue_names(), load.fails).await?;
            let from = Instant::now();
            bare.drain(&AtomicU32::new(0), load.jobs).await?;
            let took_s = from.elapsed().as_secs_f64();
            bare.leave().await?;
            Ok::<_, Refused>(f64::from(load.jobs) / took_s)
        });
        measured.await
    }

    /// A worker on it.
    pub fn worker(&self, client: &Client, slots: u32, seen: &Arc<Seen>) -> Result<Working> {
        let seen = Arc::clone(seen);
        self.worker_that(client, slots, move |run| seen.ran(run))
    }

    /// A worker on it that tells of each run; not of those that fail.
    pub fn worker_that(
        &self,
        client: &Client,
        slots: u32,
        ran: impl Fn(&Run) + Send + Sync + 'static,
    ) -> Result<Working> {
        // Shared out, as somebody does who has so many queues.
        let each = (slots / self.queues).max(1);
        let queues = self.queue_names().into_iter();
        let worker = queues.fold(worker_named(client), |worker, queue| worker.queue(queue, each));
        let fails = self.fails;
        let handler = move |run: Run| {
            let failed = fails(number_in(run.payload()), run.attempt());
            if !failed {
                ran(&run);
            }
            std::future::ready(match failed {
                true => Outcome::Failed(JobError::new("once")),
                false => Outcome::Done(None),
            })
        };
        worker.handle(KIND, handler).start()
    }

    /// Drains it by a worker: from the start of the first handler until the last end is written; jobs a
    /// second, and what ran never or twice.
    pub async fn by_worker(
        &self,
        client: &Client,
        slots: u32,
    ) -> Result<(f64, (u64, u64)), Refused> {
        let seen = Seen::new(self.jobs);
        let working = self.worker(client, slots, &seen)?;
        let failing = (0..self.jobs).filter(|n| (self.fails)(*n as usize, 1)).count() as u32;
        until_ended(&working, self.jobs + failing, Duration::from_millis(1)).await?;
        let took_s = seen.now_us() as f64 / 1e6 - seen.mark_s(0);
        working.stop().await;
        Ok((f64::from(self.jobs) / took_s, seen.missed(self.jobs)))
    }
}

/// Adds jobs by the list.
pub(super) async fn add(
    client: &Client,
    numbers: std::ops::Range<u32>,
    make: impl Fn(u32) -> NewJob + Send + Copy,
) -> Result<()> {
    let end = numbers.end;
    for first in numbers.step_by(A_CALL as usize) {
        client.enqueue_many((first..end.min(first + A_CALL)).map(make)).await?;
    }
    Ok(())
}

/// Jobs that wait, more and more of them.
#[derive(Default)]
pub(super) struct Waiting {
    /// The number of the next.
    pub next: u32,
}

/// Jobs of one call that fills: each call is one transaction.
const A_FILL: u32 = 100_000;

impl Waiting {
    /// Adds what is missing until so many wait.
    pub async fn top_up(&mut self, client: &Client, jobs: u32) -> Result<()> {
        let (waiting, _) = client.store().meter().own_jobs().await?;
        let mut missing = u64::from(jobs).saturating_sub(waiting) as u32;
        while missing > 0 {
            let part = missing.min(A_FILL);
            client.enqueue_many((self.next..self.next + part).map(job)).await?;
            self.next += part;
            missing -= part;
        }
        Ok(())
    }

    /// How many are there that were never added, or are gone: lost ones, and ones too many.
    pub async fn check(&self, client: &Client) -> Result<(u64, u64)> {
        let (waiting, ended) = client.store().meter().own_jobs().await?;
        let (added, there) = (u64::from(self.next), waiting + ended);
        Ok((added.saturating_sub(there), there.saturating_sub(added)))
    }
}

/// The floor by the list, on a client's engine.
pub(super) async fn add_bare(client: &Client, numbers: std::ops::Range<u32>) -> Result<f64> {
    let store = Arc::clone(client.store());
    client.engine().run(async move { bare::enqueue(&*store, numbers, job).await }).await
}

/// The floor of a drain, on a client's engine.
pub(super) async fn drain_bare(client: &Client, jobs: u32) -> Result<f64, Refused> {
    let store = Arc::clone(client.store());
    client.engine().run(async move { bare::drain(&store, jobs).await }).await
}
