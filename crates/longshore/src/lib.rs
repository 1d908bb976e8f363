//! Background jobs in the database you already have: SQLite to start, PostgreSQL to grow.
//!
//! ```
//! # #[cfg(all(feature = "macros", feature = "sqlite"))]
//! # mod example {
//! use longshore::{Client, Job, JobError, Worker};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize, Job)]
//! #[job(kind = "send_receipt", queue = "mail", max_attempts = 8)]
//! struct SendReceipt {
//!     order: u64,
//! }
//!
//! async fn send(job: SendReceipt) -> Result<(), JobError> {
//!     println!("receipt for order {}", job.order); // an error means: try again later
//!     Ok(())
//! }
//!
//! # pub
//! async fn shop() -> Result<(), longshore::StoreError> {
//!     let client = Client::open("sqlite::memory:").await?; // or sqlite:shop.db, postgres://app@localhost/shop
//!     client.migrate().await?;
//!     let job = client.enqueue(SendReceipt { order: 7 }).await?; // answered: it is committed
//!     let worker = Worker::new(client.clone()).queue("mail", 20).job(send);
//!     worker.run_until(client.wait(job.id, None)).await // mostly until Ctrl-C
//! }
//! # }
//! # #[cfg(all(feature = "macros", feature = "sqlite"))]
//! # tokio::runtime::Runtime::new().unwrap().block_on(example::shop()).unwrap();
//! ```
//!
//! # Where to begin
//!
//! | for | see |
//! |---|---|
//! | what a job is | [`Job`] (a type, by derive or by hand), [`NewJob`] (any kind, with all options), [`Unique`], [`Backoff`] |
//! | enqueueing and looking | [`Client`]: one job, many, in your own transaction; wait, list, retry, cancel |
//! | running | [`Worker`]; [`extract`] for what a handler may take, [`JobError`] for what an error means |
//! | effects that happen exactly once | [`extract::Tx`] |
//! | tests | `longshore::testing`, behind the feature of that name |
//!
//! Delivery is *at least once, fenced*: a crash may start a job a second time, but a run that comes late can never
//! write over the newer one.
//!
//! # Features
//!
//! | feature | on by default | brings |
//! |---|---|---|
//! | `sqlite` | yes | SQLite, built in |
//! | `postgres` | | PostgreSQL 15 or newer, direct or through PgBouncer |
//! | `tls` | | encrypted connections to PostgreSQL (rustls) |
//! | `macros` | yes | `#[derive(Job)]`; with `testing` also `#[longshore::test]` |
//! | `schema` | | JSON Schema of payloads, from `schemars` 1 |
//! | `otel` | | spans for OpenTelemetry around enqueue, claim and run, linked through the job |
//! | `testing` | | the test kit; for tests only |
//! | `bench` | | what `longshore bench` needs |
//!
//! # Inside
//!
//! A job travels one way: enqueue -> store -> claim -> run -> finish -> observe.
//! The modules below stand in that order; read them in it.

// A build with one backend leaves out what only the other needs; the one with both finds what nobody needs.
#![cfg_attr(not(all(feature = "sqlite", feature = "postgres")), allow(dead_code))]

mod time; // points in time
mod hash; // texts told apart
mod clock; // whose clock counts
mod engine; // a runtime of our own
pub mod job; // what a job is, and which state may follow which
pub mod query; // which jobs are meant, as a value and as text
pub mod access; // who may come in from outside
pub mod audit; // and what they did
pub mod operation; // what is done to every job that matches
pub mod store; // where jobs live: one trait, two backends
pub mod observe; // what a process tells about itself
mod trace; // which trace a job belongs to, and spans on its way
mod client; // puts jobs in and answers questions about them
pub mod extract; // what a handler may ask for
pub mod handler; // functions that run typed jobs
#[cfg(feature = "capture")]
mod capture; // what handlers say to `tracing`
mod verdict; // what is written of a handler's answer
mod worker; // claims jobs, runs them, writes how they ended
pub mod work; // hands jobs out to programs that have no database
mod upkeep; // the leader's chores
#[cfg(feature = "testing")]
pub mod testing; // jobs in tests: a database each, a clock that stands, nothing sleeps
#[cfg(feature = "bench")]
pub mod bench; // the figure, the floor and the ratio

#[cfg(feature = "capture")]
pub use capture::RunLog;
#[cfg(feature = "postgres")]
pub use client::SqlCall;
pub use client::{
    Acted, Client, Export, Helper, KindRow, OutputError, PruneOptions, PruneReport, QueueRow, Stats,
};
pub use clock::Clock;
pub use job::{
    Backoff, IntoOutcome, Job, JobError, JobId, JobRow, Limits, NewJob, OnConflict, Outcome, State,
    Unique,
};
#[cfg(feature = "macros")]
pub use longshore_macros::Job;
#[cfg(all(feature = "macros", feature = "testing"))]
pub use longshore_macros::test;
pub use observe::{Health, Metrics};
pub use query::Filter;
pub use store::{
    Edit, EnqueueOutcome, Enqueued, Keep, RetentionRule, RetentionScope, StoreError, StoreOptions,
};
pub use time::{InvalidTimestamp, Timestamp};
pub use trace::{Trace, TraceMode};
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
