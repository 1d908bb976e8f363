//! Queues: how they are, pausing and emptying them.

use axum::Json;
use axum::extract::State;
use longshore::store::PauseScope;

use crate::audit::Note;
use crate::identity::Identity;
use crate::problem::{Code, Problem, Result};
use crate::request::{Body, Named, or_default};
use crate::server::App;
use crate::wire::{EmptiedView, PauseBody, QueueView, QueuesView, ResumedQueueView};

/// All queues that have due jobs, a live node, a running job or a pause.
///
/// Depths are the leader's latest count, a few seconds old.
#[utoipa::path(get, path = "/queues", tag = "queues", operation_id = "queues.list",
    responses((status = 200, description = "The queues, by name.", body = QueuesView)))]
pub(super) async fn list(State(app): State<App>) -> Result<Json<QueuesView>> {
    Ok(Json(app.client.queues().await?.into()))
}

/// One queue.
#[utoipa::path(get, path = "/queues/{name}", tag = "queues", operation_id = "queues.show",
    params(Named),
    responses(
        (status = 200, description = "The queue.", body = QueueView),
        (status = 404, description = "Nobody knows of such a queue: it is empty, not served and not paused.", body = Problem),
    ))]
pub(super) async fn show(State(app): State<App>, Named(name): Named) -> Result<Json<QueueView>> {
    let queue = app.client.queues().await?.into_iter().find(|queue| queue.name == name);
    let queue = queue.ok_or_else(|| {
        let detail = "no queue of this name has due jobs, a live node or a pause";
        Problem::new(Code::NotFound, detail)
    })?;
    Ok(Json(queue.into()))
}

/// Pauses a queue, or says anew why and how long: its jobs are not taken any more, by no node.
///
/// What runs goes on. A queue that nobody knows of yet can be paused too.
#[utoipa::path(post, path = "/queues/{name}/pause", tag = "queues", operation_id = "queues.pause",
    params(Named),
    request_body(content = Option<PauseBody>),
    responses((status = 200, description = "It is paused.", body = QueueView)))]
pub(super) async fn pause(
    State(app): State<App>,
    Named(name): Named,
    who: Identity,
    note: Note,
    body: Option<Body>,
) -> Result<Json<QueueView>> {
    let body: PauseBody = or_default(&body)?;
    note.why(body.why.as_deref());
    app.client.pause(body.into_pause(PauseScope::Queue, &name, Some(&who.name))?).await?;
    fresh(&app, name).await
}

/// Ends a queue's pause; its jobs are taken again at once. Nothing to do if it is not paused.
#[utoipa::path(post, path = "/queues/{name}/resume", tag = "queues", operation_id = "queues.resume",
    params(Named),
    responses((status = 200, description = "It is not paused.", body = ResumedQueueView)))]
pub(super) async fn resume(
    State(app): State<App>,
    Named(name): Named,
) -> Result<Json<ResumedQueueView>> {
    let was_paused = app.client.resume(PauseScope::Queue, &name).await?;
    let Json(queue) = fresh(&app, name).await?;
    Ok(Json(ResumedQueueView { queue, was_paused }))
}

/// Deletes the jobs that wait in a queue: queued, scheduled and retrying ones. Running and dead ones stay.
///
/// There is no way back. What is enqueued meanwhile stays. After a time-out some may be gone: repeat it.
#[utoipa::path(post, path = "/queues/{name}/empty", tag = "queues", operation_id = "queues.empty",
    params(Named),
    responses((status = 200, description = "It is empty.", body = EmptiedView)))]
pub(super) async fn empty(
    State(app): State<App>,
    Named(name): Named,
    note: Note,
) -> Result<Json<EmptiedView>> {
    let removed = app.client.empty_queue(&name).await?;
    note.count(removed as usize);
    Ok(Json(EmptiedView { removed }))
}

/// The queue as it is now, even if nobody else knows of it.
async fn fresh(app: &App, name: String) -> Result<Json<QueueView>> {
    Ok(Json(app.client.queue(&name).await?.into()))
}
