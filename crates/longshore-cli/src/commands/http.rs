//! The API beside the worker: up before it, and stopped after it.

use std::io::ErrorKind;
use std::net::SocketAddr;

use longshore::Client;
use longshore::access::Secret;
use longshore_server::{Readiness, Server, ServerConfig};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::Context;
use crate::exit::Failure;

/// The port of `dev`, if it is free.
const PORT: u16 = 7878;

/// An API that is served.
pub(super) struct Http {
    /// Where it listens.
    pub address: Option<SocketAddr>,
    readiness: Readiness,
    stop: oneshot::Sender<()>,
    task: JoinHandle<std::io::Result<()>>,
}

/// What lets the person in who started this process.
pub(super) struct Ours {
    /// For programs, as long as this process runs.
    pub token: Secret,
    /// For a browser, once.
    pub code: Secret,
}

/// Serves the API where the settings say, if anywhere.
pub(super) async fn start(context: &Context, client: &Client) -> Result<Option<Http>, Failure> {
    let settings = &context.settings.http;
    let Some(address) = settings.address()? else { return Ok(None) };
    // A setting that cannot work is said before what the database lacks.
    let config = settings.config(address)?;
    // Metrics that are shown to everybody are a reason to listen without anybody: on a node that only works.
    let closed = !address.ip().is_loopback() && !config.metrics_open;
    if closed && !somebody_can_come_in(client).await? {
        let name = context.app.name;
        let words = format!(
            "http.listen is {address}, which others can reach, and nobody could come in: make a token or a user first, \
             such as with `{name} token create NAME --role admin`, or listen on 127.0.0.1"
        );
        return Err(Failure::usage(words));
    }
    let listener = TcpListener::bind(address).await.map_err(|error| unheard(address, &error))?;
    Ok(Some(serve(client, config, listener)))
}

/// Serves the API for one person on this machine: on the address of the settings, else on port 7878 or
/// any that is free. Answers with the secrets that this process makes for it.
pub(super) async fn start_for_dev(
    context: &Context,
    client: &Client,
) -> Result<(Http, Ours), Failure> {
    let settings = &context.settings.http;
    let asked = settings.address()?;
    let address = asked.unwrap_or(SocketAddr::from(([127, 0, 0, 1], PORT)));
    if !address.ip().is_loopback() {
        let words = format!(
            "http.listen is {address}, which others can reach; `dev` is for this machine alone, use `serve`"
        );
        return Err(Failure::usage(words));
    }
    let listener = match TcpListener::bind(address).await {
        Err(error) if error.kind() == ErrorKind::AddrInUse && asked.is_none() => {
            TcpListener::bind((address.ip(), 0)).await
        }
        bound => bound,
    };
    let listener = listener.map_err(|error| unheard(address, &error))?;
    let ours = Ours { token: Secret::fresh()?, code: Secret::fresh()? };
    let config = ServerConfig {
        process_token: Some(ours.token.clone()),
        sign_in_code: Some(ours.code.clone()),
        ..settings.config(address)?
    };
    Ok((serve(client, config, listener), ours))
}

async fn somebody_can_come_in(client: &Client) -> Result<bool, Failure> {
    Ok(client.tokens().await?.iter().any(|token| token.live)
        || client.users().await?.iter().any(|user| user.disabled_at.is_none()))
}

fn unheard(address: SocketAddr, error: &std::io::Error) -> Failure {
    Failure::failed(format!("could not listen on {address}: {error}"))
}

fn serve(client: &Client, config: ServerConfig, listener: TcpListener) -> Http {
    let server = Server::new(client.clone()).config(config);
    let address = listener.local_addr().ok();
    let readiness = server.readiness();
    let (stop, stopped) = oneshot::channel();
    let service = server.site().into_make_service_with_connect_info::<SocketAddr>();
    let serve = axum::serve(listener, service).with_graceful_shutdown(async {
        let _ = stopped.await;
    });
    if let Some(address) = address {
        tracing::info!(%address, "serving the API on http://{address}");
    }
    Http { address, readiness, stop, task: tokio::spawn(serve.into_future()) }
}

impl Http {
    /// Not ready any more, though it still answers.
    pub fn drain(&self) {
        self.readiness.drain();
    }

    /// Takes no new connections, and waits for the requests that are there.
    pub async fn stop(self) {
        // Streams of events end when they hear of it.
        self.readiness.drain();
        let _ = self.stop.send(());
        let patience = std::time::Duration::from_secs(5);
        if let Ok(Ok(Err(error))) = tokio::time::timeout(patience, self.task).await {
            tracing::warn!("the API ended with an error: {error}");
        }
    }
}
