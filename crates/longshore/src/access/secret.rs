//! Secrets, and what is kept of them.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::store::StoreError;

/// What a caller shows to come in: `lsh_` and 64 hexadecimal digits. Its `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// SHA-256 of a secret. The secret has 256 random bits, so a fast hash is enough, and a look-up by it
/// takes the same time whatever part of the secret was guessed right.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SecretHash(pub(crate) [u8; 32]);

impl Secret {
    /// How each begins, for people and for programs that look for secrets in the wrong place.
    pub const PREFIX: &str = "lsh_";
    /// Bytes of every secret.
    pub const LEN: usize = Self::PREFIX.len() + 64;
    /// Bytes of it that are kept, so that people can tell theirs.
    pub(super) const SHOWN: usize = Self::PREFIX.len() + 6;

    /// A new one, of 32 bytes from the operating system. Fails where that has no randomness to give.
    pub fn fresh() -> Result<Secret, StoreError> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|source| StoreError::Unavailable {
            doing: "make a secret",
            source: source.into(),
        })?;
        let mut text = String::with_capacity(Self::LEN);
        text.push_str(Self::PREFIX);
        for byte in bytes {
            text.extend(
                [byte >> 4, byte & 15].map(|four| char::from(b"0123456789abcdef"[four as usize])),
            );
        }
        Ok(Secret(text))
    }

    /// The secret in this text, if it has a secret's form. Whether anybody made it is not known.
    pub fn read(text: &str) -> Option<Secret> {
        let digits = text.strip_prefix(Self::PREFIX)?;
        let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        let good = text.len() == Self::LEN && digits.bytes().all(hex);
        good.then(|| Secret(text.to_owned()))
    }

    /// The whole text: to be shown once, to whoever will use it.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// What is kept of it.
    pub fn hash(&self) -> SecretHash {
        SecretHash(Sha256::digest(self.0.as_bytes()).into())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(hidden)")
    }
}

impl fmt::Debug for SecretHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretHash(hidden)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_differ_have_one_form_and_are_not_shown_by_debug() {
        let (a, b) = (Secret::fresh().unwrap(), Secret::fresh().unwrap());
        assert_ne!(a, b);
        assert_eq!(a.reveal().len(), Secret::LEN);
        assert_eq!(Secret::read(a.reveal()), Some(a.clone()));
        let shown = format!("{a:?} {:?}", a.hash());
        assert!(!shown.contains(&a.reveal()[8..16]), "{shown}");
    }

    #[test]
    fn what_has_not_the_form_of_a_secret_is_none() {
        let good = Secret::fresh().unwrap().reveal().to_owned();
        let long = "lsh_".to_owned() + &"a".repeat(500_000);
        for text in
            ["", "lsh_", &good[1..], &good.to_uppercase(), &format!("{good}0"), &long, "lsh_ä"]
        {
            assert_eq!(Secret::read(text), None);
        }
    }
}
