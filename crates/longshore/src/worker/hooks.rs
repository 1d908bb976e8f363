//! What the application is told of its runs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::run::Run;
use crate::job::{AttemptError, JobId, JobRow, State};
use crate::store::{ClaimedJob, Ending};

/// Is told when runs start and how they ended: for metrics, error reporters, alarms. A process that dies tells
/// nothing more, so nothing may depend on it. A hook that panics is logged, and the job is none the worse.
///
/// ```
/// use longshore::{Hook, RunReport, State};
/// struct Alarm;
/// impl Hook for Alarm {
///     fn ended(&self, run: &RunReport) {
///         if run.state == State::Dead {
///             eprintln!("{} {} is dead: {:?}", run.kind, run.id, run.error);
///         }
///     }
/// }
/// ```
pub trait Hook: Send + Sync + 'static {
    /// A handler is about to run. Called where it runs, so it must not block.
    fn started(&self, run: &Run) {
        let _ = run;
    }

    /// It was written how a run ended: here, or (`dead` with `node_lost`) by this node's rescue of another's
    /// jobs. Called one after the other on a task of its own; it must not block for long.
    fn ended(&self, run: &RunReport) {
        let _ = run;
    }
}

/// How a run ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RunReport {
    /// The job.
    pub id: JobId,
    /// Its kind.
    pub kind: String,
    /// Its queue.
    pub queue: String,
    /// Which attempt it was, from 1.
    pub attempt: u32,
    /// How many it may have in all.
    pub max_attempts: u32,
    /// What the job is now: succeeded, cancelled, dead; retrying or scheduled if it comes back; queued if it was
    /// given back.
    pub state: State,
    /// What went wrong, if something did.
    pub error: Option<AttemptError>,
    /// How long the handler ran; `None` if it was cut off.
    pub took: Option<Duration>,
}

impl RunReport {
    pub(crate) fn of(
        job: &ClaimedJob,
        ending: Option<&Ending>,
        state: State,
        took: Option<Duration>,
    ) -> RunReport {
        let error = match ending {
            Some(Ending::Failed { error, .. } | Ending::Dead { error }) => Some(error.clone()),
            _ => None,
        };
        RunReport {
            id: job.id,
            kind: job.kind.clone(),
            queue: job.queue.clone(),
            attempt: job.attempt,
            max_attempts: job.max_attempts,
            state,
            error,
            took,
        }
    }

    /// Of a job whose node was lost in its last attempt.
    pub(crate) fn of_lost(row: JobRow) -> RunReport {
        RunReport {
            id: row.id,
            kind: row.kind,
            queue: row.queue,
            attempt: row.attempt,
            max_attempts: row.max_attempts,
            state: row.state,
            error: row.errors.into_iter().last(),
            took: None,
        }
    }
}

/// A closure that is told how runs ended.
pub(super) struct OnEnd<F>(pub F);

impl<F: Fn(&RunReport) + Send + Sync + 'static> Hook for OnEnd<F> {
    fn ended(&self, run: &RunReport) {
        (self.0)(run);
    }
}

/// All hooks of a worker.
#[derive(Clone, Default)]
pub(crate) struct Hooks {
    all: Arc<Vec<Box<dyn Hook>>>,
    tell: Option<UnboundedSender<RunReport>>,
}

impl Hooks {
    /// Reports are handed on by a task on this runtime, which ends with the last clone.
    pub fn start(all: Vec<Box<dyn Hook>>, on: &Handle) -> Hooks {
        if all.is_empty() {
            return Hooks::default();
        }
        let all = Arc::new(all);
        // Unbounded: what is too slow here must not hold up a result.
        let (tell, mut told) = unbounded_channel::<RunReport>();
        let hooks = Arc::clone(&all);
        on.spawn(async move {
            while let Some(report) = told.recv().await {
                hooks.iter().for_each(|hook| safely(|| hook.ended(&report)));
                tokio::task::yield_now().await;
            }
        });
        Hooks { all, tell: Some(tell) }
    }

    /// Reports are handed on at once, where they come from: a test looks right after the run.
    #[cfg(feature = "testing")]
    pub fn at_once(all: Vec<Box<dyn Hook>>) -> Hooks {
        Hooks { all: Arc::new(all), tell: None }
    }

    /// For [`Hooks::at_once`].
    #[cfg(feature = "testing")]
    pub fn ended_here(&self, report: &RunReport) {
        self.all.iter().for_each(|hook| safely(|| hook.ended(report)));
    }

    /// Whether anybody listens: a report costs copies of names.
    pub fn any(&self) -> bool {
        self.tell.is_some()
    }

    pub fn started(&self, run: &Run) {
        self.all.iter().for_each(|hook| safely(|| hook.started(run)));
    }

    pub fn ended(&self, report: RunReport) {
        if let Some(tell) = &self.tell {
            let _ = tell.send(report);
        }
    }
}

fn safely(call: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(call)).is_err() {
        tracing::warn!("a hook panicked");
    }
}
