//! The API beside the worker: up before it, and stopped after it.

use std::net::SocketAddr;

use longshore::Client;
use longshore_server::{Readiness, Server};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::Context;
use crate::exit::Failure;

/// An API that is served.
pub(super) struct Http {
    readiness: Readiness,
    stop: oneshot::Sender<()>,
    task: JoinHandle<std::io::Result<()>>,
}

/// Serves the API where the settings say, if anywhere.
pub(super) async fn start(context: &Context, client: &Client) -> Result<Option<Http>, Failure> {
    let settings = &context.settings.http;
    let Some(address) = settings.address()? else { return Ok(None) };
    let loopback = address.ip().is_loopback();
    if !loopback && !client.tokens().await?.iter().any(|token| token.live) {
        let name = context.app.name;
        let words = format!(
            "http.listen is {address}, which others can reach, and nobody could come in: make a token first, \
             such as with `{name} token create NAME --role admin`, or listen on 127.0.0.1"
        );
        return Err(Failure::usage(words));
    }
    let server = Server::new(client.clone()).config(settings.config(address)?);
    let listener = TcpListener::bind(address)
        .await
        .map_err(|error| Failure::failed(format!("could not listen on {address}: {error}")))?;
    let address = listener.local_addr().unwrap_or(address);
    let readiness = server.readiness();
    let (stop, stopped) = oneshot::channel();
    let serve =
        axum::serve(listener, server.site().into_make_service_with_connect_info::<SocketAddr>())
            .with_graceful_shutdown(async {
                let _ = stopped.await;
            });
    tracing::info!(%address, "serving the API on http://{address}");
    Ok(Some(Http { readiness, stop, task: tokio::spawn(serve.into_future()) }))
}

impl Http {
    /// Not ready any more, though it still answers.
    pub fn drain(&self) {
        self.readiness.drain();
    }

    /// Takes no new connections, and waits for the requests that are there.
    pub async fn stop(self) {
        let _ = self.stop.send(());
        let patience = std::time::Duration::from_secs(5);
        if let Ok(Ok(Err(error))) = tokio::time::timeout(patience, self.task).await {
            tracing::warn!("the API ended with an error: {error}");
        }
    }
}
