//! One enqueue that comes in parts, so that it may be of any size.

use tokio::sync::mpsc;

use crate::job::NewJob;

use super::StoreError;

/// The most jobs of one part: few, so that the database works on the first while the next is read.
pub(crate) const PART_JOBS: usize = 1_000;
/// The most bytes of one part, unless a single job has more.
pub(crate) const PART_BYTES: usize = 4 << 20;

/// One part of a call.
#[derive(Debug)]
pub enum Part {
    /// More jobs.
    Jobs(Vec<NewJob>),
    /// That was all.
    End,
    /// The rest cannot be had: nothing of the call must stay.
    Abort(StoreError),
}

/// The parts of one call. When it ends without [`Part::End`] the caller went away, and nothing stays.
pub type Parts = mpsc::Receiver<Part>;

/// Why a call ended whose caller went away.
pub(crate) fn left(doing: &'static str) -> StoreError {
    StoreError::Unavailable { doing, source: "the caller went away in the middle".into() }
}
