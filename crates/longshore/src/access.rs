//! Who may come in from outside: tokens and users, of whose secrets nobody keeps more than a hash.
//!
//! Roles and rights are words here. What they mean is known by the server that checks them.

mod secret;
mod session;
mod token;
mod user;

pub use secret::{Secret, SecretHash};
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(crate) use session::MAX_SESSIONS;
pub use session::{MadeSession, NewSession, SESSION_IDLE, SESSION_LASTS, SessionId, SessionRow};
pub use token::{InvalidTokenId, MAX_TOKENS, MadeToken, NewToken, TokenId, TokenRow};
pub use user::{MAX_USERS, NewUser, PasswordHash, UserChange, UserRow};
