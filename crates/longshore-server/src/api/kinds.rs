//! Kinds: what nodes can run, and pausing them.

use axum::Json;
use axum::extract::State;
use longshore::store::PauseScope;

use crate::audit::Note;
use crate::identity::Identity;
use crate::problem::{Code, Problem, Result};
use crate::request::{Body, Named, or_default};
use crate::server::App;
use crate::wire::{KindView, KindsView, PauseBody, PauseView, ResumedView};

/// All kinds that nodes have told of, that live nodes run, or that are paused.
#[utoipa::path(get, path = "/kinds", tag = "kinds", operation_id = "kinds.list",
    responses((status = 200, description = "The kinds, by name.", body = KindsView)))]
pub(super) async fn list(State(app): State<App>) -> Result<Json<KindsView>> {
    Ok(Json(app.client.kinds().await?.into()))
}

/// One kind, with its JSON Schema where the program tells one.
#[utoipa::path(get, path = "/kinds/{name}", tag = "kinds", operation_id = "kinds.show",
    params(Named),
    responses(
        (status = 200, description = "The kind.", body = KindView),
        (status = 404, description = "No node has told of such a kind.", body = Problem),
    ))]
pub(super) async fn show(State(app): State<App>, Named(name): Named) -> Result<Json<KindView>> {
    let kind = app.client.kinds().await?.into_iter().find(|kind| kind.name == name);
    let unknown = || Problem::new(Code::NotFound, "no node has told of a kind of this name");
    Ok(Json(kind.ok_or_else(unknown)?.into()))
}

/// Pauses a kind, or says anew why and how long: its jobs are not taken any more, by no node and from no queue.
///
/// What runs goes on. A kind that nobody knows of yet can be paused too.
#[utoipa::path(post, path = "/kinds/{name}/pause", tag = "kinds", operation_id = "kinds.pause",
    params(Named),
    request_body(content = Option<PauseBody>),
    responses((status = 200, description = "It is paused.", body = PauseView)))]
pub(super) async fn pause(
    State(app): State<App>,
    Named(name): Named,
    who: Identity,
    note: Note,
    body: Option<Body>,
) -> Result<Json<PauseView>> {
    let body: PauseBody = or_default(&body)?;
    note.why(body.why.as_deref());
    let pause =
        app.client.pause(body.into_pause(PauseScope::Kind, &name, Some(&who.name))?).await?;
    Ok(Json(pause.into()))
}

/// Ends a kind's pause; its jobs are taken again at once. Nothing to do if it is not paused.
#[utoipa::path(post, path = "/kinds/{name}/resume", tag = "kinds", operation_id = "kinds.resume",
    params(Named),
    responses((status = 200, description = "It is not paused.", body = ResumedView)))]
pub(super) async fn resume(
    State(app): State<App>,
    Named(name): Named,
) -> Result<Json<ResumedView>> {
    let was_paused = app.client.resume(PauseScope::Kind, &name).await?;
    Ok(Json(ResumedView { was_paused }))
}
