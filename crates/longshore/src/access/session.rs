//! Sessions: a user who has signed in.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use uuid::Uuid;

use super::{PasswordHash, Secret};
use crate::time::Timestamp;

/// A session that is not used for so long has ended.
pub const SESSION_IDLE: Duration = Duration::from_secs(12 * 60 * 60);
/// A session ends after so long however much it is used.
pub const SESSION_LASTS: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Live sessions of one user; one more ends the oldest.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(crate) const MAX_SESSIONS: i64 = 50;
/// Bytes of an address that are kept.
const ADDRESS_BYTES: usize = 64;

/// The id of a session: not secret, for lists and for ending it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SessionId(pub(crate) Uuid);

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl FromStr for SessionId {
    type Err = uuid::Error;

    fn from_str(text: &str) -> Result<SessionId, uuid::Error> {
        Uuid::parse_str(text).map(SessionId)
    }
}

/// A user signs in.
#[derive(Clone, Debug)]
pub struct NewSession {
    pub(crate) id: SessionId,
    pub(crate) user: String,
    /// The hash that the password was compared with: if it is another one now, nobody is signed in.
    pub(crate) password: PasswordHash,
    pub(crate) address: Option<String>,
}

impl NewSession {
    /// Of this user, whose password was compared with this hash.
    pub fn new(user: &str, password: PasswordHash) -> NewSession {
        let user = user.to_lowercase();
        NewSession { id: SessionId(Uuid::now_v7()), user, password, address: None }
    }

    /// From this address, for people; its first 64 bytes are kept.
    pub fn address(mut self, address: &str) -> NewSession {
        let end = address.floor_char_boundary(ADDRESS_BYTES);
        self.address = Some(address[..end].to_owned());
        self
    }
}

/// A session that was made, with its secret, which is not shown again.
#[derive(Clone, Debug)]
pub struct MadeSession {
    /// Its id.
    pub id: SessionId,
    /// What the user's program has to show.
    pub secret: Secret,
    /// When it ends at the latest, by the database's clock.
    pub expires_at: Timestamp,
}

/// A session as it is kept, with what its user may do now.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionRow {
    /// Its id.
    pub id: SessionId,
    /// The user's name.
    pub user: String,
    /// The user's role, if any.
    pub role: Option<String>,
    /// The user's single rights beside that.
    pub rights: Vec<String>,
    /// When the user signed in.
    pub created_at: Timestamp,
    /// When it was last used, to the minute.
    pub seen_at: Timestamp,
    /// When it ends at the latest.
    pub expires_at: Timestamp,
    /// From which address the user signed in.
    pub address: Option<String>,
    /// Whether it gives anything now: not expired, not idle for too long, and its user not kept out.
    pub live: bool,
}
