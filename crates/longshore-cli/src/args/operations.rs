//! `operations`: the words.

use clap::{Subcommand, ValueEnum};
use longshore::Timestamp;
use longshore::operation::OperationId;

use super::lists::QUERY;
use longshore_server::wire::Span;

#[derive(Debug, Subcommand)]
pub(crate) enum OperationsCommand {
    /// Do something to all jobs that match, in steps that survive a restart
    #[command(after_help = QUERY)]
    Start(StartArgs),
    /// List operations, newest first
    List {
        /// At most this many, 1 to 200
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=200))]
        limit: u32,
        /// Only older ones than this
        #[arg(long, value_name = "ID")]
        after: Option<OperationId>,
    },
    /// Show one operation
    Show {
        /// The operation
        id: OperationId,
    },
    /// Wait until an operation ends; do its steps here if no node does
    Wait {
        /// The operation
        id: OperationId,
    },
    /// Do not go on until it is resumed
    Pause {
        /// The operation
        id: OperationId,
    },
    /// Go on where it was
    Resume {
        /// The operation
        id: OperationId,
    },
    /// End it for good; what was done stays done
    Cancel {
        /// The operation
        id: OperationId,
    },
}

/// The words of actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ActionArg {
    /// Run again now: scheduled, retrying, dead and cancelled jobs
    Retry,
    /// End waiting jobs, ask running ones to stop
    Cancel,
    /// Remove jobs that do not run
    Delete,
    /// Another time for waiting jobs: --in or --at
    Reschedule,
    /// Another priority for waiting jobs: --priority
    Priority,
    /// Waiting jobs to another queue: --queue
    Move,
}

#[derive(Debug, clap::Args)]
pub(crate) struct StartArgs {
    /// What is done to each
    #[arg(value_enum)]
    pub action: ActionArg,
    /// Which jobs
    #[arg(long, value_name = "QUERY", required_unless_present = "everything")]
    pub matching: Option<String>,
    /// Every job there is
    #[arg(long, conflicts_with = "matching")]
    pub everything: bool,
    /// Why, kept with it
    #[arg(long)]
    pub why: Option<String>,
    /// Of a retry: how many attempts each has left at least [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub attempts: Option<i128>,
    /// Of a reschedule: due this long from now, such as 5m
    #[arg(long = "in", value_name = "SPAN", conflicts_with = "at")]
    pub delay: Option<Span>,
    /// Of a reschedule: due at this time, RFC 3339
    #[arg(long, value_name = "TIME")]
    pub at: Option<Timestamp>,
    /// Of a priority: 0 runs first, 9 last
    #[arg(long, value_name = "0-9", allow_negative_numbers = true)]
    pub priority: Option<i128>,
    /// Of a move: the queue they go to
    #[arg(long, short)]
    pub queue: Option<String>,
    /// Only say how many match, and show ten of them
    #[arg(long)]
    pub dry_run: bool,
    /// Start it and leave it to the nodes
    #[arg(long)]
    pub no_wait: bool,
}
