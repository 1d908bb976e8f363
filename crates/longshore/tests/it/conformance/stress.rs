//! Many nodes at once that work, fail, stall and are rescued, beside people who cancel and retry:
//! whatever happens, each job ends once, and nobody is told an error.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use longshore::store::{Ack, AskCancel, Ending, Held, Pulse, StoreError};
use longshore::{Edit, JobId, NewJob, State};

use crate::harness::*;

const NODES: u32 = 8;
const JOBS: usize = 2_000;

/// A small generator of our own: the same seed gives the same choices on each node.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `sides`.
    pub fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % sides
    }
}

/// What was answered to whom.
#[derive(Default)]
struct Seen {
    /// How often `Recorded(Succeeded)` or `Recorded(Cancelled)` was answered for a job.
    ended: Mutex<HashMap<JobId, u32>>,
    /// How often a retry may have brought it back after an end.
    retried: Mutex<HashMap<JobId, u32>>,
    stalls: AtomicU32,
    lost: AtomicU32,
    over: AtomicBool,
}

pub async fn each_job_ends_once_whatever_happens_to_its_nodes(t: Harness) {
    let all: Vec<NewJob> = jobs(JOBS).into_iter().map(|job| job.max_attempts(1_000)).collect();
    t.enqueue_all(&all).await;
    let seen = Arc::new(Seen::default());

    let mut tasks: Vec<_> =
        (0..NODES).map(|n| tokio::spawn(work(t.clone(), seen.clone(), n.into()))).collect();
    let given: Vec<JobId> = all.iter().map(NewJob::id).collect();
    tasks.push(tokio::spawn(meddle(t.clone(), seen.clone(), given)));
    tasks.push(tokio::spawn(rescue(t.clone(), seen.clone())));
    let (watcher, watched) = (t.clone(), seen.clone());
    t.until_within(150 * SECOND, "every job ended", || {
        let t = watcher.clone();
        async move { t.count("job").await == 0 }
    })
    .await;
    watched.over.store(true, Ordering::SeqCst);
    for task in tasks {
        task.await.expect("nobody was told an error");
    }

    assert_eq!((t.count("job").await, t.count("history").await), (0, JOBS as i64));
    let ended = std::mem::take(&mut *seen.ended.lock().unwrap());
    let retried = std::mem::take(&mut *seen.retried.lock().unwrap());
    for new in &all {
        let row = t.get(new.id()).await;
        let times = ended.get(&new.id()).copied().unwrap_or_default();
        // A cancel of a waiting job and a rescue of a cancelled one end it without a finish.
        let most = 1 + retried.get(&new.id()).copied().unwrap_or_default();
        assert!(times <= most, "{} ended {times} times, and may {most} times", new.id());
        assert!(row.state == State::Cancelled || times >= 1, "{} succeeded unheard", new.id());
        assert!(row.attempt < 1_000);
        assert!(row.errors.iter().all(|error| error.attempt <= row.attempt.max(1)));
    }
    // What the test is about did happen.
    assert!(seen.stalls.load(Ordering::SeqCst) > 0 && seen.lost.load(Ordering::SeqCst) > 0);
}

/// A node's life: it claims, ends runs in every way, and sometimes stalls past its lease, to write
/// its late results when it comes back.
async fn work(t: Harness, seen: Arc<Seen>, seed: u64) {
    let mut dice = Dice::new(seed + 1);
    let mut node = t.node().await;
    while !seen.over.load(Ordering::SeqCst) {
        if node.beat().await == Pulse::Lost {
            node = t.node().await;
        }
        let runs = node.claim(dice.roll(20) as u32 + 1).await;
        if runs.is_empty() {
            t.advance(20 * MILLI);
            tokio::time::sleep(MILLI).await;
            continue;
        }
        if dice.roll(12) == 0 {
            seen.stalls.fetch_add(1, Ordering::SeqCst);
            t.advance(LEASE_FOR + SECOND);
            tokio::time::sleep(10 * MILLI).await;
        }
        let call: Vec<(Held, Ending)> = runs
            .iter()
            .map(|run| {
                let ending = match dice.roll(10) {
                    0 => failed(MILLI),
                    1 => snoozed(MILLI),
                    2 => Ending::GivenBack,
                    3 if dice.roll(5) == 0 => cancelled(),
                    _ => done(),
                };
                (run.held(), ending)
            })
            .collect();
        for (run, ack) in runs.iter().zip(t.finish_all(node.id, &call).await) {
            match ack {
                Ack::Recorded(State::Succeeded | State::Cancelled) => {
                    *seen.ended.lock().unwrap().entry(run.id).or_default() += 1;
                }
                Ack::Recorded(_) => {}
                Ack::LeaseLost => {
                    seen.lost.fetch_add(1, Ordering::SeqCst);
                }
            }
        }
    }
    t.store.leave(node.id).await.expect("a node leaves");
}

/// People who cancel jobs and make waiting ones run now.
async fn meddle(t: Harness, seen: Arc<Seen>, given: Vec<JobId>) {
    let mut dice = Dice::new(99);
    while !seen.over.load(Ordering::SeqCst) {
        let id = given[dice.roll(given.len() as u64) as usize];
        if dice.roll(4) == 0 {
            match t.store.cancel(id, &AskCancel::default()).await {
                Ok(State::Running | State::Cancelled) | Err(StoreError::Refused { .. }) => {}
                other => panic!("cancel: {other:?}"),
            }
        } else if t.state(id).await != State::Cancelled {
            // Not of cancelled ones, so that nearly all jobs end once. A run may end cancelled in between.
            match t.store.retry(id, 1, &Edit::new()).await {
                Ok(()) => *seen.retried.lock().unwrap().entry(id).or_default() += 1,
                Err(StoreError::Refused { .. }) => {}
                other => panic!("retry: {other:?}"),
            }
        }
        tokio::time::sleep(2 * MILLI).await;
    }
}

async fn rescue(t: Harness, seen: Arc<Seen>) {
    while !seen.over.load(Ordering::SeqCst) {
        t.rescue().await;
        tokio::time::sleep(5 * MILLI).await;
    }
}

pub async fn overlapping_edits_never_deadlock(t: Harness) {
    t.enqueue_all(&jobs(100)).await;
    let node = t.node().await;
    let runs = Arc::new(node.claim(100).await);

    let tasks: Vec<_> = (0..6)
        .map(|n| {
            let (t, runs) = (t.clone(), runs.clone());
            tokio::spawn(async move {
                // Each call names the same jobs in another order.
                let mut call: Vec<(Held, Ending)> =
                    runs.iter().map(|run| (run.held(), every_ending()[n].1.clone())).collect();
                let places = call.len();
                call.rotate_left(n * 17 % places);
                if n % 2 == 0 {
                    call.reverse();
                }
                t.finish_all(runs[0].node, &call).await;
                for run in runs.iter() {
                    let _ = t.store.cancel(run.id, &AskCancel::default()).await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("no call fails");
    }
    let rows = t.count("job").await + t.count("history").await;
    assert_eq!(rows, 100);
}

impl Harness {
    async fn until_within<F: Future<Output = bool>>(
        &self,
        limit: std::time::Duration,
        what: &str,
        mut come: impl FnMut() -> F,
    ) {
        let give_up = std::time::Instant::now() + limit;
        while !come().await {
            assert!(std::time::Instant::now() < give_up, "waited {limit:?} in vain until {what}");
            tokio::time::sleep(50 * MILLI).await;
        }
    }
}
