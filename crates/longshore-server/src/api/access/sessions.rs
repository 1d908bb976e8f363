//! Sessions.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use longshore::access::SessionId;

use super::me;
use crate::identity::{Identity, Kind};
use crate::problem::{Code, Problem, Result};
use crate::request::Body;
use crate::secrets::Of;
use crate::server::App;
use crate::sign_in::{Arrival, sign_in};
use crate::wire::{MeView, SessionsView, SignInBody};

/// Signs a user in.
///
/// The session is in the cookie that the answer sets, for 7 days, or until it is not used for 12 hours. An
/// address gets 5 wrong passwords for one user, then one every 10 seconds.
#[utoipa::path(post, path = "/sessions", tag = "access", operation_id = "sessions.create",
    request_body = SignInBody,
    responses(
        (status = 201, description = "Signed in.", body = MeView),
        (status = 401, description = "The name or the password is wrong; nobody is told which."),
        (status = 429, description = "Too many attempts. `Retry-After` says when to try again."),
    ))]
pub(crate) async fn create(State(app): State<App>, from: Arrival, body: Body) -> Result<Response> {
    let body: SignInBody = body.read()?;
    let made = sign_in(&app, &from, &body.name, body.password.0).await?;
    let who = app.secrets.identify(&app.client, Of::Session, &made.secret).await?;
    let cookie = [(header::SET_COOKIE, from.cookie.set(Some(&made.secret)))];
    Ok((StatusCode::CREATED, cookie, Json(me::view(&who))).into_response())
}

/// Signs oneself out.
#[utoipa::path(delete, path = "/sessions/current", tag = "access", operation_id = "sessions.end",
    responses((status = 204, description = "Signed out, or was not signed in."),
        (status = 403, description = "Whoever comes with a token has no session.")))]
pub(crate) async fn end(State(app): State<App>, who: Identity, from: Arrival) -> Result<Response> {
    match who.kind {
        Kind::Session(id) => {
            app.client.end_session(id).await?;
            app.secrets.forget(id);
        }
        // Came in by a link; the cookie is all there is.
        Kind::Process | Kind::Anybody => {}
        Kind::Token(_) => {
            return Err(Problem::new(Code::Forbidden, "whoever comes with a token has no session"));
        }
    }
    let cookie = [(header::SET_COOKIE, from.cookie.set(None))];
    Ok((StatusCode::NO_CONTENT, cookie).into_response())
}

/// All sessions, newest first.
#[utoipa::path(get, path = "/sessions", tag = "access", operation_id = "sessions.list",
    responses((status = 200, description = "The sessions.", body = SessionsView)))]
pub(crate) async fn list(State(app): State<App>) -> Result<Json<SessionsView>> {
    let sessions = app.client.sessions().await?;
    Ok(Json(SessionsView { sessions: sessions.into_iter().map(Into::into).collect() }))
}

/// Ends a session of anybody. Other servers know within 5 seconds.
#[utoipa::path(delete, path = "/sessions/{id}", tag = "access", operation_id = "sessions.revoke",
    params(("id" = String, Path, description = "The session.", format = Uuid)),
    responses((status = 204, description = "It has ended."), (status = 404, description = "There is none.")))]
pub(crate) async fn revoke(State(app): State<App>, Path(id): Path<String>) -> Result<StatusCode> {
    let id: SessionId = id.parse().map_err(|_| {
        Problem::parameter("id", "this is no session's id; GET /api/v1/sessions shows them")
    })?;
    if !app.client.end_session(id).await? {
        return Err(Problem::new(Code::NotFound, "there is no such session, or not any more"));
    }
    app.secrets.forget(id);
    Ok(StatusCode::NO_CONTENT)
}
