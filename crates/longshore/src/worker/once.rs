//! A node that runs one job at a time, when it is asked to: what tests drain with.
//!
//! The way from the claim to the finish is the serving node's own ([`Runs`], [`verdict`], the store's calls);
//! only *when* each step comes is the caller's to say.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::mpsc::UnboundedReceiver;

use super::hooks::{Hooks, RunReport};
use super::registry::Registry;
use super::run::{Ended, StopReason};
use super::runs::{Known, Runs, Settled};
use super::verdict::{timed_out, unstorable, verdict};
use crate::client::Client;
use crate::extract::States;
use crate::job::{AttemptError, AttemptFault, JobRow, State};
use crate::store::{
    Ack, Claim, ClaimedJob, Ending, Held, KindAsk, LANES, Level, NewNode, NodeId, QueueAsk, Result,
    START, Store, StoreError,
};
use crate::time::Timestamp;
use crate::trace::{Received, TraceMode};

/// How long its claims stay its own. It sends no heartbeats: the clock stands while it works.
pub(crate) const LEASE_FOR: Duration = Duration::from_secs(30);
/// How often a call is made while the database is unavailable. Without a pause: nothing here sleeps.
const TRIES: usize = 100;
/// No handler of a test should take longer, by the real clock.
const LONGEST_RUN: Duration = Duration::from_secs(60);

/// What a worker can do.
#[derive(Clone)]
pub(crate) struct Hands {
    pub client: Client,
    /// The queues it serves; all if there are none.
    pub queues: Vec<String>,
    pub(super) registry: Registry,
    pub(super) states: Arc<States>,
    pub(super) hooks: Hooks,
    pub(super) log_level: Level,
}

impl Hands {
    /// What it asks of a claim, sorted by kind.
    pub fn asks(&self) -> Vec<KindAsk> {
        self.registry.asks()
    }

    /// Whether it has a handler for the job, of its version too.
    pub fn knows(&self, job: &JobRow) -> bool {
        self.registry.get(&job.kind).is_some_and(|handler| job.payload_version <= handler.version)
    }

    pub fn serves(&self, queue: &str) -> bool {
        self.queues.is_empty() || self.queues.iter().any(|served| served == queue)
    }
}

/// A run that is over, and written if it could be.
pub(crate) struct Ran {
    /// What was to be written; `None` if its handler's transaction has written it.
    pub ending: Option<Ending>,
    pub ack: Ack,
}

/// Why a run brought nothing.
#[derive(Debug)]
pub(crate) enum NotRun {
    Store(StoreError),
    /// The handler does not come back.
    Hangs(Duration),
}

impl From<StoreError> for NotRun {
    fn from(error: StoreError) -> NotRun {
        NotRun::Store(error)
    }
}

/// The node.
pub(crate) struct Once {
    client: Client,
    /// Its own way to the database, which may be another than its handlers'.
    store: Arc<dyn Store>,
    id: NodeId,
    no: i64,
    runs: Runs,
    ends: UnboundedReceiver<Ended>,
}

impl Once {
    /// Joins as a fresh node; handlers run on the current runtime.
    pub async fn join(hands: &Hands, store: Arc<dyn Store>) -> Result<Once> {
        let id = NodeId::new();
        let node = NewNode {
            id,
            name: "test".to_owned(),
            version: String::new(),
            queues: hands.queues.iter().map(|queue| (queue.clone(), 1)).collect(),
            kinds: hands.registry.kinds(),
            lease_for: LEASE_FOR,
            wish: None,
            known: Vec::new(),
            remote: None,
        };
        let known = Known {
            registry: hands.registry.clone(),
            states: Arc::clone(&hands.states),
            hooks: hands.hooks.clone(),
            log_level: hands.log_level,
            trace: TraceMode::default(),
        };
        let (runs, ends) = Runs::new(Handle::current(), hands.client.clone(), known, id);
        let once = Once { client: hands.client.clone(), store, id, no: 0, runs, ends };
        once.call(|store| async move { store.join(&node).await }).await?;
        Ok(once)
    }

    pub fn id(&self) -> NodeId {
        self.id
    }

    /// Takes up to `limit` due jobs of one queue.
    pub async fn claim(
        &mut self,
        queue: &str,
        kinds: &[KindAsk],
        limit: u32,
    ) -> Result<Vec<Arc<ClaimedJob>>> {
        self.no += 1;
        let (node, no) = (self.id, self.no);
        let asks = [QueueAsk { queue: queue.to_owned(), limit, marks: [START; LANES] }];
        let kinds = kinds.to_vec();
        let claimed = self
            .call(|store| async move {
                let claim = Claim { node, no, queues: &asks, kinds: &kinds, most: None };
                store.claim(&claim).await
            })
            .await;
        let jobs = match claimed {
            Ok(claimed) => claimed.jobs,
            // It may have been carried out, so its number is asked for, as a serving node does.
            Err(error) if error.is_unavailable() => {
                self.insist(move |store| async move { store.recall(node, no).await }).await?
            }
            Err(error) => return Err(error),
        };
        Ok(jobs.into_iter().map(Arc::new).collect())
    }

    /// Runs a job that this node holds, and writes how that ended.
    pub async fn run(&mut self, job: Arc<ClaimedJob>) -> Result<Ran, NotRun> {
        let began = Instant::now();
        let ran = self.run_and_write(&job).await?;
        if let Ack::Recorded(state) = ran.ack {
            let took = Some(began.elapsed());
            let report = RunReport::of(&job, ran.ending.as_ref(), state, took);
            self.runs.hooks().ended_here(&report);
        }
        Ok(ran)
    }

    async fn run_and_write(&mut self, job: &Arc<ClaimedJob>) -> Result<Ran, NotRun> {
        let Some(ending) = self.ending(job).await? else {
            return Ok(Ran { ending: None, ack: Ack::Recorded(State::Succeeded) });
        };
        match self.write(vec![(held(job), ending.clone())]).await {
            Ok(acks) => Ok(Ran { ending: Some(ending), ack: acks[0] }),
            Err(error) if error.is_unavailable() => Err(error.into()),
            Err(error) => {
                let mut ending = unstorable(job, self.id, &error.to_string());
                wait_longest(job, &mut ending);
                let acks = self.write(vec![(held(job), ending.clone())]).await?;
                Ok(Ran { ending: Some(ending), ack: acks[0] })
            }
        }
    }

    /// Writes that a run failed without running it: it may be repeated in a millisecond.
    pub async fn fail(&self, job: &ClaimedJob, message: &str) -> Result<()> {
        let (attempt, at, node) = (job.attempt, Timestamp::from_micros(0), self.id.0);
        let (kind, message, chain) = (AttemptFault::Error, message.to_owned(), Vec::new());
        let error = AttemptError { attempt, at, node, kind, message, chain };
        let ending = Ending::Failed { error, delay: Duration::from_millis(1) };
        self.write(vec![(held(job), ending)]).await?;
        Ok(())
    }

    /// Gives back what it holds and does not want.
    pub async fn give_back(&mut self, jobs: &[Arc<ClaimedJob>]) -> Result<()> {
        if !jobs.is_empty() {
            let ended = jobs.iter().map(|job| (held(job), Ending::GivenBack)).collect();
            self.write(ended).await?;
        }
        Ok(())
    }

    pub async fn leave(self) -> Result<()> {
        let id = self.id;
        self.call(move |store| async move { store.leave(id).await }).await
    }

    /// Runs the handler to its end, the job's timeout, or a cancel that it heeds.
    async fn ending(&mut self, job: &Arc<ClaimedJob>) -> Result<Option<Ending>, NotRun> {
        let mut woken = self.client.store().wakes().subscribe();
        if !self.runs.start(job, Received::new(job, TraceMode::default())) {
            return Ok(Some(Ending::GivenBack));
        }
        let give_up = Instant::now() + LONGEST_RUN;
        loop {
            let wake_at = self.runs.next_deadline().map_or(give_up, |at| at.min(give_up));
            tokio::select! {
                Some(ended) = self.ends.recv() => {
                    let own_delay = ended.delay;
                    // Of an earlier run that was cut off there is nothing to say any more.
                    let Some(Settled { job, stopped }) = self.runs.ended(&ended) else { continue };
                    let mut ending = verdict(&job, self.id, ended, stopped);
                    if let (Some(ending), None) = (&mut ending, own_delay) {
                        wait_longest(&job, ending);
                    }
                    return Ok(ending);
                }
                news = woken.news() => if news.cancels {
                    self.heed_cancels().await?;
                },
                () = tokio::time::sleep_until(wake_at.into()) => {
                    let now = Instant::now();
                    if let Some(Settled { job, .. }) = self.runs.time_out(now) {
                        let mut ending = timed_out(&job, self.id);
                        wait_longest(&job, &mut ending);
                        return Ok(Some(ending));
                    }
                    if now >= give_up {
                        self.runs.cut_off_all(StopReason::Shutdown);
                        return Err(NotRun::Hangs(LONGEST_RUN));
                    }
                }
            }
        }
    }

    async fn heed_cancels(&mut self) -> Result<()> {
        let id = self.id;
        let asked = self.call(move |store| async move { store.cancels(id).await }).await?;
        asked.into_iter().for_each(|id| self.runs.stop(id, StopReason::Cancelled));
        Ok(())
    }

    async fn write(&self, ended: Vec<(Held, Ending)>) -> Result<Vec<Ack>> {
        let node = self.id;
        let scribe = Arc::clone(self.runs.scribe());
        self.insist(move |store| {
            let (ended, scribe) = (ended.clone(), Arc::clone(&scribe));
            async move {
                let ids = || ended.iter().map(|(held, _)| held.id);
                scribe.flush(ids()).await;
                let done = store.finish(node, &ended).await;
                if done.is_ok() {
                    scribe.closed(ids());
                }
                done
            }
        })
        .await
    }

    async fn call<T, F>(&self, call: impl FnOnce(Arc<dyn Store>) -> F) -> Result<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        self.client.engine().run(call(Arc::clone(&self.store))).await
    }

    /// Repeats a call while the database is unavailable, as a serving node does for longer.
    async fn insist<T, F>(&self, call: impl Fn(Arc<dyn Store>) -> F) -> Result<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let mut tries = 1;
        loop {
            match self.call(&call).await {
                Err(error) if error.is_unavailable() && tries < TRIES => tries += 1,
                answer => return answer,
            }
        }
    }
}

fn held(job: &ClaimedJob) -> Held {
    Held { id: job.id, lease: job.lease }
}

/// A wait that is drawn by chance is as long as it can be, so that a test knows when the job is due.
fn wait_longest(job: &ClaimedJob, ending: &mut Ending) {
    if let Ending::Failed { delay, .. } = ending {
        *delay = job.backoff.clone().unwrap_or_default().delay(job.attempt, || 1.0);
    }
}
