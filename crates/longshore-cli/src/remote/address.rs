//! Where a server is: `https://host:port`, with a path below which it was mounted, if any.

use std::fmt;
use std::net::IpAddr;

use axum::http::Uri;
use axum::http::uri::{Authority, Scheme};

use crate::exit::Failure;

/// The base of every request's address.
#[derive(Clone, Debug)]
pub(super) struct Address {
    scheme: Scheme,
    authority: Authority,
    /// Without a slash at its end.
    below: String,
}

impl Address {
    /// Reads what somebody wrote. A name and a password in it are not repeated.
    pub fn read(text: &str) -> Result<Address, Failure> {
        if text.contains('@') {
            return Err(Failure::usage(
                "url has a name or a password in it, which this server does not know; give a token instead, \
                 with LONGSHORE_TOKEN",
            ));
        }
        let wrong = |why: &str| {
            let words =
                format!("url is `{text}`, {why}; write it as https://host or https://host:7878");
            Failure::usage(words)
        };
        let uri: Uri = text.trim().parse().map_err(|_| wrong("which is no address"))?;
        let parts = uri.into_parts();
        let (Some(scheme), Some(authority)) = (parts.scheme, parts.authority) else {
            return Err(wrong("which does not begin with https:// or http://"));
        };
        if scheme != Scheme::HTTPS && scheme != Scheme::HTTP {
            return Err(wrong("which does not begin with https:// or http://"));
        }
        let path = parts.path_and_query;
        if path.as_ref().is_some_and(|path| path.query().is_some()) || text.contains('#') {
            return Err(wrong("which has more than a path behind the host"));
        }
        let below = path.map(|path| path.path().trim_end_matches('/').to_owned());
        Ok(Address { scheme, authority, below: below.unwrap_or_default() })
    }

    /// The address of this path, which begins with a slash and is quoted.
    pub fn uri(&self, path: &str) -> Uri {
        Uri::builder()
            .scheme(self.scheme.clone())
            .authority(self.authority.clone())
            .path_and_query(format!("{}{path}", self.below))
            .build()
            .expect("each part was read, and paths of ours are quoted")
    }

    /// Whether nobody on the way can read along: TLS, or this very machine.
    pub fn is_private(&self) -> bool {
        let host = self.authority.host();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        self.scheme == Scheme::HTTPS
            || host.eq_ignore_ascii_case("localhost")
            || bare.parse().is_ok_and(|ip: IpAddr| ip.to_canonical().is_loopback())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.scheme, self.authority, self.below)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_have_a_port_and_a_path() {
        for (text, path) in [
            ("https://jobs.example", "https://jobs.example/api"),
            ("http://127.0.0.1:7878/", "http://127.0.0.1:7878/api"),
            ("https://example.org/long/shore/", "https://example.org/long/shore/api"),
            ("http://[::1]:7878", "http://[::1]:7878/api"),
        ] {
            assert_eq!(Address::read(text).unwrap().uri("/api").to_string(), path);
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in
            ["jobs.example", "ftp://x", "https://", "/x", "https://h/?q=1", "https://h/#x", "a b"]
        {
            let failure = Address::read(text).expect_err(text);
            assert!(
                failure.words.contains("write it as https://host"),
                "{text}: {}",
                failure.words
            );
        }
        let words = Address::read("https://ann:hunter2@h").unwrap_err().words;
        assert!(!words.contains("hunter2"), "{words}");
    }

    #[test]
    fn only_this_machine_and_tls_are_private() {
        let private = |text| Address::read(text).unwrap().is_private();
        for text in [
            "https://h",
            "http://localhost:1",
            "http://127.9.9.9",
            "http://[::1]:7",
            "http://LOCALHOST",
        ] {
            assert!(private(text), "{text}");
        }
        for text in ["http://h", "http://10.0.0.1", "http://localhost.example", "http://[fe80::1]"]
        {
            assert!(!private(text), "{text}");
        }
    }
}
