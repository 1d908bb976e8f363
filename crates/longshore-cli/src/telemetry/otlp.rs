//! Sends spans by OTLP over HTTP, as protobuf.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use opentelemetry::trace::TracerProvider;
use opentelemetry_http::hyper::HyperClient;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{ExporterBuildError, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use tokio::runtime::Handle;
use tracing::{Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::registry::LookupSpan;

use super::failures::Told;
use super::{collector, said};

/// How long the last spans may take at the end of the program.
const FLUSH_FOR: Duration = Duration::from_secs(3);
/// What one request may take, unless `OTEL_EXPORTER_OTLP_TIMEOUT` says so in milliseconds.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Spans that tell nothing about jobs: probes, and those of the libraries below us.
const LEFT_OUT: [&str; 6] =
    ["longshore::health", "opentelemetry", "hyper", "h2", "rustls", "tower"];

/// The exporter of spans. Ends with [`Telemetry::stop`]; dropped without, the last seconds' spans are lost.
///
/// ```no_run
/// use longshore_cli::Telemetry;
/// use tracing_subscriber::prelude::*;
/// # fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let runtime = tokio::runtime::Runtime::new()?;
/// let telemetry = Telemetry::from_env("shop", "1.0.0", runtime.handle())?;
/// tracing_subscriber::registry().with(telemetry.as_ref().map(Telemetry::layer)).init();
/// // … the program …
/// if let Some(telemetry) = telemetry {
///     telemetry.stop();
/// }
/// # Ok(()) }
/// ```
pub struct Telemetry {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
}

/// What the environment asks for and nobody can do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TelemetryError {
    /// Another protocol than ours.
    #[error("{variable} is `{given}`; spans are sent as http/protobuf, to a collector's port 4318")]
    Protocol {
        /// The variable that says so.
        variable: &'static str,
        /// What it says.
        given: String,
    },
    /// An address, a header or the like.
    #[error("spans cannot be sent: {0}")]
    Exporter(#[from] ExporterBuildError),
}

impl Telemetry {
    /// An exporter to where `OTEL_EXPORTER_OTLP_ENDPOINT` says, or `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`; `None` if
    /// neither does, or `OTEL_SDK_DISABLED` or `OTEL_TRACES_EXPORTER=none` say otherwise. `OTEL_SERVICE_NAME`,
    /// `OTEL_RESOURCE_ATTRIBUTES`, `OTEL_TRACES_SAMPLER` and all others hold as the specification has them; the
    /// service's name without them is `service`. Requests run on the runtime, which must go on until the stop.
    pub fn from_env(
        service: &str,
        version: &str,
        on: &Handle,
    ) -> Result<Option<Telemetry>, TelemetryError> {
        let Some((_, endpoint)) = collector() else { return Ok(None) };
        for variable in ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"] {
            if let Some(given) = said(variable).filter(|protocol| protocol != "http/protobuf") {
                return Err(TelemetryError::Protocol { variable, given });
            }
        }
        let builder = SpanExporter::builder().with_http();
        let exporter = builder.with_http_client(OnRuntime::new(&endpoint, on)).build()?;
        Ok(Some(Telemetry::over(exporter, resource(service, version))))
    }

    /// An exporter to this address, such as `http://127.0.0.1:4318/v1/traces`. All else is as with
    /// [`Telemetry::from_env`].
    pub fn to(
        endpoint: &str,
        service: &str,
        version: &str,
        on: &Handle,
    ) -> Result<Telemetry, TelemetryError> {
        let builder = SpanExporter::builder().with_http().with_endpoint(endpoint);
        let exporter = builder.with_http_client(OnRuntime::new(endpoint, on)).build()?;
        Ok(Telemetry::over(exporter, resource(service, version)))
    }

    fn over(exporter: SpanExporter, resource: Resource) -> Telemetry {
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(Told::new(exporter))
            .with_resource(resource)
            .build();
        let tracer = provider.tracer("longshore");
        Telemetry { provider, tracer }
    }

    /// Hands spans of level info and graver to the exporter, with what is logged in them.
    pub fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        let left_out = |target: &str| LEFT_OUT.iter().any(|start| target.starts_with(start));
        tracing_opentelemetry::layer()
            .with_tracer(self.tracer.clone())
            // An error that is logged and mended is none of the run.
            .with_error_events_to_status(false)
            .with_location(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
            .with_target(false)
            .with_filter(filter_fn(move |metadata| {
                *metadata.level() <= Level::INFO && !left_out(metadata.target())
            }))
    }

    /// Sends what there is now, for at most five seconds; not on a thread of the runtime. Whether it came to that is
    /// in the log.
    pub fn flush(&self) {
        let _ = self.provider.force_flush();
    }

    /// Sends what is left, for at most three seconds. Not on a thread of the runtime, which has to send it.
    pub fn stop(self) {
        if let Err(error) = self.provider.shutdown_with_timeout(FLUSH_FOR) {
            tracing::warn!("the last spans could not be sent: {error}");
        }
    }
}

impl fmt::Debug for Telemetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Telemetry")
    }
}

/// An empty variable counts as none.
fn resource(service: &str, version: &str) -> Resource {
    let mut resource = Resource::builder();
    let attributes = said("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
    let given = |key: &str| attributes.split(',').any(|pair| pair.trim().starts_with(key));
    if said("OTEL_SERVICE_NAME").is_none() && !given("service.name=") {
        resource = resource.with_service_name(service.to_owned());
    }
    if !given("service.version=") {
        let version = opentelemetry::KeyValue::new("service.version", version.to_owned());
        resource = resource.with_attribute(version);
    }
    resource.build()
}

fn client(endpoint: &str) -> Arc<dyn HttpClient> {
    let ms = ["OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT"];
    let ms = ms.into_iter().find_map(said).and_then(|ms| ms.parse().ok());
    let timeout = ms.map_or(TIMEOUT, Duration::from_millis);
    if !endpoint.starts_with("https:") {
        return Arc::new(HyperClient::with_default_connector(timeout, None));
    }
    let tls = hyper_rustls::HttpsConnectorBuilder::new()
        .with_webpki_roots()
        .https_only()
        .enable_http1()
        .build();
    Arc::new(HyperClient::new(tls, timeout, None))
}

/// The exporter has a thread of its own, and the client needs a runtime.
#[derive(Debug)]
struct OnRuntime {
    client: Arc<dyn HttpClient>,
    on: Handle,
}

impl OnRuntime {
    fn new(endpoint: &str, on: &Handle) -> OnRuntime {
        OnRuntime { client: client(endpoint), on: on.clone() }
    }
}

#[async_trait::async_trait]
impl HttpClient for OnRuntime {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let client = Arc::clone(&self.client);
        self.on.spawn(async move { client.send_bytes(request).await }).await?
    }
}
