//! The kind `http_request`: a request, and its answer as the job's output.

use std::collections::BTreeMap;

use hyper::HeaderMap;
use hyper::body::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::error::KindError;
use crate::http::{Http, Target};

/// Bytes of an answer; a longer one is a failure.
pub const MAX_ANSWER_BYTES: usize = 512 << 10;

/// The payload: what to ask, and where.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpRequest {
    /// `https://…` or `http://…`, on the public internet unless the operator allows more.
    pub url: String,
    /// `GET`, `HEAD`, `POST`, `PUT`, `PATCH` or `DELETE`. Default `GET`.
    #[serde(default = "get")]
    pub method: String,
    /// Headers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// JSON, sent byte for byte. Default: no body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Value")]
    pub body: Option<Box<RawValue>>,
}

/// A job's output.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HttpAnswer {
    /// 200 to 299.
    pub status: u16,
    /// Headers that are text, by their names in lower case; of several the last. Cookies are left out.
    pub headers: BTreeMap<String, String>,
    /// The body, if it is JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub json: Option<Box<RawValue>>,
    /// The body, if it is other text; what is not UTF-8 is replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl HttpRequest {
    /// Asks for what lies there.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), method: get(), headers: BTreeMap::new(), body: None }
    }

    /// Looks at the payload alone.
    ///
    /// # Errors
    /// [`KindError::Payload`] or [`KindError::TooLarge`], which name the field.
    pub fn check(&self) -> Result<(), KindError> {
        Target::new(&self.method, ("url", &self.url), &self.headers).map(|_| ())
    }

    /// Asks once.
    pub(crate) async fn ask(&self, http: &Http) -> Result<HttpAnswer, KindError> {
        let target = Target::new(&self.method, ("url", &self.url), &self.headers)?;
        let body = self.body.as_ref().map(|body| Bytes::copy_from_slice(body.get().as_bytes()));
        let media_type = body.is_some().then_some("application/json");
        let request = target.request(body.unwrap_or_default(), media_type);
        let answer = http.ask("url", request, MAX_ANSWER_BYTES).await?;
        let text = String::from_utf8_lossy(&answer.body);
        let json = RawValue::from_string(text.trim().to_owned()).ok();
        let text = (json.is_none() && !text.is_empty()).then(|| text.into_owned());
        let headers = shown(&answer.headers);
        Ok(HttpAnswer { status: answer.status.as_u16(), headers, json, text })
    }
}

fn shown(headers: &HeaderMap) -> BTreeMap<String, String> {
    headers
        .iter()
        .filter(|(name, _)| *name != hyper::header::SET_COOKIE)
        .filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())))
        .collect()
}

fn get() -> String {
    "GET".to_owned()
}
