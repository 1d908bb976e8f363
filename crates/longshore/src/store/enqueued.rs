//! What an enqueue did.

use crate::job::JobId;

/// Whether an enqueue may have been carried out before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// The ids are fresh.
    No,
    /// The ids may have been enqueued, and the jobs may even have ended: look at history too.
    Yes,
}

/// The answer for one enqueued job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enqueued {
    /// The id of the job that is there now: the new one, or the one that was there already.
    pub id: JobId,
    /// What the enqueue did.
    pub outcome: EnqueueOutcome,
}

/// What an enqueue did. What was refused is an error instead: [`crate::StoreError::KeyHeld`],
/// [`crate::StoreError::KeyReused`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnqueueOutcome {
    /// The job is new.
    Added,
    /// Nothing: the same id was enqueued before, or another job holds the unique key
    /// ([`crate::OnConflict::Keep`]).
    Duplicate,
    /// No job is new, but the one that holds the unique key has this payload, time and priority now
    /// ([`crate::OnConflict::Replace`]).
    Replaced,
}

impl Enqueued {
    /// Whether the job is new: neither a duplicate nor a replacement.
    pub fn is_added(&self) -> bool {
        self.outcome == EnqueueOutcome::Added
    }

    /// Whether nothing was done, since the job was there already.
    pub fn is_duplicate(&self) -> bool {
        self.outcome == EnqueueOutcome::Duplicate
    }

    /// Whether a job that was there already has this payload, time and priority now.
    pub fn is_replaced(&self) -> bool {
        self.outcome == EnqueueOutcome::Replaced
    }

    pub(crate) fn added(id: JobId) -> Enqueued {
        Enqueued { id, outcome: EnqueueOutcome::Added }
    }

    pub(crate) fn duplicate(id: JobId) -> Enqueued {
        Enqueued { id, outcome: EnqueueOutcome::Duplicate }
    }

    pub(crate) fn replaced(id: JobId) -> Enqueued {
        Enqueued { id, outcome: EnqueueOutcome::Replaced }
    }
}
