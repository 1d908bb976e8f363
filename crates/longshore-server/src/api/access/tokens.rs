//! API tokens.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use longshore::access::TokenId;
use serde_json::json;

use super::granted;
use crate::audit::Note;
use crate::identity::Identity;
use crate::problem::{Code, Problem, Result};
use crate::request::Body;
use crate::server::App;
use crate::wire::{MadeTokenView, NewTokenBody, TokensView};

/// All tokens, live ones first. Secrets are not among it.
#[utoipa::path(get, path = "/tokens", tag = "access", operation_id = "tokens.list",
    responses((status = 200, description = "The tokens.", body = TokensView)))]
pub(crate) async fn list(State(app): State<App>) -> Result<Json<TokensView>> {
    Ok(Json(app.client.tokens().await?.into()))
}

/// Makes a token. Its secret is in this answer and nowhere else.
#[utoipa::path(post, path = "/tokens", tag = "access", operation_id = "tokens.create",
    request_body = NewTokenBody,
    responses((status = 201, description = "The token and its secret.", body = MadeTokenView),
        (status = 403, description = "It would give more than the caller has.")))]
pub(crate) async fn create(
    State(app): State<App>,
    who: Identity,
    note: Note,
    body: Body,
) -> Result<(StatusCode, Json<MadeTokenView>)> {
    let body: NewTokenBody = body.read()?;
    if body.role.is_none() && body.rights.is_empty() {
        return Err(Problem::value("/role", "a token gives a role, single rights, or both"));
    }
    granted(&who, body.role.as_deref(), &body.rights)?;
    let made = app.client.create_token(body.token(&who.name)).await?;
    note.detail(json!({ "id": made.id.to_string(), "name": body.name, "role": body.role, "rights": body.rights }));
    Ok((StatusCode::CREATED, Json(MadeTokenView::new(&body.name, &made))))
}

/// Revokes a token, for good. It works nowhere within 5 seconds.
#[utoipa::path(delete, path = "/tokens/{id}", tag = "access", operation_id = "tokens.revoke",
    params(("id" = String, Path, description = "The token's id, not its secret.", format = Uuid)),
    responses((status = 204, description = "It is revoked."), (status = 404, description = "There is none.")))]
pub(crate) async fn revoke(State(app): State<App>, Path(id): Path<String>) -> Result<StatusCode> {
    let id: TokenId = id.parse().map_err(|_| {
        Problem::parameter("id", "this is no token's id; GET /api/v1/tokens shows them")
    })?;
    if !app.client.revoke_token(id).await? {
        return Err(Problem::new(Code::NotFound, "there is no such token"));
    }
    Ok(StatusCode::NO_CONTENT)
}
