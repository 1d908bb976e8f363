//! Connections that ask the guard: a name is looked up once for each, and only addresses that may be spoken to are.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::Uri;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower_service::Service;

use super::guard::{Allowed, check};

/// How long one connection may take, with the look-up.
const CONNECT_FOR: Duration = Duration::from_secs(10);

/// What comes of a question to the network.
pub(crate) type Soon<T> = Pin<Box<dyn Future<Output = io::Result<T>> + Send>>;

/// Where names are looked up and connections made.
pub(crate) trait Network: Send + Sync {
    /// What a name leads to.
    fn look_up(&self, name: String) -> Soon<Vec<IpAddr>>;

    /// A connection to just this address.
    fn connect(&self, to: SocketAddr) -> Soon<TcpStream>;
}

/// As this machine does it.
pub(super) struct System;

impl Network for System {
    fn look_up(&self, name: String) -> Soon<Vec<IpAddr>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }

    fn connect(&self, to: SocketAddr) -> Soon<TcpStream> {
        Box::pin(TcpStream::connect(to))
    }
}

/// Makes connections.
#[derive(Clone)]
pub(super) struct Guarded {
    pub allowed: Arc<[Allowed]>,
    pub network: Arc<dyn Network>,
}

/// Why there is no connection. Says nothing of who answered, or of what a name leads to.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoConnection {
    /// It may not be made.
    #[error("leads to an address that is not allowed ({0})")]
    Refused(&'static str),
    /// The address has no host.
    #[error("names no host")]
    NoHost,
    /// The name leads nowhere.
    #[error("has a name that leads to no address")]
    NoAddress,
    /// Nobody answers there, or not in time.
    #[error("could not connect")]
    Failed(#[source] io::Error),
}

impl Guarded {
    async fn connect(self, uri: Uri) -> Result<TokioIo<TcpStream>, NoConnection> {
        let host = uri.host().ok_or(NoConnection::NoHost)?;
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let usual = if uri.scheme_str() == Some("https") { 443 } else { 80 };
        let port = uri.port_u16().unwrap_or(usual);
        let addresses = match host.parse() {
            Ok(address) => vec![address],
            Err(_) => {
                let found = self.network.look_up(host.clone()).await;
                found.map_err(|_| NoConnection::NoAddress)?
            }
        };
        // All of them, before any is spoken to: whoever mixes them wants us to try.
        for address in &addresses {
            let address = SocketAddr::new(*address, port);
            check(&self.allowed, &host, address).map_err(NoConnection::Refused)?;
        }
        let mut failure = NoConnection::NoAddress;
        for address in addresses {
            match self.network.connect(SocketAddr::new(address, port)).await {
                Ok(stream) => {
                    let _ = stream.set_nodelay(true);
                    return Ok(TokioIo::new(stream));
                }
                Err(error) => failure = NoConnection::Failed(error),
            }
        }
        Err(failure)
    }
}

impl Service<Uri> for Guarded {
    type Response = TokioIo<TcpStream>;
    type Error = NoConnection;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, NoConnection>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), NoConnection>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connecting = self.clone().connect(uri);
        Box::pin(async move {
            match tokio::time::timeout(CONNECT_FOR, connecting).await {
                Ok(connected) => connected,
                Err(_) => Err(NoConnection::Failed(io::ErrorKind::TimedOut.into())),
            }
        })
    }
}
