//! How long ended jobs are kept: the rules, and a prune that is asked for.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use longshore::{Keep, PruneOptions, RetentionRule, RetentionScope};
use serde_json::json;

use crate::audit::Note;
use crate::problem::{Code, Problem, Result};
use crate::request::{Body, Params, or_default};
use crate::server::App;
use crate::wire::{
    PruneBody, PruneView, RetentionBody, RetentionParams, RetentionRuleView, RetentionView,
    retention_change,
};

/// The longest that one request prunes, if the time of an answer allows it: the rest is for the steps at its ends.
const PRUNE_FOR: Duration = Duration::from_secs(10);
/// The most that a prune's limit may be: what an `int64` of the API's document holds.
const MOST_PRUNED: u64 = i64::MAX as u64;

/// The rules of retention, the most particular first.
///
/// Where none fits, succeeded and cancelled jobs are kept for 7 days, dead ones until somebody removes them.
#[utoipa::path(get, path = "/retention", tag = "retention", operation_id = "retention.list",
    responses((status = 200, description = "The rules.", body = RetentionView)))]
pub(super) async fn list(State(app): State<App>) -> Result<Json<RetentionView>> {
    Ok(Json(app.client.retention().await?.into()))
}

/// Adds a rule of retention, or gives the one with the same scope another span.
///
/// All nodes heed it within a minute, for jobs that have ended already as well.
#[utoipa::path(put, path = "/retention", tag = "retention", operation_id = "retention.set",
    request_body = RetentionBody,
    responses((status = 200, description = "The rule.", body = RetentionRuleView),
        (status = 422, description = "The span or a name is not allowed, or there are 200 other rules.", body = Problem)))]
pub(super) async fn set(
    State(app): State<App>,
    note: Note,
    body: Body,
) -> Result<Json<RetentionRuleView>> {
    let rule: RetentionRule = body.read::<RetentionBody>()?.into();
    let before = kept(&app, &rule.scope).await?;
    app.client.set_retention(rule.clone()).await?;
    note.detail(retention_change(&rule.scope, before, Some(rule.keep)));
    Ok(Json(rule.into()))
}

/// Removes the rule of retention with exactly this scope; without parameters, the one for all jobs.
#[utoipa::path(delete, path = "/retention", tag = "retention", operation_id = "retention.remove",
    params(RetentionParams),
    responses((status = 204, description = "It is removed."),
        (status = 404, description = "No rule has this scope.", body = Problem)))]
pub(super) async fn remove(
    State(app): State<App>,
    note: Note,
    Params(params): Params<RetentionParams>,
) -> Result<StatusCode> {
    let scope: RetentionScope = params.into();
    let before = kept(&app, &scope).await?;
    let gone = app.client.remove_retention(scope.clone()).await?;
    note.detail(retention_change(&scope, before, None));
    if !gone {
        return Err(Problem::new(Code::NotFound, "no rule of retention has this scope"));
    }
    Ok(StatusCode::NO_CONTENT)
}

/// Removes ended jobs that are past their time, now; the leader does so by itself all the time.
///
/// One request goes on for 10 s at most: while the answer says `more`, ask again within a minute, and it goes on
/// there. With `dry_run` nothing is removed, and with `more` there are at least so many. There is no way back.
#[utoipa::path(post, path = "/prune", tag = "retention", operation_id = "jobs.prune",
    request_body(content = Option<PruneBody>),
    responses((status = 200, description = "What is gone, or would go.", body = PruneView)))]
pub(super) async fn prune(
    State(app): State<App>,
    note: Note,
    body: Option<Body>,
) -> Result<Json<PruneView>> {
    let PruneBody { dry_run, limit } = or_default(&body)?;
    if let Some(limit) = limit.filter(|limit| !(1..=MOST_PRUNED).contains(limit)) {
        let detail = format!("limit is {limit}; it may be 1 to {MOST_PRUNED}");
        return Err(Problem::value("/limit", detail));
    }
    let within = Some(PRUNE_FOR.min(app.config.timeout / 3));
    let report = app.client.prune(PruneOptions { dry_run, limit, within }).await?;
    let view = PruneView::new(&report, dry_run);
    note.count(usize::try_from(view.removed.total()).unwrap_or(usize::MAX));
    note.detail(json!({ "dry_run": dry_run, "removed": view.removed, "more": view.more }));
    Ok(Json(view))
}

/// What the rule with exactly this scope says, if there is one.
async fn kept(app: &App, scope: &RetentionScope) -> Result<Option<Keep>> {
    let rules = app.client.retention().await?;
    Ok(rules.into_iter().find(|rule| rule.scope == *scope).map(|rule| rule.keep))
}
