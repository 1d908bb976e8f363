//! `audit`: the words.

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Show the newest entries, oldest first
    Tail(TailArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct TailArgs {
    /// Go on with what comes, until told to stop
    #[arg(long, short)]
    pub follow: bool,
    /// Only what this one did: a token's name, or cli:USER
    #[arg(long)]
    pub actor: Option<String>,
    /// Only this action, such as jobs.cancel
    #[arg(long)]
    pub action: Option<String>,
    /// How many, to begin with
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub lines: u32,
}
