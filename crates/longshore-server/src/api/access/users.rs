//! Users.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use longshore::access::{MAX_USERS, UserRow};
use serde_json::json;

use super::{granted, within};
use crate::audit::Note;
use crate::identity::Identity;
use crate::password::hashed;
use crate::problem::{Code, Problem, Result};
use crate::request::{Body, Named};
use crate::rights::Grant;
use crate::server::App;
use crate::wire::{ChangeUserBody, NewUserBody, UserView, UsersView};

/// All users, by name.
#[utoipa::path(get, path = "/users", tag = "access", operation_id = "users.list",
    responses((status = 200, description = "The users.", body = UsersView)))]
pub(crate) async fn list(State(app): State<App>) -> Result<Json<UsersView>> {
    Ok(Json(app.client.users().await?.into()))
}

/// Adds a user.
#[utoipa::path(post, path = "/users", tag = "access", operation_id = "users.create",
    request_body = NewUserBody,
    responses((status = 201, description = "The user.", body = UserView),
        (status = 403, description = "It would have more rights than the caller."),
        (status = 409, description = "The name is taken.")))]
pub(crate) async fn create(
    State(app): State<App>,
    who: Identity,
    note: Note,
    body: Body,
) -> Result<(StatusCode, Json<UserView>)> {
    let body: NewUserBody = body.read()?;
    granted(&who, body.role.as_deref(), &body.rights)?;
    let password = hashed(body.password.0.clone()).await?;
    let user = body.user(password, &who.name);
    if !app.client.create_user(user).await? {
        if app.client.users().await?.len() >= MAX_USERS {
            let detail = format!("there are {MAX_USERS} users, the most there may be");
            return Err(Problem::value("", detail));
        }
        return Err(Problem::new(Code::Taken, "there is a user of this name"));
    }
    note.detail(json!({ "name": body.name, "role": body.role, "rights": body.rights }));
    Ok((StatusCode::CREATED, Json(find(&app, &body.name).await?.into())))
}

/// Changes a user: password, role, rights, or whether it is kept out.
///
/// Whatever changes, all sessions of the user end; with `{}` that is all. Other servers know within 5 seconds.
#[utoipa::path(patch, path = "/users/{name}", tag = "access", operation_id = "users.change",
    params(Named), request_body = ChangeUserBody,
    responses((status = 200, description = "The user as it is now.", body = UserView),
        (status = 403, description = "The user has, or would have, more rights than the caller."),
        (status = 404, description = "There is none.")))]
pub(crate) async fn change(
    State(app): State<App>,
    who: Identity,
    note: Note,
    Named(name): Named,
    body: Body,
) -> Result<Json<UserView>> {
    let body: ChangeUserBody = body.read()?;
    let now = find(&app, &name).await?;
    within(&who, &grant_of(&now))?;
    if let Some((role, rights)) = body.grant(&now) {
        granted(&who, role.as_deref(), &rights)?;
    }
    let password = match &body.password {
        Some(password) => Some(hashed(password.0.clone()).await?),
        None => None,
    };
    let other_password = password.is_some();
    if !app.client.change_user(&name, body.change(&now, password)).await? {
        return Err(missing());
    }
    let then = find(&app, &name).await?;
    let seen = |user: &UserRow| json!({ "role": user.role, "rights": user.rights, "disabled": user.disabled_at.is_some() });
    note.detail(json!({ "before": seen(&now), "after": seen(&then), "password": other_password }));
    Ok(Json(then.into()))
}

/// Removes a user and ends all sessions of it.
#[utoipa::path(delete, path = "/users/{name}", tag = "access", operation_id = "users.remove",
    params(Named),
    responses((status = 204, description = "It is removed."),
        (status = 403, description = "The user has more rights than the caller."),
        (status = 404, description = "There is none.")))]
pub(crate) async fn remove(
    State(app): State<App>,
    who: Identity,
    Named(name): Named,
) -> Result<StatusCode> {
    within(&who, &grant_of(&find(&app, &name).await?))?;
    if app.client.remove_user(&name).await? { Ok(StatusCode::NO_CONTENT) } else { Err(missing()) }
}

async fn find(app: &App, name: &str) -> Result<UserRow> {
    app.client.user(name).await?.map(|(user, _)| user).ok_or_else(missing)
}

fn missing() -> Problem {
    Problem::new(Code::NotFound, "there is no user of this name")
}

fn grant_of(user: &UserRow) -> Grant {
    Grant::kept(user.role.as_deref(), &user.rights)
}
