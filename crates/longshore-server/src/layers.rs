//! What every request goes through, and every answer: an id, a problem's body, headers that keep browsers out
//! of trouble, a limit of time.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{DefaultBodyLimit, MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use longshore::work;
use tower_http::compression::CompressionLayer;
use tracing::Instrument;
use uuid::Uuid;

use crate::identity::identified;
use crate::problem::{Code, MEDIA_TYPE, Problem, Result};
use crate::request::shown;
use crate::server::App;
use crate::trace;

static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The routes behind all layers; the last one here is the first that a request meets.
pub(crate) fn around(router: Router<App>, app: &App) -> Router<App> {
    router
        .layer(DefaultBodyLimit::max(app.config.body_bytes))
        .layer(from_fn_with_state(app.clone(), pass))
        .layer(CompressionLayer::new())
}

/// The whole way of a request, in one layer, since each copies and boxes all that is behind it: gives the request its
/// id, and the answer what every answer has.
async fn pass(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let id = given_id(request.headers()).unwrap_or_else(|| Uuid::now_v7().simple().to_string());
    request.extensions_mut().insert(RequestId(id.clone()));
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let began = Instant::now();
    let pattern = route.as_ref().map(MatchedPath::as_str);
    let span = trace::span(&id, &method, pattern, request.headers());
    let answered = AssertUnwindSafe(guarded(&app, request, next)).catch_unwind();
    let mut response = answered.instrument(span.clone()).await.unwrap_or_else(panicked);
    trace::answered(&span, response.status());
    let problem = response.extensions_mut().remove::<Problem>().or_else(|| foreign(&response));
    if let Some(problem) = problem {
        let headers = std::mem::take(response.headers_mut());
        response = problem.respond(&id);
        // What stands there already was said by whoever knew more, such as `Allow`.
        for (name, value) in headers.iter() {
            if name != header::CONTENT_TYPE && name != header::CONTENT_LENGTH {
                response.headers_mut().append(name, value.clone());
            }
        }
    }
    let (status, took) = (response.status(), began.elapsed());
    app.client.metrics().http_answered(pattern, method.as_str(), status.as_u16(), took);
    // Health is asked for every few seconds, and says nothing new.
    if let Some(route) = route.filter(|route| !is_health(route.as_str())) {
        let ms = took.as_millis() as u64;
        tracing::debug!(%method, route = route.as_str(), status = status.as_u16(), ms, request = %id, "answered");
    }
    let headers = response.headers_mut();
    headers.insert(&REQUEST_ID, HeaderValue::try_from(&id).expect("checked or ours"));
    for (name, value) in SAFE {
        if !headers.contains_key(&name) {
            headers.insert(name, HeaderValue::from_static(value));
        }
    }
    response
}

/// Whoever may not ask is told so; who asks is found out within the time that the answer has.
async fn guarded(app: &App, request: Request, next: Next) -> Response {
    if let Err(problem) = known_origin(app, &request) {
        return problem.into_response();
    }
    let limit = limit(app, &request);
    let answer = async { next.run(identified(app, request).await).await };
    match tokio::time::timeout(limit, answer).await {
        Ok(response) => response,
        // What it asked of the database goes on.
        Err(_) => {
            let seconds = limit.as_secs();
            let detail =
                format!("no answer within {seconds} s; it may have been done all the same");
            Problem::new(Code::Timeout, detail).into_response()
        }
    }
}

/// For every answer that does not say something else.
const SAFE: [(HeaderName, &str); 6] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (header::CACHE_CONTROL, "no-store"),
];

/// The caller's own id, if it is short and plain.
fn given_id(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(&REQUEST_ID)?.to_str().ok()?;
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    let good = (1..=64).contains(&text.len()) && text.bytes().all(plain);
    good.then(|| text.to_owned())
}

/// A problem for an answer that something else than a handler of ours gave: an unknown path, a wrong method.
fn foreign(response: &Response) -> Option<Problem> {
    let status = response.status();
    if !status.is_client_error() && !status.is_server_error() {
        return None;
    }
    let media_type = response.headers().get(header::CONTENT_TYPE);
    if media_type.is_some_and(|value| value == MEDIA_TYPE || value == "application/json") {
        return None;
    }
    let code = Code::from(status);
    Some(Problem::new(code, code.explanation()))
}

/// The id of a request, for what looks at it on its way.
#[derive(Clone)]
pub(crate) struct RequestId(pub String);

pub(crate) fn is_health(path: &str) -> bool {
    matches!(path, "/livez" | "/readyz" | "/startupz")
}

fn panicked(cause: Box<dyn Any + Send>) -> Response {
    let words = cause
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| cause.downcast_ref::<&str>().copied())
        .unwrap_or("no text");
    tracing::error!("a handler of the API panicked: {words}");
    Problem::new(Code::Internal, "the program made a mistake; its log says which").into_response()
}

/// How long until the answer has to begin.
fn limit(app: &App, request: &Request) -> Duration {
    let path = request.uri().path();
    let extra = if path.ends_with("/wait") || request.headers().contains_key("prefer") {
        app.config.longest_wait
    } else if path.contains("/work/nodes/") {
        work::LONGEST_WAIT
    } else {
        Duration::ZERO
    };
    app.config.timeout + extra
}

/// Refuses names that are not ours, and changes that a page of another origin asks for: a browser sends those
/// with whatever it knows of us.
fn known_origin(app: &App, request: &Request) -> Result<()> {
    let headers = request.headers();
    let host = host(headers, request.uri());
    if let Some(known) = app.config.hosts.as_ref().filter(|_| !is_health(request.uri().path())) {
        let name = host.as_deref().map(without_port).unwrap_or_default();
        if !known.iter().any(|one| one == name) {
            let shown = shown(name);
            let detail =
                format!("this server is not called `{shown}`; its setting `hosts` has its names");
            return Err(Problem::new(Code::Forbidden, detail));
        }
    }
    let safe = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    if !safe && !same_origin(headers, host.as_deref()) {
        return Err(Problem::new(
            Code::Forbidden,
            "a page of another origin may change nothing here",
        ));
    }
    Ok(())
}

/// In HTTP/2 it is part of the address.
pub(crate) fn host(headers: &HeaderMap, uri: &Uri) -> Option<String> {
    let header = headers.get(header::HOST).and_then(|value| value.to_str().ok());
    let host = header.or_else(|| uri.authority().map(|authority| authority.as_str()))?;
    Some(host.to_ascii_lowercase())
}

pub(crate) fn without_port(host: &str) -> &str {
    match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    }
}

/// Browsers say where a request comes from; others say nothing.
fn same_origin(headers: &HeaderMap, host: Option<&str>) -> bool {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    match text("sec-fetch-site") {
        Some("same-origin" | "none") => return true,
        Some(_) => return false,
        None => {}
    }
    let Some(origin) = text("origin") else { return true };
    let origin = origin.to_ascii_lowercase();
    origin.split_once("://").is_some_and(|(_, place)| Some(place) == host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_known_without_its_port() {
        for (host, name) in [
            ("localhost:7878", "localhost"),
            ("localhost", "localhost"),
            ("[::1]:7878", "::1"),
            ("[::1]", "::1"),
            ("127.0.0.1:1", "127.0.0.1"),
        ] {
            assert_eq!(without_port(host), name);
        }
    }

    #[test]
    fn a_page_of_another_origin_is_told_apart() {
        let said = |pairs: &[(&'static str, &'static str)]| {
            let headers = pairs.iter().map(|(name, value)| {
                (HeaderName::from_static(name), HeaderValue::from_static(value))
            });
            same_origin(&headers.collect(), Some("localhost:7878"))
        };
        assert!(said(&[]));
        assert!(said(&[("origin", "http://localhost:7878")]));
        assert!(said(&[("sec-fetch-site", "same-origin")]));
        assert!(!said(&[("origin", "http://localhost:80")]));
        assert!(!said(&[("origin", "null")]));
        assert!(!said(&[("sec-fetch-site", "cross-site")]));
        assert!(!said(&[("sec-fetch-site", "same-site"), ("origin", "http://localhost:7878")]));
    }
}
