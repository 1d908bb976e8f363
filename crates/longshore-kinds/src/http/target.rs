//! What a payload says of a request: read, checked, and made into one.

use std::collections::BTreeMap;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{HeaderName, HeaderValue};
use hyper::{Method, Request, Uri, header};
use url::Url;

use crate::error::{KindError, at_most, shown};

/// Bytes of an address.
const MAX_URL_BYTES: usize = 8_192;
/// Headers of a payload.
const MAX_HEADERS: usize = 64;

/// Ours or the protocol's: a payload that sets one of these would say something else than what is sent.
const OURS: [&str; 8] = [
    "connection",
    "content-length",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// A request that makes sense.
#[derive(Debug)]
pub(crate) struct Target {
    pub method: Method,
    pub url: Url,
    pub headers: Vec<(HeaderName, HeaderValue)>,
}

impl Target {
    /// The address as browsers read it (so `0x7f.1` is `127.0.0.1`, and the guard sees that), with `http` or `https`,
    /// without a name and a password in it.
    pub fn new(
        method: &str,
        (field, url): (&'static str, &str),
        headers: &BTreeMap<String, String>,
    ) -> Result<Target, KindError> {
        let method = method.parse::<Method>().ok().filter(is_usual).ok_or_else(|| {
            KindError::payload("method", "must be GET, HEAD, POST, PUT, PATCH or DELETE")
        })?;
        if headers.len() > MAX_HEADERS {
            let problem = format!("has {} entries, it may have {MAX_HEADERS}", headers.len());
            return Err(KindError::payload("headers", problem));
        }
        let headers = headers.iter().map(|(name, value)| read_header(name, value));
        let headers = headers.collect::<Result<_, _>>()?;
        Ok(Target { method, url: read_url(field, url)?, headers })
    }

    /// With this body; headers of the payload win over the usual type.
    pub fn request(&self, body: Bytes, media_type: Option<&'static str>) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.url.as_str().parse::<Uri>().expect("an address that was read");
        let all = request.headers_mut();
        all.insert(header::USER_AGENT, HeaderValue::from_static(USER_AGENT));
        if let Some(media_type) = media_type {
            all.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
        }
        for (name, value) in &self.headers {
            all.insert(name, value.clone());
        }
        request
    }
}

const USER_AGENT: &str = concat!("longshore/", env!("CARGO_PKG_VERSION"));

fn is_usual(method: &Method) -> bool {
    let usual =
        [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
    usual.contains(method)
}

fn read_url(field: &'static str, text: &str) -> Result<Url, KindError> {
    at_most(field, text.len() as u64, "bytes", MAX_URL_BYTES as u64)?;
    let wrong = |problem| KindError::payload(field, problem);
    let url = Url::parse(text)
        .map_err(|error| KindError::payload(field, format!("cannot be read: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("must begin with http:// or https://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("has a user in it; set the header `authorization`"));
    }
    if url.host_str().is_none_or(str::is_empty) || url.as_str().parse::<Uri>().is_err() {
        return Err(wrong("names no host"));
    }
    Ok(url)
}

fn read_header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), KindError> {
    let shown = shown(name);
    let wrong = |problem| KindError::payload("headers", format!("has {problem}"));
    let name: HeaderName =
        name.parse().map_err(|_| wrong(format!("`{shown}`, which is no name of a header")))?;
    if OURS.contains(&name.as_str()) {
        return Err(wrong(format!("`{shown}`, which is not for a payload to say")));
    }
    // Not shown: it may be a secret.
    let mut value = HeaderValue::from_str(value)
        .map_err(|_| wrong(format!("a value of `{shown}` that cannot be sent")))?;
    value.set_sensitive(true);
    Ok((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_browsers_read_them() {
        for (text, host) in [
            ("http://2130706433/", "127.0.0.1"),
            ("http://0x7f.1/", "127.0.0.1"),
            ("http://0177.0.0.1/", "127.0.0.1"),
            ("http://127.1/", "127.0.0.1"),
            ("http://①②⑦.0.0.1/", "127.0.0.1"),
            ("http://[::ffff:7f00:1]/", "[::ffff:7f00:1]"),
            ("https://exämple.org/a b", "xn--exmple-cua.org"),
        ] {
            assert_eq!(read_url("url", text).unwrap().host_str(), Some(host), "{text}");
        }
        for text in [
            "",
            "/x",
            "ftp://x/",
            "file:///etc/passwd",
            "gopher://x",
            "http://",
            "http://u:p@x/",
            "http://u@x/",
        ] {
            let error = read_url("url", text).unwrap_err();
            assert!(
                error.to_string().starts_with("`url`") && error.is_permanent(),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn headers_are_checked_and_their_values_never_shown() {
        for (name, value) in [("a b", "s3cret"), ("Host", "s3cret"), ("x", "s3cret\r\ny: z")] {
            let headers = [(name.to_owned(), value.to_owned())].into();
            let error = Target::new("GET", ("url", "http://x/"), &headers).unwrap_err().to_string();
            assert!(error.starts_with("`headers`") && !error.contains("s3cret"), "{error}");
        }
        assert!(Target::new("TRACE", ("url", "http://x/"), &BTreeMap::new()).is_err());
        assert!(Target::new("get", ("url", "http://x/"), &BTreeMap::new()).is_err());
    }
}
