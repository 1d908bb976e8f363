//! A running `longshore serve`, spoken to over HTTP.
//!
//! A request goes one way: [`Ask`] -> sent, again where that is safe -> [`Answer`] -> what it says, or a [`Failure`].
//! No redirect is followed and no proxy is used, so the token goes to the address that somebody named and nowhere else.

mod address;
mod answer;
mod ask;
mod refusal;
mod tls;

use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::http::{HeaderValue, Request, StatusCode, header};
use http_body_util::Full;
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde::de::DeserializeOwned;

use crate::exit::Failure;
use crate::settings::Settings;

pub(crate) use answer::Pieces;
pub(crate) use ask::Ask;

use address::Address;
use answer::Answer;

/// How long a connection may take.
const CONNECT_FOR: Duration = Duration::from_secs(10);
/// How long a request is sent again before its failure is told.
const PATIENCE: Duration = Duration::from_secs(15);
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Where to, and in whose name.
pub(crate) struct Remote {
    http: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    address: Address,
    authorization: Option<HeaderValue>,
    /// How long the server may be silent.
    timeout: Duration,
}

/// What became of sending a request once.
enum Sent {
    Answered(Answer),
    /// Nothing was sent.
    Not(Failure),
    /// It may have been carried out; nobody said.
    Lost(Failure),
}

impl Remote {
    /// The server that the settings name. Nothing is sent yet.
    pub fn new(settings: &Settings) -> Result<Remote, Failure> {
        let address = Address::read(&settings.url)?;
        let mut connector = HttpConnector::new();
        connector.enforce_http(false);
        connector.set_connect_timeout(Some(CONNECT_FOR));
        connector.set_nodelay(true);
        let tls = tls::config(&settings.remote.ca_file)?;
        let connector = hyper_rustls::HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .wrap_connector(connector);
        let http = Client::builder(TokioExecutor::new()).build(connector);
        let authorization = settings.token.bearer()?;
        if !address.is_private() {
            eprintln!(
                "warning: {address} is plain HTTP: whoever is on the way reads along, the token too; use https://"
            );
        }
        Ok(Remote { http, address, authorization, timeout: settings.remote.timeout.0 })
    }

    /// What the server says to this.
    pub async fn read<T: DeserializeOwned>(&self, ask: &Ask) -> Result<T, Failure> {
        self.send(ask).await?.read().await
    }

    /// Asks for it; what is answered beside "yes" does not matter.
    pub async fn done(&self, ask: &Ask) -> Result<(), Failure> {
        self.send(ask).await.map(|_| ())
    }

    /// An answer of any length, a piece at a time.
    pub async fn pieces(&self, ask: &Ask) -> Result<Pieces, Failure> {
        self.send(ask).await?.pieces()
    }

    /// Sends it until there is an answer: again only where that does nothing twice, and not for long.
    async fn send(&self, ask: &Ask) -> Result<Answer, Failure> {
        let give_up = Instant::now() + PATIENCE;
        let (mut pause, mut lost) = (FIRST_PAUSE, false);
        loop {
            let (failure, wait) = match self.once(ask).await {
                Sent::Answered(answer) if answer.status().is_success() => return Ok(answer),
                Sent::Answered(answer) => {
                    let (status, after) = (answer.status(), answer.retry_after());
                    let failure = answer.refusal(self.authorization.is_some()).await;
                    let again = match status {
                        // Refused at the door: nothing was begun.
                        StatusCode::TOO_MANY_REQUESTS => true,
                        // A conflict that passes: the same request, sent before, is being carried out.
                        StatusCode::SERVICE_UNAVAILABLE | StatusCode::CONFLICT => {
                            ask.may_repeat() && failure.passes
                        }
                        _ => false,
                    };
                    (failure, again.then_some(after))
                }
                // Who is away from the start is told at once, as with a database.
                Sent::Not(failure) => (failure, lost.then_some(None)),
                Sent::Lost(failure) => {
                    lost = true;
                    (failure, ask.may_repeat().then_some(None))
                }
            };
            let Some(asked_for) = wait else { return Err(failure) };
            // Jitter, so that many do not come back at once.
            let wait = asked_for.unwrap_or(pause).mul_f64(1.0 + fastrand::f64() / 4.0);
            if Instant::now() + wait > give_up {
                return Err(failure);
            }
            tokio::time::sleep(wait).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn once(&self, ask: &Ask) -> Sent {
        let limit = self.timeout + ask.waits_for();
        match tokio::time::timeout(limit, self.http.request(self.request(ask))).await {
            Ok(Ok(response)) => Sent::Answered(Answer::new(response, &self.address, self.timeout)),
            Ok(Err(error)) if error.is_connect() => {
                Sent::Not(refusal::unreached(&self.address, &error))
            }
            Ok(Err(error)) => Sent::Lost(refusal::lost(&self.address, &error)),
            Err(_) => Sent::Lost(refusal::silent(&self.address, limit)),
        }
    }

    fn request(&self, ask: &Ask) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(ask.body()));
        *request.method_mut() = ask.method();
        *request.uri_mut() = self.address.uri(ask.path());
        let headers = request.headers_mut();
        headers.insert(header::USER_AGENT, HeaderValue::from_static(USER_AGENT));
        headers.extend(ask.headers().cloned());
        if let Some(authorization) = &self.authorization {
            headers.insert(header::AUTHORIZATION, authorization.clone());
        }
        request
    }
}

const USER_AGENT: &str = concat!("longshore/", env!("CARGO_PKG_VERSION"));
