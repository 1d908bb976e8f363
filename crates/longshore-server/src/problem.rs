//! What went wrong, as `application/problem+json` (RFC 9457): the only place with status codes of errors.

mod code;
mod store;

use std::borrow::Cow;

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Serialize, Serializer};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

pub use code::Code;

/// The type of a problem's body.
pub const MEDIA_TYPE: &str = "application/problem+json";

/// What went wrong with a request. Every answer with a status of 400 and above has one.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    code: Code,
    detail: String,
    errors: Vec<Fault>,
    /// Sent along with it; not part of the body.
    headers: Vec<(HeaderName, HeaderValue)>,
}

/// What went wrong with a request. Every answer with a status of 400 and above has one.
#[derive(Serialize, ToSchema)]
#[schema(as = Problem)]
struct Body<'a> {
    /// Where the kind of problem is explained.
    #[schema(example = "/api/docs#problem-not_found")]
    r#type: String,
    /// The kind of problem in a few words.
    title: &'a str,
    /// The status of the answer.
    #[schema(example = 404)]
    status: u16,
    /// The kind of problem, for programs.
    #[schema(example = "not_found")]
    code: &'a str,
    /// What is wrong in this case.
    detail: &'a str,
    /// Names this request in the server's log.
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<&'a str>,
    /// Each fault by itself, where there may be several, or where its place is known.
    #[serde(skip_serializing_if = "<[Fault]>::is_empty")]
    #[schema(required = false)]
    errors: &'a [Fault],
}

/// One fault of a request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct Fault {
    /// Where in the body, as a JSON pointer (RFC 6901).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "/priority")]
    pub pointer: Option<String>,
    /// Which parameter of the address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameter: Option<&'static str>,
    /// The first byte of the parameter that is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<usize>,
    /// How many bytes are wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<usize>,
    /// What is wrong.
    #[schema(example = "priority is 10; it may be 0 to 9")]
    pub detail: String,
}

/// The answer of a handler.
pub type Result<T, E = Problem> = std::result::Result<T, E>;

impl Problem {
    /// A problem of this kind.
    pub fn new(code: Code, detail: impl Into<String>) -> Problem {
        Problem { code, detail: detail.into(), errors: Vec::new(), headers: Vec::new() }
    }

    /// Names a fault by itself.
    pub fn fault(mut self, fault: Fault) -> Problem {
        self.errors.push(fault);
        self
    }

    /// Sends a header along.
    pub fn header(mut self, name: HeaderName, value: impl Into<HeaderValue>) -> Problem {
        self.headers.push((name, value.into()));
        self
    }

    /// A parameter of the address that cannot be read.
    pub fn parameter(name: &'static str, detail: impl Into<String>) -> Problem {
        let detail = detail.into();
        let fault = Fault { parameter: Some(name), detail: detail.clone(), ..Fault::default() };
        Problem::new(Code::BadParameter, detail).fault(fault)
    }

    /// A value of the body that is not allowed; `pointer` says where it stands.
    pub fn value(pointer: &str, detail: impl Into<String>) -> Problem {
        let (pointer, detail) = (Some(pointer.to_owned()), detail.into());
        let fault = Fault { pointer, detail: detail.clone(), ..Fault::default() };
        Problem::new(Code::Invalid, detail).fault(fault)
    }

    /// The problem of one job in a batch: its faults are placed in the whole body.
    pub fn of_job(self, index: usize) -> Problem {
        self.placed(&format!("job {index}"), &format!("/jobs/{index}"))
    }

    /// The same of a part of the body.
    pub fn inside(self, place: &str) -> Problem {
        self.placed(place, place)
    }

    fn placed(mut self, name: &str, place: &str) -> Problem {
        self.detail = format!("{name}: {}", self.detail);
        for fault in &mut self.errors {
            let inside = fault.pointer.as_deref().unwrap_or("");
            fault.pointer = Some(format!("{place}{inside}"));
        }
        self
    }

    /// Its kind.
    pub fn code(&self) -> Code {
        self.code
    }

    /// What is wrong, in a sentence.
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// The status of the answer.
    pub fn status(&self) -> StatusCode {
        self.code.status()
    }

    fn body<'a>(&'a self, request_id: Option<&'a str>) -> Body<'a> {
        Body {
            r#type: self.code.explained_at(),
            title: self.code.title(),
            status: self.status().as_u16(),
            code: self.code.as_str(),
            detail: &self.detail,
            request_id,
            errors: &self.errors,
        }
    }

    /// The whole answer to the request with this id.
    pub(crate) fn respond(self, request_id: &str) -> Response {
        let body = serde_json::to_vec(&self.body(Some(request_id))).expect("texts and numbers");
        let media_type = HeaderValue::from_static(MEDIA_TYPE);
        let mut response =
            (self.status(), [(header::CONTENT_TYPE, media_type)], body).into_response();
        response.headers_mut().extend(self.headers);
        response
    }
}

/// As part of a larger answer.
impl Serialize for Problem {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.body(None).serialize(to)
    }
}

impl PartialSchema for Problem {
    fn schema() -> RefOr<Schema> {
        Body::schema()
    }
}

impl ToSchema for Problem {
    fn name() -> Cow<'static, str> {
        Body::name()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        Body::schemas(schemas);
    }
}

/// An answer without a body: the outermost layer writes it when the request's id is known.
impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = self.status().into_response();
        response.extensions_mut().insert(self);
        response
    }
}
