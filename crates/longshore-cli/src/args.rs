//! The words on the command line. Only their shape: what they mean is checked by the library, which
//! has the better sentences.

mod lists;

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use longshore::{JobId, Timestamp};

use lists::QUERY;
pub(crate) use lists::{CountArgs, ExportArgs, ExportFormat, ListArgs, WatchArgs};

use crate::settings::LogFormat;
use crate::span::Span;

const EXIT_CODES: &str = "\
Exit codes:
  0  it worked
  1  it failed
  2  the command, a setting or a job is wrong; nothing was done
  3  no such job
  4  not in this state: of the job, or of the database's schema
  6  the database cannot be reached
  7  timed out waiting
  8  the job waited for is dead or cancelled

Settings come from flags, then LONGSHORE_* (for worker.lease: LONGSHORE_WORKER__LEASE), then
longshore.toml, then defaults. The database may also stand in DATABASE_URL.";

/// Background jobs in the database you already have.
#[derive(Debug, Parser)]
#[command(after_help = EXIT_CODES, propagate_version = true, disable_help_subcommand = true)]
pub(crate) struct Args {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Common {
    /// sqlite:PATH or postgres://USER@HOST/NAME [default: sqlite:longshore.db]
    #[arg(long, short, global = true, value_name = "URL")]
    pub database: Option<String>,
    /// Settings file [default: longshore.toml if there is one]
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Print JSON for scripts
    #[arg(long, global = true)]
    pub json: bool,
    /// How log lines look on stderr [default: auto, which is compact on a terminal, json elsewhere]
    #[arg(long, global = true, value_name = "FORMAT")]
    pub log_format: Option<LogFormat>,
    /// Which log lines: a level, or the syntax of RUST_LOG
    #[arg(long, global = true, value_name = "LEVEL")]
    pub log_level: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a worker on SQLite with nothing set up, and a few demo jobs
    Dev(DevArgs),
    /// Run workers and upkeep until told to stop
    Serve(ServeArgs),
    /// Bring the database's schema up to date, or look at it
    #[command(subcommand)]
    Migrate(MigrateCommand),
    /// Add a job; prints its id
    Enqueue(EnqueueArgs),
    /// Look at jobs, cancel them, run them again
    #[command(subcommand)]
    Jobs(JobsCommand),
    /// Look at the processes that run jobs
    #[command(subcommand)]
    Nodes(NodesCommand),
    /// Measure a database that holds no jobs: our figures, and the floor of the same SQL in a bare loop
    Bench(BenchArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct DevArgs {
    /// Stop when the demo jobs ended; exit 0 if each ended as intended
    #[arg(long)]
    pub once: bool,
    #[command(flatten)]
    pub worker: WorkerArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub worker: WorkerArgs,
    /// Fail if the schema is not up to date, instead of bringing it there
    #[arg(long)]
    pub no_migrate: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct WorkerArgs {
    /// A queue to serve, and how many of its jobs may run at once; repeatable [default: default=10]
    #[arg(long = "queue", short, value_name = "NAME=SLOTS")]
    pub queues: Vec<String>,
    /// This node's name, for people [default: the host's]
    #[arg(long)]
    pub name: Option<String>,
    /// How long this node's jobs stay its own when it does not answer [default: 30s]
    #[arg(long, value_name = "SPAN")]
    pub lease: Option<Span>,
    /// After a stop is asked for, how long running jobs may go on [default: 25s]
    #[arg(long, value_name = "SPAN")]
    pub drain: Option<Span>,
    /// How often an idle node looks for work that nobody told it of [default: 1s]
    #[arg(long, value_name = "SPAN")]
    pub poll: Option<Span>,
    /// Take no part in upkeep (rescue and the leader's chores)
    #[arg(long)]
    pub no_upkeep: bool,
    /// The folder whose files jobs may read and write [default: the working folder]
    #[arg(long, value_name = "FOLDER")]
    pub files_root: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MigrateCommand {
    /// Apply what is missing
    Up,
    /// Show which versions are applied
    Status,
    /// Print the SQL; the database is not touched
    Sql,
}

#[derive(Debug, clap::Args)]
pub(crate) struct EnqueueArgs {
    /// Picks the handler
    pub kind: String,
    /// The payload: JSON, @FILE, or - for stdin
    #[arg(long, short, value_name = "JSON", default_value = "null")]
    pub payload: String,
    /// The queue
    #[arg(long, short, default_value = "default")]
    pub queue: String,
    /// 0 runs first, 9 last [default: 5]
    #[arg(long, value_name = "0-9", allow_negative_numbers = true)]
    pub priority: Option<i128>,
    /// Due this long from now, such as 5m
    #[arg(long = "in", value_name = "SPAN", conflicts_with = "at")]
    pub delay: Option<Span>,
    /// Due at this time, RFC 3339
    #[arg(long, value_name = "TIME")]
    pub at: Option<Timestamp>,
    /// How often it may run in all [default: 10]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub max_attempts: Option<i128>,
    /// How long one attempt may run, or none [default: 1h]
    #[arg(long, value_name = "SPAN|none")]
    pub timeout: Option<Timeout>,
    /// A tag; repeatable
    #[arg(long = "tag", value_name = "TAG")]
    pub tags: Vec<String>,
    /// The job's id, so that repeating the command adds nothing
    #[arg(long)]
    pub id: Option<JobId>,
    /// Follow the job to its end; exit 0 if it succeeded, 8 if not
    #[arg(long)]
    pub wait: bool,
    /// Wait no longer than this; exit 7 then
    #[arg(long, value_name = "SPAN", requires = "wait")]
    pub timeout_wait: Option<Span>,
}

/// A span, or no limit.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Timeout {
    After(Span),
    Never,
}

impl std::str::FromStr for Timeout {
    type Err = crate::span::InvalidSpan;

    fn from_str(text: &str) -> Result<Timeout, Self::Err> {
        if text == "none" { Ok(Timeout::Never) } else { text.parse().map(Timeout::After) }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum JobsCommand {
    /// List jobs, newest first
    #[command(after_help = QUERY)]
    List(ListArgs),
    /// Count jobs, to 10,000
    #[command(after_help = QUERY)]
    Count(CountArgs),
    /// Follow one job to its end, or a list as it changes
    #[command(after_help = QUERY)]
    Watch(WatchArgs),
    /// Write jobs out whole, newest first
    #[command(after_help = QUERY)]
    Export(ExportArgs),
    /// Show one job, whole
    Show {
        /// The job
        id: JobId,
    },
    /// End a waiting job, or ask the node of a running one to stop it
    Cancel {
        /// The job
        id: JobId,
        /// Why, kept with the job
        #[arg(long)]
        why: Option<String>,
        /// Who asks [default: the user's name]
        #[arg(long)]
        by: Option<String>,
    },
    /// Make scheduled, retrying, dead or cancelled jobs run again now
    Retry {
        /// The jobs
        #[arg(required = true)]
        ids: Vec<JobId>,
        /// How many attempts they have left at least
        #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
        attempts: u32,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct BenchArgs {
    /// How many jobs to enqueue by the list, and to drain
    #[arg(long, value_name = "N", default_value_t = 50_000, value_parser = clap::value_parser!(u32).range(4..=10_000_000))]
    pub jobs: u32,
    /// How many of them may run at once
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub slots: u32,
    /// Hold a snapshot open meanwhile, as a long report or a backup does
    #[arg(long)]
    pub pin_snapshot: bool,
    /// What another benchmark made of this machine just now, in transactions a second; printed along
    #[arg(long, value_name = "TPS")]
    pub yardstick: Option<f64>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum NodesCommand {
    /// List nodes, live ones first
    List,
}
