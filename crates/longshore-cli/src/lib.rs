//! The command line of a Longshore application: its own handlers, and every command around them.
//!
//! A command goes one way: flags -> settings -> database -> work -> what is printed -> exit code.
//! The modules below stand in that order; read them in it.
//!
//! ```no_run
//! use longshore::{Run, Worker};
//! use longshore_cli::{App, Settings};
//!
//! fn main() -> std::process::ExitCode {
//!     longshore_cli::run(App::new("shop", "1.0.0", |worker: Worker, _: &Settings| {
//!         Ok(worker.handle("send_receipt", |run: Run| async move { println!("{}", run.payload()) }))
//!     }))
//! }
//! ```

mod app; // what an application brings
mod args;
mod backoff; // the words on the command line
mod exit; // exit codes, and the sentence before one
mod settings; // flags > environment > file > defaults
mod telemetry; // spans for a collector
mod logs; // words on stderr
mod connect; // tries again with patience
mod remote; // a server, over HTTP
mod door; // where a command works: a database or a server
mod signals; // Ctrl-C and its like
mod print; // tables, times, texts that cannot harm a terminal
mod commands; // one file each

#[cfg(doctest)]
mod pages; // what users read: its Rust compiles

pub use app::{App, BoxError, Demo};
pub use longshore_server::wire::Span;
pub use settings::{
    HttpSettings, KindsSettings, LimitsSettings, LogFormat, LogSettings, RemoteSettings, Settings,
    TokenText, WorkerSettings,
};
#[cfg(feature = "otel")]
pub use telemetry::{Telemetry, TelemetryError};

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use args::Args;
use exit::{Exit, Failure};

/// Reads the command line, does what it says and answers how it went.
pub fn run(app: App) -> ExitCode {
    let command = Args::command().name(app.name).bin_name(app.name).version(app.version);
    let parsed = command.try_get_matches().and_then(|matches| Args::from_arg_matches(&matches));
    let args = match parsed {
        Ok(args) => args,
        Err(error) => {
            // Help and version are no faults; clap knows where each belongs.
            let _ = error.print();
            return if error.use_stderr() { Exit::Usage.into() } else { Exit::Ok.into() };
        }
    };
    match work(app, args) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            failure.tell();
            failure.exit.into()
        }
    }
}

fn work(app: App, args: Args) -> Result<Exit, Failure> {
    let (settings, way) = settings::load(&args)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(format!("no thread to run on: {error}")))?;
    let telemetry = telemetry::start(&app, &args.command, runtime.handle())?;
    let kept = commands::runs_handlers(&args.command).then_some(settings.worker.log_level);
    let level = commands::log_level(&args.command);
    let logs_here = logs::start(&settings.log, level, kept, telemetry.as_ref())?;
    // An application with layers of its own may have an exporter of its own.
    if logs_here {
        telemetry::tell_if_absent(&args.command);
    }
    let json = args.common.json;
    let exit = runtime
        .block_on(commands::run(commands::Context { app, settings, way, json }, args.command));
    if let Some(telemetry) = telemetry {
        telemetry.stop();
    }
    // Not a plain drop: that waits for handlers that were cut off and still hold a thread.
    runtime.shutdown_background();
    exit
}
