//! The processes that run jobs.

use axum::Json;
use axum::extract::State;

use crate::problem::Result;
use crate::server::App;
use crate::wire::NodesView;

/// All nodes, live ones first; at most 1,000.
#[utoipa::path(get, path = "/nodes", tag = "nodes", operation_id = "nodes.list",
    responses((status = 200, description = "The nodes.", body = NodesView)))]
pub(super) async fn list(State(app): State<App>) -> Result<Json<NodesView>> {
    Ok(Json(NodesView { nodes: app.client.nodes().await? }))
}
