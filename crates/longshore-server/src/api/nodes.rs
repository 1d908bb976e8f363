//! The processes that run jobs.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;

use crate::problem::{Problem, Result};
use crate::request::ThisNode;
use crate::server::App;
use crate::wire::NodesView;

/// All nodes, live ones first; at most 1,000.
#[utoipa::path(get, path = "/nodes", tag = "nodes", operation_id = "nodes.list",
    responses((status = 200, description = "The nodes.", body = NodesView)))]
pub(super) async fn list(State(app): State<App>) -> Result<Json<NodesView>> {
    Ok(Json(NodesView { nodes: app.client.nodes().await? }))
}

/// Makes a node quiet: it claims nothing more, finishes what runs, and stays.
///
/// It hears of it within 5 s, at once where it can be told; its `state` says when it has.
#[utoipa::path(post, path = "/nodes/{id}/quiet", tag = "nodes", operation_id = "nodes.quiet",
    params(ThisNode),
    responses(
        (status = 202, description = "It is asked to be."),
        (status = 404, description = "No live node has this id.", body = Problem),
    ))]
pub(super) async fn quiet(State(app): State<App>, ThisNode(id): ThisNode) -> Result<StatusCode> {
    app.client.quiet_node(id).await?;
    Ok(StatusCode::ACCEPTED)
}

/// Lets a quiet node claim again.
#[utoipa::path(post, path = "/nodes/{id}/resume", tag = "nodes", operation_id = "nodes.resume",
    params(ThisNode),
    responses(
        (status = 202, description = "It is asked to."),
        (status = 404, description = "No live node has this id.", body = Problem),
    ))]
pub(super) async fn resume(State(app): State<App>, ThisNode(id): ThisNode) -> Result<StatusCode> {
    app.client.resume_node(id).await?;
    Ok(StatusCode::ACCEPTED)
}

/// Stops a node's process, as SIGTERM does: what runs may end, what does not in time is given back.
///
/// Where something starts it again, a fresh node comes. There is no way back.
#[utoipa::path(post, path = "/nodes/{id}/stop", tag = "nodes", operation_id = "nodes.stop",
    params(ThisNode),
    responses(
        (status = 202, description = "It is asked to."),
        (status = 404, description = "No live node has this id.", body = Problem),
    ))]
pub(super) async fn stop(State(app): State<App>, ThisNode(id): ThisNode) -> Result<StatusCode> {
    app.client.stop_node(id).await?;
    Ok(StatusCode::ACCEPTED)
}
