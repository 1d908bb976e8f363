//! Results on their way into the database: kept until they are written, or the lease is lost.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::patience::Patience;
use super::slots::BATCH;
use super::verdict::unstorable;
use crate::store::{Ack, ClaimedJob, Ending, Held, NodeId, StoreError};

/// With so many unwritten results a node claims nothing more.
const TOO_MANY: usize = 3 * BATCH as usize;
/// Bytes of one statement: outputs may be large.
const MAX_BYTES: usize = 4 << 20;

/// The finish funnel: what has gathered is sent the moment no other batch is under way, or a full one beside it.
pub(super) struct Endings {
    waiting: VecDeque<Unwritten>,
    under_way: Vec<(BatchNo, Vec<Unwritten>)>,
    last_no: BatchNo,
    /// How many batches may be under way.
    lanes: usize,
    not_before: Option<Instant>,
    patience: Patience,
    /// How many to send at once; few after an error of a statement, until the bad one is found.
    at_once: usize,
}

/// Which batch an answer is for.
pub(super) type BatchNo = u64;

/// One result.
pub(super) struct Unwritten {
    pub job: Arc<ClaimedJob>,
    pub ending: Ending,
    /// How long its handler ran, if it said the end itself.
    pub took: Option<Duration>,
    /// It failed alone before, and says so now instead.
    replaced: bool,
}

impl Unwritten {
    fn held(&self) -> Held {
        Held { id: self.job.id, lease: self.job.lease }
    }

    fn size_bytes(&self) -> usize {
        match &self.ending {
            Ending::Succeeded { output } => 100 + output.as_ref().map_or(0, |text| text.len()),
            Ending::Failed { error, .. } | Ending::Dead { error } => 200 + error.message.len(),
            Ending::Snoozed { .. }
            | Ending::Throttled { .. }
            | Ending::GivenBack
            | Ending::Cancelled { .. } => 200,
        }
    }
}

impl Endings {
    /// While one batch waits for the disk, another can be worked on: where there are several `lanes`.
    pub fn new(lanes: usize) -> Endings {
        Endings {
            waiting: VecDeque::new(),
            under_way: Vec::new(),
            last_no: 0,
            lanes,
            not_before: None,
            patience: Patience::new("write how jobs ended"),
            at_once: BATCH as usize,
        }
    }

    /// The end of a run that was cut off, or never started.
    pub fn add(&mut self, job: Arc<ClaimedJob>, ending: Ending) {
        self.add_run(job, ending, None);
    }

    /// The end of a run.
    pub fn add_run(&mut self, job: Arc<ClaimedJob>, ending: Ending, took: Option<Duration>) {
        self.waiting.push_back(Unwritten { job, ending, took, replaced: false });
    }

    pub fn len(&self) -> usize {
        let under_way = self.under_way.iter().map(|(_, batch)| batch.len());
        self.waiting.len() + under_way.sum::<usize>()
    }

    /// Whether claiming should wait until more of them are written.
    pub fn too_many(&self) -> bool {
        self.len() >= TOO_MANY
    }

    /// When to try again after an error.
    pub fn not_before(&self) -> Option<Instant> {
        self.not_before.filter(|_| self.under_way.is_empty() && !self.waiting.is_empty())
    }

    /// Tries again at once.
    pub fn hurry(&mut self) {
        self.not_before = None;
    }

    /// What to write next, if now is the time.
    pub fn next_batch(&mut self, now: Instant) -> Option<(BatchNo, Vec<(Held, Ending)>)> {
        let ready = self.has_lane() && self.not_before.is_none_or(|at| now >= at);
        if !ready || self.waiting.is_empty() {
            return None;
        }
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while batch.len() < self.at_once {
            let Some(next) = self.waiting.front() else { break };
            bytes += next.size_bytes();
            if bytes > MAX_BYTES && !batch.is_empty() {
                break;
            }
            batch.extend(self.waiting.pop_front());
        }
        let sent = batch.iter().map(|one| (one.held(), one.ending.clone())).collect();
        self.last_no += 1;
        self.under_way.push((self.last_no, batch));
        Some((self.last_no, sent))
    }

    /// One batch at a time while a bad result is looked for.
    fn has_lane(&self) -> bool {
        let well = self.at_once == BATCH as usize && self.not_before.is_none();
        self.under_way.is_empty()
            || well && self.under_way.len() < self.lanes && self.waiting.len() >= self.at_once
    }

    /// The answer to a batch; what was acknowledged, each with its run.
    pub fn answered(
        &mut self,
        node: NodeId,
        no: BatchNo,
        answer: Result<Vec<Ack>, StoreError>,
    ) -> Vec<(Unwritten, Ack)> {
        let at = self.under_way.iter().position(|(of, _)| *of == no);
        let batch = at.map_or(Vec::new(), |at| self.under_way.swap_remove(at).1);
        match answer {
            Ok(acks) => {
                self.patience.worked();
                self.not_before = None;
                self.at_once = BATCH as usize;
                batch.into_iter().zip(acks).collect()
            }
            Err(error) => {
                self.not_before = Some(self.patience.failed(&error));
                if !error.is_unavailable() {
                    self.suspect(node, batch, &error);
                } else {
                    self.put_back(batch);
                }
                Vec::new()
            }
        }
    }

    fn put_back(&mut self, batch: Vec<Unwritten>) {
        batch.into_iter().rev().for_each(|one| self.waiting.push_front(one));
    }

    /// The statement itself failed, so one of them is bad: halve until it is alone, then write of it
    /// that its result could not be stored.
    fn suspect(&mut self, node: NodeId, mut batch: Vec<Unwritten>, error: &StoreError) {
        self.not_before = None;
        if batch.len() > 1 {
            self.at_once = batch.len() / 2;
        } else if let Some(one) = batch.first_mut() {
            tracing::error!(job = %one.job.id, "could not store a result: {error}");
            if one.replaced {
                // Even that cannot be stored, so it is the database; wait for it.
                self.not_before = Some(self.patience.failed(error));
            } else {
                one.ending = unstorable(&one.job, node, &error.to_string());
                one.replaced = true;
            }
        }
        self.put_back(batch);
    }

    /// Since when nothing can be written.
    pub fn down_since(&self) -> Option<Instant> {
        self.patience.down_since()
    }
}
