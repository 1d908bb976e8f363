//! The enqueue funnel: single enqueues that come while one is under way go together in the next.
//!
//! No timer: alone, a job is sent at once; under load hundreds share a statement and a commit.

use std::sync::Arc;

use tokio::sync::{Semaphore, mpsc, oneshot};

use crate::engine::Engine;
use crate::job::NewJob;
use crate::store::{Enqueued, Repeat, Result, Store, StoreError};

/// The most jobs of one statement: more does not get faster, and a lost reply costs more.
const MAX_JOBS: usize = 500;
/// The most bytes of one statement.
const MAX_BYTES: usize = 1 << 20;
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
    let waiting_alone = Arc::new(Semaphore::new(MAX_WAITING_ALONE));
    let mut held_over = None;
    loop {
        let first = match held_over.take() {
            Some(call) => call,
            None => match waiting.recv().await {
                Some(call) => call,
                None => return,
            },
        };
        let mut bytes = first.job.size_bytes();
        let mut batch = vec![first];
        while batch.len() < MAX_JOBS {
            let Ok(call) = waiting.try_recv() else { break };
            bytes += call.job.size_bytes();
            if bytes > MAX_BYTES {
                held_over = Some(call);
                break;
            }
            batch.push(call);
        }
        send(&store, &waiting_alone, batch).await;
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
