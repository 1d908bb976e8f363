//! The benchmark: the figure, the floor and the ratio, in one run on one machine.
//!
//! The floor is the same SQL through the same driver from a bare loop, without our runtime: what the
//! database can do. Works only on kinds that start with `bench.` and deletes its own rows.

mod figure; // a figure, its floor and the ratio
mod seen; // the jobs, and how often each ran
mod bare; // the floor: a loop without our runtime
mod callers; // many that enqueue one by one
mod load; // some jobs, drained by a worker and by the bare loop
mod steady; // a worker that never runs dry
mod children; // other processes, from the end that starts them
mod child; // and from theirs
mod idle; // what a worker costs that has nothing to do
mod latency; // the report without scenarios: pickup
mod throughput; // the same: jobs a second
mod retention; // pruning under a steady load
mod scenario; // the table of scenarios, and what they share
mod scenarios; // one file for each

use std::any::Any;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use serde::Serialize;

use crate::client::Client;
use crate::job::NewJob;
use crate::store::{Conn, Result};
use crate::worker::{Run, Worker, WorkerConfig, Working};

pub use child::child;
pub use children::Program;
pub use figure::Figure;
pub use retention::{RetentionOptions, RetentionReport, Size, Waits, retention};
pub use scenario::{SCENARIOS, Scenario, ScenarioOptions, ScenarioReport, scenario};
use seen::Seen;

/// What all kinds of the benchmark start with.
pub const KIND_PREFIX: &str = "bench.";
const KIND: &str = "bench.noop";
/// Jobs whose start is looked at one by one.
const PROBE: &str = "bench.probe";
const QUEUE: &str = "default";
/// How long nothing may end before the benchmark gives up.
const PATIENCE: Duration = Duration::from_secs(60);

/// What to measure.
#[derive(Clone, Debug)]
pub struct Options {
    /// Jobs of the bulk and the drain. Default 50,000.
    pub jobs: u32,
    /// Slots of the worker that drains. Default 100.
    pub slots: u32,
    /// Holds a snapshot open while jobs are enqueued by the list and drained, and over the floor's.
    pub pin_snapshot: bool,
    /// How long the idle worker is watched. Default 8 s.
    pub idle_for: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Options { jobs: 50_000, slots: 100, pin_snapshot: false, idle_for: Duration::from_secs(8) }
    }
}

/// What was measured. `None`: this database cannot say.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// `sqlite` or `postgres`.
    pub backend: String,
    /// Jobs of the bulk and the drain.
    pub jobs: u32,
    /// Single enqueues from 16 callers at once.
    pub insert_one_per_s: f64,
    /// Enqueues by the list.
    pub insert_bulk_per_s: f64,
    /// The same statements from a bare loop.
    pub enqueue_bulk_floor_per_s: f64,
    /// Ready no-op jobs, from the first handler's start until the last is written as succeeded.
    pub drain_per_s: f64,
    /// The same statements from a bare loop.
    pub drain_floor_per_s: f64,
    /// `drain_per_s / drain_floor_per_s`.
    pub drain_ratio: f64,
    /// How long each quarter of the drain took, in seconds.
    pub drain_quarters_s: [f64; 4],
    /// Jobs whose handler never ran.
    pub lost: u64,
    /// Jobs whose handler ran twice.
    pub duplicates: u64,
    /// Enqueue returns -> handler starts, on an idle worker; half are faster.
    pub latency_ms_p50: f64,
    /// The same; 99 of 100 are faster.
    pub latency_ms_p99: f64,
    /// Write-ahead log of the drain.
    pub drain_wal_bytes_per_job: Option<f64>,
    /// Write-ahead log from enqueue to history.
    pub total_wal_bytes_per_job: Option<f64>,
    /// Commits from enqueue to history.
    pub commits_per_job: Option<f64>,
    /// Row versions that the drain wrote.
    pub drain_rows_per_job: Option<Rows>,
    /// Statements of an idle worker, without BEGIN and COMMIT.
    pub idle_queries_per_s: Option<f64>,
    /// Processor time of an idle worker, in percent of one core.
    pub idle_cpu_percent: Option<f64>,
}

/// Row versions, in all tables together.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Rows {
    /// Inserted.
    pub ins: f64,
    /// Updated.
    pub upd: f64,
    /// Of the updated, those that touched no index.
    pub hot: f64,
    /// Deleted.
    pub del: f64,
}

/// What the benchmark asks of a store beyond the trait.
#[async_trait]
pub trait Meter: Send + Sync {
    /// Jobs of other kinds; the benchmark refuses to run beside them.
    async fn foreign_jobs(&self) -> Result<u64>;
    /// Deletes the benchmark's own rows, and settles.
    async fn clear(&self) -> Result<()>;
    /// Brings the database to rest before a measurement.
    async fn settle(&self) -> Result<()>;
    /// What was written so far.
    async fn counts(&self) -> Result<Counts>;
    /// Rows and bytes of history.
    async fn history_size(&self) -> Result<(i64, i64)>;
    /// Holds a snapshot open until it is dropped.
    async fn pin(&self) -> Result<Box<dyn Any + Send>>;
    /// Its own jobs: those that have not ended, and those in history.
    async fn own_jobs(&self) -> Result<(u64, u64)>;
    /// What was written so far, exact at once; `None` where nobody counts.
    async fn written(&self) -> Result<Option<Written>>;
    /// The rows of these calls by plain `COPY` into a table with the columns and indexes of jobs, a transaction each, and
    /// how long that took; `None` where there is no `COPY`.
    async fn plain_copy(&self, calls: &[Vec<NewJob>]) -> Result<Option<Duration>>;
    /// Row versions of jobs and history that nothing can see any more and no vacuum has removed; `None`
    /// where there are no such.
    async fn dead_rows(&self) -> Result<Option<i64>>;
    /// Connections as an application has its own: so many on PostgreSQL, on SQLite one. `None` in memory,
    /// where nobody has another.
    async fn desk(&self, connections: u32) -> Result<Option<Box<dyn Desk>>>;
}

/// What a whole server has written since it was made.
#[derive(Clone, Copy, Debug)]
pub struct Written {
    /// Bytes of write-ahead log.
    pub wal_bytes: i64,
    /// Transactions that wrote.
    pub transactions: i64,
}

/// Connections of an application's own.
#[async_trait]
pub trait Desk: Send + Sync {
    /// Begins a transaction, as the guide says it is to be begun.
    async fn begin(&self) -> Result<Box<dyn OwnTx>>;
    /// Closes the connections.
    async fn close(&self);
}

/// A transaction of an application's own.
#[async_trait]
pub trait OwnTx: Send {
    /// Its connection.
    fn conn(&mut self) -> Conn<'_>;
    /// Commits it.
    async fn commit(self: Box<Self>) -> Result<()>;
}

/// What a database has written since it started.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Bytes of write-ahead log.
    pub wal_bytes: Option<i64>,
    /// Commits in this database.
    pub commits: Option<i64>,
    /// Statements in this database, without BEGIN and COMMIT.
    pub statements: Option<i64>,
    /// Row versions in this database.
    pub rows: Option<Rows>,
}

/// What keeps the benchmark from running.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// There are jobs of somebody else.
    #[error("the database holds {0} jobs that are not the benchmark's; use an empty one")]
    ForeignJobs(u64),
    /// Jobs are left, and none ends.
    #[error("nothing ended for {} s, and {left} jobs are left", PATIENCE.as_secs())]
    Stuck {
        /// Jobs that have not ended.
        left: u64,
    },
    /// Another process was to take part, and did not.
    #[error("{0}")]
    Process(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] crate::StoreError),
}

/// Measures; says on the way what it is doing.
pub async fn run(
    client: &Client,
    options: &Options,
    say: impl Fn(&str),
) -> Result<Report, Refused> {
    let meter = || client.store().meter();
    let foreign = meter().foreign_jobs().await?;
    if foreign > 0 {
        return Err(Refused::ForeignJobs(foreign));
    }
    meter().clear().await?;
    let mut report = Report {
        backend: client.store().backend().to_owned(),
        jobs: options.jobs,
        ..Report::default()
    };
    say("enqueue one by one, 16 callers");
    report.insert_one_per_s = throughput::one_by_one(client).await?;
    meter().clear().await?;
    say("the floor: enqueue and drain from a bare loop");
    throughput::floor(client, options, &mut report).await?;
    meter().clear().await?;
    say("enqueue by the list, drain by a worker");
    throughput::drain(client, options, &mut report).await?;
    meter().clear().await?;
    say("pickup latency and idle cost of a worker");
    latency::measure(client, options, &mut report).await?;
    meter().clear().await?;
    Ok(report)
}

/// Waits until so many jobs ended.
async fn until_ended(working: &Working, jobs: u32, look_every: Duration) -> Result<(), Refused> {
    let (mut before, mut since) = (0, Instant::now());
    loop {
        let ended = working.health().finished_total;
        if ended >= u64::from(jobs) {
            return Ok(());
        }
        if ended > before {
            (before, since) = (ended, Instant::now());
        } else if since.elapsed() > PATIENCE {
            return Err(Refused::Stuck { left: u64::from(jobs) - ended });
        }
        tokio::time::sleep(look_every).await;
    }
}

fn worker(client: &Client, slots: u32, seen: &Arc<Seen>) -> Result<Working> {
    let seen = Arc::clone(seen);
    worker_named(client)
        .queue(QUEUE, slots)
        .handle(KIND, move |run: Run| {
            seen.ran(&run);
            std::future::ready(())
        })
        .start()
}

fn worker_named(client: &Client) -> Worker {
    let config = WorkerConfig { name: "bench".to_owned(), ..WorkerConfig::default() };
    Worker::new(client.clone()).config(config)
}

/// Waits until a worker claims.
async fn until_ready(working: &Working) {
    while !working.health().ready {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
