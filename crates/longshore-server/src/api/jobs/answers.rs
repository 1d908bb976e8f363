//! How a job's attempts went, what it returned, and waiting for that.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use longshore::job::AttemptError;

use super::show;
use crate::problem::{Code, Problem, Result};
use crate::request::{Params, ThisJob};
use crate::server::App;
use crate::wire::{AttemptView, ShownView, Span};

/// How a job's attempts went.
#[derive(Serialize, ToSchema)]
pub(crate) struct AttemptsView {
    /// Attempts counted so far.
    attempt: u32,
    /// Attempts it may have in all.
    max_attempts: u32,
    /// The newest failed ones, oldest first; at most 10.
    #[schema(value_type = Vec<AttemptView>)]
    errors: Vec<AttemptError>,
}

/// How the attempts of a job went.
#[utoipa::path(get, path = "/jobs/{id}/attempts", tag = "jobs", operation_id = "jobs.attempts",
    params(ThisJob),
    responses(
        (status = 200, description = "The attempts.", body = AttemptsView),
        (status = 404, description = "There is no such job.", body = Problem),
    ))]
pub(crate) async fn attempts(
    State(app): State<App>,
    ThisJob(id): ThisJob,
) -> Result<Json<AttemptsView>> {
    let job = app.client.get(id).await?;
    let (attempt, max_attempts, errors) = (job.attempt, job.max_attempts, job.errors);
    Ok(Json(AttemptsView { attempt, max_attempts, errors }))
}

/// What the handler returned, byte for byte.
#[utoipa::path(get, path = "/jobs/{id}/output", tag = "jobs", operation_id = "jobs.output",
    params(ThisJob),
    responses(
        (status = 200, description = "The output.", body = serde_json::Value),
        (status = 404, description = "There is no such job, or it has no output.", body = Problem),
    ))]
pub(crate) async fn output(State(app): State<App>, ThisJob(id): ThisJob) -> Result<Response> {
    let job = app.client.get(id).await?;
    let Some(output) = job.output else {
        let detail = format!("job {id} is {} and has no output", job.state);
        return Err(Problem::new(Code::NotFound, detail));
    };
    let media_type = HeaderValue::from_static("application/json");
    Ok(([(header::CONTENT_TYPE, media_type)], output.into_string()).into_response())
}

/// How long to wait.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct WaitParams {
    /// How long: `30s`, at most the server's limit (60 s by default). Default 30 s.
    #[param(value_type = Option<String>, example = "30s")]
    timeout: Option<Span>,
}

/// Waits until a job ended, or until the time is over.
#[utoipa::path(get, path = "/jobs/{id}/wait", tag = "jobs", operation_id = "jobs.wait",
    params(ThisJob, WaitParams),
    responses(
        (status = 200, description = "It ended.", body = ShownView),
        (status = 202, description = "It did not end in this time; this is how it is. Ask again.", body = ShownView),
        (status = 404, description = "There is no such job.", body = Problem),
    ))]
pub(crate) async fn wait(
    State(app): State<App>,
    ThisJob(id): ThisJob,
    Params(params): Params<WaitParams>,
) -> Result<Response> {
    let longest = app.config.longest_wait;
    let span = params.timeout.map_or(Duration::from_secs(30), |span| span.0).min(longest);
    let job = app.client.wait(id, Some(span)).await?;
    let over = job.state.is_end();
    let mut response = show::answer(&app, job, &HeaderMap::new()).await?;
    if !over {
        *response.status_mut() = StatusCode::ACCEPTED;
    }
    Ok(response)
}

/// What `Prefer: wait=SECONDS` (RFC 7240) asks for, at most the server's limit.
pub(super) fn preferred_wait(app: &App, headers: &HeaderMap) -> Result<Option<Duration>> {
    for value in headers.get_all(HeaderName::from_static("prefer")) {
        let text = value.to_str().unwrap_or_default();
        for preference in text.split([',', ';']) {
            let Some((name, value)) = preference.split_once('=') else { continue };
            if !name.trim().eq_ignore_ascii_case("wait") {
                continue;
            }
            let seconds: u64 = value.trim().parse().map_err(|_| {
                Problem::new(Code::BadParameter, "Prefer: wait is no whole number of seconds")
            })?;
            return Ok(Some(Duration::from_secs(seconds).min(app.config.longest_wait)));
        }
    }
    Ok(None)
}
