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
use crate::settings::Settings;

/// What a command works with.
pub(crate) struct Context {
    pub app: App,
    pub settings: Settings,
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

pub(crate) async fn run(context: Context, command: Command) -> Result<Exit, Failure> {
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
        Command::Bench(args) => bench::run(context, args).await,
    }
}

/// The user's name, as the system tells it to programs.
pub(crate) fn user_name() -> Option<String> {
    let named = |variable| std::env::var(variable).ok().filter(|name| !name.is_empty());
    named("USER").or_else(|| named("LOGNAME")).or_else(|| named("USERNAME"))
}
