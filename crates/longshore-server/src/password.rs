//! Passwords: checked, hashed with Argon2id, compared.

use std::sync::LazyLock;

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash as Parsed;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use longshore::access::PasswordHash;
use tokio::sync::Semaphore;

use crate::problem::{Code, Problem, Result};

/// The fewest characters of a password, and the most bytes.
pub const PASSWORD_LENGTH: (usize, usize) = (10, 1_024);

/// Each comparison takes 19 MiB and some hundredths of a second of a core: more at once would keep the rest from
/// its work.
static AT_ONCE: Semaphore = Semaphore::const_new(2);

/// Compared where there is no user, so that the time tells nobody whether there is one.
static NOBODYS: LazyLock<PasswordHash> =
    LazyLock::new(|| hash("nobody has this one").expect("it is long enough"));

/// The password cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadPassword(String);

impl std::fmt::Display for BadPassword {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadPassword {}

/// What is kept of this password: Argon2id with 19 MiB, two passes and a salt of its own (the least that
/// OWASP's cheat sheet on password storage names), in the PHC string format. Refuses one of fewer than
/// 10 characters or more than 1,024 bytes.
pub fn hash(password: &str) -> Result<PasswordHash, BadPassword> {
    check(password)?;
    let hash = Argon2::default().hash_password(password.as_bytes());
    let hash =
        hash.map_err(|error| BadPassword(format!("could not hash the password: {error}")))?;
    Ok(PasswordHash::new(hash.to_string()))
}

/// Whether it may be a password, before anything is done with it: as [`hash`] says.
pub fn check(password: &str) -> Result<(), BadPassword> {
    let (fewest, most) = PASSWORD_LENGTH;
    let (characters, bytes) = (password.chars().count(), password.len());
    if characters < fewest || bytes > most {
        return Err(BadPassword(format!(
            "the password has {characters} characters and {bytes} bytes; it may have {fewest} characters to {most} bytes"
        )));
    }
    Ok(())
}

/// [`hash`], beside the other work of the process. A refusal names the field.
pub(crate) async fn hashed(password: String) -> Result<PasswordHash> {
    apart(move || hash(&password))
        .await?
        .map_err(|error| Problem::value("/password", error.to_string()))
}

/// Whether this is the password, beside the other work of the process. As slow where there is nobody.
pub(crate) async fn fits(password: String, kept: Option<PasswordHash>) -> Result<bool> {
    apart(move || {
        let somebody = kept.is_some();
        let kept = kept.unwrap_or_else(|| NOBODYS.clone());
        let same = password.len() <= PASSWORD_LENGTH.1
            && Parsed::new(kept.as_str()).is_ok_and(|kept| {
                Argon2::default().verify_password(password.as_bytes(), &kept).is_ok()
            });
        same && somebody
    })
    .await
}

async fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    let _one = AT_ONCE.acquire().await.expect("it is never closed");
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| Problem::new(Code::Draining, "this server stops"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_argon2id_with_its_own_salt() {
        let (a, b) = (hash("correct horse").unwrap(), hash("correct horse").unwrap());
        assert_ne!(a, b);
        assert!(a.as_str().starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{}", a.as_str());
    }

    #[tokio::test]
    async fn only_the_password_itself_fits_and_nothing_fits_nobody() {
        let kept = hash("correct horse").unwrap();
        let tried = |text: &str, kept: &Option<PasswordHash>| fits(text.to_owned(), kept.clone());
        assert!(tried("correct horse", &Some(kept.clone())).await.unwrap());
        assert!(!tried("correct horsE", &Some(kept)).await.unwrap());
        assert!(!tried("nobody has this one", &None).await.unwrap());
        assert!(!tried("x", &Some(PasswordHash::new("not a hash"))).await.unwrap());
    }

    #[test]
    fn one_that_is_too_short_or_too_long_is_refused() {
        for (text, good) in [("123456789", false), ("1234567890", true), ("ööööööööö", false)]
        {
            assert_eq!(hash(text).is_ok(), good, "{text}");
        }
        assert!(hash(&"x".repeat(1_025)).is_err());
        assert!(!hash("secret12").unwrap_err().to_string().contains("secret12"));
    }
}
