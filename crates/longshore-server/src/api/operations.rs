//! Operations: one action on every job that matches.

use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::header::LOCATION;
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use longshore::operation::{Action, MAX_OPERATIONS, OperationAsk, OperationId};
use serde::Deserialize;
use utoipa::IntoParams;

use super::BASE;
use crate::audit::Note;
use crate::identity::Identity;
use crate::problem::{Problem, Result};
use crate::request::{Body, Params, in_address, ranged};
use crate::rights::Right;
use crate::server::App;
use crate::wire::{DryRunView, OperationBody, OperationView, OperationsView};

/// The operation that the address names.
#[derive(IntoParams)]
#[into_params(names("id"), parameter_in = Path)]
pub(crate) struct ThisOperation(
    /// The operation.
    #[param(value_type = String, format = Uuid)]
    OperationId,
);

impl<S: Send + Sync> FromRequestParts<S> for ThisOperation {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<ThisOperation> {
        let text = in_address(parts, state).await?;
        text.parse().map(ThisOperation).map_err(
            |error: longshore::operation::InvalidOperationId| {
                Problem::parameter("id", error.to_string())
            },
        )
    }
}

/// The right that the action itself needs, beside that of doing it to many.
fn right_of(action: &Action) -> Right {
    match action {
        Action::Retry { .. } => Right::JobsRetry,
        Action::Cancel => Right::JobsCancel,
        Action::Delete => Right::JobsDelete,
        Action::Reschedule { .. } | Action::Priority { .. } | Action::Move { .. } => {
            Right::JobsEdit
        }
    }
}

/// Starts an operation: one action on every job that matches now, in steps that survive a restart.
///
/// Needs the right of the action too, such as `jobs:delete`. With `dry_run` it only says how many jobs match, and
/// shows ten of them.
#[utoipa::path(post, path = "/operations", tag = "operations", operation_id = "operations.start",
    request_body(content = OperationBody),
    responses(
        (status = 200, description = "A dry run: what would be met.", body = DryRunView),
        (status = 202, description = "It is started.", body = OperationView,
            headers(("Location" = String, description = "The operation."))),
        (status = 403, description = "The action needs a right of its own.", body = Problem),
        (status = 422, description = "The action cannot be, or the query is empty and `everything` is not said.", body = Problem),
    ))]
pub(crate) async fn start(
    State(app): State<App>,
    who: Identity,
    note: Note,
    body: Body,
) -> Result<Response> {
    let body: OperationBody = body.read()?;
    note.why(body.why.as_deref());
    let action = body.action(app.client.now().await?)?;
    who.check(right_of(&action))?;
    let new = body.operation(action, &who.name)?;
    if body.dry_run {
        let dry = app.client.try_operation(&new).await?;
        return Ok(Json(DryRunView::from(dry)).into_response());
    }
    let row = app.client.start_operation(new).await?;
    note.count(usize::try_from(row.total).unwrap_or(usize::MAX));
    let place = format!("{BASE}/operations/{}", row.id);
    let mut response = (StatusCode::ACCEPTED, Json(OperationView::from(row))).into_response();
    if let Ok(place) = HeaderValue::try_from(place) {
        response.headers_mut().insert(LOCATION, place);
    }
    Ok(response)
}

/// Which page of operations.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct OperationsParams {
    /// Operations of one page. Default 50.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
    /// Older ones than those of the page before: its `next`.
    after: Option<String>,
}

/// Operations, newest first. Those that ended are kept for 30 days.
#[utoipa::path(get, path = "/operations", tag = "operations", operation_id = "operations.list",
    params(OperationsParams),
    responses((status = 200, description = "One page.", body = OperationsView)))]
pub(crate) async fn list(
    State(app): State<App>,
    Params(params): Params<OperationsParams>,
) -> Result<Json<OperationsView>> {
    let limit = match params.limit {
        Some(limit) => ranged("limit", limit, 1..=MAX_OPERATIONS)?,
        None => 0,
    };
    let before = params.after.map(|text| text.parse()).transpose();
    let before = before.map_err(|error: longshore::operation::InvalidOperationId| {
        Problem::parameter("after", error.to_string())
    })?;
    let (rows, more) = app.client.operations(before, limit).await?;
    Ok(Json(OperationsView::new(rows, more)))
}

/// How an operation stands.
#[utoipa::path(get, path = "/operations/{id}", tag = "operations", operation_id = "operations.show",
    params(ThisOperation),
    responses(
        (status = 200, description = "The operation.", body = OperationView),
        (status = 404, description = "There is no such operation.", body = Problem),
    ))]
pub(crate) async fn show(
    State(app): State<App>,
    ThisOperation(id): ThisOperation,
) -> Result<Json<OperationView>> {
    Ok(Json(app.client.operation(id).await?.into()))
}

/// Pauses an operation. Once this is answered, nothing more is changed until it is resumed.
#[utoipa::path(post, path = "/operations/{id}/pause", tag = "operations", operation_id = "operations.pause",
    params(ThisOperation),
    responses(
        (status = 200, description = "It is paused.", body = OperationView),
        (status = 404, description = "There is no such operation.", body = Problem),
        (status = 409, description = "It has ended.", body = Problem),
    ))]
pub(crate) async fn pause(
    State(app): State<App>,
    ThisOperation(id): ThisOperation,
) -> Result<Json<OperationView>> {
    ask(&app, id, OperationAsk::Pause).await
}

/// Lets a paused operation go on where it was.
#[utoipa::path(post, path = "/operations/{id}/resume", tag = "operations", operation_id = "operations.resume",
    params(ThisOperation),
    responses(
        (status = 200, description = "It runs.", body = OperationView),
        (status = 404, description = "There is no such operation.", body = Problem),
        (status = 409, description = "It has ended.", body = Problem),
    ))]
pub(crate) async fn resume(
    State(app): State<App>,
    ThisOperation(id): ThisOperation,
) -> Result<Json<OperationView>> {
    ask(&app, id, OperationAsk::Resume).await
}

/// Ends an operation for good. What was done stays done; once this is answered, nothing more is changed.
#[utoipa::path(post, path = "/operations/{id}/cancel", tag = "operations", operation_id = "operations.cancel",
    params(ThisOperation),
    responses(
        (status = 200, description = "It is cancelled.", body = OperationView),
        (status = 404, description = "There is no such operation.", body = Problem),
        (status = 409, description = "It has ended.", body = Problem),
    ))]
pub(crate) async fn cancel(
    State(app): State<App>,
    ThisOperation(id): ThisOperation,
) -> Result<Json<OperationView>> {
    ask(&app, id, OperationAsk::Cancel).await
}

async fn ask(app: &App, id: OperationId, ask: OperationAsk) -> Result<Json<OperationView>> {
    Ok(Json(app.client.ask_operation(id, ask).await?.into()))
}
