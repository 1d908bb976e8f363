//! What a server says, read as far as it may be long.

use std::time::Duration;

use axum::body::Bytes;
use axum::http::{StatusCode, header};
use http_body_util::BodyExt;
use hyper::Response;
use hyper::body::Incoming;
use serde::de::DeserializeOwned;

use super::address::Address;
use super::refusal;
use crate::exit::Failure;

/// Bytes of an answer that is read at once: far above a page of whole jobs.
const MOST_BYTES: usize = 64 << 20;

/// The head of an answer, with its body still to come.
pub(super) struct Answer {
    response: Response<Incoming>,
    address: Address,
    timeout: Duration,
}

impl Answer {
    pub fn new(response: Response<Incoming>, address: &Address, timeout: Duration) -> Answer {
        Answer { response, address: address.clone(), timeout }
    }

    pub fn status(&self) -> StatusCode {
        self.response.status()
    }

    /// When to come again, if the server says so in seconds.
    pub fn retry_after(&self) -> Option<Duration> {
        let value = self.header(header::RETRY_AFTER)?;
        value.parse().ok().map(Duration::from_secs)
    }

    pub(super) fn header(&self, name: header::HeaderName) -> Option<&str> {
        self.response.headers().get(name)?.to_str().ok()
    }

    /// The view that it is.
    pub async fn read<T: DeserializeOwned>(self) -> Result<T, Failure> {
        let (kind, address) = (self.media_type(), self.address.clone());
        let body = self.body().await?;
        if kind != "application/json" {
            return Err(refusal::foreign(&address, StatusCode::OK, &kind));
        }
        serde_json::from_slice(&body).map_err(|error| refusal::unreadable(&address, &error))
    }

    /// Why it is no "yes". `asked`: with a token.
    pub async fn refusal(self, asked: bool) -> Failure {
        let (status, kind, address) = (self.status(), self.media_type(), self.address.clone());
        if status.is_redirection() {
            let place = self.header(header::LOCATION).unwrap_or("nowhere").to_owned();
            return refusal::redirected(&address, &place);
        }
        match self.body().await {
            Ok(body) => refusal::read(&body, asked)
                .unwrap_or_else(|| refusal::foreign(&address, status, &kind)),
            Err(failure) => failure,
        }
    }

    pub fn pieces(self) -> Result<Pieces, Failure> {
        let Answer { response, address, timeout } = self;
        Ok(Pieces { body: response.into_body(), address, timeout })
    }

    fn media_type(&self) -> String {
        let whole = self.header(header::CONTENT_TYPE).unwrap_or("no media type");
        whole.split(';').next().unwrap_or_default().trim().to_owned()
    }

    async fn body(self) -> Result<Vec<u8>, Failure> {
        let address = self.address.clone();
        let mut pieces = self.pieces()?;
        let mut whole = Vec::new();
        while let Some(piece) = pieces.next().await? {
            if whole.len() + piece.len() > MOST_BYTES {
                return Err(refusal::endless(&address, MOST_BYTES));
            }
            whole.extend_from_slice(&piece);
        }
        Ok(whole)
    }
}

/// A body, as it comes.
pub(crate) struct Pieces {
    body: Incoming,
    address: Address,
    timeout: Duration,
}

impl Pieces {
    /// The next bytes; `None` once all were there.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Failure> {
        loop {
            let frame = tokio::time::timeout(self.timeout, self.body.frame())
                .await
                .map_err(|_| refusal::silent(&self.address, self.timeout))?;
            match frame {
                None => return Ok(None),
                Some(Err(error)) => return Err(refusal::broken_off(&self.address, &error)),
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
            }
        }
    }
}
