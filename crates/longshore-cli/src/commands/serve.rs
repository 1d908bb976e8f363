//! `serve`: workers and upkeep until told to stop.

use longshore::{Client, Worker, Working};

use super::http::{self, Http};
use super::{Context, migrate};
use crate::args::ServeArgs;
use crate::connect::{open, patiently};
use crate::exit::{Exit, Failure};
use crate::signals::Signals;

pub(super) async fn run(context: Context, args: ServeArgs) -> Result<Exit, Failure> {
    let mut signals = listen()?;
    let ready = async {
        let client = patiently("open the database", || open(&context.settings)).await?;
        if args.no_migrate {
            let found = patiently("read the schema's version", || client.schema_version()).await?;
            migrate::check(&context, found)?;
        } else {
            let applied = patiently("migrate the schema", || client.migrate()).await?;
            if !applied.is_empty() {
                tracing::info!(versions = ?applied, "migrated the schema");
            }
        }
        Ok::<Client, Failure>(client)
    };
    let client = tokio::select! {
        client = ready => client?,
        signal = signals.next() => {
            tracing::info!("{signal} before the database answered: nothing was started");
            return Ok(Exit::Ok);
        }
    };
    let worker =
        context.settings.queues.0.iter().fold(worker(&context, client.clone())?, add_queue);
    let http = http::start(&context, &client).await?;
    serve_until_stopped(worker.start()?, http.as_ref(), &mut signals).await;
    if let Some(http) = http {
        http.stop().await;
    }
    client.close().await;
    Ok(Exit::Ok)
}

/// A worker with this application's settings and handlers, without queues.
pub(super) fn worker(context: &Context, client: Client) -> Result<Worker, Failure> {
    let config = context.settings.worker_config(context.app.version);
    let worker = Worker::new(client).config(config);
    (context.app.register)(worker, &context.settings).map_err(Failure::usage)
}

pub(super) fn add_queue(worker: Worker, (queue, slots): &(String, u32)) -> Worker {
    worker.queue(queue, *slots)
}

pub(super) fn listen() -> Result<Signals, Failure> {
    Signals::listen().map_err(|error| Failure::failed(format!("could not hear signals: {error}")))
}

/// Serves until a signal comes, or somebody asks this node to stop, and what runs has ended. A second signal gives running jobs back at
/// once; a third leaves them to be rescued.
pub(super) async fn serve_until_stopped(
    mut working: Working,
    http: Option<&Http>,
    signals: &mut Signals,
) {
    let signal = tokio::select! {
        signal = signals.next() => signal,
        () = working.stopped() => {
            tracing::info!("stopped: somebody asked this node to");
            return;
        }
    };
    let before = working.health();
    tracing::info!(running = before.running, "{signal}: stopping; a second signal forces it");
    if let Some(http) = http {
        http.drain();
    }
    working.ask_stop();
    let mut forced = 0;
    loop {
        tokio::select! {
            () = working.stopped() => break,
            signal = signals.next() => {
                forced += 1;
                if forced > 1 {
                    tracing::warn!("{signal}: leaving at once; what runs will be rescued");
                    return;
                }
                tracing::warn!("{signal} again: running jobs are given back");
                working.force_stop();
            }
        }
    }
    let after = working.health();
    let given_back = after.given_back_total - before.given_back_total;
    let drained = (after.finished_total - before.finished_total).saturating_sub(given_back);
    tracing::info!(
        drained,
        given_back,
        "stopped after {signal}: {drained} jobs drained, {given_back} given back"
    );
}
