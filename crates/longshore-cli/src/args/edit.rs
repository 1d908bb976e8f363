//! What commands that change waiting jobs take.

use longshore::{JobId, Timestamp};

use crate::span::Span;

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
