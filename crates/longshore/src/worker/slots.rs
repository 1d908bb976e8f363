//! Room for running jobs, per queue, and the jobs kept ready for it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::store::ClaimedJob;
use crate::trace::Received;

/// The most jobs of one claim.
pub(super) const BATCH: u32 = 500;
/// The most jobs kept ready in a queue: two claims' worth, so that one is under way while the other is run.
const MOST_AHEAD: u32 = 2 * BATCH;
/// Payload bytes that may lie ready.
const READY_BYTES: f64 = 8.0 * 1024.0 * 1024.0;
/// A job that could not start for this long is better off elsewhere.
const READY_FOR: Duration = Duration::from_secs(1);
/// How much of the past an average forgets with each new value.
const FORGET: f64 = 0.05;

/// A job that waits for a slot.
struct Ready {
    since: Instant,
    job: Arc<ClaimedJob>,
    received: Received,
}

/// One queue on this node.
pub(super) struct QueueSlots {
    pub name: String,
    slots: u32,
    running: u32,
    ready: VecDeque<Ready>,
    /// There may be jobs waiting in the database.
    pub more: bool,
    run_s: Option<f64>,
    bytes: f64,
}

impl QueueSlots {
    fn new(name: String, slots: u32) -> QueueSlots {
        let ready = VecDeque::new();
        QueueSlots { name, slots, running: 0, ready, more: true, run_s: None, bytes: 0.0 }
    }

    /// How many jobs to keep ready: none, unless jobs are shorter than a claim takes; then as many
    /// as are run meanwhile, twice over, as far as memory allows.
    fn ahead(&self, claim_s: f64) -> u32 {
        let Some(run_s) = self.run_s.filter(|run_s| *run_s < claim_s) else { return 0 };
        let jobs = 2.0 * f64::from(self.slots) * claim_s / run_s.max(1e-7);
        jobs.min(f64::from(MOST_AHEAD)).min(READY_BYTES / self.bytes.max(1.0)) as u32
    }

    /// How many jobs to ask for now.
    fn wanted(&self, claim_s: f64) -> u32 {
        let ahead = self.ahead(claim_s);
        let ready = self.ready.len() as u32;
        let free = self.slots.saturating_sub(self.running);
        // Not a few at a time while there is plenty ready.
        if ready > ahead / 2 && ready >= free {
            return 0;
        }
        (free + ahead).saturating_sub(ready)
    }
}

/// All queues of this node.
pub(super) struct Slots {
    queues: Vec<QueueSlots>,
    /// Which queue is served first; it goes round.
    turn: usize,
    claim_s: f64,
}

impl Slots {
    pub fn new(queues: &[(String, u32)]) -> Slots {
        let queues = queues.iter().map(|(name, slots)| QueueSlots::new(name.clone(), *slots));
        Slots { queues: queues.collect(), turn: 0, claim_s: 0.0 }
    }

    fn queue(&mut self, name: &str) -> Option<&mut QueueSlots> {
        self.queues.iter_mut().find(|queue| queue.name == name)
    }

    /// There may be jobs waiting, in any queue.
    pub fn all_may_have_more(&mut self) {
        self.queues.iter_mut().for_each(|queue| queue.more = true);
    }

    /// What the last look found of a queue.
    pub fn looked(&mut self, name: &str, more: bool) {
        if let Some(queue) = self.queue(name) {
            queue.more = more;
        }
    }

    /// A claim took this long.
    pub fn claim_took(&mut self, took: Duration) {
        let took = took.as_secs_f64();
        let old = if self.claim_s == 0.0 { took } else { self.claim_s };
        self.claim_s = old + (took - old) * FORGET.max(0.2);
    }

    /// From which queues to claim now, and how many of each: at most a batch in all.
    pub fn asks(&mut self) -> Vec<(String, u32)> {
        let mut left = BATCH;
        let mut asks = Vec::new();
        let count = self.queues.len();
        self.turn = (self.turn + 1) % count.max(1);
        for at in 0..count {
            let queue = &self.queues[(self.turn + at) % count];
            let wanted = if queue.more { queue.wanted(self.claim_s).min(left) } else { 0 };
            if wanted > 0 {
                left -= wanted;
                asks.push((queue.name.clone(), wanted));
            }
        }
        asks
    }

    /// Puts a claimed job where it waits for a slot.
    pub fn add_ready(&mut self, job: Arc<ClaimedJob>, received: Received) {
        let bytes = job.payload.len() as f64;
        // A claim answers only for queues that were asked of.
        if let Some(queue) = self.queues.iter_mut().find(|queue| queue.name == job.queue) {
            queue.bytes += (bytes - queue.bytes) * FORGET;
            queue.ready.push_back(Ready { since: Instant::now(), job, received });
        }
    }

    /// The next job that has a slot; the slot is taken.
    pub fn start_next(&mut self) -> Option<(Arc<ClaimedJob>, Received)> {
        let queue = self
            .queues
            .iter_mut()
            .find(|queue| queue.running < queue.slots && !queue.ready.is_empty())?;
        queue.running += 1;
        queue.ready.pop_front().map(|Ready { job, received, .. }| (job, received))
    }

    /// A run ended, or never began, and its slot is free again.
    pub fn free(&mut self, name: &str, took: Option<Duration>) {
        let Some(queue) = self.queue(name) else { return };
        queue.running -= 1;
        if let Some(took) = took {
            let took = took.as_secs_f64();
            let old = queue.run_s.unwrap_or(took);
            queue.run_s = Some(old + (took - old) * FORGET);
        }
    }

    /// Takes out a job that has not started.
    pub fn take_ready(&mut self, wanted: impl Fn(&ClaimedJob) -> bool) -> Vec<Arc<ClaimedJob>> {
        let mut taken = Vec::new();
        for queue in &mut self.queues {
            let (out, stay): (VecDeque<_>, VecDeque<_>) =
                std::mem::take(&mut queue.ready).into_iter().partition(|ready| wanted(&ready.job));
            queue.ready = stay;
            taken.extend(out.into_iter().map(|ready| ready.job));
        }
        taken
    }

    /// Takes out the jobs of queues where nothing has started for long: their slots are held by
    /// slower jobs than those before. Nothing more is kept ready there until jobs are short again.
    pub fn take_stale(&mut self, now: Instant) -> Vec<Arc<ClaimedJob>> {
        let mut stale = Vec::new();
        for queue in &mut self.queues {
            if queue.ready.front().is_some_and(|ready| now - ready.since >= READY_FOR) {
                queue.run_s = Some(READY_FOR.as_secs_f64());
                stale.extend(queue.ready.drain(..).map(|ready| ready.job));
            }
        }
        stale
    }

    /// When [`Slots::take_stale`] may find something.
    pub fn stale_at(&self) -> Option<Instant> {
        let oldest = self.queues.iter().filter_map(|queue| queue.ready.front());
        oldest.map(|ready| ready.since + READY_FOR).min()
    }

    pub fn ready(&self) -> usize {
        self.queues.iter().map(|queue| queue.ready.len()).sum()
    }
}
