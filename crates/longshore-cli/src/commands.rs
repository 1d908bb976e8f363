//! The commands, one file each.

mod audit;
mod bench;
mod check_deploy;
pub(crate) mod demo;
mod dev;
mod doctor;
mod enqueue;
mod http;
mod jobs;
mod kinds;
mod migrate;
mod nodes;
mod operations;
mod prune;
mod queues;
mod retention;
mod serve;
mod token;
mod trace;
mod user;

use crate::app::App;
use crate::args::Command;
use crate::exit::{Exit, Failure};
use crate::settings::{Settings, Way};

/// What a command works with.
pub(crate) struct Context {
    pub app: App,
    pub settings: Settings,
    pub way: Way,
    pub json: bool,
}

/// The log level of a command when nobody names one.
pub(crate) fn log_level(command: &Command) -> &'static str {
    match command {
        Command::Serve(_) => "info",
        // The demo's table is the news; a stop still says what it waits for.
        Command::Dev(_) => "warn,longshore_cli=info",
        _ => "warn",
    }
}

/// Whether it is a worker of the application's handlers. The benchmark's say nothing.
pub(crate) fn runs_handlers(command: &Command) -> bool {
    matches!(command, Command::Serve(_) | Command::Dev(_))
}

/// Why a command works on a database alone, if it does.
fn only_on_a_database(command: &Command) -> Option<(&'static str, &'static str)> {
    Some(match command {
        Command::Dev(_) => ("dev", "it runs a worker and a server of its own"),
        Command::Serve(_) => {
            ("serve", "it is the server, and its worker needs the database itself")
        }
        Command::Migrate(_) => ("migrate", "a server does not change its own schema"),
        Command::CheckDeploy(_) => {
            ("check-deploy", "it decodes payloads whole, also what is hidden in them")
        }
        Command::Doctor(_) => ("doctor", "it looks at the database itself, and its file"),
        Command::Bench(_) => ("bench", "it measures a database"),
        _ => return None,
    })
}

/// A command that works on a database alone takes the one that is named, unless a flag sends it to a server.
fn settled(way: Way, command: &Command) -> Result<Way, Failure> {
    let Way::Server { by_flag, database_named } = way else { return Ok(way) };
    match only_on_a_database(command) {
        None => Ok(way),
        Some(_) if database_named && !by_flag => Ok(Way::Database),
        Some((name, why)) => Err(Failure::usage(format!(
            "`{name}` does not work through a server (url): {why}; name a database with --database"
        ))),
    }
}

pub(crate) async fn run(mut context: Context, command: Command) -> Result<Exit, Failure> {
    context.way = settled(context.way, &command)?;
    let trace = trace::begin(&context, &command).await?;
    let done = carry_out(context, command).await;
    trace::end(trace, &done).await;
    done
}

async fn carry_out(context: Context, command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Dev(args) => dev::run(context, args).await,
        Command::Serve(args) => serve::run(context, args).await,
        Command::Migrate(command) => migrate::run(context, command).await,
        Command::Enqueue(args) => enqueue::run(context, *args).await,
        Command::Jobs(command) => jobs::run(context, command).await,
        Command::CheckDeploy(args) => check_deploy::run(context, args).await,
        Command::Operations(command) => operations::run(context, command).await,
        Command::Queues(command) => queues::run(context, command).await,
        Command::Kinds(command) => kinds::run(context, command).await,
        Command::Nodes(command) => nodes::run(context, command).await,
        Command::Retention(command) => retention::run(context, command).await,
        Command::Prune(args) => prune::run(context, args).await,
        Command::Token(command) => token::run(context, command).await,
        Command::User(command) => user::run(context, command).await,
        Command::Audit(command) => audit::run(context, command).await,
        Command::Doctor(args) => doctor::run(context, args).await,
        Command::Bench(args) => bench::run(context, *args).await,
    }
}

/// The user's name, as the system tells it to programs.
pub(crate) fn user_name() -> Option<String> {
    let named = |variable| std::env::var(variable).ok().filter(|name| !name.is_empty());
    named("USER").or_else(|| named("LOGNAME")).or_else(|| named("USERNAME"))
}
