//! Jobs.

pub(super) mod act;
pub(super) mod answers;
pub(super) mod batch;
pub(super) mod change;
pub(super) mod create;
pub(super) mod export;
pub(super) mod list;
pub(super) mod logs;
pub(super) mod show;
