//! The words on the command line. Only their shape: what they mean is checked by the library, which
//! has the better sentences.

mod audit;
mod bench;
mod edit;
mod enqueue;
mod lists;
mod operations;
mod queues;
mod token;
mod user;

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use longshore::JobId;
use longshore::store::Level;

use lists::QUERY;
pub(crate) use lists::{CheckDeployArgs, CountArgs, ExportArgs, ListArgs, WatchArgs};

use crate::settings::{LogFormat, TokenText};
use longshore_server::wire::{Kept, Span};

pub(crate) use audit::{AuditCommand, TailArgs};
pub(crate) use bench::{ALL, BenchArgs};
pub(crate) use edit::{CancelArgs, EditArgs, MatchingArgs, RetryArgs, WhenArgs, WhichArgs};
pub(crate) use enqueue::EnqueueArgs;
pub(crate) use operations::{OperationsCommand, StartArgs};
pub(crate) use queues::{KindsCommand, NodesCommand, PauseArgs, QueuesCommand};
pub(crate) use token::{CreateTokenArgs, TokenCommand};
pub(crate) use user::{ChangeUserArgs, CreateUserArgs, UserCommand};

const EXIT_CODES: &str = "\
Exit codes:
  0  it worked
  1  it failed
  2  the command, a setting or a job is wrong; nothing was done
  3  no such job
  4  not in this state: of the job, or of the database's schema
  5  the server does not take the token, or it gives no right to this
  6  the database or the server cannot be reached
  7  timed out waiting
  8  the job waited for is dead or cancelled

Settings come from flags, then LONGSHORE_* (for worker.lease: LONGSHORE_WORKER__LEASE), then
longshore.toml, then defaults. The database may also stand in DATABASE_URL. Where both a database and
a url are named, the nearer one of these counts; at the same place, the url.";

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
    #[arg(long, short, global = true, value_name = "URL", conflicts_with = "url")]
    pub database: Option<String>,
    /// Work through a running `serve` instead of the database: https://HOST:PORT
    #[arg(long, global = true, value_name = "ADDRESS")]
    pub url: Option<String>,
    /// The token for it; others on this machine can read it here, so rather set LONGSHORE_TOKEN
    #[arg(long, global = true, value_name = "SECRET")]
    pub token: Option<TokenText>,
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
    /// Add a job and print its id; or many, one JSON object a line
    Enqueue(Box<EnqueueArgs>),
    /// Look at jobs, cancel them, run them again
    #[command(subcommand)]
    Jobs(JobsCommand),
    /// Decode the jobs that wait with this program's handlers, before it is rolled out; nothing runs
    #[command(after_help = QUERY)]
    CheckDeploy(CheckDeployArgs),
    /// Do something to all jobs that match: start it, look at it, pause, resume or cancel it
    #[command(subcommand)]
    Operations(OperationsCommand),
    /// Look at queues, pause and empty them
    #[command(subcommand)]
    Queues(QueuesCommand),
    /// Look at kinds of jobs, and pause them
    #[command(subcommand)]
    Kinds(KindsCommand),
    /// Look at the processes that run jobs, and stop them
    #[command(subcommand)]
    Nodes(NodesCommand),
    /// How long ended jobs are kept
    #[command(subcommand)]
    Retention(RetentionCommand),
    /// Remove ended jobs that are past their time, now and to the end
    Prune(PruneArgs),
    /// Who may use the API: tokens, made, listed and revoked
    #[command(subcommand)]
    Token(TokenCommand),
    /// Who may sign in: users, added, listed, changed and removed
    #[command(subcommand)]
    User(UserCommand),
    /// Who changed what
    #[command(subcommand)]
    Audit(AuditCommand),
    /// Check the database and what it needs, and say what to do; exit 1 if something is wrong
    Doctor(DoctorArgs),
    /// Measure a database that holds no jobs: our figures, and the floor of the same SQL in a bare loop
    Bench(Box<BenchArgs>),
}

#[derive(Debug, clap::Args)]
pub(crate) struct DevArgs {
    /// Stop when the demo jobs ended; exit 0 if each ended as intended
    #[arg(long)]
    pub once: bool,
    /// Serve no HTTP API [default: on 127.0.0.1:7878, or another port if that is taken]
    #[arg(long)]
    pub no_http: bool,
    #[command(flatten)]
    pub worker: WorkerArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub worker: WorkerArgs,
    /// Serve the HTTP API here too, such as 127.0.0.1:7878 [default: no API]
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<String>,
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

#[derive(Debug, clap::Args)]
pub(crate) struct DoctorArgs {
    /// SQLite: look at every page, but do not compare indexes with their tables
    #[arg(long)]
    pub quick: bool,
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
        /// With the redacted fields of its payload
        #[arg(long)]
        reveal: bool,
    },
    /// Show what a job's runs have logged
    Logs(LogsArgs),
    /// End a waiting job, or ask the node of a running one to stop it
    Cancel(CancelArgs),
    /// Make waiting jobs due now
    RunNow {
        /// The jobs
        #[arg(required = true)]
        ids: Vec<JobId>,
    },
    /// Give waiting jobs another time
    Reschedule {
        /// The jobs
        #[arg(required = true)]
        ids: Vec<JobId>,
        #[command(flatten)]
        when: WhenArgs,
    },
    /// Change a waiting job; without options its payload is opened in $VISUAL or $EDITOR
    Edit(EditArgs),
    /// Remove jobs that do not run, with their payloads and history
    Delete(WhichArgs),
    /// Make scheduled, retrying, dead or cancelled jobs run again now
    Retry(RetryArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct LogsArgs {
    /// The job
    pub id: JobId,
    /// Only of this attempt [default: all that are kept]
    #[arg(long, value_name = "N")]
    pub attempt: Option<u32>,
    /// Only lines this grave or graver: error, warn, info, debug or trace
    #[arg(long, value_name = "LEVEL", default_value = "trace", hide_default_value = true)]
    pub level: Level,
    /// Go on with lines as they come, until the job ends
    #[arg(long, short)]
    pub follow: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RetentionCommand {
    /// List the rules, the most particular first
    List,
    /// Add a rule, or change the one with the same scope
    Set {
        /// How long from their end on, such as 7d, or forever
        keep: Kept,
        #[command(flatten)]
        scope: ScopeArgs,
    },
    /// Remove the rule with this scope
    Remove {
        #[command(flatten)]
        scope: ScopeArgs,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct ScopeArgs {
    /// Only jobs in this state [default: any, dead ones too]
    #[arg(long)]
    pub state: Option<EndArg>,
    /// Only jobs of this queue [default: any]
    #[arg(long)]
    pub queue: Option<String>,
    /// Only jobs of this kind [default: any]
    #[arg(long)]
    pub kind: Option<String>,
}

/// The states in which a job has ended.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum EndArg {
    Succeeded,
    Cancelled,
    Dead,
}

#[derive(Debug, clap::Args)]
pub(crate) struct PruneArgs {
    /// Only count what would go
    #[arg(long)]
    pub dry_run: bool,
    /// End once so many jobs are gone; it may be some more
    #[arg(long, value_name = "N", conflicts_with = "dry_run", value_parser = clap::value_parser!(u64).range(1..))]
    pub limit: Option<u64>,
}
