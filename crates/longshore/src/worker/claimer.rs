//! The claim funnel: one claim at a time for all queues of the node.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;

use super::CALL_LIMIT;
use super::marks::Marks;
use super::node::{Batch, answer};
use super::patience::Patience;
use super::rest::Rest;
use super::slots::Slots;
use crate::client::Client;
use crate::engine::within;
use crate::store::{Claim, Claimed, ClaimedJob, KindAsk, NodeId, PausesSeen, QueueAsk, Result};

/// A commit that shared its wake-up with an earlier one is found this long after it.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(60);

/// What comes later than this is asked about again meanwhile.
const LONGEST_NAP: Duration = Duration::from_secs(3_600);

/// Jobs that fall due one after the other are claimed together, at this distance.
const DUE_APART: Duration = Duration::from_millis(5);

/// What came back.
pub(super) enum Looked {
    Claim(Result<Claimed>),
    Recall(Result<Vec<ClaimedJob>>),
}

/// A claim under way, or one whose reply was lost.
struct Sent {
    asks: Vec<QueueAsk>,
    from_start: bool,
    because_woken: bool,
    at: Instant,
}

pub(super) struct Claimer {
    node: NodeId,
    kinds: Arc<[KindAsk]>,
    poll_every: Duration,
    no: i64,
    marks: Marks,
    sent: Option<Sent>,
    call: Option<JoinHandle<Looked>>,
    /// The reply of `sent` was lost: ask for it before anything else.
    recall: bool,
    /// A hint that came while a claim was under way, which may have looked before it.
    woken_meanwhile: bool,
    woken: bool,
    /// After looks in vain a hint waits a moment, and what falls due with it; the poll does not.
    rest: Rest,
    is_due: bool,
    from_start: bool,
    poll_at: Instant,
    again_at: Option<Instant>,
    /// When the next job falls due, as far as the last claim saw, or a run says that is repeated. The poll finds what
    /// was scheduled since.
    due_at: Option<Instant>,
    /// The pauses that the last claim obeyed.
    pauses: Option<PausesSeen>,
    /// When the first of them ends by itself.
    resume_at: Option<Instant>,
    not_before: Option<Instant>,
    patience: Patience,
    lost: bool,
}

impl Claimer {
    pub fn new(node: NodeId, kinds: Arc<[KindAsk]>, poll_every: Duration) -> Claimer {
        Claimer {
            node,
            kinds,
            poll_every,
            no: 0,
            marks: Marks::new(),
            sent: None,
            call: None,
            recall: false,
            woken_meanwhile: false,
            woken: false,
            rest: Rest::default(),
            is_due: false,
            from_start: true,
            poll_at: Instant::now(),
            again_at: None,
            due_at: None,
            pauses: None,
            resume_at: None,
            not_before: None,
            patience: Patience::new("claim jobs"),
            lost: false,
        }
    }

    /// There may be new jobs; `from_start`: below the marks, too.
    pub fn woken(&mut self, slots: &mut Slots, from_start: bool) {
        self.woken = true;
        self.from_start |= from_start;
        self.woken_meanwhile = self.call.is_some();
        slots.all_may_have_more();
    }

    /// A job falls due so long from now.
    pub fn due_in(&mut self, delay: Duration) {
        if delay <= LONGEST_NAP {
            let at = Instant::now() + delay;
            self.due_at = Some(self.due_at.map_or(at, |soonest| soonest.min(at)));
        }
    }

    /// The poll, the second look after a hint, and the look for what falls due.
    pub fn mind_the_time(&mut self, slots: &mut Slots, now: Instant) {
        let again = self.again_at.is_some_and(|at| now >= at);
        if again {
            self.again_at = None;
        }
        if self.due_at.is_some_and(|at| now >= at) {
            self.due_at = None;
            slots.all_may_have_more();
        }
        let resumed = self.resume_at.is_some_and(|at| now >= at);
        if resumed {
            self.resume_at = None;
            self.from_start = true;
        }
        if now >= self.poll_at {
            self.poll_at = now + self.poll_every;
        } else if !again && !resumed {
            return;
        }
        self.is_due = true;
        slots.all_may_have_more();
    }

    /// Claims what fits, unless a claim is under way.
    pub fn claim(&mut self, client: &Client, slots: &mut Slots, now: Instant) {
        if self.call.is_some() || self.not_before.is_some_and(|at| now < at) {
            return;
        }
        if self.recall {
            return self.ask_again(client);
        }
        let asks = slots.asks();
        if asks.is_empty() || (self.rest.covers(&asks, now) && !self.is_due) {
            return;
        }
        self.is_due = false;
        // Now and then for stragglers, too, however busy this node is: nobody else may find them.
        let from_start = std::mem::take(&mut self.from_start) || self.marks.start_is_due(now);
        if from_start {
            self.marks.reset();
        }
        let asks: Vec<QueueAsk> = asks
            .into_iter()
            .map(|(queue, limit)| QueueAsk { marks: self.marks.of(&queue), queue, limit })
            .collect();
        self.no += 1;
        self.poll_at = now + self.poll_every;
        let because_woken = std::mem::take(&mut self.woken);
        self.sent = Some(Sent { asks: asks.clone(), from_start, because_woken, at: now });
        let (store, kinds) = (Arc::clone(client.store()), Arc::clone(&self.kinds));
        let (node, no) = (self.node, self.no);
        self.call = Some(client.engine().spawn(async move {
            let claim = Claim { node, no, queues: &asks, kinds: &kinds, most: None };
            Looked::Claim(within(CALL_LIMIT, "claim jobs", store.claim(&claim)).await)
        }));
    }

    /// Only asks for a claim whose reply was lost: for a node that claims nothing more, and stays.
    pub fn settle(&mut self, client: &Client, now: Instant) {
        if self.recall && self.call.is_none() && self.not_before.is_none_or(|at| now >= at) {
            self.ask_again(client);
        }
    }

    /// When that is due.
    pub fn settle_at(&self) -> Option<Instant> {
        self.not_before.filter(|_| self.recall && self.call.is_none())
    }

    fn ask_again(&mut self, client: &Client) {
        let (store, node, no) = (Arc::clone(client.store()), self.node, self.no);
        self.call = Some(client.engine().spawn(async move {
            Looked::Recall(within(CALL_LIMIT, "ask for a lost claim", store.recall(node, no)).await)
        }));
    }

    /// Waits for the claim under way; for ever if there is none.
    pub async fn looked(&mut self) -> Looked {
        answer(&mut self.call).await
    }

    /// Learns from an answer and hands over the jobs, if the answer is one.
    pub fn take_in(&mut self, looked: Looked, slots: &mut Slots) -> Option<Batch> {
        let batch = match looked {
            Looked::Claim(Ok(claimed)) => {
                let now = Some(claimed.now);
                let jobs = self.learn(claimed, slots);
                (!jobs.is_empty()).then_some(Batch { no: self.no, now, jobs })
            }
            Looked::Recall(Ok(jobs)) => {
                let (no, count) = (self.no, jobs.len());
                tracing::info!(no, jobs = count, "a claim whose reply was lost is settled");
                self.look_behind();
                slots.all_may_have_more();
                // Even without jobs: the store may have made a note of it.
                Some(Batch { no, now: None, jobs })
            }
            Looked::Claim(Err(error)) | Looked::Recall(Err(error)) => {
                // It may have been carried out, so its number is asked for first.
                self.recall = true;
                self.not_before = Some(self.patience.failed(&error));
                return None;
            }
        };
        self.recall = false;
        self.not_before = None;
        self.patience.worked();
        if std::mem::take(&mut self.woken_meanwhile) {
            slots.all_may_have_more();
        }
        batch
    }

    /// After a claim that came to nothing: from the start, unless it fails for just that.
    fn look_behind(&mut self) {
        let from_start = self.sent.take().is_some_and(|sent| sent.from_start);
        self.from_start |= !from_start || self.marks.failed_from_start(Instant::now());
    }

    fn learn(&mut self, claimed: Claimed, slots: &mut Slots) -> Vec<ClaimedJob> {
        let Some(sent) = self.sent.take() else { return claimed.jobs };
        self.lost |= !claimed.live;
        let ended = Instant::now();
        let took = ended - sent.at;
        slots.claim_took(took);
        self.rest.looked(&sent.asks, (sent.at, ended), claimed.picked > 0);
        if sent.from_start {
            self.marks.looked_from_start(Instant::now(), took);
        }
        self.marks.learn(&sent.asks, &claimed);
        let missed = claimed.picked > claimed.jobs.len();
        let mut short = false;
        for ask in &sent.asks {
            let got = claimed.jobs.iter().filter(|job| job.queue == ask.queue).count();
            let more = missed || got >= ask.limit as usize;
            short |= !more;
            slots.looked(&ask.queue, more);
        }
        if self.heed(&claimed) {
            slots.all_may_have_more();
        }
        if let Some(at) = claimed.next_due {
            self.due_in(at.since(claimed.now).max(DUE_APART.saturating_sub(took)));
        }
        if short && sent.because_woken {
            self.again_at = Some(Instant::now() + LOOK_AGAIN_AFTER);
        }
        claimed.jobs
    }

    /// Marks have moved past what was paused: whenever something else is paused than at the claim before, the next
    /// look is from the start, and so is the one when a pause ends by itself. The hint of whoever resumes only makes
    /// it sooner. Answers whether there is such a look to make now.
    fn heed(&mut self, claimed: &Claimed) -> bool {
        let seen = claimed.pauses;
        let left = seen.next_end.map(|end| end.since(claimed.now).min(LONGEST_NAP));
        self.resume_at = left.map(|left| Instant::now() + left);
        let changed = self.pauses.replace(seen).is_some_and(|before| before.mark != seen.mark);
        self.from_start |= changed;
        changed
    }

    /// Whether a claim is under way.
    pub fn is_busy(&self) -> bool {
        self.call.is_some()
    }

    /// Whether a claim said that this node is lost.
    pub fn found_lost(&self) -> bool {
        self.lost
    }

    pub fn down_since(&self) -> Option<Instant> {
        self.patience.down_since()
    }

    pub fn next_timer(&self, now: Instant) -> Option<Instant> {
        if self.call.is_some() {
            return None;
        }
        let rested = self.rest.until(now);
        [Some(self.poll_at), self.again_at, self.due_at, self.resume_at, self.not_before, rested]
            .into_iter()
            .flatten()
            .min()
    }
}
