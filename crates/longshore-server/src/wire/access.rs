//! Who comes in: users, sessions, tokens.

use std::fmt;

use longshore::Timestamp;
use longshore::access::{
    MadeToken, NewToken, NewUser, PasswordHash, SessionRow, TokenRow, UserChange, UserRow,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Span;

/// A password on its way in. Its `Debug` hides it.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
#[schema(value_type = String, format = Password)]
pub struct PasswordText(pub String);

impl fmt::Debug for PasswordText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordText(hidden)")
    }
}

/// Somebody signs in.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SignInBody {
    /// The user's name; the case of its letters does not matter.
    pub name: String,
    /// The password.
    #[schema(value_type = String, format = Password)]
    pub password: PasswordText,
}

/// Another password for oneself.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangePasswordBody {
    /// The one that is used up to now.
    #[schema(value_type = String, format = Password)]
    pub old: PasswordText,
    /// The one from now on: 10 characters at least, 1,024 bytes at most.
    #[schema(value_type = String, format = Password, min_length = 10)]
    pub new: PasswordText,
}

/// A new user.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewUserBody {
    /// The name; the case of its letters does not matter.
    #[schema(min_length = 1, max_length = 255)]
    pub name: String,
    /// The password: 10 characters at least, 1,024 bytes at most.
    #[schema(value_type = String, format = Password, min_length = 10)]
    pub password: PasswordText,
    /// `viewer`, `operator` or `admin`.
    pub role: Option<String>,
    /// Single rights beside the role, such as `jobs:delete`.
    #[serde(default)]
    pub rights: Vec<String>,
}

impl NewUserBody {
    /// The user that it describes. `password`: its own, hashed.
    pub fn user(&self, password: PasswordHash, by: impl Into<String>) -> NewUser {
        let user = NewUser::new(&self.name, password, by);
        let user = self.role.iter().fold(user, |user, role| user.role(role));
        self.rights.iter().fold(user, |user, right| user.right(right))
    }
}

/// What is to be different about a user. Whatever it is, all sessions of the user end.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeUserBody {
    /// Another password.
    #[schema(value_type = Option<String>, format = Password, min_length = 10)]
    pub password: Option<PasswordText>,
    /// Another role, or none: `null`. Not said: as it is.
    #[serde(default, deserialize_with = "said", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub role: Option<Option<String>>,
    /// Other single rights, in place of those that there are.
    pub rights: Option<Vec<String>>,
    /// Whether the user is kept out.
    pub disabled: Option<bool>,
}

impl ChangeUserBody {
    /// Role and rights of the user then, if it says anything of them. `now`: the user as it is.
    pub fn grant(&self, now: &UserRow) -> Option<(Option<String>, Vec<String>)> {
        if self.role.is_none() && self.rights.is_none() {
            return None;
        }
        let role = self.role.clone().unwrap_or_else(|| now.role.clone());
        Some((role, self.rights.clone().unwrap_or_else(|| now.rights.clone())))
    }

    /// The change that it describes. `password`: its own, hashed.
    pub fn change(&self, now: &UserRow, password: Option<PasswordHash>) -> UserChange {
        let mut change = UserChange::default();
        if let Some((role, rights)) = self.grant(now) {
            change = change.grant(role, rights);
        }
        if let Some(password) = password {
            change = change.password(password);
        }
        match self.disabled {
            Some(disabled) => change.disabled(disabled),
            None => change,
        }
    }
}

/// Tells `null` from what is not said.
fn said<'de, D: serde::Deserializer<'de>>(value: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(value).map(Some)
}

/// A new token.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewTokenBody {
    /// Who or what will use it, for people.
    #[schema(min_length = 1, max_length = 255)]
    pub name: String,
    /// `viewer`, `operator` or `admin`.
    pub role: Option<String>,
    /// Single rights beside the role, such as `jobs:enqueue`.
    #[serde(default)]
    pub rights: Vec<String>,
    /// How long it works. Default: until it is revoked.
    #[schema(value_type = Option<String>, example = "30d")]
    pub expires_in: Option<Span>,
}

impl NewTokenBody {
    /// The token that it describes.
    pub fn token(&self, by: impl Into<String>) -> NewToken {
        let token = NewToken::new(&self.name, by);
        let token = self.role.iter().fold(token, |token, role| token.role(role));
        let token = self.rights.iter().fold(token, |token, right| token.right(right));
        self.expires_in.iter().fold(token, |token, span| token.expires_in(span.0))
    }
}

/// Who one is, and what one may do.
#[derive(Debug, Serialize, ToSchema)]
pub struct MeView {
    /// The name of the user or of the token.
    pub name: String,
    /// How one came in: `user`, `token`, `process`, `anybody`.
    pub kind: String,
    /// The role, if any.
    pub role: Option<String>,
    /// All rights that this gives, those of the role among them.
    pub rights: Vec<String>,
}

/// A user.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct UserView {
    /// The name, in lower case.
    pub name: String,
    /// The role, if any.
    pub role: Option<String>,
    /// Single rights beside that.
    pub rights: Vec<String>,
    /// Whether the user is kept out.
    pub disabled: bool,
    /// When it was made.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// Who made it.
    pub created_by: String,
    /// When it was last changed.
    #[schema(value_type = String, format = DateTime)]
    pub changed_at: Timestamp,
    /// When the user last signed in.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub signed_in_at: Option<Timestamp>,
}

/// All users.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct UsersView {
    /// By name.
    pub users: Vec<UserView>,
}

/// A session.
#[derive(Debug, Serialize, ToSchema)]
pub struct SessionView {
    /// Its id, which is not secret.
    #[schema(format = Uuid)]
    pub id: String,
    /// Whose it is.
    pub user: String,
    /// Whether it gives anything now.
    pub live: bool,
    /// When the user signed in.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// When it was last used, to the minute.
    #[schema(value_type = String, format = DateTime)]
    pub seen_at: Timestamp,
    /// When it ends at the latest.
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Timestamp,
    /// From which address the user signed in.
    pub address: Option<String>,
}

/// Sessions.
#[derive(Debug, Serialize, ToSchema)]
pub struct SessionsView {
    /// Newest first; at most 1,000.
    pub sessions: Vec<SessionView>,
}

/// A token, without its secret.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct TokenView {
    /// Its id, which is not secret.
    #[schema(format = Uuid)]
    pub id: String,
    /// Its name.
    pub name: String,
    /// How its secret begins.
    pub prefix: String,
    /// `live`, `expired` or `revoked`.
    pub state: String,
    /// The role, if any.
    pub role: Option<String>,
    /// Single rights beside that.
    pub rights: Vec<String>,
    /// When it was made.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// Who made it.
    pub created_by: String,
    /// From when on it gives nothing. Null: never.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<Timestamp>,
    /// When it was last used, to the minute.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_used_at: Option<Timestamp>,
    /// When it was revoked.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub revoked_at: Option<Timestamp>,
}

/// Tokens.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct TokensView {
    /// Live ones first, newest first.
    pub tokens: Vec<TokenView>,
}

/// A token that was made.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct MadeTokenView {
    /// Its id.
    #[schema(format = Uuid)]
    pub id: String,
    /// Its name.
    pub name: String,
    /// What its user has to show. It is not shown again.
    #[schema(format = Password)]
    pub secret: String,
    /// When it was made.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// From when on it gives nothing. Null: never.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<Timestamp>,
}

impl MadeTokenView {
    /// The token of this name.
    pub fn new(name: &str, made: &MadeToken) -> MadeTokenView {
        MadeTokenView {
            id: made.id.to_string(),
            name: name.to_owned(),
            secret: made.secret.reveal().to_owned(),
            created_at: made.created_at,
            expires_at: made.expires_at,
        }
    }
}

impl From<Vec<UserRow>> for UsersView {
    fn from(rows: Vec<UserRow>) -> UsersView {
        UsersView { users: rows.into_iter().map(UserView::from).collect() }
    }
}

impl From<Vec<TokenRow>> for TokensView {
    fn from(rows: Vec<TokenRow>) -> TokensView {
        TokensView { tokens: rows.into_iter().map(TokenView::from).collect() }
    }
}

impl From<UserRow> for UserView {
    fn from(row: UserRow) -> UserView {
        UserView {
            name: row.name,
            role: row.role,
            rights: row.rights,
            disabled: row.disabled_at.is_some(),
            created_at: row.created_at,
            created_by: row.created_by,
            changed_at: row.changed_at,
            signed_in_at: row.signed_in_at,
        }
    }
}

impl From<SessionRow> for SessionView {
    fn from(row: SessionRow) -> SessionView {
        SessionView {
            id: row.id.to_string(),
            user: row.user,
            live: row.live,
            created_at: row.created_at,
            seen_at: row.seen_at,
            expires_at: row.expires_at,
            address: row.address,
        }
    }
}

impl From<TokenRow> for TokenView {
    fn from(row: TokenRow) -> TokenView {
        let state = match (row.live, row.revoked_at) {
            (true, _) => "live",
            (false, Some(_)) => "revoked",
            (false, None) => "expired",
        };
        TokenView {
            id: row.id.to_string(),
            name: row.name,
            prefix: row.prefix,
            state: state.to_owned(),
            role: row.role,
            rights: row.rights,
            created_at: row.created_at,
            created_by: row.created_by,
            expires_at: row.expires_at,
            last_used_at: row.last_used_at,
            revoked_at: row.revoked_at,
        }
    }
}
