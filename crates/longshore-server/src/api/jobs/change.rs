//! Changes to waiting jobs.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use longshore::{Edit, JobId};

use super::create::due_once;
use super::show;
use crate::problem::{Problem, Result};
use crate::request::{Body, ThisJob};
use crate::server::App;
use crate::wire::{EditBody, RescheduleBody, ShownView};

/// Changes a waiting job; what is not named stays (RFC 7396).
#[utoipa::path(patch, path = "/jobs/{id}", tag = "jobs", operation_id = "jobs.edit",
    params(
        ThisJob,
        ("If-Match" = Option<String>, Header, description = "Only if it has this version: its `ETag`."),
    ),
    request_body(content = EditBody),
    responses(
        (status = 200, description = "The job as it is now.", body = ShownView),
        (status = 404, description = "There is no such job.", body = Problem),
        (status = 409, description = "It does not wait.", body = Problem),
        (status = 412, description = "It was edited meanwhile.", body = Problem),
    ))]
pub(crate) async fn edit(
    State(app): State<App>,
    ThisJob(id): ThisJob,
    headers: HeaderMap,
    body: Body,
) -> Result<Response> {
    change(&app, id, edit_of(body.read()?)?, &headers).await
}

/// Makes a waiting job due at once.
#[utoipa::path(post, path = "/jobs/{id}/run-now", tag = "jobs", operation_id = "jobs.run_now",
    params(ThisJob),
    responses(
        (status = 200, description = "The job as it is now.", body = ShownView),
        (status = 404, description = "There is no such job.", body = Problem),
        (status = 409, description = "It does not wait.", body = Problem),
    ))]
pub(crate) async fn run_now(
    State(app): State<App>,
    ThisJob(id): ThisJob,
    headers: HeaderMap,
) -> Result<Response> {
    change(&app, id, Edit::new().run_now(), &headers).await
}

/// Gives a waiting job another time.
#[utoipa::path(post, path = "/jobs/{id}/reschedule", tag = "jobs", operation_id = "jobs.reschedule",
    params(ThisJob),
    request_body(content = RescheduleBody),
    responses(
        (status = 200, description = "The job as it is now.", body = ShownView),
        (status = 404, description = "There is no such job.", body = Problem),
        (status = 409, description = "It does not wait.", body = Problem),
    ))]
pub(crate) async fn reschedule(
    State(app): State<App>,
    ThisJob(id): ThisJob,
    headers: HeaderMap,
    body: Body,
) -> Result<Response> {
    let RescheduleBody { run_at, run_in } = body.read()?;
    let edit = edit_of(EditBody { run_at, run_in, ..EditBody::default() })?;
    change(&app, id, edit, &headers).await
}

/// Removes a job that does not run, with its payload, its history and its unique key.
#[utoipa::path(delete, path = "/jobs/{id}", tag = "jobs", operation_id = "jobs.delete",
    params(ThisJob),
    responses(
        (status = 204, description = "It is gone."),
        (status = 404, description = "There is no such job.", body = Problem),
        (status = 409, description = "It runs: cancel it first.", body = Problem),
    ))]
pub(crate) async fn delete(State(app): State<App>, ThisJob(id): ThisJob) -> Result<StatusCode> {
    app.client.delete(id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The change that a body describes. One that says nothing is a mistake.
fn edit_of(body: EditBody<'_>) -> Result<Edit> {
    let (run_at, run_in) = (body.run_at, body.run_in);
    let edit = body.into_edit()?;
    due_once(run_at, run_in)?;
    if edit == Edit::new() {
        return Err(Problem::value("", "the body names nothing to change"));
    }
    Ok(edit)
}

async fn change(app: &App, id: JobId, mut edit: Edit, headers: &HeaderMap) -> Result<Response> {
    if let Some(version) = show::if_match(headers)? {
        edit = edit.if_version(version);
    }
    app.client.edit(id, edit).await?;
    show::fresh(app, id).await
}
