//! The cookie that a browser shows for its session.

use std::net::IpAddr;

use axum::http::{HeaderMap, HeaderValue, header::COOKIE};
use longshore::access::{SESSION_LASTS, Secret};

/// Under which name a browser keeps a session.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cookie {
    /// For this machine alone, whose browsers may reach us without TLS.
    Loopback,
    /// For any other name: browsers keep it for TLS alone, and take it from nobody but this very host.
    Host,
}

impl Cookie {
    /// The one for a server that is called by this name, without its port.
    pub fn of(host: Option<&str>) -> Cookie {
        let loopback = |name: &str| {
            name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
        };
        if host.is_some_and(loopback) { Cookie::Loopback } else { Cookie::Host }
    }

    fn name(self) -> &'static str {
        match self {
            Cookie::Loopback => "longshore-session",
            Cookie::Host => "__Host-longshore-session",
        }
    }

    /// The secret that the browser shows, if it shows one.
    pub fn read(self, headers: &HeaderMap) -> Option<Secret> {
        let all = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut ours = all
            .flat_map(|value| value.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .filter(|(name, _)| *name == self.name());
        let (_, secret) = ours.next()?;
        // Of two nobody may choose which counts.
        if ours.next().is_some() { None } else { Secret::read(secret) }
    }

    /// The header that gives it to a browser; without a secret, the one that takes it away.
    pub fn set(self, secret: Option<&Secret>) -> HeaderValue {
        let (value, age) = match secret {
            Some(secret) => (secret.reveal(), SESSION_LASTS.as_secs()),
            None => ("", 0),
        };
        let secure = if self == Cookie::Host { "; Secure" } else { "" };
        let name = self.name();
        let text = format!("{name}={value}; Path=/; Max-Age={age}; HttpOnly; SameSite=Lax{secure}");
        let mut header = HeaderValue::try_from(text).expect("letters and digits");
        header.set_sensitive(true);
        header
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(cookie: Cookie, text: &str) -> Option<Secret> {
        let mut headers = HeaderMap::new();
        headers.insert(COOKIE, text.parse().unwrap());
        cookie.read(&headers)
    }

    #[test]
    fn what_is_given_is_read_again_by_the_same_name_alone() {
        let secret = Secret::fresh().unwrap();
        for (host, safe) in
            [("localhost", false), ("127.0.0.1", false), ("::1", false), ("jobs.example", true)]
        {
            let cookie = Cookie::of(Some(host));
            let set = cookie.set(Some(&secret));
            assert!(set.is_sensitive());
            let text = set.to_str().unwrap().to_owned();
            assert_eq!(text.contains("; Secure"), safe, "{host}");
            assert!(text.contains("; HttpOnly; SameSite=Lax"));
            let pair = text.split(';').next().unwrap();
            assert_eq!(shown(cookie, &format!("a=b; {pair}")), Some(secret.clone()), "{host}");
            let other = if safe { Cookie::Loopback } else { Cookie::Host };
            assert_eq!(shown(other, pair), None);
            assert_eq!(shown(cookie, &format!("{pair}; {pair}")), None, "two of them");
        }
        assert!(Cookie::Host.set(None).to_str().unwrap().contains("=; Path=/; Max-Age=0"));
    }
}
