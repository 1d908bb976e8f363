//! `token`: the words.

use clap::Subcommand;
use longshore_server::wire::Span;

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token and print its secret, which is not shown again
    Create(CreateTokenArgs),
    /// List tokens, live ones first; secrets are not among it
    List,
    /// End a token; it stops working within 5 s
    Revoke {
        /// The token's id, not its secret
        id: String,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct CreateTokenArgs {
    /// Who or what will use it, for people
    pub name: String,
    /// What it may do: viewer, operator or admin
    #[arg(long, required_unless_present = "rights")]
    pub role: Option<String>,
    /// A single right, such as jobs:enqueue; repeatable, also beside a role
    #[arg(long = "right", value_name = "RIGHT")]
    pub rights: Vec<String>,
    /// How long it works, such as 30d [default: until it is revoked]
    #[arg(long, value_name = "SPAN")]
    pub expires: Option<Span>,
}
