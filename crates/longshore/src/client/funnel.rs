//! The enqueue funnel: single enqueues that come while one is under way go together in the next.
//!
//! No timer: alone, a job is sent at once; under load hundreds share a statement and a commit. On PostgreSQL a second
//! batch goes beside the first, so that one is worked on while the other waits for the disk.

use std::sync::Arc;

use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;

use crate::engine::Engine;
use crate::job::NewJob;
use crate::store::{Enqueued, Repeat, Result, Store, StoreError};

/// The most jobs of one statement: more does not get faster, and a lost reply costs more.
const MAX_JOBS: usize = 500;
/// The most bytes of one statement.
const MAX_BYTES: usize = 1 << 20;
/// What makes a second batch worth its statement while another is under way.
const WORTH: usize = 8;
/// How many may wait for open transactions at once, each on a connection of its own.
const MAX_WAITING_ALONE: usize = 2;
/// How many may wait; beyond, callers wait to get in.
const MAX_WAITING: usize = 4_096;

struct Call {
    job: NewJob,
    answer: oneshot::Sender<Result<Enqueued>>,
}

/// The way in.
pub(super) struct Funnel(mpsc::Sender<Call>);

impl Funnel {
    pub fn start(engine: &Engine, store: Arc<dyn Store>) -> Funnel {
        let (calls, waiting) = mpsc::channel(MAX_WAITING);
        engine.spawn(run(store, waiting));
        Funnel(calls)
    }

    /// Adds one job, together with whatever else waits.
    pub async fn enqueue(&self, job: NewJob) -> Result<Enqueued> {
        let (answer, answered) = oneshot::channel();
        let closed = || StoreError::Unavailable { doing: "enqueue", source: "closed".into() };
        self.0.send(Call { job, answer }).await.map_err(|_| closed())?;
        answered.await.map_err(|_| closed())?
    }
}

async fn run(store: Arc<dyn Store>, mut waiting: mpsc::Receiver<Call>) {
    // SQLite has one writer: a second batch would only wait for it.
    let lanes = if store.backend() == "sqlite" { 1 } else { 2 };
    let waiting_alone = Arc::new(Semaphore::new(MAX_WAITING_ALONE));
    let (mut batch, mut under_way) = (Batch::default(), JoinSet::new());
    let mut open = true;
    while open || !batch.calls.is_empty() || !under_way.is_empty() {
        let worth = match under_way.len() {
            0 => 1,
            busy if busy < lanes => WORTH,
            _ => usize::MAX,
        };
        if batch.calls.len() >= worth {
            let (store, waiting_alone) = (Arc::clone(&store), Arc::clone(&waiting_alone));
            let calls = batch.take();
            under_way.spawn(async move { send(&store, &waiting_alone, calls).await });
            continue;
        }
        tokio::select! {
            Some(_) = under_way.join_next() => {}
            call = waiting.recv(), if open && !batch.is_full() => match call {
                Some(call) => batch.gather(call, &mut waiting),
                None => open = false,
            },
        }
    }
}

/// What goes together in one statement.
#[derive(Default)]
struct Batch {
    calls: Vec<Call>,
    bytes: usize,
    /// One that had no room any more.
    next: Option<Call>,
}

impl Batch {
    fn is_full(&self) -> bool {
        self.next.is_some() || self.calls.len() >= MAX_JOBS
    }

    /// This call, and whatever else waits.
    fn gather(&mut self, call: Call, waiting: &mut mpsc::Receiver<Call>) {
        self.add(call);
        while !self.is_full() {
            let Ok(call) = waiting.try_recv() else { break };
            self.add(call);
        }
    }

    fn add(&mut self, call: Call) {
        let bytes = self.bytes + call.job.size_bytes();
        if bytes > MAX_BYTES && !self.calls.is_empty() {
            self.next = Some(call);
        } else {
            self.bytes = bytes;
            self.calls.push(call);
        }
    }

    fn take(&mut self) -> Vec<Call> {
        let Batch { calls, next, .. } = std::mem::take(self);
        if let Some(call) = next {
            self.add(call);
        }
        calls
    }
}

/// One statement for all; if that fails for a reason of one of them, each alone, so that a bad row
/// never fails its neighbours. One whose key an open transaction holds waits for it by itself.
async fn send(store: &Arc<dyn Store>, waiting: &Arc<Semaphore>, batch: Vec<Call>) {
    let (jobs, answers): (Vec<_>, Vec<_>) =
        batch.into_iter().map(|call| (call.job, call.answer)).unzip();
    match store.enqueue_unless_busy(&jobs).await {
        Ok(added) => {
            for (answer, added) in answers.into_iter().zip(added) {
                // A caller that went away does not want to know.
                let _ = answer.send(Ok(added));
            }
        }
        Err(error @ StoreError::Unavailable { .. }) => {
            for answer in answers {
                let _ = answer.send(Err(error.copy()));
            }
        }
        Err(_) => {
            for (job, answer) in jobs.into_iter().zip(answers) {
                match store.enqueue_unless_busy(std::slice::from_ref(&job)).await {
                    Err(StoreError::KeyBusy) => wait_alone(store, waiting, Call { job, answer }),
                    added => {
                        let _ = answer.send(added.map(|added| added[0]));
                    }
                }
            }
        }
    }
}

fn wait_alone(store: &Arc<dyn Store>, waiting: &Arc<Semaphore>, call: Call) {
    let (store, waiting) = (Arc::clone(store), Arc::clone(waiting));
    tokio::spawn(async move {
        let _turn = waiting.acquire().await.expect("nobody closes it");
        let added = store.enqueue(&[call.job], Repeat::No).await;
        let _ = call.answer.send(added.map(|added| added[0]));
    });
}
