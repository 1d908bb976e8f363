//! Who changed what.

use axum::Json;
use axum::extract::State;
use longshore::audit::{AuditQuery, MAX_ENTRIES};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::problem::{Problem, Result};
use crate::request::{Params, ranged};
use crate::server::App;
use crate::wire::AuditView;

/// Which entries, and which page of them.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct AuditParams {
    /// Only what this one did, by name.
    actor: Option<String>,
    /// Only this action: an operation's id, such as `jobs.cancel`.
    action: Option<String>,
    /// Entries of one page. Default 50.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
    /// Older entries than those of the page before: its `next`.
    after: Option<String>,
}

/// The audit log, newest first.
///
/// A page looks at 5,000 entries at most: it may be short, even empty, and still have a `next`.
#[utoipa::path(get, path = "/audit", tag = "audit", operation_id = "audit.list", params(AuditParams),
    responses((status = 200, description = "One page.", body = AuditView)))]
pub(super) async fn list(
    State(app): State<App>,
    Params(params): Params<AuditParams>,
) -> Result<Json<AuditView>> {
    let limit = match params.limit {
        Some(limit) => ranged("limit", limit, 1..=MAX_ENTRIES)?,
        None => 0,
    };
    let before = params.after.map(|text| text.parse()).transpose();
    let before = before.map_err(|error: longshore::audit::InvalidEntryId| {
        Problem::parameter("after", error.to_string())
    })?;
    let query = AuditQuery { actor: params.actor, action: params.action, before, limit };
    Ok(Json(app.client.audit(query).await?.into()))
}
