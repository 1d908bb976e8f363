//! What a stop does to jobs that run: a short one is finished, a long one hears of it and goes on at the next
//! start where it was, and none of them loses an attempt.
//!
//! `cargo run -p longshore --example graceful_stop`; it stops by itself, or earlier by Ctrl-C.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use longshore::extract::{Attempt, Cancelled, State};
use longshore::{Client, Job, JobError, Worker, WorkerConfig};
use serde::{Deserialize, Serialize};
use tokio::sync::Barrier;
use tokio::time::sleep;

const STEPS: u32 = 1_000;

#[derive(Serialize, Deserialize)]
struct Short;

impl Job for Short {
    const KIND: &'static str = "short";
    type Output = String;
}

#[derive(Serialize, Deserialize)]
struct Long;

impl Job for Long {
    const KIND: &'static str = "long";
    type Output = String;
}

/// How far the long job is. A real one would keep this in its database.
#[derive(Clone, Default)]
struct Progress(Arc<AtomicU32>);

/// Lets both jobs begin before the stop is asked for.
#[derive(Clone)]
struct Begun(Arc<Barrier>);

/// Needs less than `drain_for`, so it need not know of stops.
async fn short(_: Short, State(begun): State<Begun>) -> String {
    begun.0.wait().await;
    sleep(Duration::from_millis(200)).await;
    "finished while the worker drained".to_owned()
}

/// Works in steps, and gives itself back between two of them when it is told to.
async fn long(
    _: Long,
    State(begun): State<Begun>,
    State(progress): State<Progress>,
    stop: Cancelled,
    attempt: Attempt,
) -> Result<String, JobError> {
    let from = progress.0.load(Ordering::Relaxed);
    if from == 0 {
        begun.0.wait().await;
    }
    while progress.0.fetch_add(1, Ordering::Relaxed) < STEPS {
        if let Some(reason) = stop.reason() {
            println!("long: told to stop ({reason:?}), kept its place");
            return Err(JobError::interrupted());
        }
        sleep(Duration::from_millis(if from == 0 { 5 } else { 0 })).await;
    }
    Ok(format!("went on where it was, attempt {}", attempt.number))
}

fn worker(client: &Client, begun: &Begun, progress: &Progress) -> Worker {
    let config = WorkerConfig { drain_for: Duration::from_millis(500), ..WorkerConfig::default() };
    Worker::new(client.clone())
        .config(config)
        .queue("default", 4)
        .state(begun.clone())
        .state(progress.clone())
        .job(short)
        .job(long)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = Client::open("sqlite::memory:").await?;
    client.migrate().await?;
    let (begun, progress) = (Begun(Arc::new(Barrier::new(3))), Progress::default());
    let (short, long) = (client.enqueue(Short).await?, client.enqueue(Long).await?);

    let stop = async {
        begun.0.wait().await;
        // In a program that serves for good, this alone.
        tokio::select! {
            heard = tokio::signal::ctrl_c() => heard.expect("Ctrl-C can be heard"),
            () = sleep(Duration::from_millis(50)) => {}
        }
        println!("stopping");
    };
    worker(&client, &begun, &progress).run_until(stop).await?;
    println!("stopped");
    println!("short: {}", client.output::<Short>(short.id, None).await?);
    let waits = client.get(long.id).await?;
    println!("long: {}, {} attempts used", waits.state, waits.attempt);

    let again = worker(&client, &begun, &progress).start()?;
    println!("long: {}", client.output::<Long>(long.id, None).await?);
    again.stop().await;
    Ok(())
}
