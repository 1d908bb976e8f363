//! Cancel and retry.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use longshore::store::AskCancel;
use longshore::{Edit, State as JobState};

use super::show;
use crate::audit::Note;
use crate::identity::Identity;
use crate::problem::{Problem, Result};
use crate::request::{Body, ThisJob};
use crate::server::App;
use crate::wire::{CancelBody, JobView, RetryBody, VERSIONS, within};

/// What `attempts` may be.
const ATTEMPTS: (i64, i64) = (1, 1_000_000);

/// Cancels a job: at once while it waits; a running one is asked to stop.
#[utoipa::path(post, path = "/jobs/{id}/cancel", tag = "jobs", operation_id = "jobs.cancel",
    params(("id" = String, Path, format = Uuid, description = "The job.")),
    request_body(content = Option<CancelBody>),
    responses(
        (status = 200, description = "It waited, and is cancelled.", body = JobView),
        (status = 202, description = "It runs, and is asked to stop.", body = JobView),
        (status = 404, description = "There is no such job.", body = Problem),
        (status = 409, description = "It ended before.", body = Problem),
    ))]
pub(crate) async fn cancel(
    State(app): State<App>,
    ThisJob(id): ThisJob,
    who: Identity,
    note: Note,
    body: Option<Body>,
) -> Result<Response> {
    let body: CancelBody = body.as_ref().map(Body::read).transpose()?.unwrap_or_default();
    note.why(body.why.as_deref());
    let ask = AskCancel { by: Some(who.name), why: body.why };
    let state = app.client.cancel(id, ask).await?;
    let mut response = job(&app, id).await?;
    if state == JobState::Running {
        *response.status_mut() = StatusCode::ACCEPTED;
    }
    Ok(response)
}

/// Retries a job that is dead, cancelled, scheduled or retrying; it is due at once.
///
/// Numbers of attempts go on rising, and errors stay. With a payload, both change or neither.
#[utoipa::path(post, path = "/jobs/{id}/retry", tag = "jobs", operation_id = "jobs.retry",
    params(
        ("id" = String, Path, format = Uuid, description = "The job."),
        ("If-Match" = Option<String>, Header, description = "Only if it has this version."),
    ),
    request_body(content = Option<RetryBody>),
    responses(
        (status = 200, description = "It is queued.", body = JobView),
        (status = 404, description = "There is no such job.", body = Problem),
        (status = 409, description = "Its state does not allow it, or another job holds its unique key.", body = Problem),
        (status = 412, description = "It was edited meanwhile.", body = Problem),
    ))]
pub(crate) async fn retry(
    State(app): State<App>,
    ThisJob(id): ThisJob,
    headers: HeaderMap,
    body: Option<Body>,
) -> Result<Response> {
    let body: RetryBody = body.as_ref().map(Body::read).transpose()?.unwrap_or_default();
    let attempts = within("attempts", body.attempts.unwrap_or(1), ATTEMPTS)?;
    let mut edit = Edit::new();
    if let Some(payload) = body.payload {
        edit = edit.payload(payload.get());
    }
    if let Some(version) = body.payload_version {
        edit = edit.payload_version(within("payload_version", version, VERSIONS)?);
    }
    if let Some(version) = show::if_match(&headers)? {
        edit = edit.if_version(version);
    }
    app.client.retry_with(id, attempts, edit).await?;
    job(&app, id).await
}

async fn job(app: &App, id: longshore::JobId) -> Result<Response> {
    Ok(show::answer(&app.client.get(id).await?, &HeaderMap::new()))
}
