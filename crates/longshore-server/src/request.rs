//! What requests bring: bodies, addresses and parameters, each refused with a problem that says where.

use std::ops::RangeInclusive;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, FromRequestParts, OptionalFromRequest, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use longshore::JobId;
use longshore::store::NodeId;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use utoipa::IntoParams;

use crate::problem::{Code, Problem, Result};

/// A body of JSON, as text: who needs it reads it in place, so that numbers stay as they were written.
pub(crate) struct Body(Bytes);

impl Body {
    /// Reads the body; the type may borrow from it.
    pub fn read<'a, T: Deserialize<'a>>(&'a self) -> Result<T> {
        read(self.text()?)
    }

    /// As it came.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    fn text(&self) -> Result<&str> {
        std::str::from_utf8(&self.0).map_err(|error| {
            let byte = error.valid_up_to();
            Problem::new(
                Code::BadJson,
                format!("the body is not UTF-8: a wrong byte at byte {byte}"),
            )
        })
    }
}

/// What an optional body says; without one, the defaults.
pub(crate) fn or_default<'a, T: Deserialize<'a> + Default>(body: &'a Option<Body>) -> Result<T> {
    body.as_ref().map_or_else(|| Ok(T::default()), Body::read)
}

/// A number of the address, if it is in its range.
pub(crate) fn ranged(name: &'static str, value: u32, range: RangeInclusive<u32>) -> Result<u32> {
    if range.contains(&value) {
        return Ok(value);
    }
    let (least, most) = range.into_inner();
    Err(Problem::parameter(name, format!("{name} is {value}; it may be {least} to {most}")))
}

/// Reads a JSON object; an error names the place in it.
pub(crate) fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T> {
    // To serde a list is a struct too, its fields by their order.
    if text.trim_start().starts_with(['[', '"']) {
        return Err(Problem::value("", "this is to be a JSON object"));
    }
    let mut json = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let pointer = pointer(error.path());
        refused(error.into_inner(), pointer)
    })?;
    json.end().map_err(|error| refused(error, String::new()))?;
    Ok(value)
}

fn refused(error: serde_json::Error, pointer: String) -> Problem {
    let detail = error.to_string();
    if !error.is_data() {
        return Problem::new(Code::BadJson, detail);
    }
    Problem::value(&pointer, detail)
}

/// The path as a JSON pointer (RFC 6901).
fn pointer(path: &serde_path_to_error::Path) -> String {
    use serde_path_to_error::Segment;
    path.iter()
        .map(|segment| match segment {
            Segment::Seq { index } => format!("/{index}"),
            Segment::Map { key } => format!("/{}", key.replace('~', "~0").replace('/', "~1")),
            Segment::Enum { variant } => format!("/{variant}"),
            Segment::Unknown => "/?".to_owned(),
        })
        .collect()
}

impl<S: Send + Sync> FromRequest<S> for Body {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Body> {
        let media_type = request.headers().get(header::CONTENT_TYPE);
        if !media_type.is_some_and(|value| is_json(value.as_bytes())) {
            let detail = "the body is to be `Content-Type: application/json`";
            return Err(Problem::new(Code::MediaType, detail));
        }
        bytes(request, state).await.map(Body)
    }
}

/// `None` for a request without a body, or with `null` for one.
impl<S: Send + Sync> OptionalFromRequest<S> for Body {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Option<Body>> {
        if request.headers().contains_key(header::CONTENT_TYPE) {
            let body = <Body as FromRequest<S>>::from_request(request, state).await?;
            return Ok(Some(body).filter(|body| body.0.trim_ascii() != b"null"));
        }
        let bytes = bytes(request, state).await?;
        if bytes.is_empty() {
            return Ok(None);
        }
        Err(Problem::new(Code::MediaType, "the body is to be `Content-Type: application/json`"))
    }
}

async fn bytes<S: Send + Sync>(request: Request, state: &S) -> Result<Bytes> {
    Bytes::from_request(request, state).await.map_err(|rejection| match &rejection {
        BytesRejection::FailedToBufferBody(cause)
            if cause.status() == StatusCode::PAYLOAD_TOO_LARGE =>
        {
            Problem::new(Code::TooLarge, "the body has more bytes than this address takes")
        }
        _ => Problem::new(Code::BadRequest, rejection.to_string()),
    })
}

fn is_json(media_type: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(media_type) else { return false };
    let essence = text.split(';').next().unwrap_or("").trim().to_ascii_lowercase();
    essence == "application/json" || essence.ends_with("+json")
}

/// The job that the address names.
#[derive(IntoParams)]
#[into_params(names("id"), parameter_in = Path)]
pub(crate) struct ThisJob(
    /// The job.
    #[param(value_type = String, format = Uuid)]
    pub JobId,
);

impl<S: Send + Sync> FromRequestParts<S> for ThisJob {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<ThisJob> {
        let text = in_address(parts, state).await?;
        text.parse().map(ThisJob).map_err(|_| no_id(&text, "job"))
    }
}

/// The node that the address names.
#[derive(IntoParams)]
#[into_params(names("id"), parameter_in = Path)]
pub(crate) struct ThisNode(
    /// The node.
    #[param(value_type = String, format = Uuid)]
    pub NodeId,
);

impl<S: Send + Sync> FromRequestParts<S> for ThisNode {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<ThisNode> {
        let text = in_address(parts, state).await?;
        text.parse().map(ThisNode).map_err(|_| no_id(&text, "node"))
    }
}

/// The one part of the address that differs.
pub(crate) async fn in_address<S: Send + Sync>(parts: &mut Parts, state: &S) -> Result<String> {
    let Path(text) = Path::<String>::from_request_parts(parts, state)
        .await
        .map_err(|rejection| Problem::new(Code::BadParameter, rejection.body_text()))?;
    Ok(text)
}

/// The beginning of what somebody sent, fit to be shown back.
pub(crate) fn shown(text: &str) -> String {
    text.chars().take(64).flat_map(char::escape_debug).collect()
}

fn no_id(text: &str, of: &str) -> Problem {
    let shown = shown(text);
    let detail = format!(
        "`{shown}` is no {of}'s id; an id is a UUID such as 019364bb-3f3c-7c6e-8f6a-3d2f1b7c9e10"
    );
    Problem::parameter("id", detail)
}

/// The parameters behind the `?`.
pub(crate) struct Params<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Params<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Params<T>> {
        let Query(params) = Query::<T>::from_request_parts(parts, state)
            .await
            .map_err(|rejection| Problem::new(Code::BadParameter, rejection.body_text()))?;
        Ok(Params(params))
    }
}

/// The queue, kind or user that the address names.
#[derive(IntoParams)]
#[into_params(names("name"), parameter_in = Path)]
pub(crate) struct Named(
    /// Its name, percent-encoded where it has to be.
    #[param(value_type = String, min_length = 1, max_length = 255)]
    pub String,
);

impl<S: Send + Sync> FromRequestParts<S> for Named {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Named> {
        in_address(parts, state).await.map(Named)
    }
}
