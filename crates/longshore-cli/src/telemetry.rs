//! Spans that leave the program: where the standard variables of OpenTelemetry say, with the feature `otel`.

#[cfg(feature = "otel")]
mod failures; // what could not be sent, said once a minute
#[cfg(feature = "otel")]
mod otlp; // the way to the collector
#[cfg(not(feature = "otel"))]
#[path = "telemetry/absent.rs"]
mod otlp;

use tokio::runtime::Handle;

pub use otlp::Telemetry;
#[cfg(feature = "otel")]
pub use otlp::TelemetryError;

use crate::app::App;
use crate::args::Command;
use crate::commands::runs_handlers;
use crate::exit::Failure;

/// The commands whose work is worth a span: they run jobs, or add one.
fn is_traced(command: &Command) -> bool {
    matches!(command, Command::Serve(_) | Command::Dev(_) | Command::Enqueue(_))
}

/// Starts the exporter, if this command has spans and the environment names a collector.
pub(crate) fn start(
    app: &App,
    command: &Command,
    on: &Handle,
) -> Result<Option<Telemetry>, Failure> {
    if !is_traced(command) {
        return Ok(None);
    }
    Telemetry::from_env(app.name, app.version, on)
        .map_err(|error| Failure::usage(error.to_string()))
}

/// Says so if the environment names a collector and this build sends it nothing: silence would look like a collector
/// that loses spans. Only for what goes on running; a script's `enqueue` would say it a thousand times.
pub(crate) fn tell_if_absent(command: &Command) {
    if cfg!(not(feature = "otel"))
        && runs_handlers(command)
        && let Some((variable, _)) = collector()
    {
        tracing::warn!(
            "{variable} names a collector, but no spans are sent: this program is built without the cargo feature \
             `otel` of longshore-cli"
        );
    }
}

/// The collector that the environment names, and by which variable, unless it says that nothing is to be sent.
fn collector() -> Option<(&'static str, String)> {
    let named = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];
    let found = named.into_iter().find_map(|variable| Some((variable, said(variable)?)))?;
    let off = said("OTEL_SDK_DISABLED").is_some_and(|off| off.eq_ignore_ascii_case("true"))
        || said("OTEL_TRACES_EXPORTER").is_some_and(|exporter| exporter == "none");
    (!off).then_some(found)
}

fn said(variable: &str) -> Option<String> {
    std::env::var(variable).ok().filter(|text| !text.is_empty())
}
