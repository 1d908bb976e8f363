//! What a job's runs said.

use std::ops::RangeInclusive;

use axum::Json;
use axum::extract::State;
use longshore::store::{Level, LogPlace, LogQuery, MAX_LOG_PAGE};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::problem::{Problem, Result};
use crate::request::{Params, ThisJob, ranged};
use crate::server::App;
use crate::wire::{LevelWord, LogsView};

/// Attempts that a job may have.
const ATTEMPTS: RangeInclusive<u32> = 1..=1_000_000_000;

/// Which lines.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct LogParams {
    /// Of this attempt alone. Default: of all.
    #[param(minimum = 1, maximum = 1_000_000_000)]
    attempt: Option<u32>,
    /// This grave or graver. Default: all.
    #[param(inline, value_type = Option<LevelWord>)]
    level: Option<Level>,
    /// Those after this place: the `next` of the page before, `ATTEMPT.LINE`.
    #[param(example = "1.17")]
    after: Option<String>,
    /// Lines of one page. Default 200.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
}

/// What a job's runs said, line by line.
///
/// A page without lines of a job that runs is no end: ask again from its `next`.
#[utoipa::path(get, path = "/jobs/{id}/logs", tag = "jobs", operation_id = "jobs.logs",
    params(ThisJob, LogParams),
    responses(
        (status = 200, description = "One page.", body = LogsView),
        (status = 404, description = "There is no such job.", body = Problem),
    ))]
pub(crate) async fn logs(
    State(app): State<App>,
    ThisJob(id): ThisJob,
    Params(params): Params<LogParams>,
) -> Result<Json<LogsView>> {
    let limit = ranged("limit", params.limit.unwrap_or(200), 1..=MAX_LOG_PAGE)?;
    let attempt = params.attempt.map(|n| ranged("attempt", n, ATTEMPTS)).transpose()?;
    let after = params.after.as_deref().map(place).transpose()?.unwrap_or_default();
    let level = params.level.unwrap_or(Level::Trace);
    // So that a job that is not there is told from one that said nothing.
    app.client.get(id).await?;
    let query = LogQuery { attempt, level, after, limit };
    Ok(Json(app.client.logs(id, query).await?.into()))
}

fn place(text: &str) -> Result<LogPlace> {
    LogsView::place(text)
        .ok_or_else(|| Problem::parameter("after", "after is no place; use the `next` of a page"))
}
