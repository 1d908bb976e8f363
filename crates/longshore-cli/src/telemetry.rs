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
