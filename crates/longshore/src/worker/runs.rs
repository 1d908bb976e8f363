//! The handlers that run now: started, watched by the clock, told to stop, and settled once.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::AbortHandle;

use super::hooks::Hooks;
use super::registry::Registry;
use super::run::{self, Around, Ended, Report, Run, Stop, StopReason};
use super::scribe::Scribe;
use crate::client::Client;
use crate::extract::States;
use crate::job::JobId;
use crate::store::{ClaimedJob, Level, NodeId};
use crate::trace::{Received, TraceMode};

/// One that runs.
struct Running {
    job: Arc<ClaimedJob>,
    serial: u64,
    deadline: Option<Instant>,
    stop: Stop,
    task: AbortHandle,
}

/// A run that is settled: its slot is free and one thing is to be written of it.
pub(super) struct Settled {
    pub job: Arc<ClaimedJob>,
    pub stopped: Option<StopReason>,
}

/// What the application gave its worker.
#[derive(Clone)]
pub(super) struct Known {
    pub registry: Registry,
    pub states: Arc<States>,
    pub hooks: Hooks,
    pub log_level: Level,
    pub trace: TraceMode,
}

/// All that run on this node.
pub(super) struct Runs {
    on: Handle,
    client: Client,
    known: Known,
    node: NodeId,
    scribe: Arc<Scribe>,
    serial: u64,
    running: HashMap<JobId, Running>,
    deadlines: BTreeSet<(Instant, JobId)>,
    /// Settled from outside, while their code may still be running.
    cut_off: HashSet<u64>,
    ended: UnboundedSender<Ended>,
}

impl Runs {
    pub fn new(
        on: Handle,
        client: Client,
        known: Known,
        node: NodeId,
    ) -> (Runs, UnboundedReceiver<Ended>) {
        // Unbounded, but never longer than there are handlers.
        let (ended, ends) = unbounded_channel();
        let scribe = Scribe::new(Arc::clone(client.store()), node, known.log_level);
        let runs = Runs {
            on,
            client,
            known,
            node,
            scribe,
            serial: 0,
            running: HashMap::new(),
            deadlines: BTreeSet::new(),
            cut_off: HashSet::new(),
            ended,
        };
        (runs, ends)
    }

    /// Starts the handler of `job`; false if this node has none, which a claim by kinds rules out.
    pub fn start(&mut self, job: &Arc<ClaimedJob>, received: Received) -> bool {
        let Some(handler) = self.known.registry.get(&job.kind) else { return false };
        self.serial += 1;
        let stop = Stop::default();
        let limit = job.timeout_ms.map(|ms| Duration::from_millis(ms.max(1) as u64));
        let deadline = limit.map(|limit| Instant::now() + limit);
        let run = Run {
            job: Arc::clone(job),
            node: self.node,
            stop: stop.clone(),
            deadline,
            client: self.client.clone(),
            states: Arc::clone(&self.known.states),
            scribe: Arc::clone(&self.scribe),
        };
        let report = Report::new(&run, self.serial, self.ended.clone())
            .asking(self.known.registry.backoff(&job.kind));
        let around =
            Around { report, hooks: self.known.hooks.clone(), received, trace: self.known.trace };
        let task = run::start(handler, run, &self.on, around);
        if let Some(deadline) = deadline {
            self.deadlines.insert((deadline, job.id));
        }
        let job = Arc::clone(job);
        let running = Running { serial: self.serial, deadline, stop, task, job };
        self.running.insert(running.job.id, running);
        true
    }

    /// A job that was claimed again while it runs here (the claim before was lost in a crash of the
    /// database): the old run goes on under the new number.
    pub fn take_over(&mut self, job: &Arc<ClaimedJob>) -> Option<i64> {
        let running = self.running.get_mut(&job.id)?;
        let old = std::mem::replace(&mut running.job, Arc::clone(job));
        running.stop.under(job.lease);
        Some(old.lease)
    }

    /// A handler's own end; `None` if it was settled from outside before.
    pub fn ended(&mut self, ended: &Ended) -> Option<Settled> {
        if self.cut_off.remove(&ended.serial) {
            return None;
        }
        let ours = self.running.get(&ended.id).is_some_and(|run| run.serial == ended.serial);
        if ours { self.remove(ended.id).map(|run| settled(&run)) } else { None }
    }

    /// Cuts off one run whose time is over, if there is one.
    pub fn time_out(&mut self, now: Instant) -> Option<Settled> {
        let (deadline, id) = *self.deadlines.first()?;
        if deadline > now {
            return None;
        }
        self.cut_off(id, StopReason::Timeout)
    }

    /// When the next run's time is over.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    /// Cuts off every run.
    pub fn cut_off_all(&mut self, reason: StopReason) -> Vec<Settled> {
        let all: Vec<JobId> = self.running.keys().copied().collect();
        all.into_iter().filter_map(|id| self.cut_off(id, reason)).collect()
    }

    fn cut_off(&mut self, id: JobId, reason: StopReason) -> Option<Settled> {
        let run = self.remove(id)?;
        run.stop.signal(reason);
        run.stop.cut_off();
        run.task.abort();
        self.cut_off.insert(run.serial);
        Some(settled(&run))
    }

    fn remove(&mut self, id: JobId) -> Option<Running> {
        let run = self.running.remove(&id)?;
        if let Some(deadline) = run.deadline {
            self.deadlines.remove(&(deadline, id));
        }
        Some(run)
    }

    /// Hands over all that run; nothing is heard of them any more.
    pub fn take_all(&mut self) -> Runs {
        let (on, client) = (self.on.clone(), self.client.clone());
        let (empty, _) = Runs::new(on, client, self.known.clone(), self.node);
        std::mem::replace(self, empty)
    }

    /// Tells one run to stop.
    pub fn stop(&self, id: JobId, reason: StopReason) {
        if let Some(run) = self.running.get(&id) {
            run.stop.signal(reason);
        }
    }

    /// Tells every run to stop.
    pub fn stop_all(&self, reason: StopReason) {
        self.running.values().for_each(|run| run.stop.signal(reason));
    }

    pub fn hooks(&self) -> &Hooks {
        &self.known.hooks
    }

    /// Who writes what they say.
    pub fn scribe(&self) -> &Arc<Scribe> {
        &self.scribe
    }

    pub fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    pub fn len(&self) -> usize {
        self.running.len()
    }

    /// Handlers that were cut off and whose code still runs: they hold a thread that nothing can
    /// take from them.
    pub fn stuck(&self) -> usize {
        self.cut_off.len()
    }
}

fn settled(run: &Running) -> Settled {
    Settled { job: Arc::clone(&run.job), stopped: run.stop.reason() }
}
