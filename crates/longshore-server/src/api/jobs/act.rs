//! Cancel and retry.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use longshore::State as JobState;
use longshore::store::AskCancel;

use super::show;
use crate::audit::Note;
use crate::identity::Identity;
use crate::problem::{Problem, Result};
use crate::request::{Body, ThisJob, or_default};
use crate::server::App;
use crate::wire::{CancelBody, EditBody, RetryBody, ShownView, within};

/// What `attempts` may be.
const ATTEMPTS: (i64, i64) = (1, 1_000_000);

/// Cancels a job: at once while it waits; a running one is asked to stop.
#[utoipa::path(post, path = "/jobs/{id}/cancel", tag = "jobs", operation_id = "jobs.cancel",
    params(ThisJob),
    request_body(content = Option<CancelBody>),
    responses(
        (status = 200, description = "It waited, and is cancelled.", body = ShownView),
        (status = 202, description = "It runs, and is asked to stop.", body = ShownView),
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
    let body: CancelBody = or_default(&body)?;
    note.why(body.why.as_deref());
    let ask = AskCancel { by: Some(who.name), why: body.why };
    let state = app.client.cancel(id, ask).await?;
    let mut response = show::fresh(&app, id).await?;
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
        ThisJob,
        ("If-Match" = Option<String>, Header, description = "Only if it has this version."),
    ),
    request_body(content = Option<RetryBody>),
    responses(
        (status = 200, description = "It is queued.", body = ShownView),
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
    let body: RetryBody = or_default(&body)?;
    let attempts = within("attempts", body.attempts.unwrap_or(1), ATTEMPTS)?;
    let RetryBody { payload, payload_version, .. } = body;
    let mut edit = EditBody { payload, payload_version, ..EditBody::default() }.into_edit()?;
    if let Some(version) = show::if_match(&headers)? {
        edit = edit.if_version(version);
    }
    app.client.retry_with(id, attempts, edit).await?;
    show::fresh(&app, id).await
}
