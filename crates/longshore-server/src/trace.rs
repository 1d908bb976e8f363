//! The trace that a request belongs to, and the span around it.

use axum::http::{HeaderMap, Method, StatusCode};
use longshore::Trace;
use tracing::Span;
use tracing::field::Empty;

use crate::layers::is_health;

/// The span of a request, so that whatever is logged on the way names it. With the feature `otel` it has a name and
/// a kind for OpenTelemetry, and belongs to the trace of the caller.
pub(crate) fn span(id: &str, method: &Method, route: Option<&str>, headers: &HeaderMap) -> Span {
    if !cfg!(feature = "otel") {
        return tracing::error_span!("request", id);
    }
    if route.is_some_and(|route| is_health(route) || route == "/metrics") {
        // Asked for every few seconds; a target of its own, so that no exporter has to take it.
        return tracing::error_span!(target: "longshore::health", "request", id);
    }
    let span = tracing::error_span!(
        "request", id, trace_id = Empty, otel.kind = "server", otel.status_code = Empty,
        otel.name = %format_args!("{method} {}", route.unwrap_or("other")),
        http.request.method = %method, http.route = route, http.response.status_code = Empty
    );
    // Where we are mounted the application may have a span for it already.
    let caller = if Trace::current().is_empty() { incoming(headers) } else { None };
    caller.unwrap_or_default().adopt(&span);
    span
}

/// What became of the request.
pub(crate) fn answered(span: &Span, status: StatusCode) {
    span.record("http.response.status_code", status.as_u16());
    if status.is_server_error() {
        span.record("otel.status_code", "ERROR");
    }
}

/// The trace that a new job names: the caller's. Where spans are exported it is none, for the job then names the span
/// of its enqueue, which is on the way from the caller.
pub(crate) fn of_job(headers: &HeaderMap) -> Trace {
    let caller = if Trace::current().is_empty() { incoming(headers) } else { None };
    caller.unwrap_or_default()
}

/// The caller's trace, as W3C Trace Context says it; what is not so is no trace. Said twice it is none either.
fn incoming(headers: &HeaderMap) -> Option<Trace> {
    let mut parents = headers.get_all("traceparent").iter();
    let (parent, None) = (parents.next()?.to_str().ok()?, parents.next()) else { return None };
    let states: Vec<&str> =
        headers.get_all("tracestate").iter().filter_map(|state| state.to_str().ok()).collect();
    Trace::parse(parent, Some(&states.join(",")))
}
