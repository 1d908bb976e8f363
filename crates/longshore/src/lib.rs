//! Background jobs in the database you already have.
//!
//! A job travels one way: enqueue -> store -> claim -> run -> finish -> observe.
//! The modules below stand in that order; read them in it.

mod clock;
mod time;

pub mod job; // what a job is, and which state may follow which
pub mod store; // where jobs live: one trait, two backends

pub use clock::Clock;
pub use job::{Backoff, IntoOutcome, JobError, JobId, JobRow, Limits, NewJob, Outcome, State};
pub use store::{StoreError, StoreOptions};
pub use time::{InvalidTimestamp, Timestamp};
