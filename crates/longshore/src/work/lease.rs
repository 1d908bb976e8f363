//! Hands jobs out: first those whose answer was lost, else newly claimed ones, at once or as soon as there are some.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;

use super::pace::{Pace, Why};
use super::{LONGEST_WAIT, MAX_SLOTS, Work, WorkError, WorkResult, counted, twice};
use crate::engine::within;
use crate::job::JobId;
use crate::observe::RunOutcome;
use crate::store::{
    Claim, Claimed, ClaimedJob, Ending, Held, KindAsk, NodeId, PausesSeen, QueueAsk, Remote,
    StoreError, Wish,
};
use crate::trace::Trace;
use crate::worker::CALL_LIMIT;
use crate::worker::marks::Marks;

/// The most jobs of one answer.
pub const MAX_JOBS: u32 = 100;
/// An answer ends before it has more than this of payloads, but for one that is larger alone.
pub const MAX_BYTES: usize = 8 << 20;
/// The most jobs that a call may list: what a worker runs, and what it still tells the end of.
pub const MAX_HOLDS: usize = 2_000;

/// A claim of an earlier call, whose caller hung up, may still be under way: nearly always it is over so soon.
const ASK_FIRST: Duration = Duration::from_millis(200);
/// Later a node that waits is looked at this often: what it holds by then, and, where no hint says so, what it is asked
/// to be.
const ASK_EVERY: Duration = Duration::from_secs(3);

/// A worker asks for jobs.
#[derive(Clone, Debug)]
pub struct Lease {
    /// From which queues, and how many of each, 1 to [`MAX_SLOTS`]; `None`: from all that it joined with.
    pub queues: Option<Vec<(String, u32)>>,
    /// How many in all, 1 to [`MAX_JOBS`].
    pub limit: u32,
    /// All jobs that it has received and whose end it has not had confirmed; at most [`MAX_HOLDS`].
    pub holds: Vec<JobId>,
    /// How long to wait for a first job, at most [`LONGEST_WAIT`]. Zero: not at all.
    pub wait: Duration,
}

/// The answer.
#[derive(Clone, Debug, Default)]
pub struct Leased {
    /// The jobs, in the order they should start.
    pub jobs: Vec<LeasedJob>,
    /// What the node is asked to be; then there are no new jobs. `None`: to serve.
    pub wish: Option<Wish>,
}

/// A job that the node holds.
#[derive(Clone, Debug)]
pub struct LeasedJob {
    /// The job. Its lease is below 2^53, so that it is a whole number in any language.
    pub job: ClaimedJob,
    /// It was handed out before, and that answer was lost.
    pub again: bool,
}

impl LeasedJob {
    /// The `traceparent` of the trace that the job was enqueued in.
    pub fn traceparent(&self) -> Option<String> {
        // One that is wrong would only be refused elsewhere.
        let notes = Trace::of_notes(self.job.meta.as_deref());
        Trace::parse(notes.parent.as_deref()?, None)?.parent
    }
}

impl Work {
    /// Jobs for a node. First those that it holds and does not list: an earlier answer was lost, or its caller hung
    /// up before it. Only if there are none, new ones are claimed; if there are none of these either, it waits. Once
    /// `stop` is ready it waits no longer, and claims nothing ([`WorkError::Stopping`]).
    pub async fn lease(
        &self,
        node: NodeId,
        ask: Lease,
        stop: impl Future<Output = ()>,
    ) -> WorkResult<Leased> {
        ask.check()?;
        let mut stop = pin!(stop);
        if stop.as_mut().now_or_never().is_some() {
            return Err(WorkError::Stopping);
        }
        let give_up = Instant::now() + ask.wait;
        // Hears before it looks, so that nothing comes between.
        let _hearing = (!ask.wait.is_zero()).then(|| self.ear.open(&self.client));
        let mut woken = self.client.store().wakes().subscribe();
        let mut wishes = self.client.store().wakes().wishes();
        let remote = self.remote(node).await?;
        self.client.metrics().name_remote(&remote);
        let queues = ask.served(&remote)?;

        if let Some(leased) = self.known(node, &ask, remote.wish).await? {
            return Ok(leased);
        }
        let mut looks = Looks::new(node, queues, ask.limit, remote.kinds.into());
        if let Some(leased) = self.look(&mut looks, true).await? {
            return Ok(leased);
        }
        let mut pace = Pace::new(Instant::now());
        pace.falls_due(looks.due_at);
        let mut ask_at = Instant::now() + ASK_FIRST;
        loop {
            let now = Instant::now();
            if now >= give_up {
                return Ok(Leased::default());
            }
            let asked = now >= ask_at || wishes.has_changed().unwrap_or(false);
            if asked {
                wishes.borrow_and_update();
                ask_at = now + ASK_EVERY;
                let wish = self.remote(node).await?.wish;
                if let Some(leased) = self.known(node, &ask, wish).await? {
                    return Ok(leased);
                }
            }
            if let Some(why) = pace.due(now) {
                pace.looks(why);
                if let Some(leased) = self.look(&mut looks, why == Why::Poll).await? {
                    return Ok(leased);
                }
                pace.in_vain(why, Instant::now());
                pace.falls_due(looks.due_at);
                continue;
            }
            let wake_at = pace.next().min(ask_at).min(give_up);
            tokio::select! {
                biased;
                () = &mut stop => return Err(WorkError::Stopping),
                news = woken.news() => {
                    looks.from_start |= news.from_start;
                    if news.look {
                        pace.woken();
                    }
                }
                Ok(()) = wishes.changed() => ask_at = now,
                () = tokio::time::sleep_until(wake_at.into()) => {}
            }
        }
    }

    /// The answer for a node that holds jobs that it does not list, or that is to get no new ones.
    async fn known(
        &self,
        node: NodeId,
        ask: &Lease,
        wish: Option<Wish>,
    ) -> WorkResult<Option<Leased>> {
        let (known, most) = (ask.holds.clone(), ask.limit);
        let doing = "look what a node holds";
        let held =
            self.call(doing, move |store| async move { store.held(node, &known, most).await });
        let again = |job| LeasedJob { job, again: true };
        let mut jobs: Vec<LeasedJob> = held.await?.into_iter().map(again).collect();
        // The others come with the next call: they are not listed then either.
        jobs.truncate(fitting(jobs.iter().map(|one| &one.job)));
        Ok((!jobs.is_empty() || wish.is_some()).then_some(Leased { jobs, wish }))
    }

    /// One claim. Once begun it is carried out even if its caller hangs up: then its jobs are handed out by the node's
    /// next call. Whoever hangs up before their turn claims nothing.
    async fn look(&self, looks: &mut Looks, stragglers: bool) -> WorkResult<Option<Leased>> {
        let turns = Arc::clone(&self.looks);
        let turn = turns.acquire_owned().await.expect("nobody closes it");
        let began = Instant::now();
        let from_start = looks.begin(stragglers, began);
        let asks = looks.asks();
        let (node, no, most) = (looks.node, fresh_number()?, Some(looks.limit));
        let (sent, kinds) = (asks.clone(), Arc::clone(&looks.kinds));
        let store = Arc::clone(self.client.store());
        let claim = async move {
            let _turn = turn;
            let claim = Claim { node, no, queues: &sent, kinds: &kinds, most };
            within(CALL_LIMIT, "claim jobs", store.claim(&claim)).await
        };
        let mut claimed = self.client.engine().run(claim).await?;
        if !claimed.live {
            return Err(WorkError::lost(node));
        }
        looks.learn(&asks, &claimed, from_start.then(|| began.elapsed()));
        if claimed.jobs.is_empty() {
            return Ok(None);
        }
        for job in &claimed.jobs {
            let pair = self.client.metrics().pair(&job.kind, &job.queue);
            pair.claimed(Some(claimed.now.since(job.run_at)));
        }
        let beyond = claimed.jobs.split_off(fitting(claimed.jobs.iter()));
        self.give_back(node, &beyond).await;
        tracing::debug!(%node, jobs = claimed.jobs.len(), "handed out");
        let new = |job| LeasedJob { job, again: false };
        let jobs = claimed.jobs.into_iter().map(new).collect();
        Ok(Some(Leased { jobs, wish: None }))
    }

    /// Jobs for which an answer has no room. Should that fail, the node holds them, and they are handed out again.
    async fn give_back(&self, node: NodeId, jobs: &[ClaimedJob]) {
        if jobs.is_empty() {
            return;
        }
        let held = |job: &ClaimedJob| Held { id: job.id, lease: job.lease };
        let ended: Vec<(Held, Ending)> =
            jobs.iter().map(|job| (held(job), Ending::GivenBack)).collect();
        let doing = "give jobs back";
        let given = self.call(doing, move |store| async move { store.finish(node, &ended).await });
        match given.await {
            Ok(_) => jobs.iter().for_each(|job| {
                let pair = self.client.metrics().pair(&job.kind, &job.queue);
                pair.finished(RunOutcome::GivenBack);
            }),
            Err(error) => tracing::warn!(%node, "could not give jobs back: {error}"),
        }
    }
}

impl Lease {
    fn check(&self) -> WorkResult<()> {
        if !(1..=MAX_JOBS).contains(&self.limit) {
            let range = (1, u128::from(MAX_JOBS));
            return Err(WorkError::range("/limit", "limit", u128::from(self.limit), range));
        }
        counted("/holds", "holds", self.holds.len(), (0, MAX_HOLDS))?;
        if self.wait > LONGEST_WAIT {
            let (wait, most) = (self.wait.as_millis(), LONGEST_WAIT.as_millis());
            return Err(WorkError::range("/wait_ms", "wait_ms", wait, (0, most)));
        }
        let Some(queues) = &self.queues else { return Ok(()) };
        counted("/queues", "queues", queues.len(), (1, super::MAX_QUEUES))?;
        for (at, (_, limit)) in queues.iter().enumerate() {
            if !(1..=MAX_SLOTS).contains(limit) {
                let place = format!("/queues/{at}/limit");
                let range = (1, u128::from(MAX_SLOTS));
                return Err(WorkError::range(&place, "limit", u128::from(*limit), range));
            }
        }
        twice("/queues", "queue", queues.iter().map(|(queue, _)| queue))
    }

    /// The queues that are asked for, all of them among those that the node joined with.
    fn served(&self, remote: &Remote) -> WorkResult<Vec<(String, u32)>> {
        let Some(queues) = &self.queues else { return Ok(remote.queues.clone()) };
        for (at, (queue, _)) in queues.iter().enumerate() {
            if !remote.queues.iter().any(|(served, _)| served == queue) {
                let shown = crate::job::name::shown(queue);
                let detail = format!("queue `{shown}` is none that this worker joined with");
                return Err(WorkError::refused(&format!("/queues/{at}/queue"), detail));
            }
        }
        Ok(queues.clone())
    }
}

/// The looks of one call, which learn from each other.
struct Looks {
    node: NodeId,
    queues: Vec<(String, u32)>,
    limit: u32,
    kinds: Arc<[KindAsk]>,
    /// Where the next look starts, so that those that a hint asks for are cheap.
    marks: Marks,
    from_start: bool,
    /// The pauses that the last look obeyed.
    pauses: Option<PausesSeen>,
    /// When the next job falls due, as far as it saw.
    due_at: Option<Instant>,
}

impl Looks {
    fn new(node: NodeId, queues: Vec<(String, u32)>, limit: u32, kinds: Arc<[KindAsk]>) -> Looks {
        let (marks, from_start, pauses, due_at) = (Marks::new(), true, None, None);
        Looks { node, queues, limit, kinds, marks, from_start, pauses, due_at }
    }

    /// Whether this look is from the start.
    fn begin(&mut self, stragglers: bool, now: Instant) -> bool {
        let from_start =
            std::mem::take(&mut self.from_start) || (stragglers && self.marks.start_is_due(now));
        if from_start {
            self.marks.reset();
        }
        from_start
    }

    /// What is asked of each queue. Those that come first get their jobs first where the answer has no room for all,
    /// so chance says which: none waits for ever behind another.
    fn asks(&mut self) -> Vec<QueueAsk> {
        fastrand::shuffle(&mut self.queues);
        let ask = |(queue, limit): &(String, u32)| QueueAsk {
            marks: self.marks.of(queue),
            queue: queue.clone(),
            limit: *limit,
        };
        self.queues.iter().map(ask).collect()
    }

    fn learn(&mut self, asks: &[QueueAsk], claimed: &Claimed, from_start: Option<Duration>) {
        if let Some(took) = from_start {
            self.marks.looked_from_start(Instant::now(), took);
        }
        // With jobs the call is answered; and where the answer's own limit was reached, nobody knows which lanes were
        // seen to their ends.
        if claimed.jobs.is_empty() {
            self.marks.learn(asks, claimed);
        }
        // Marks have moved past what was paused.
        let before = self.pauses.replace(claimed.pauses);
        self.from_start |= before.is_some_and(|before| before.mark != claimed.pauses.mark);
        let left = claimed.next_due.map(|at| at.since(claimed.now).min(LONGEST_WAIT));
        self.due_at = left.map(|left| Instant::now() + left);
    }
}

/// How many of these an answer has room for; one at least.
fn fitting<'a>(jobs: impl Iterator<Item = &'a ClaimedJob>) -> usize {
    let mut bytes = 0;
    let fits = jobs.take_while(|job| {
        let first = bytes == 0;
        bytes += 1 + job.payload.len() + job.meta.as_ref().map_or(0, |notes| notes.len());
        first || bytes <= MAX_BYTES
    });
    fits.count()
}

/// A claim's number: 53 random bits, so that it is a whole number in any language; see ADR 0023.
fn fresh_number() -> Result<i64, StoreError> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|source| StoreError::Unavailable {
        doing: "number a claim",
        source: source.into(),
    })?;
    Ok(((u64::from_le_bytes(bytes) >> 11) as i64).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_claims_are_whole_numbers_in_any_language() {
        let numbers: std::collections::HashSet<i64> =
            (0..10_000).map(|_| fresh_number().unwrap()).collect();
        assert_eq!(numbers.len(), 10_000);
        assert!(numbers.iter().all(|number| (1..1 << 53).contains(number)));
        assert!(numbers.iter().any(|number| *number > 1 << 51), "all bits are used");
    }
}
