//! Where a command works: straight on a database, or through a running server. One method for each verb, and both
//! ways answer with what the API shows, so that a command has one way of printing.

mod access;
mod audit;
mod enqueue;
mod export;
mod jobs;
mod operations;
mod queues;
mod retention;

pub(crate) use enqueue::Ready;
pub(crate) use export::Wanted;
pub(crate) use jobs::{Cancel, Change, Retry};
pub(crate) use queues::{NodeAsk, PauseAsk};

use longshore::job::{Invalid, Problem, json};
use longshore::{Client, StoreOptions};
use serde_json::value::RawValue;

use crate::commands::Context;
use crate::exit::Failure;
use crate::remote::Remote;
use crate::settings::Way;

/// The way in.
pub(crate) enum Door {
    /// Straight on the database.
    Database(Client),
    /// Through a server, which does the same with its own database, in the name of the token.
    Server(Box<Remote>),
}

impl Door {
    /// For a command that may be the first one.
    pub async fn open(context: &Context) -> Result<Door, Failure> {
        Door::with(context, context.settings.store.options()).await
    }

    /// For a command that only looks at or edits what is there: no file is made.
    pub async fn existing(context: &Context) -> Result<Door, Failure> {
        let options = StoreOptions { create: false, ..context.settings.store.options() };
        Door::with(context, options).await
    }

    async fn with(context: &Context, options: StoreOptions) -> Result<Door, Failure> {
        let settings = &context.settings;
        match context.way {
            Way::Server { .. } => Remote::new(settings).map(Box::new).map(Door::Server),
            Way::Database => {
                let client =
                    Client::open_with(&settings.database, options, settings.limits()).await?;
                Ok(Door::Database(client))
            }
        }
    }
}

/// An option that has no counterpart in the API.
fn only_here(option: &str, why: &str) -> Failure {
    Failure::usage(format!("{option} does not work through a server: {why}"))
}

/// Who asks is whoever the token is of.
fn nobody_else(by: Option<&String>) -> Result<(), Failure> {
    match by {
        Some(_) => Err(only_here("--by", "there, who asks is whoever the token is of")),
        None => Ok(()),
    }
}

/// The text as JSON that is passed on unchanged, with the library's words where it is none.
fn raw(payload: &str) -> Result<&RawValue, Failure> {
    let wrong = |fault| Invalid { field: "payload", problem: Problem::Json(fault), index: None };
    json::check(payload).map_err(wrong)?;
    serde_json::from_str(payload).map_err(Failure::usage)
}
