//! The floor of a drain: claim and finish, in a loop of a few lines.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::seen::number_in;
use super::{KIND, PATIENCE, QUEUE, Refused};
use crate::job::{AttemptError, AttemptFault, NewJob, State};
use crate::store::{
    ANY_VERSION, Ack, Claim, ClaimedJob, Ending, Held, KindAsk, LANES, NewNode, NodeId, QueueAsk,
    Repeat, Result, START, Store,
};

/// Jobs of one statement of the floor; the worker's own batch.
pub(super) const A_STATEMENT: u32 = 500;
/// So long it finds nothing before it looks from the start.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// Says whether the run of this number's job fails at this attempt.
pub(super) type Fails = fn(number: usize, attempt: u32) -> bool;

pub(super) fn never(_: usize, _: u32) -> bool {
    false
}

/// A node of its own that claims and finishes, one after the other.
pub(super) struct Bare {
    store: Arc<dyn Store>,
    node: NodeId,
    queues: Vec<QueueAsk>,
    places: HashMap<String, usize>,
    kinds: [KindAsk; 1],
    no: i64,
    fails: Fails,
    /// When it found something last, or looked from the start.
    looked: Instant,
}

impl Bare {
    /// On the queue that all jobs are in unless they say otherwise.
    pub async fn join(store: &Arc<dyn Store>) -> Result<Bare> {
        Bare::join_queues(store, &[QUEUE.to_owned()], never).await
    }

    /// With a lease that outlasts every benchmark, since nobody renews it.
    pub async fn join_queues(
        store: &Arc<dyn Store>,
        queues: &[String],
        fails: Fails,
    ) -> Result<Bare> {
        let node = NewNode {
            id: NodeId::new(),
            name: "floor".to_owned(),
            version: String::new(),
            queues: queues.iter().map(|queue| (queue.clone(), A_STATEMENT)).collect(),
            kinds: vec![KIND.to_owned()],
            lease_for: Duration::from_secs(86_400),
            wish: None,
            known: Vec::new(),
            remote: None,
        };
        store.join(&node).await?;
        let ask = |queue: &String| QueueAsk {
            queue: queue.clone(),
            limit: A_STATEMENT,
            marks: [START; LANES],
        };
        Ok(Bare {
            store: Arc::clone(store),
            node: node.id,
            queues: queues.iter().map(ask).collect(),
            places: queues.iter().cloned().enumerate().map(|(n, queue)| (queue, n)).collect(),
            kinds: [KindAsk { kind: KIND.to_owned(), version: ANY_VERSION }],
            no: 0,
            fails,
            looked: Instant::now(),
        })
    }

    /// One claim.
    pub async fn take(&mut self) -> Result<Vec<ClaimedJob>> {
        self.no += 1;
        let most = (self.queues.len() > 1).then_some(A_STATEMENT);
        let claim =
            Claim { node: self.node, no: self.no, queues: &self.queues, kinds: &self.kinds, most };
        let claimed = self.store.claim(&claim).await?;
        // As the worker's low-water mark does, or a pinned snapshot would slow the floor alone.
        for job in &claimed.jobs {
            let place = self.places.get(&job.queue).copied().unwrap_or(0);
            self.queues[place].marks[usize::from(job.priority)] = (job.run_at, job.id.as_uuid());
        }
        Ok(claimed.jobs)
    }

    /// The same; from the start if it found nothing for a while: somebody else's claim may have come to nothing.
    pub async fn take_again(&mut self) -> Result<Vec<ClaimedJob>> {
        let taken = self.take().await?;
        if !taken.is_empty() {
            self.looked = Instant::now();
        } else if self.looked.elapsed() > LOOK_AGAIN {
            self.queues.iter_mut().for_each(|queue| queue.marks = [START; LANES]);
            self.looked = Instant::now();
        }
        Ok(taken)
    }

    /// The ends of what a claim took; how many jobs are over.
    pub async fn end(&self, jobs: &[ClaimedJob]) -> Result<u32> {
        let ended: Vec<_> = jobs.iter().map(|job| (held(job), self.ending(job))).collect();
        let acks = self.store.finish(self.node, &ended).await?;
        let over = acks.iter().filter(|ack| matches!(ack, Ack::Recorded(State::Succeeded)));
        Ok(over.count() as u32)
    }

    fn ending(&self, job: &ClaimedJob) -> Ending {
        if !(self.fails)(number_in(&job.payload), job.attempt) {
            return Ending::Succeeded { output: None };
        }
        let error = AttemptError {
            attempt: job.attempt,
            at: job.run_at,
            node: self.node.0,
            kind: AttemptFault::Error,
            message: "once".to_owned(),
            chain: Vec::new(),
        };
        Ending::Failed { error, delay: Duration::from_millis(1) }
    }

    /// Claims and finishes until so many are over, counting those of others that count along.
    pub async fn drain(&mut self, over: &AtomicU32, jobs: u32) -> Result<(), Refused> {
        let mut last = Instant::now();
        while over.load(Ordering::Relaxed) < jobs {
            let taken = self.take_again().await?;
            if !taken.is_empty() {
                over.fetch_add(self.end(&taken).await?, Ordering::Relaxed);
                last = Instant::now();
                continue;
            }
            if last.elapsed() > PATIENCE {
                let left = u64::from(jobs - over.load(Ordering::Relaxed).min(jobs));
                return Err(Refused::Stuck { left });
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok(())
    }

    /// Claims and finishes until the time is over; how many jobs that ended.
    pub async fn drain_until(&mut self, end: Instant) -> Result<u32> {
        let mut over = 0;
        while Instant::now() < end {
            let taken = self.take().await?;
            match taken.is_empty() {
                true => tokio::time::sleep(Duration::from_millis(1)).await,
                false => over += self.end(&taken).await?,
            }
        }
        Ok(over)
    }

    pub async fn leave(self) -> Result<()> {
        self.store.leave(self.node).await
    }
}

fn held(job: &ClaimedJob) -> Held {
    Held { id: job.id, lease: job.lease }
}

/// So many jobs, at most so many of them in each batch.
pub(super) fn batches(
    numbers: std::ops::Range<u32>,
    each: u32,
    make: fn(u32) -> NewJob,
) -> Vec<Vec<NewJob>> {
    let end = numbers.end;
    let batch = |first: u32| (first..end.min(first + each)).map(make).collect();
    numbers.step_by(each as usize).map(batch).collect()
}

/// Enqueues so many in batches, one after the other; jobs a second. They are made before the clock runs.
pub(super) async fn enqueue(
    store: &dyn Store,
    numbers: std::ops::Range<u32>,
    make: fn(u32) -> NewJob,
) -> Result<f64> {
    let jobs = f64::from(numbers.end - numbers.start);
    let batches = batches(numbers, A_STATEMENT, make);
    let from = Instant::now();
    for batch in &batches {
        store.enqueue(batch, Repeat::No).await?;
    }
    Ok(jobs / from.elapsed().as_secs_f64())
}

/// Drains so many in one loop; jobs a second.
pub(super) async fn drain(store: &Arc<dyn Store>, jobs: u32) -> Result<f64, Refused> {
    let mut bare = Bare::join(store).await?;
    let over = AtomicU32::new(0);
    let from = Instant::now();
    bare.drain(&over, jobs).await?;
    let took = from.elapsed();
    bare.leave().await?;
    // Where more wait, the last batch goes beyond.
    Ok(f64::from(over.into_inner()) / took.as_secs_f64())
}
