//! Whether this process lives, and whether requests may be sent to it. Asked without credentials, and telling
//! nothing that needs them.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Json, Router};
use longshore::StoreError;
use serde::Serialize;
use tokio::sync::watch;

use crate::server::App;

/// A database that takes longer does not serve.
const PATIENCE: Duration = Duration::from_secs(1);

/// Whether requests may still be sent here.
#[derive(Clone, Debug, Default)]
pub struct Readiness(Arc<watch::Sender<bool>>);

impl Readiness {
    /// From now on it is not ready: another server is to be asked. It still answers.
    pub fn drain(&self) {
        self.0.send_replace(true);
    }

    /// Whether it is being stopped.
    pub fn drains(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until it is being stopped.
    pub(crate) async fn drained(&self) {
        // The sender is ours, so this ends only when it has come to it.
        let _ = self.0.subscribe().wait_for(|drains| *drains).await;
    }
}

/// What was looked at.
#[derive(Serialize)]
struct Report {
    ready: bool,
    database: &'static str,
    schema: &'static str,
    draining: bool,
}

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/livez", get(async || "alive\n"))
        .route("/readyz", get(ready))
        .route("/startupz", get(started))
}

async fn ready(State(app): State<App>) -> (StatusCode, Json<Report>) {
    let (usable, database, schema) = look(&app).await;
    let draining = app.readiness.drains();
    let ready = usable && !draining;
    (status(ready), Json(Report { ready, database, schema, draining }))
}

async fn started(State(app): State<App>) -> (StatusCode, &'static str) {
    let (usable, ..) = look(&app).await;
    (status(usable), if usable { "started\n" } else { "not started\n" })
}

fn status(good: bool) -> StatusCode {
    if good { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }
}

/// Whether the database can be used; how it is, and how its schema is.
async fn look(app: &App) -> (bool, &'static str, &'static str) {
    match tokio::time::timeout(PATIENCE, app.client.ready()).await {
        Ok(Ok(())) => (true, "answers", "current"),
        Ok(Err(StoreError::Schema { .. } | StoreError::Checksum { .. })) => {
            (false, "answers", "another")
        }
        Ok(Err(_)) => (false, "fails", "unknown"),
        Err(_) => (false, "does not answer", "unknown"),
    }
}
