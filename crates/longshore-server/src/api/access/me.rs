//! Oneself.

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use longshore::access::UserChange;

use crate::identity::{Identity, Kind};
use crate::password::hashed;
use crate::problem::{Code, Problem, Result};
use crate::request::Body;
use crate::rights::Right;
use crate::server::App;
use crate::sign_in::{Arrival, compared, sign_in};
use crate::wire::{ChangePasswordBody, MeView};

/// Who one is, and what one may do.
#[utoipa::path(get, path = "/me", tag = "access", operation_id = "me.show",
    responses((status = 200, description = "Oneself.", body = MeView)))]
pub(crate) async fn show(who: Identity) -> Json<MeView> {
    Json(view(&who))
}

pub(super) fn view(who: &Identity) -> MeView {
    let rights = Right::ALL.iter().filter(|right| who.grant().has(**right));
    MeView {
        name: who.name.clone(),
        kind: who.kind.word().to_owned(),
        role: who.grant().role().map(|role| role.as_str().to_owned()),
        rights: rights.map(|right| right.as_str().to_owned()).collect(),
    }
}

/// Gives oneself another password.
///
/// All sessions of the user end; the answer gives the caller a new one.
#[utoipa::path(put, path = "/me/password", tag = "access", operation_id = "me.password",
    request_body = ChangePasswordBody,
    responses(
        (status = 204, description = "It is changed."),
        (status = 401, description = "The old password is wrong."),
        (status = 403, description = "Whoever comes with a token has no password."),
    ))]
pub(crate) async fn password(
    State(app): State<App>,
    who: Identity,
    from: Arrival,
    body: Body,
) -> Result<Response> {
    let body: ChangePasswordBody = body.read()?;
    if !matches!(who.kind, Kind::Session(_)) {
        return Err(Problem::new(Code::Forbidden, "only a user who has signed in has a password"));
    }
    compared(&app, &from, &who.name, body.old.0).await?;
    let change = UserChange::default().password(hashed(body.new.0.clone()).await?);
    if !app.client.change_user(&who.name, change).await? {
        return Err(Problem::new(Code::NotFound, "this user was removed meanwhile"));
    }
    let made = sign_in(&app, &from, &who.name, body.new.0).await?;
    let cookie = from.cookie.set(Some(&made.secret));
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie)]).into_response())
}
