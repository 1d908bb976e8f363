//! All due jobs, one after the other.

use std::fmt;
use std::future::IntoFuture;
use std::sync::Arc;
use std::time::Duration;

use super::look::{self, WAITING};
use super::table::columns;
use super::{App, Checked, Ended, Kit, Ran, spoken, step, with_causes};
use crate::job::name::shown;
use crate::job::{JobRow, State};
use crate::store::Rescued;
use crate::worker::once::{Hands, Once};

/// Runs that a drain makes, unless it is told otherwise.
const MOST_RUNS: u32 = 1_000;
/// Somebody else took what was due so often in a row.
const MOST_MISSES: u32 = 100;

/// Runs jobs until none is due. It starts when it is awaited.
#[must_use = "nothing is run until it is awaited"]
pub struct Drain {
    kit: Kit,
    app: App,
    queues: Vec<String>,
    at_most: u32,
    limit: u32,
    scheduled: bool,
}

/// What a drain did. It prints as a table of the runs.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Drained {
    /// Runs that ended well.
    pub succeeded: u32,
    /// Runs that failed and are repeated.
    pub failed: u32,
    /// Jobs that are dead now.
    pub dead: u32,
    /// Runs whose job was put off, snoozed or throttled.
    pub snoozed: u32,
    /// Jobs that ended cancelled.
    pub cancelled: u32,
    /// Runs that brought nothing: their node crashed, or they were given back, or had lost their lease.
    pub lost: u32,
    /// Jobs that are due, but wait for a handler or a queue that this worker does not have.
    pub unserved: u32,
    /// How far the clock was moved.
    pub moved: Duration,
    /// All runs, in their order.
    pub runs: Vec<Ran>,
}

impl Drain {
    pub(super) fn new(kit: Kit, app: App) -> Drain {
        let (queues, at_most, limit) = (Vec::new(), u32::MAX, MOST_RUNS);
        Drain { kit, app, queues, at_most, limit, scheduled: false }
    }

    /// Only this queue; said several times, these.
    pub fn queue(mut self, queue: impl Into<String>) -> Drain {
        self.queues.push(queue.into());
        self
    }

    /// Stops after so many runs, however many more are due.
    pub fn at_most(mut self, runs: u32) -> Drain {
        self.at_most = runs;
        self
    }

    /// More runs than this fail the test, since jobs that enqueue each other never come to an end. Default 1,000.
    pub fn limit(mut self, runs: u32) -> Drain {
        self.limit = runs;
        self
    }

    /// Moves the clock whenever nothing is due, to when the next job is (scheduled, retrying, or held by a node
    /// that crashed), until nothing waits any more.
    pub fn with_scheduled(mut self) -> Drain {
        self.scheduled = true;
        self
    }

    async fn run(self) -> Result<Drained, String> {
        let hands = self.app.hands(&self.kit.client)?;
        let mut drained = Drained::default();
        let mut node: Option<Once> = None;
        let mut misses = 0;
        rescue(&self.kit).await?;
        while (drained.runs.len() as u32) < self.at_most {
            let waiting = look::jobs(&self.kit, &WAITING).await?;
            let (served, others): (Vec<_>, Vec<_>) =
                waiting.iter().partition(|job| self.serves(&hands, job));
            drained.unserved =
                others.iter().filter(|job| job.state == State::Queued).count() as u32;
            let due = served.iter().filter(|job| job.state == State::Queued);
            let Some(next) = due.min_by_key(|job| (job.priority, job.run_at, job.id)) else {
                // A lease would not last.
                leave(node.take()).await?;
                if !self.scheduled || !self.move_clock(&served, &mut drained).await? {
                    break;
                }
                continue;
            };
            if drained.runs.len() as u32 >= self.limit {
                return Err(self.endless(&drained, next));
            }
            match self.run_next(&hands, &mut node, next).await? {
                Some(ran) => {
                    misses = 0;
                    drained.add(ran);
                }
                None if misses < MOST_MISSES => misses += 1,
                None => return Err(format!("job {} {BESIDE}", next.id)),
            }
        }
        leave(node).await?;
        Ok(drained)
    }

    fn serves(&self, hands: &Hands, job: &JobRow) -> bool {
        let wanted = self.queues.is_empty() || self.queues.contains(&job.queue);
        wanted && hands.serves(&job.queue) && hands.knows(job)
    }

    /// Claims the job that is first in its queue, and runs it.
    async fn run_next(
        &self,
        hands: &Hands,
        node: &mut Option<Once>,
        next: &JobRow,
    ) -> Result<Option<Ran>, String> {
        let kit = &self.kit;
        let mut this = match node.take() {
            Some(node) => node,
            None => step::join(hands, Arc::clone(kit.client.store())).await?,
        };
        let claimed = this.claim(&next.queue, &hands.asks(), 1).await;
        let ran = match claimed.map_err(|error| with_causes(&error))?.pop() {
            Some(job) => Some(step::run(kit, &mut this, job).await?),
            None => kit.faults.is_gone(this.id()).then(|| Ran::crashed_before(next)),
        };
        // One that crashed does nothing more; the next job finds another.
        *node = (!kit.faults.is_gone(this.id())).then_some(this);
        Ok(ran)
    }

    /// Moves the clock to when something is due, and rescues; whether there is anything.
    async fn move_clock(&self, served: &[&JobRow], drained: &mut Drained) -> Result<bool, String> {
        let now = self.kit.clock.now();
        let nodes = self.kit.call(|store| async move { store.nodes().await }).await?;
        let gone = self.kit.faults.gone();
        let held = nodes
            .iter()
            .filter(|node| gone.contains(&node.id) && node.lost_at.is_none() && node.running > 0);
        let due = served.iter().filter_map(|job| job.run_at).filter(|at| *at > now);
        let Some(next) = due.chain(held.map(|node| node.expires_at)).min() else {
            return Ok(false);
        };
        let span = next.since(now);
        self.kit.clock.advance(span);
        drained.moved += span;
        rescue(&self.kit).await?;
        Ok(true)
    }

    fn endless(&self, drained: &Drained, next: &JobRow) -> String {
        let last = drained.runs.len().saturating_sub(5);
        let mut tail = Drained::default();
        drained.runs[last..].iter().cloned().for_each(|ran| tail.add(ran));
        format!(
            "{} runs, and a job of kind `{}` is still due: do jobs enqueue each other for ever? `.limit(n)` allows \
             more, `.at_most(n)` stops without a failure. The last runs:\n{}",
            drained.runs.len(),
            shown(&next.kind),
            tail.table()
        )
    }
}

const BESIDE: &str = "is queued but was not to be had; does a worker run beside this test?";

impl IntoFuture for Drain {
    type Output = Drained;
    type IntoFuture = Checked<'static, Drained>;

    fn into_future(self) -> Checked<'static, Drained> {
        Checked::new(self.run())
    }
}

async fn leave(node: Option<Once>) -> Result<(), String> {
    match node {
        Some(node) => node.leave().await.map_err(|error| with_causes(&error)),
        None => Ok(()),
    }
}

/// Gives away the jobs of nodes whose lease is over, as each serving node does.
async fn rescue(kit: &Kit) -> Result<(), String> {
    while kit.call(|store| async move { store.rescue().await }).await? != Rescued::default() {}
    Ok(())
}

impl Drained {
    fn add(&mut self, ran: Ran) {
        let count = match ran.ended {
            Ended::Succeeded => &mut self.succeeded,
            Ended::Retry { .. } => &mut self.failed,
            Ended::Dead => &mut self.dead,
            Ended::Snoozed { .. } | Ended::Throttled { .. } => &mut self.snoozed,
            Ended::Cancelled => &mut self.cancelled,
            Ended::GivenBack | Ended::LeaseLost | Ended::Crashed => &mut self.lost,
        };
        *count += 1;
        self.runs.push(ran);
    }

    fn table(&self) -> String {
        let head = ["kind", "queue", "attempt", "ended", "error"].map(str::to_owned);
        let lines: Vec<_> = std::iter::once(head).chain(self.runs.iter().map(Ran::line)).collect();
        columns(&lines)
    }
}

impl fmt::Debug for Drained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Drained { succeeded, failed, dead, snoozed, cancelled, lost, unserved, .. } = *self;
        let counts = [
            (succeeded, "succeeded"),
            (failed, "failed"),
            (dead, "dead"),
            (snoozed, "snoozed"),
            (cancelled, "cancelled"),
            (lost, "lost"),
            (unserved, "not served"),
        ];
        let some = counts.iter().filter(|(count, _)| *count > 0);
        let some: Vec<String> = some.map(|(count, what)| format!("{count} {what}")).collect();
        let said = if some.is_empty() { "nothing was due".to_owned() } else { some.join(", ") };
        write!(f, "drained: {said}")?;
        if !self.moved.is_zero() {
            write!(f, "; the clock was moved by {}", spoken(self.moved))?;
        }
        if self.runs.is_empty() { Ok(()) } else { write!(f, "\n{}", self.table()) }
    }
}
