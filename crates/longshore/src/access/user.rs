//! Users: for people, who sign in with a name and a password.

use std::fmt;

use crate::job::Invalid;
use crate::job::new::check_name;
use crate::time::Timestamp;

/// The most users that there may be.
pub const MAX_USERS: usize = 1_000;

/// What is kept of a password: a slow hash with its parameters and salt, as whoever made it writes it (the
/// server: Argon2id in the PHC string format). Its `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordHash(pub(crate) String);

impl PasswordHash {
    /// The most bytes of one.
    pub const MAX_BYTES: usize = 512;

    /// This text, which is not looked into.
    pub fn new(text: impl Into<String>) -> PasswordHash {
        PasswordHash(text.into())
    }

    /// The text, for whoever compares a password with it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordHash(hidden)")
    }
}

/// A user as somebody asks for it.
#[derive(Clone, Debug)]
pub struct NewUser {
    pub(crate) name: String,
    pub(crate) password: PasswordHash,
    pub(crate) role: Option<String>,
    pub(crate) rights: Vec<String>,
    pub(crate) created_by: String,
}

impl NewUser {
    /// A user of this name who may do nothing yet. A name has one user, whatever the case of its letters.
    pub fn new(name: &str, password: PasswordHash, created_by: impl Into<String>) -> NewUser {
        NewUser {
            name: name.to_lowercase(),
            password,
            role: None,
            rights: Vec::new(),
            created_by: created_by.into(),
        }
    }

    /// May do all that this role may.
    pub fn role(mut self, role: impl Into<String>) -> NewUser {
        self.role = Some(role.into());
        self
    }

    /// Has this right as well.
    pub fn right(mut self, right: impl Into<String>) -> NewUser {
        self.rights.push(right.into());
        self
    }

    pub(crate) fn check(&self) -> Result<(), Invalid> {
        check_name("name", &self.name)?;
        check_name("created_by", &self.created_by)?;
        check_password(&self.password)?;
        check_words(self.role.as_deref(), &self.rights)
    }
}

fn check_password(password: &PasswordHash) -> Result<(), Invalid> {
    let (size_bytes, limit_bytes) = (password.0.len(), PasswordHash::MAX_BYTES);
    if size_bytes > limit_bytes {
        let problem = crate::job::Problem::TooLarge { size_bytes, limit_bytes };
        return Err(Invalid::new("password", problem));
    }
    Ok(())
}

fn check_words(role: Option<&str>, rights: &[String]) -> Result<(), Invalid> {
    role.into_iter().try_for_each(|role| check_name("role", role))?;
    rights.iter().try_for_each(|right| check_name("right", right))
}

/// What is to be different about a user. Each change ends all sessions of the user.
#[derive(Clone, Debug, Default)]
pub struct UserChange {
    pub(crate) password: Option<PasswordHash>,
    pub(crate) grant: Option<(Option<String>, Vec<String>)>,
    pub(crate) disabled: Option<bool>,
}

impl UserChange {
    /// Another password.
    pub fn password(mut self, password: PasswordHash) -> UserChange {
        self.password = Some(password);
        self
    }

    /// Another role and other rights, in place of those that there are.
    pub fn grant(mut self, role: Option<String>, rights: Vec<String>) -> UserChange {
        self.grant = Some((role, rights));
        self
    }

    /// Whether the user is kept out.
    pub fn disabled(mut self, disabled: bool) -> UserChange {
        self.disabled = Some(disabled);
        self
    }

    pub(crate) fn check(&self) -> Result<(), Invalid> {
        self.password.iter().try_for_each(check_password)?;
        let grant = self.grant.as_ref();
        grant.map_or(Ok(()), |(role, rights)| check_words(role.as_deref(), rights))
    }
}

/// A user as it is kept, without the password's hash.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UserRow {
    /// The name, in lower case.
    pub name: String,
    /// The role, if any.
    pub role: Option<String>,
    /// The single rights beside that.
    pub rights: Vec<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// Who made it, in their words.
    pub created_by: String,
    /// When it was last changed.
    pub changed_at: Timestamp,
    /// Since when the user is kept out.
    pub disabled_at: Option<Timestamp>,
    /// When the user last signed in.
    pub signed_in_at: Option<Timestamp>,
}
