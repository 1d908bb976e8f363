//! What this process counts, for Prometheus. Not part of the API: another format, and often another reader.

use axum::Router;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::from_fn;
use axum::response::IntoResponse;
use axum::routing::get;

use crate::config::ServerConfig;
use crate::identity::require;
use crate::rights::Right;
use crate::server::App;

/// The text format that every version of Prometheus reads.
const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

pub(crate) fn routes(config: &ServerConfig) -> Router<App> {
    let routes = Router::new().route("/metrics", get(page));
    if config.metrics_open {
        return routes;
    }
    routes.route_layer(from_fn(|request, next| require(Right::MetricsRead, request, next)))
}

async fn page(State(app): State<App>) -> impl IntoResponse {
    ([(CONTENT_TYPE, MEDIA_TYPE)], app.client.metrics_text().await)
}
