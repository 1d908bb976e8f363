//! What is said about queues, kinds and nodes.

use clap::Subcommand;
use longshore::Timestamp;
use longshore::store::NodeId;

use longshore_server::wire::Span;

#[derive(Debug, Subcommand)]
pub(crate) enum QueuesCommand {
    /// List queues: how deep they are, what runs, what is paused
    List,
    /// Take no more jobs of a queue, on no node; what runs goes on
    Pause(PauseArgs),
    /// End a pause
    Resume {
        /// The queue
        name: String,
    },
    /// Delete the jobs that wait in a queue; running and dead ones stay
    Empty {
        /// The queue
        name: String,
        /// Do it; without, only say how many wait
        #[arg(long)]
        yes: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum KindsCommand {
    /// List kinds that nodes know
    List,
    /// Show what is known of a kind, with its JSON Schema
    Show {
        /// The kind
        name: String,
    },
    /// Take no more jobs of a kind, on no node and from no queue; what runs goes on
    Pause(PauseArgs),
    /// End a pause
    Resume {
        /// The kind
        name: String,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct PauseArgs {
    /// Which one; it need not have jobs yet
    pub name: String,
    /// Why, shown to others
    #[arg(long)]
    pub why: Option<String>,
    /// Who asks [default: the user's name]
    #[arg(long)]
    pub by: Option<String>,
    /// End it so long from now, such as 30m [default: when somebody resumes it]
    #[arg(long = "for", value_name = "SPAN", conflicts_with = "until")]
    pub lasting: Option<Span>,
    /// End it at this time, RFC 3339
    #[arg(long, value_name = "TIME")]
    pub until: Option<Timestamp>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum NodesCommand {
    /// List nodes, live ones first
    List,
    /// Let a node claim nothing more; it finishes what runs, and stays
    Quiet {
        /// The node
        id: NodeId,
    },
    /// Let a quiet node claim again
    Resume {
        /// The node
        id: NodeId,
    },
    /// Stop a node's process, as SIGTERM does
    Stop {
        /// The node
        id: NodeId,
    },
}
