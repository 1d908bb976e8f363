//! The page that shows the document to people. All of it is in the program; nothing comes from elsewhere.

use axum::Router;
use axum::http::{HeaderValue, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use bytes::Bytes;
use utoipa::openapi::OpenApi;

use crate::problem::Code;
use crate::server::App;

const PAGE: &str = include_str!("../assets/reference.html");
const SCRIPT: &str = include_str!("../assets/reference.js");
const STYLE: &str = include_str!("../assets/reference.css");

/// Only what this server itself serves.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(crate) fn routes(document: &OpenApi) -> Router<App> {
    let document = Bytes::from(document.to_pretty_json().expect("a document is JSON"));
    let page = PAGE.replace("<!-- problems -->", &problems());
    let json = move || served(document.clone(), "application/json");
    Router::new()
        .route("/api/openapi.json", get(async move || json()))
        .route("/api/docs", get(async move || guarded(page.clone())))
        .route(
            "/api/docs/reference.js",
            get(async || served(SCRIPT, "text/javascript; charset=utf-8")),
        )
        .route("/api/docs/reference.css", get(async || served(STYLE, "text/css; charset=utf-8")))
}

fn served(body: impl IntoResponse, media_type: &'static str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(media_type)),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    (headers, body).into_response()
}

fn guarded(page: String) -> Response {
    let policy = HeaderValue::from_static(POLICY);
    ([(header::CONTENT_SECURITY_POLICY, policy)], Html(page)).into_response()
}

/// The table of problems; each is the place that a problem's `type` leads to.
fn problems() -> String {
    let row = |code: &Code| {
        format!(
            "<tr id=\"problem-{0}\"><th scope=\"row\"><code>{0}</code></th><td>{1}</td><td>{2}</td><td>{3}</td></tr>\n",
            code.as_str(),
            code.status().as_u16(),
            code.title(),
            coded(code.explanation()),
        )
    };
    Code::ALL.iter().map(row).collect()
}

/// A text of ours with what stands between backticks as code.
fn coded(text: &str) -> String {
    let part = |(n, part): (usize, &str)| match n % 2 {
        0 => part.to_owned(),
        _ => format!("<code>{part}</code>"),
    };
    text.split('`').enumerate().map(part).collect()
}
