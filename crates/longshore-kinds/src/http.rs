//! Requests that jobs make: to where the guard lets them, without redirects and proxies, and no more of an answer
//! than may be kept.

mod answer; // what an answer means
mod connect; // connections that ask the guard
mod guard; // where a request may go
mod target; // what a payload says of a request
#[cfg(test)]
pub(crate) mod testing; // what tests speak to

use std::sync::Arc;
use std::time::SystemTime;

use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::Request;
use hyper::body::{Bytes, Incoming};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;

use answer::Answer;
#[cfg(test)]
pub(crate) use connect::Soon;
use connect::{Guarded, System};
pub(crate) use connect::{Network, NoConnection};
pub use guard::Allowed;
pub(crate) use target::Target;

use crate::error::KindError;

/// A client of built-in kinds.
#[derive(Clone)]
pub(crate) struct Http {
    client: Client<HttpsConnector<Guarded>, Full<Bytes>>,
}

/// Why there is no answer. Says nothing of what stood in one.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoAnswer {
    /// No connection, or one that is not allowed.
    #[error(transparent)]
    Connection(NoConnection),
    /// It is longer than may be kept.
    #[error("answers with more than {0} bytes")]
    TooLong(usize),
    /// The connection broke, or what came is no HTTP.
    #[error("gave no whole answer")]
    Broken(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Http {
    /// Through the guard, to this machine's network.
    pub fn new(allowed: Vec<Allowed>) -> Http {
        Http::with(allowed, Arc::new(System))
    }

    pub(crate) fn with(allowed: Vec<Allowed>, network: Arc<dyn Network>) -> Http {
        let guarded = Guarded { allowed: Arc::from(allowed), network };
        // Each request has a connection of its own: the guard is asked for every one.
        let client = Client::builder(TokioExecutor::new())
            .pool_max_idle_per_host(0)
            .build(with_tls(guarded));
        Http { client }
    }

    /// Sends it once, to the address that stood in this field of a payload. How long that may take is the caller's to
    /// say.
    pub async fn ask(
        &self,
        field: &'static str,
        request: Request<Full<Bytes>>,
        most_bytes: usize,
    ) -> Result<Answer, KindError> {
        let answer = self.send(request, most_bytes).await;
        answer
            .map_err(|error| KindError::unanswered(field, &error))?
            .taken(field, SystemTime::now())
    }

    async fn send(
        &self,
        request: Request<Full<Bytes>>,
        most_bytes: usize,
    ) -> Result<Answer, NoAnswer> {
        let response = self.client.request(request).await.map_err(NoAnswer::of)?;
        let (parts, body) = response.into_parts();
        let body = whole(body, most_bytes).await?;
        Ok(Answer { status: parts.status, headers: parts.headers, body })
    }
}

/// HTTP/1 over these connections, with TLS where the address says so: ring, and Mozilla's authorities.
pub(crate) fn with_tls<C>(connections: C) -> HttpsConnector<C> {
    hyper_rustls::HttpsConnectorBuilder::new()
        .with_provider_and_webpki_roots(rustls::crypto::ring::default_provider())
        .expect("ring has what TLS needs")
        .https_or_http()
        .enable_http1()
        .wrap_connector(connections)
}

/// The body of an answer, unless it is longer.
pub(crate) async fn whole(body: Incoming, most_bytes: usize) -> Result<Bytes, NoAnswer> {
    match Limited::new(body, most_bytes).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(NoAnswer::TooLong(most_bytes)),
        Err(error) => Err(NoAnswer::Broken(error)),
    }
}

impl NoAnswer {
    /// The guard's own words lie below those of hyper and of TLS.
    fn of(error: hyper_util::client::legacy::Error) -> NoAnswer {
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&error);
        while let Some(error) = cause {
            if let Some(known) = error.downcast_ref::<NoConnection>() {
                return NoAnswer::Connection(match known {
                    NoConnection::Refused(rule) => NoConnection::Refused(rule),
                    NoConnection::NoHost => NoConnection::NoHost,
                    NoConnection::NoAddress => NoConnection::NoAddress,
                    NoConnection::Failed(error) => NoConnection::Failed(error.kind().into()),
                });
            }
            cause = error.source();
        }
        NoAnswer::Broken(error.into())
    }
}
