//! Working through a server: in whose name, and how.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use axum::http::HeaderValue;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};

use crate::exit::Failure;
use longshore_server::wire::Span;

/// How a running server is worked with, where `url` names one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RemoteSettings {
    /// A file of PEM certificates: the authorities that the server's certificate may be from, in place of those that
    /// are compiled in. Default: empty, Mozilla's list.
    pub ca_file: PathBuf,
    /// How long the server may be silent. Default 60 s.
    pub timeout: Span,
}

impl Default for RemoteSettings {
    fn default() -> RemoteSettings {
        RemoteSettings { ca_file: PathBuf::new(), timeout: Span(Duration::from_secs(60)) }
    }
}

/// A token's secret. Its `Debug` hides it.
#[derive(Clone, Default, Serialize)]
#[serde(transparent)]
pub struct TokenText(String);

impl fmt::Debug for TokenText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "TokenText(none)" } else { "TokenText(hidden)" })
    }
}

/// Not as serde does it, whose error would repeat what stands there.
impl<'de> Deserialize<'de> for TokenText {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<TokenText, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Given {
            Text(String),
            Other(IgnoredAny),
        }
        match Given::deserialize(from)? {
            Given::Text(text) => Ok(TokenText(text)),
            Given::Other(_) => Err(serde::de::Error::custom("it is to be a text, in quotes")),
        }
    }
}

impl From<&str> for TokenText {
    fn from(text: &str) -> TokenText {
        TokenText(text.to_owned())
    }
}

impl TokenText {
    /// The secret itself.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// As a request shows it; `None` without a token.
    pub(crate) fn bearer(&self) -> Result<Option<HeaderValue>, Failure> {
        let secret = self.0.trim();
        if secret.is_empty() {
            return Ok(None);
        }
        let visible = secret.bytes().all(|byte| byte.is_ascii_graphic());
        let value = HeaderValue::try_from(format!("Bearer {secret}")).ok().filter(|_| visible);
        let mut value = value.ok_or_else(|| {
            Failure::usage(
                "the token has other characters than visible ASCII; it is not shown here",
            )
        })?;
        value.set_sensitive(true);
        Ok(Some(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_never_shown() {
        let token = TokenText("lsk_secret".to_owned());
        let header = token.bearer().unwrap().unwrap();
        assert_eq!(header, "Bearer lsk_secret");
        assert!(!format!("{token:?} {header:?}").contains("secret"));
        for bad in ["a b", "ä", "a\nb"] {
            let words = TokenText(bad.to_owned()).bearer().unwrap_err().words;
            assert!(!words.contains(bad), "{words}");
        }
        assert!(TokenText(" ".to_owned()).bearer().unwrap().is_none());
        let wrong = serde_json::from_str::<TokenText>("[\"lsk_secret\"]").unwrap_err().to_string();
        assert!(wrong.contains("text, in quotes") && !wrong.contains("lsk"), "{wrong}");
    }
}
