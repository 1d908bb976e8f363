//! Words on stderr.

use std::io::IsTerminal;

use longshore::RunLog;
use longshore::store::Level;
use tracing_subscriber::prelude::*;
use tracing_subscriber::{EnvFilter, fmt};

use crate::exit::Failure;
use crate::settings::{LogFormat, LogSettings};
use crate::telemetry::Telemetry;

/// Starts logging. `level` is the command's own, used when neither the settings nor `RUST_LOG` name
/// one. What handlers say is kept with their jobs from the level `kept` on; it is none in a command that runs no
/// handlers. Spans go to `telemetry`, where there is one. Whether the lines are ours: an application that logs in its
/// own way has started already, and keeps it.
pub(crate) fn start(
    settings: &LogSettings,
    level: &str,
    kept: Option<Level>,
    telemetry: Option<&Telemetry>,
) -> Result<bool, Failure> {
    let asked = match settings.level.as_str() {
        "" => std::env::var("RUST_LOG").ok().filter(|text| !text.is_empty()),
        level => Some(level.to_owned()),
    };
    let filter = asked.as_deref().unwrap_or(level);
    let filter = EnvFilter::try_new(filter)
        .map_err(|error| Failure::usage(format!("log.level: `{filter}`: {error}")))?;

    let on_terminal = std::io::stderr().is_terminal();
    let colours = on_terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let lines = fmt::layer().with_writer(std::io::stderr).with_ansi(colours);
    let lines = match settings.format {
        LogFormat::Auto if on_terminal => lines.compact().with_target(false).boxed(),
        LogFormat::Compact => lines.compact().with_target(false).boxed(),
        LogFormat::Pretty => lines.pretty().boxed(),
        LogFormat::Auto | LogFormat::Json => lines.json().flatten_event(true).boxed(),
    };
    let kept = kept.map(|level| RunLog::layer().with_level(level));
    let started = tracing_subscriber::registry()
        .with(lines.with_filter(filter))
        .with(kept)
        .with(telemetry.map(Telemetry::layer))
        .try_init();
    Ok(started.is_ok())
}
