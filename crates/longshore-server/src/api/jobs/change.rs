//! Changes to waiting jobs.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use longshore::{Edit, JobId};

use super::create::checked;
use super::show;
use crate::problem::{Problem, Result};
use crate::request::{Body, ThisJob};
use crate::server::App;
use crate::wire::{EditBody, RescheduleBody, ShownView};

/// Changes a waiting job; what is not named stays (RFC 7396).
#[utoipa::path(patch, path = "/jobs/{id}", tag = "jobs", operation_id = "jobs.edit",
    params(
        ("id" = String, Path, format = Uuid, description = "The job."),
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
    let body: EditBody = body.read()?;
    let twice = body.run_at.is_some() && body.run_in.is_some();
    let edit = checked(body.into_edit()?, twice)?;
    change(&app, id, edit, &headers).await
}

/// Makes a waiting job due at once.
#[utoipa::path(post, path = "/jobs/{id}/run-now", tag = "jobs", operation_id = "jobs.run_now",
    params(("id" = String, Path, format = Uuid, description = "The job.")),
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
    params(("id" = String, Path, format = Uuid, description = "The job.")),
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
    let whole = EditBody { run_at, run_in, ..EditBody::default() };
    let edit = checked(whole.into_edit()?, run_at.is_some() && run_in.is_some())?;
    change(&app, id, edit, &headers).await
}

/// Removes a job that does not run, with its payload, its history and its unique key.
#[utoipa::path(delete, path = "/jobs/{id}", tag = "jobs", operation_id = "jobs.delete",
    params(("id" = String, Path, format = Uuid, description = "The job.")),
    responses(
        (status = 204, description = "It is gone."),
        (status = 404, description = "There is no such job.", body = Problem),
        (status = 409, description = "It runs: cancel it first.", body = Problem),
    ))]
pub(crate) async fn delete(State(app): State<App>, ThisJob(id): ThisJob) -> Result<StatusCode> {
    app.client.delete(id).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn change(app: &App, id: JobId, mut edit: Edit, headers: &HeaderMap) -> Result<Response> {
    if let Some(version) = show::if_match(headers)? {
        edit = edit.if_version(version);
    }
    app.client.edit(id, edit).await?;
    show::answer(app, &app.client.get(id).await?, &HeaderMap::new()).await
}
