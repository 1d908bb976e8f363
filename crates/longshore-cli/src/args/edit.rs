//! What commands that change waiting jobs take.

use longshore::{JobId, Timestamp};

use longshore_server::wire::Span;

/// A time, one way or the other.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(crate) struct WhenArgs {
    /// Due this long from now, such as 5m
    #[arg(long = "in", value_name = "SPAN")]
    pub delay: Option<Span>,
    /// Due at this time, RFC 3339
    #[arg(long, value_name = "TIME")]
    pub at: Option<Timestamp>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct EditArgs {
    /// The job
    pub id: JobId,
    /// Another payload: JSON, @FILE, or - for stdin
    #[arg(long, short, value_name = "JSON")]
    pub payload: Option<String>,
    /// Which version the payload has
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub payload_version: Option<i128>,
    /// Open the payload in the editor with its redacted fields
    #[arg(long)]
    pub reveal: bool,
    /// Another queue
    #[arg(long, short)]
    pub queue: Option<String>,
    /// Another priority; 0 runs first, 9 last
    #[arg(long, value_name = "0-9", allow_negative_numbers = true)]
    pub priority: Option<i128>,
    /// A tag in place of all it has; repeatable
    #[arg(long = "tag", value_name = "TAG")]
    pub tags: Vec<String>,
    /// No tags
    #[arg(long, conflicts_with = "tags")]
    pub no_tags: bool,
    /// Due this long from now, such as 5m
    #[arg(long = "in", value_name = "SPAN", conflicts_with = "at")]
    pub delay: Option<Span>,
    /// Due at this time, RFC 3339
    #[arg(long, value_name = "TIME")]
    pub at: Option<Timestamp>,
    /// Only if it has this version (`jobs show` tells it), so that nobody else's edit is lost
    #[arg(long, value_name = "N")]
    pub if_version: Option<u32>,
}

/// Jobs by id, or all that match.
#[derive(Debug, clap::Args)]
pub(crate) struct WhichArgs {
    /// The jobs
    #[arg(required_unless_present = "matching", conflicts_with = "matching")]
    pub ids: Vec<JobId>,
    #[command(flatten)]
    pub all: MatchingArgs,
}

/// All that match.
#[derive(Debug, clap::Args)]
pub(crate) struct MatchingArgs {
    /// All that match this query; without --yes it only says how many, and shows some
    #[arg(long, value_name = "QUERY")]
    pub matching: Option<String>,
    /// Do it, in steps that survive a restart (see `operations`)
    #[arg(long, requires = "matching")]
    pub yes: bool,
    /// Start it and leave it to the nodes
    #[arg(long, requires = "yes")]
    pub no_wait: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CancelArgs {
    /// The job
    #[arg(required_unless_present = "matching", conflicts_with = "matching")]
    pub id: Option<JobId>,
    #[command(flatten)]
    pub all: MatchingArgs,
    /// Why, kept with the job
    #[arg(long)]
    pub why: Option<String>,
    /// Who asks [default: the user's name]
    #[arg(long, conflicts_with = "matching")]
    pub by: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RetryArgs {
    #[command(flatten)]
    pub which: WhichArgs,
    /// How many attempts they have left at least
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub attempts: u32,
    /// With another payload: JSON, @FILE, or - for stdin
    #[arg(long, value_name = "JSON", conflicts_with = "matching")]
    pub payload: Option<String>,
    /// Which version that payload has [default: the one before]
    #[arg(long, value_name = "N", requires = "payload", allow_negative_numbers = true)]
    pub payload_version: Option<i128>,
}
