//! Background jobs in the database you already have.
//!
//! A job travels one way: enqueue -> store -> claim -> run -> finish -> observe.
//! The modules below stand in that order; read them in it.

// A build with one backend leaves out what only the other needs; the one with both finds what nobody needs.
#![cfg_attr(not(all(feature = "sqlite", feature = "postgres")), allow(dead_code))]

mod time; // points in time
mod clock; // whose clock counts
mod engine; // a runtime of our own
pub mod job; // what a job is, and which state may follow which
pub mod query; // which jobs are meant, as a value and as text
pub mod store; // where jobs live: one trait, two backends
mod observe; // what a node tells about itself
mod client; // puts jobs in and answers questions about them
pub mod extract; // what a handler may ask for
pub mod handler; // functions that run typed jobs
#[cfg(feature = "capture")]
mod capture; // what handlers say to `tracing`
mod worker; // claims jobs, runs them, writes how they ended
mod upkeep; // the leader's chores
#[cfg(feature = "testing")]
pub mod testing; // jobs in tests: a database each, a clock that stands, nothing sleeps
#[cfg(feature = "bench")]
pub mod bench; // the figure, the floor and the ratio

#[cfg(feature = "capture")]
pub use capture::RunLog;
pub use client::{Acted, Client, Export, OutputError, PruneOptions, PruneReport};
pub use clock::Clock;
pub use job::{
    Backoff, IntoOutcome, Job, JobError, JobId, JobRow, Limits, NewJob, OnConflict, Outcome, State,
    Unique,
};
#[cfg(feature = "macros")]
pub use longshore_macros::Job;
#[cfg(all(feature = "macros", feature = "testing"))]
pub use longshore_macros::test;
pub use observe::Health;
pub use query::Filter;
pub use store::{Edit, Keep, RetentionRule, RetentionScope, StoreError, StoreOptions};
pub use time::{InvalidTimestamp, Timestamp};
pub use worker::{
    Decoders, Failure, Fit, Hook, Run, RunReport, StopReason, Worker, WorkerConfig, Working,
};

/// The Rust of the guide's page about typed jobs compiles, and runs where it can.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/jobs.md")]
struct GuideToJobs;

/// The same of the page about progress and logs.
#[cfg(all(doctest, feature = "capture"))]
#[doc = include_str!("../../../docs/guide/progress-and-logs.md")]
struct GuideToProgressAndLogs;

/// The same of the page about tests.
#[cfg(all(doctest, feature = "macros", feature = "sqlite", feature = "testing"))]
#[doc = include_str!("../../../docs/guide/testing.md")]
struct GuideToTesting;
