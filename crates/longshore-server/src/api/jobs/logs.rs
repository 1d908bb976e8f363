//! What a job's runs said.

use std::ops::RangeInclusive;

use axum::Json;
use axum::extract::State;
use longshore::store::{Level, LogPage, LogPlace, LogQuery, LogRow, MAX_LOG_PAGE};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::problem::{Problem, Result};
use crate::request::{Params, ThisJob, ranged};
use crate::server::App;

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

/// How grave a line is.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
#[allow(dead_code, reason = "describes the words of the library's own type")]
pub(crate) enum LevelWord {
    /// Something failed.
    Error,
    /// Something is odd.
    Warn,
    /// What one wants to know.
    Info,
    /// What one wants to know while looking for a fault.
    Debug,
    /// Everything.
    Trace,
}

/// Lines of a log, oldest first.
#[derive(Serialize, ToSchema)]
pub(crate) struct LogsView {
    /// The lines.
    #[schema(value_type = Vec<LineView>)]
    lines: Vec<LogRow>,
    /// For `after`: where the next page goes on. It is there also when there are no more lines by now.
    next: String,
    /// Whether there is more by now.
    more: bool,
}

/// One line.
#[derive(ToSchema)]
#[allow(dead_code, reason = "describes the library's own type")]
pub(crate) struct LineView {
    /// The attempt that said it.
    attempt: u32,
    /// Its number in that attempt.
    line: u64,
    /// So many lines before it are not there.
    left_out: u64,
    /// When it was said, by the clock of the machine that ran the job.
    #[schema(format = DateTime)]
    at: String,
    /// How grave it is.
    level: LevelWord,
    /// Which part of the program said it.
    target: String,
    /// The words.
    message: String,
    /// Values beside the words.
    #[schema(value_type = Option<Object>)]
    fields: Option<String>,
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
    let LogPage { lines, next, more } = app.client.logs(id, query).await?;
    Ok(Json(LogsView { lines, next: format!("{}.{}", next.attempt, next.line), more }))
}

fn place(text: &str) -> Result<LogPlace> {
    let read = || {
        let (attempt, line) = text.split_once('.')?;
        Some(LogPlace { attempt: attempt.parse().ok()?, line: line.parse().ok()? })
    };
    read().ok_or_else(|| Problem::parameter("after", "after is no place; use the `next` of a page"))
}
