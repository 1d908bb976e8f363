//! Tokens: for programs.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use uuid::Uuid;

use super::Secret;
use crate::job::Invalid;
use crate::job::new::{check_name, check_span_ms};
use crate::store::StoreError;
use crate::time::Timestamp;

/// The most tokens that may be live at a time.
pub const MAX_TOKENS: usize = 1_000;

/// The id of a token: not secret, for lists and for revoking it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TokenId(pub(crate) Uuid);

/// The text is no token's id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this is no token's id; `longshore token list` shows them")]
pub struct InvalidTokenId;

impl fmt::Display for TokenId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl FromStr for TokenId {
    type Err = InvalidTokenId;

    /// The error does not repeat the text: it may be the secret, given by mistake.
    fn from_str(text: &str) -> Result<TokenId, InvalidTokenId> {
        Uuid::parse_str(text).map(TokenId).map_err(|_| InvalidTokenId)
    }
}

/// A token as somebody asks for it.
#[derive(Clone, Debug)]
pub struct NewToken {
    pub(crate) id: TokenId,
    pub(crate) name: String,
    pub(crate) prefix: String,
    pub(crate) role: Option<String>,
    pub(crate) rights: Vec<String>,
    pub(crate) created_by: String,
    pub(crate) expires_in: Option<Duration>,
    /// Filled in at the door, by the database's clock.
    pub(crate) expires_at: Option<Timestamp>,
}

impl NewToken {
    /// A token of this name that gives nothing and never expires. Names need not differ.
    pub fn new(name: impl Into<String>, created_by: impl Into<String>) -> NewToken {
        NewToken {
            id: TokenId(Uuid::now_v7()),
            name: name.into(),
            prefix: String::new(),
            role: None,
            rights: Vec::new(),
            created_by: created_by.into(),
            expires_in: None,
            expires_at: None,
        }
    }

    /// Gives all that this role has.
    pub fn role(mut self, role: impl Into<String>) -> NewToken {
        self.role = Some(role.into());
        self
    }

    /// Gives this right as well.
    pub fn right(mut self, right: impl Into<String>) -> NewToken {
        self.rights.push(right.into());
        self
    }

    /// Gives nothing any more after this span, at least a millisecond and at most a hundred years.
    pub fn expires_in(mut self, span: Duration) -> NewToken {
        self.expires_in = Some(span);
        self
    }

    pub(crate) fn check(&self) -> Result<(), Invalid> {
        check_name("name", &self.name)?;
        check_name("created_by", &self.created_by)?;
        self.expires_in.iter().try_for_each(|span| check_span_ms("expires_in", *span, 1))?;
        self.role.iter().try_for_each(|role| check_name("role", role))?;
        self.rights.iter().try_for_each(|right| check_name("right", right))
    }

    /// Gives it a secret.
    pub(crate) fn with_secret(mut self) -> Result<(NewToken, Secret), StoreError> {
        let secret = Secret::fresh()?;
        secret.reveal()[..Secret::SHOWN].clone_into(&mut self.prefix);
        Ok((self, secret))
    }
}

/// A token that was made, with its secret, which is not shown again.
#[derive(Clone, Debug)]
pub struct MadeToken {
    /// Its id.
    pub id: TokenId,
    /// What its user has to show.
    pub secret: Secret,
    /// When it was made, by the database's clock.
    pub created_at: Timestamp,
    /// From when on it gives nothing. `None`: never.
    pub expires_at: Option<Timestamp>,
}

/// A token as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TokenRow {
    /// Its id.
    pub id: TokenId,
    /// Its name, for people.
    pub name: String,
    /// How its secret begins.
    pub prefix: String,
    /// The role it gives, if any.
    pub role: Option<String>,
    /// The single rights it gives beside that.
    pub rights: Vec<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// Who made it, in their words.
    pub created_by: String,
    /// From when on it gives nothing. `None`: never.
    pub expires_at: Option<Timestamp>,
    /// When it was last used, to the minute.
    pub last_used_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
    /// Whether it gives anything now: neither revoked nor expired, by the database's clock.
    pub live: bool,
}
