//! One job.

use std::hash::{DefaultHasher, Hasher};

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use longshore::{JobId, JobRow};

use crate::problem::{Code, Problem, Result};
use crate::request::ThisJob;
use crate::server::App;
use crate::wire::{JobView, ShownView};

/// A job, whole but for what is hidden.
///
/// Its `ETag` changes whenever the answer does: `If-None-Match` asks for news alone. It begins with the job's
/// version, which is what `If-Match` of an edit compares.
#[utoipa::path(get, path = "/jobs/{id}", tag = "jobs", operation_id = "jobs.show",
    params(
        ThisJob,
        ("If-None-Match" = Option<String>, Header, description = "The `ETag` that is known."),
    ),
    responses(
        (status = 200, description = "The job.", body = ShownView, headers(("ETag" = String, description = "Its version and a hash."))),
        (status = 304, description = "It is as it was."),
        (status = 404, description = "There is no such job.", body = Problem),
    ))]
pub(crate) async fn show(
    State(app): State<App>,
    ThisJob(id): ThisJob,
    headers: HeaderMap,
) -> Result<Response> {
    answer(&app, app.client.get(id).await?, &headers).await
}

/// A job with the fields of its payload that are hidden from others.
#[utoipa::path(get, path = "/jobs/{id}/reveal", tag = "jobs", operation_id = "jobs.reveal",
    params(ThisJob),
    responses(
        (status = 200, description = "The job.", body = ShownView),
        (status = 404, description = "There is no such job.", body = Problem),
    ))]
pub(crate) async fn reveal(State(app): State<App>, ThisJob(id): ThisJob) -> Result<Response> {
    answer(&app, app.client.reveal(id).await?, &HeaderMap::new()).await
}

/// The job with how far it is, or that it is as it was.
pub(super) async fn answer(app: &App, job: JobRow, headers: &HeaderMap) -> Result<Response> {
    let progress = app.client.progress(job.id).await?;
    let view = ShownView { job: JobView::from(job), progress };
    let body = serde_json::to_vec(&view).expect("texts and numbers");
    let tag = format!("\"{}.{:016x}\"", view.job.version, hash(&body));
    let known = headers.get_all(header::IF_NONE_MATCH).iter().any(|value| {
        value.to_str().is_ok_and(|text| {
            text.split(',')
                .any(|one| one.trim().trim_start_matches("W/") == tag || one.trim() == "*")
        })
    });
    let tag = [(header::ETAG, HeaderValue::try_from(tag).expect("digits"))];
    if known {
        return Ok((StatusCode::NOT_MODIFIED, tag).into_response());
    }
    let media_type = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    Ok((media_type, tag, body).into_response())
}

/// The job as it is now, after a change.
pub(super) async fn fresh(app: &App, id: JobId) -> Result<Response> {
    answer(app, app.client.get(id).await?, &HeaderMap::new()).await
}

/// The version that `If-Match` names: an `ETag` of ours, or its first number.
pub(super) fn if_match(headers: &HeaderMap) -> Result<Option<u32>> {
    let Some(value) = headers.get(header::IF_MATCH) else { return Ok(None) };
    let text = value.to_str().unwrap_or_default().trim();
    if text == "*" {
        return Ok(None);
    }
    let version = text.trim_matches('"').split('.').next().and_then(|number| number.parse().ok());
    version.map(Some).ok_or_else(|| {
        Problem::new(Code::BadParameter, "If-Match is no `ETag` that the job was answered with")
    })
}

/// The same for the same bytes in every process of this build.
fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}
