//! What a store tells of itself and of its queues, for whoever watches it.

use std::time::Duration;

/// No queue is counted further: beyond, it only matters that there are many.
pub const MAX_DEPTH: u32 = 10_000;
/// No more queues are counted, the first by name.
pub const MAX_QUEUES: u32 = 1_000;
/// Counts that are older are nobody's any more, and are not told.
pub const COUNTED_WITHIN: Duration = Duration::from_secs(300);

/// What a count of all queues found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// A job is due in one of them and waits.
    pub waiting: bool,
    /// An operation runs.
    pub operates: bool,
}

/// How a queue was when the leader last counted it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueCount {
    /// Its name.
    pub queue: String,
    /// Jobs that were due and waited, at most [`MAX_DEPTH`].
    pub depth: u32,
    /// Whether there were more.
    pub capped: bool,
    /// How long the oldest of them has been due by now; zero if none waited.
    pub oldest_for: Duration,
    /// How long ago that was.
    pub counted_for: Duration,
}

/// What goes between this process and its database.
#[derive(Clone, Debug, Default)]
pub struct Traffic {
    /// The connections.
    pub pools: Vec<PoolUse>,
    /// Statements that all stores of this process have sent to a PostgreSQL server, or transactions and reads they
    /// have begun on SQLite.
    pub round_trips: u64,
}

/// The connections for one purpose.
#[derive(Clone, Copy, Debug)]
pub struct PoolUse {
    /// What they are for.
    pub name: &'static str,
    /// Connections that are open.
    pub open: u32,
    /// Of these, idle ones.
    pub idle: u32,
    /// How many there may be.
    pub most: u32,
}
