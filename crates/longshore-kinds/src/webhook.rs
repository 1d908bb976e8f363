//! The kind `webhook_delivery`: a message to somebody's address, signed, until it is taken.
//!
//! As Standard Webhooks says: the job's id is the message's id at every attempt, so a receiver knows a repeat.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http_body_util::Full;
use hyper::Request;
use hyper::body::Bytes;
use hyper::header::HeaderValue;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::error::KindError;
use crate::http::{Http, Target};

/// So much of an answer is read, and thrown away: who delivers learns only whether it was taken.
const ANSWER_BYTES: usize = 64 << 10;

/// The payload: what to deliver, and where.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookDelivery {
    /// `https://…` or `http://…`, on the public internet unless the operator allows more.
    pub url: String,
    /// Default `POST`.
    #[serde(default = "post")]
    pub method: String,
    /// Headers beside ours.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The message, sent byte for byte. Default `null`.
    #[serde(default = "nothing")]
    #[schemars(with = "Value")]
    pub body: Box<RawValue>,
    /// The key of the signature, `whsec_` and base64. Default: none, and no signature. People are not shown it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

/// A job's output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivered {
    /// What the receiver answered: 200 to 299.
    pub status: u16,
}

/// Which message it is.
pub(crate) struct Message<'a> {
    pub id: &'a str,
    pub now: SystemTime,
}

impl WebhookDelivery {
    /// A message without a signature.
    pub fn new(url: impl Into<String>, body: Box<RawValue>) -> Self {
        let headers = BTreeMap::new();
        Self { url: url.into(), method: post(), headers, body, secret: None }
    }

    /// Looks at the payload alone.
    ///
    /// # Errors
    /// [`KindError::Payload`] or [`KindError::TooLarge`], which name the field.
    pub fn check(&self) -> Result<(), KindError> {
        Target::new(&self.method, ("url", &self.url), &self.headers)?;
        self.key().map(|_| ())
    }

    fn key(&self) -> Result<Option<Vec<u8>>, KindError> {
        let Some(secret) = &self.secret else { return Ok(None) };
        let key = secret.strip_prefix("whsec_").and_then(|text| STANDARD.decode(text).ok());
        let good = key.filter(|key| (16..=128).contains(&key.len()));
        let wrong =
            || KindError::payload("secret", "must be `whsec_` and 16 to 128 bytes in base64");
        good.map(Some).ok_or_else(wrong)
    }

    /// The request of an attempt.
    pub(crate) fn request(&self, message: &Message<'_>) -> Result<Request<Full<Bytes>>, KindError> {
        let target = Target::new(&self.method, ("url", &self.url), &self.headers)?;
        let key = self.key()?;
        let body = Bytes::copy_from_slice(self.body.get().as_bytes());
        let mut request = target.request(body, Some("application/json"));
        let seconds = message.now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let mut set = |name: &'static str, text: &str| {
            let value = HeaderValue::from_str(text).expect("an id, a number or base64");
            request.headers_mut().insert(name, value);
        };
        set("idempotency-key", message.id);
        set("webhook-id", message.id);
        set("webhook-timestamp", &seconds.to_string());
        if let Some(key) = key {
            let signed = format!("{}.{seconds}.{}", message.id, self.body.get());
            let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &key);
            let tag = ring::hmac::sign(&key, signed.as_bytes());
            set("webhook-signature", &format!("v1,{}", STANDARD.encode(tag.as_ref())));
        }
        Ok(request)
    }

    /// Delivers once.
    pub(crate) async fn deliver(
        &self,
        http: &Http,
        message: &Message<'_>,
    ) -> Result<Delivered, KindError> {
        let answer = http.ask("url", self.request(message)?, ANSWER_BYTES).await?;
        Ok(Delivered { status: answer.status.as_u16() })
    }
}

fn post() -> String {
    "POST".to_owned()
}

fn nothing() -> Box<RawValue> {
    RawValue::from_string("null".to_owned()).expect("JSON")
}

#[cfg(test)]
mod tests;
