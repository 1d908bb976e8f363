//! One incarnation of a node: claims what fits, runs it, writes how it ended, until it is stopped or
//! finds itself lost. This file decides when; its neighbours know how.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::claimer::{Claimer, Looked};
use super::config::WorkerConfig;
use super::endings::{BatchNo, Endings};
use super::heartbeat::Beating;
use super::hooks::RunReport;
use super::ledger::Ledger;
use super::patience::Patience;
use super::run::{Ended, StopReason};
use super::runs::{Runs, Settled};
use super::slots::Slots;
use super::verdict::{timed_out, verdict};
use super::{Asked, CALL_LIMIT};
use crate::client::Client;
use crate::engine::within;
use crate::job::{JobId, State};
use crate::observe::{Gauges, Load, Pair, RunOutcome};
use crate::store::{Ack, ClaimedJob, Ending, NodeId, NodeState, Result, Wish, Woken};
use crate::time::Timestamp;
use crate::trace::Received;

/// How often a node that runs something asks whether a cancel came.
const CANCELS_EVERY: Duration = Duration::from_millis(500);
/// A hint to look for cancels is not followed more often than this.
const CANCELS_APART: Duration = Duration::from_millis(20);
/// How long handlers that were told to stop have before they are cut off.
const KILL_AFTER: Duration = Duration::from_secs(2);
/// How long a stopping node tries to write its last results.
const FLUSH_FOR: Duration = Duration::from_secs(3);
/// A result waits this long in vain before the node says that it is not well.
const UNWELL_AFTER: Duration = Duration::from_secs(30);

/// Why an incarnation is over.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Over {
    Stopped,
    Lost,
}

/// How far a stop is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// Everything runs.
    Serving,
    /// No more claims; handlers may go on until then.
    Draining { until: Instant },
    /// Handlers were told to stop; they are cut off then.
    Stopping { kill_at: Instant },
    /// Nothing runs any more; last results may be written until then.
    Flushing { until: Instant },
}

pub(super) struct Node {
    pub client: Client,
    pub config: WorkerConfig,
    pub id: NodeId,
    pub slots: Slots,
    pub runs: Runs,
    pub ledger: Ledger,
    pub gauges: Gauges,
    pub claimer: Claimer,
    endings: Endings,
    writing: FuturesUnordered<JoinHandle<Written>>,
    asking: Option<JoinHandle<Result<Vec<JobId>>>>,
    ask_at: Instant,
    ask_patience: Patience,
    phase: Phase,
    /// Asked to claim nothing more, and to stay.
    quiet: bool,
    /// What the heartbeat tells others.
    state: watch::Sender<NodeState>,
    /// Cut off from the database for so long that handlers are told to stop.
    fenced: Option<Fence>,
}

/// What has happened since the node was cut off.
#[derive(Clone, Copy, Debug)]
enum Fence {
    /// Handlers were told to stop; they are cut off then.
    Told { kill_at: Instant },
    /// Nothing runs any more; only a renewed lease changes that.
    Empty,
}

/// What an incarnation listens to.
pub(super) struct Inputs {
    pub ends: UnboundedReceiver<Ended>,
    pub beating: watch::Receiver<Beating>,
    pub asked: watch::Receiver<Asked>,
    pub woken: Woken,
}

impl Node {
    pub fn new(
        client: Client,
        config: WorkerConfig,
        id: NodeId,
        (slots, runs, claimer): (Slots, Runs, Claimer),
        gauges: Gauges,
    ) -> Node {
        // SQLite has one writer: a second batch would only wait for it, and keep a claim waiting.
        let lanes = if client.store().backend() == "sqlite" { 1 } else { 2 };
        Node {
            client,
            config,
            id,
            slots,
            runs,
            ledger: Ledger::default(),
            gauges,
            claimer,
            endings: Endings::new(lanes),
            writing: FuturesUnordered::new(),
            asking: None,
            ask_at: Instant::now(),
            ask_patience: Patience::new("look for cancels"),
            phase: Phase::Serving,
            quiet: false,
            state: watch::Sender::default(),
            fenced: None,
        }
    }

    /// Serves until stopped or lost.
    pub async fn serve(&mut self, mut inputs: Inputs) -> Over {
        let mut ends = Vec::new();
        loop {
            let now = Instant::now();
            let beating = *inputs.beating.borrow_and_update();
            self.gauges.beat(beating.sent);
            if beating.lost || self.claimer.found_lost() {
                self.lose();
                return Over::Lost;
            }
            self.mind_the_lease(&beating, now);
            let asked = *inputs.asked.borrow_and_update();
            let asked = self.mind_the_wish(beating.wish, asked);
            self.mind_the_stop(asked, now);
            self.mind_the_time(now);
            self.start_ready();
            self.write_endings(now);
            if self.may_claim() {
                self.claimer.claim(&self.client, &mut self.slots, now);
            } else if self.rests() {
                self.claimer.settle(&self.client, now);
            }
            self.ask_for_cancels(now);
            self.show(now);
            if self.is_over(now) {
                return Over::Stopped;
            }
            let wake_at = self.next_timer(&beating);
            tokio::select! {
                _ = inputs.ends.recv_many(&mut ends, 1_024) => {
                    ends.drain(..).for_each(|ended| self.ended(ended));
                }
                looked = self.claimer.looked() => self.claimed(looked),
                (no, acks) = written(&mut self.writing) => self.written(no, acks),
                ids = answer(&mut self.asking) => self.cancels_found(ids),
                news = inputs.woken.news() => {
                    if news.look {
                        self.claimer.woken(&mut self.slots, news.from_start);
                    }
                    if news.cancels {
                        self.ask_at = self.ask_at.min(Instant::now() + CANCELS_APART);
                    }
                }
                _ = inputs.beating.changed() => {}
                () = changed(&mut inputs.asked) => {}
                () = tokio::time::sleep_until(wake_at.into()) => {}
            }
        }
    }

    /// What it is at, for its heartbeat.
    pub fn state(&self) -> watch::Receiver<NodeState> {
        self.state.subscribe()
    }

    // ---- claims -------------------------------------------------------------------------------

    fn may_claim(&self) -> bool {
        self.may_start() && !self.endings.too_many()
    }

    fn may_start(&self) -> bool {
        self.phase == Phase::Serving && self.fenced.is_none() && !self.quiet
    }

    /// Quiet, and alive.
    fn rests(&self) -> bool {
        self.quiet && self.phase == Phase::Serving && self.fenced.is_none()
    }

    fn claimed(&mut self, looked: Looked) {
        let jobs = self.claimer.take_in(looked, &mut self.slots);
        let Some(Batch { no, now, jobs }) = jobs else { return };
        self.ledger.opened(no, jobs.len());
        for job in jobs.into_iter().map(Arc::new) {
            self.counts(&job).claimed(now.map(|now| now.since(job.run_at)));
            if let Some(old_no) = self.runs.take_over(&job) {
                self.ledger.closed(old_no);
            } else if self.may_start() {
                let received = Received::new(&job, self.config.trace);
                self.slots.add_ready(job, received);
            } else {
                self.endings.add(job, Ending::GivenBack);
            }
        }
    }

    fn start_ready(&mut self) {
        while let Some((job, received)) = self.slots.start_next() {
            if let Some(old_no) = self.runs.take_over(&job) {
                // It lay ready twice: claimed again after a crash of the database took the first claim.
                self.slots.free(&job.queue, None);
                self.ledger.closed(old_no);
            } else if self.runs.start(&job, received) {
                self.gauges.started();
            } else {
                self.slots.free(&job.queue, None);
                self.endings.add(job, Ending::GivenBack);
            }
        }
    }

    fn give_back_ready(&mut self) {
        for job in self.slots.take_ready(|_| true) {
            self.endings.add(job, Ending::GivenBack);
        }
    }

    // ---- ends ---------------------------------------------------------------------------------

    fn ended(&mut self, ended: Ended) {
        let Some(Settled { job, stopped }) = self.runs.ended(&ended) else { return };
        self.slots.free(&job.queue, Some(ended.took));
        self.counts(&job).ran(ended.took);
        let took = Some(ended.took);
        match verdict(&job, self.id, ended, stopped) {
            Some(ending) => self.endings.add_run(job, ending, took),
            None => {
                self.ledger.closed(job.lease);
                self.gauges.finished();
                self.counts(&job).finished(RunOutcome::Succeeded);
                self.report(&job, None, State::Succeeded, took);
            }
        }
    }

    /// Where this job is counted.
    fn counts(&self, job: &ClaimedJob) -> Arc<Pair> {
        self.gauges.metrics().pair(&job.kind, &job.queue)
    }

    fn report(
        &self,
        job: &ClaimedJob,
        ending: Option<&Ending>,
        state: State,
        took: Option<Duration>,
    ) {
        let hooks = self.runs.hooks();
        if hooks.any() {
            hooks.ended(RunReport::of(job, ending, state, took));
        }
    }

    fn write_endings(&mut self, now: Instant) {
        while let Some((no, batch)) = self.endings.next_batch(now) {
            let (store, node) = (Arc::clone(self.client.store()), self.id);
            let scribe = Arc::clone(self.runs.scribe());
            self.writing.push(self.client.engine().spawn(async move {
                let ids = || batch.iter().map(|(held, _)| held.id);
                scribe.flush(ids()).await;
                let call = store.finish(node, &batch);
                let done = within(CALL_LIMIT, "write how jobs ended", call).await;
                if done.is_ok() {
                    scribe.closed(ids());
                }
                (no, done)
            }));
        }
    }

    fn written(&mut self, no: BatchNo, acks: Result<Vec<Ack>>) {
        for (run, ack) in self.endings.answered(self.id, no, acks) {
            let job = &run.job;
            self.ledger.closed(job.lease);
            match ack {
                Ack::Recorded(state) => {
                    self.gauges.finished();
                    self.counts(job).finished(RunOutcome::of(state, &run.ending));
                    self.report(job, Some(&run.ending), state, run.took);
                    if let Some(delay) = run.ending.delay() {
                        self.claimer.due_in(delay);
                    }
                    if state == State::Queued {
                        self.gauges.given_back();
                    }
                }
                Ack::LeaseLost => {
                    self.gauges.lost_lease();
                    tracing::warn!(job = %job.id, "the lease was lost; its result is dropped");
                }
            }
        }
    }

    // ---- cancels ------------------------------------------------------------------------------

    fn ask_for_cancels(&mut self, now: Instant) {
        let idle = self.runs.is_empty() && self.slots.ready() == 0;
        if idle || self.asking.is_some() || now < self.ask_at {
            return;
        }
        self.ask_at = now + CANCELS_EVERY;
        let (store, node) = (Arc::clone(self.client.store()), self.id);
        self.asking = Some(self.client.engine().spawn(async move {
            within(CALL_LIMIT, "look for cancels", store.cancels(node)).await
        }));
    }

    fn cancels_found(&mut self, ids: Result<Vec<JobId>>) {
        match ids {
            Ok(ids) => {
                self.ask_patience.worked();
                for id in ids {
                    self.runs.stop(id, StopReason::Cancelled);
                    // Not started yet: given back, which ends it as cancelled.
                    for job in self.slots.take_ready(|job| job.id == id) {
                        self.endings.add(job, Ending::GivenBack);
                    }
                }
            }
            Err(error) => self.ask_at = self.ask_patience.failed(&error),
        }
    }

    // ---- the lease ----------------------------------------------------------------------------

    /// Handlers must be gone before anybody may rescue their jobs, so this node goes by its own
    /// clock: no beat answered since `lease - margin`, counted from the sending of the last good one.
    fn mind_the_lease(&mut self, beating: &Beating, now: Instant) {
        let fence_at = self.fence_at(beating);
        match self.fenced {
            None if now >= fence_at => {
                tracing::warn!(
                    running = self.runs.len(),
                    "cut off from the database: stopping handlers before the lease ends"
                );
                self.gauges.not_ready("the lease could not be renewed in time");
                self.runs.stop_all(StopReason::LeaseLost);
                self.give_back_ready();
                let kill_at = now + KILL_AFTER.min(self.config.stop_margin / 2);
                self.fenced = Some(Fence::Told { kill_at });
            }
            Some(_) if now < fence_at => {
                tracing::info!("the lease is renewed: serving again");
                self.fenced = None;
                self.endings.hurry();
                self.slots.all_may_have_more();
            }
            Some(Fence::Told { kill_at }) if now >= kill_at => {
                self.cut_off_all(StopReason::LeaseLost);
                self.fenced = Some(Fence::Empty);
            }
            _ => {}
        }
    }

    fn fence_at(&self, beating: &Beating) -> Instant {
        beating.sent + self.config.lease_for - self.config.stop_margin
    }

    /// Lost: others run our jobs by now. Nothing more is written.
    fn lose(&mut self) {
        self.gauges.not_ready("this node was lost and joins anew");
        self.gauges.lost();
        let dropped = self.endings.len() + self.slots.ready();
        tracing::warn!(
            node = %self.id, running = self.runs.len(), dropped,
            "this node was declared lost: its handlers are told to stop, nothing is written for them"
        );
        for _ in 0..self.runs.len() + self.endings.len() {
            self.gauges.lost_lease();
        }
        self.runs.stop_all(StopReason::LeaseLost);
        let mut runs = self.runs.take_all();
        self.client.engine().spawn(async move {
            tokio::time::sleep(KILL_AFTER).await;
            runs.cut_off_all(StopReason::LeaseLost);
        });
    }

    // ---- time and stop ------------------------------------------------------------------------

    fn mind_the_time(&mut self, now: Instant) {
        while let Some(Settled { job, .. }) = self.runs.time_out(now) {
            self.slots.free(&job.queue, None);
            let limit = job.timeout_ms.unwrap_or_default().max(0) as u64;
            self.counts(&job).ran(Duration::from_millis(limit));
            let ending = timed_out(&job, self.id);
            self.endings.add(job, ending);
        }
        for job in self.slots.take_stale(now) {
            self.endings.add(job, Ending::GivenBack);
        }
        self.claimer.mind_the_time(&mut self.slots, now);
    }

    /// Obeys what somebody asked of this node from elsewhere; what the application asks goes before it.
    fn mind_the_wish(&mut self, wish: Option<Wish>, asked: Asked) -> Asked {
        let quiet = wish == Some(Wish::Quiet);
        if quiet != self.quiet {
            self.quiet = quiet;
            if quiet {
                tracing::info!(running = self.runs.len(), "asked to be quiet: no more claims");
                self.give_back_ready();
            } else {
                tracing::info!("not quiet any more: serving again");
                self.claimer.woken(&mut self.slots, true);
            }
        }
        if wish == Some(Wish::Stop) && asked == Asked::Serve { Asked::Stop } else { asked }
    }

    fn mind_the_stop(&mut self, asked: Asked, now: Instant) {
        while let Some(next) = self.next_phase(asked, now) {
            self.phase = next;
        }
    }

    /// The next phase of a stop, if it is time for it; does what the step takes.
    fn next_phase(&mut self, asked: Asked, now: Instant) -> Option<Phase> {
        let running = self.runs.len();
        Some(match (self.phase, asked) {
            (Phase::Serving, Asked::Stop | Asked::Force) => {
                tracing::info!(running, "stopping: no more claims");
                self.gauges.not_ready("stopping");
                self.give_back_ready();
                Phase::Draining { until: now + self.config.drain_for }
            }
            (Phase::Draining { .. } | Phase::Stopping { .. }, _) if self.runs.is_empty() => {
                Phase::Flushing { until: now + FLUSH_FOR }
            }
            (Phase::Draining { .. } | Phase::Stopping { .. }, Asked::Force) => {
                tracing::info!(running, "stopping by force: handlers are cut off");
                self.cut_off_all(StopReason::Shutdown);
                Phase::Flushing { until: now + FLUSH_FOR }
            }
            (Phase::Draining { until }, _) if now >= until => {
                tracing::info!(running, "stopping: handlers are told to stop");
                self.runs.stop_all(StopReason::Shutdown);
                Phase::Stopping { kill_at: now + KILL_AFTER }
            }
            (Phase::Stopping { kill_at }, _) if now >= kill_at => {
                tracing::info!(running, "stopping: handlers are cut off and their jobs given back");
                self.cut_off_all(StopReason::Shutdown);
                Phase::Flushing { until: now + FLUSH_FOR }
            }
            _ => return None,
        })
    }

    fn cut_off_all(&mut self, reason: StopReason) {
        for Settled { job, .. } in self.runs.cut_off_all(reason) {
            self.slots.free(&job.queue, None);
            self.endings.add(job, Ending::GivenBack);
        }
    }

    fn is_over(&self, now: Instant) -> bool {
        let Phase::Flushing { until } = self.phase else { return false };
        let left = self.endings.len();
        if left == 0 && !self.claimer.is_busy() {
            return true;
        }
        if now >= until {
            tracing::warn!(left, "stopping with results unwritten; their jobs will be rescued");
        }
        now >= until
    }

    fn next_timer(&self, beating: &Beating) -> Instant {
        let phase = match self.phase {
            Phase::Serving => None,
            Phase::Draining { until: at } | Phase::Flushing { until: at } => Some(at),
            Phase::Stopping { kill_at } => Some(kill_at),
        };
        let fence = match self.fenced {
            None => Some(self.fence_at(beating)),
            Some(Fence::Told { kill_at }) => Some(kill_at),
            Some(Fence::Empty) => None,
        };
        let running = !self.runs.is_empty();
        // A time that has passed would make this a busy loop, so each is one that is acted on.
        let timers = [
            phase,
            fence,
            self.may_claim().then(|| self.claimer.next_timer(Instant::now())).flatten(),
            self.rests().then(|| self.claimer.settle_at()).flatten(),
            self.runs.next_deadline(),
            self.slots.stale_at(),
            self.endings.not_before(),
            (running && self.asking.is_none()).then_some(self.ask_at),
        ];
        let soonest = timers.into_iter().flatten().min();
        soonest.unwrap_or_else(|| Instant::now() + self.config.heartbeat_every)
    }

    fn show(&mut self, now: Instant) {
        let state = match self.phase {
            Phase::Serving if self.quiet => NodeState::Quiet,
            Phase::Serving => NodeState::Serving,
            _ => NodeState::Stopping,
        };
        self.state.send_if_modified(|told| std::mem::replace(told, state) != state);
        self.gauges.load(&Load {
            running: self.runs.len(),
            waiting: self.slots.ready(),
            unwritten: self.endings.len(),
            stuck: self.runs.stuck(),
        });
        if self.phase != Phase::Serving || self.fenced.is_some() {
            return;
        }
        let down = self.endings.down_since().or(self.claimer.down_since());
        match down.map(|since| now - since) {
            Some(down) if down > UNWELL_AFTER => {
                self.gauges.not_ready("the database has not answered for over 30 s");
            }
            Some(_) => {}
            None => self.gauges.ready(),
        }
    }
}

/// Waits for the next order; for ever once nobody can give one.
pub(super) async fn changed(asked: &mut watch::Receiver<Asked>) {
    if asked.changed().await.is_err() {
        std::future::pending().await
    }
}

/// The answer to a batch of results.
type Written = (BatchNo, Result<Vec<Ack>>);

/// Waits for the next of them; for ever if none is under way.
async fn written(writing: &mut FuturesUnordered<JoinHandle<Written>>) -> Written {
    match writing.next().await {
        Some(Ok(written)) => written,
        // Nobody aborts these tasks, so it is a panic of ours.
        Some(Err(error)) => std::panic::resume_unwind(error.into_panic()),
        None => std::future::pending().await,
    }
}

/// Waits for a call under way; for ever if there is none. May be dropped without losing it.
pub(super) async fn answer<T>(call: &mut Option<JoinHandle<T>>) -> T {
    let Some(handle) = call else { return std::future::pending().await };
    let answer = handle.await;
    *call = None;
    match answer {
        Ok(answer) => answer,
        // Nobody aborts these tasks, so it is a panic of ours.
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

/// The jobs of one claim, as they come in.
pub(super) struct Batch {
    pub no: i64,
    /// The database's time at the claim; `None` if its reply was lost.
    pub now: Option<Timestamp>,
    pub jobs: Vec<ClaimedJob>,
}
