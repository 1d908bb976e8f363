//! The scenarios, one file each; `scenario.rs` has the table.

pub(super) mod backlog;
pub(super) mod drain;
pub(super) mod enqueue;
pub(super) mod idle;
pub(super) mod mixed;
pub(super) mod pickup;
pub(super) mod pinned;
pub(super) mod processes;
pub(super) mod start;
pub(super) mod storm;
pub(super) mod wal;
