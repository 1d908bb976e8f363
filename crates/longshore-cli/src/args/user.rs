//! `user`: the words.

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum UserCommand {
    /// Add a user, whose password is asked for
    Create(CreateUserArgs),
    /// List users by name; passwords are not among it
    List,
    /// Change a user; all sessions of the user end
    Change(ChangeUserArgs),
    /// Remove a user and end all sessions of it
    Remove {
        /// The user's name
        name: String,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct CreateUserArgs {
    /// The name to sign in with; the case of its letters does not matter
    pub name: String,
    /// What the user may do: viewer, operator or admin
    #[arg(long, required_unless_present = "rights")]
    pub role: Option<String>,
    /// A single right, such as jobs:delete; repeatable, also beside a role
    #[arg(long = "right", value_name = "RIGHT")]
    pub rights: Vec<String>,
    /// Read the password from the first line of stdin
    #[arg(long)]
    pub password_stdin: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ChangeUserArgs {
    /// The user's name
    pub name: String,
    /// Another role in place of the one that there is
    #[arg(long)]
    pub role: Option<String>,
    /// Single rights in place of those that there are; repeatable
    #[arg(long = "right", value_name = "RIGHT")]
    pub rights: Vec<String>,
    /// Keep the user out
    #[arg(long, conflicts_with = "enable")]
    pub disable: bool,
    /// Let the user in again
    #[arg(long)]
    pub enable: bool,
    /// Ask for another password
    #[arg(long)]
    pub password: bool,
    /// Read another password from the first line of stdin
    #[arg(long, conflicts_with = "password")]
    pub password_stdin: bool,
}
