//! What stands around handlers: a `tower` layer for one of them, one for all, and hooks before the enqueue and
//! after the end.
//!
//! `cargo run -p longshore --example middleware`

use std::task::{Context, Poll};
use std::time::Duration;

use longshore::extract::Meta;
use longshore::handler::Handler;
use longshore::{Client, Hook, Job, JobError, NewJob, Run, RunReport, Worker};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tower::timeout::TimeoutLayer;
use tower::{Layer, Service};

#[derive(Serialize, Deserialize)]
struct Greet {
    name: String,
}

impl Job for Greet {
    const KIND: &'static str = "greet";
    type Output = String;
}

#[derive(Serialize, Deserialize)]
struct Crawl;

impl Job for Crawl {
    const KIND: &'static str = "crawl";
    type Output = ();

    fn options(&self, job: NewJob) -> NewJob {
        job.max_attempts(1)
    }
}

async fn greet(job: Greet, Meta(meta): Meta) -> String {
    format!("hello, {} {meta}", job.name)
}

/// Takes longer than the layer around it allows.
async fn crawl(_: Crawl) -> Result<(), JobError> {
    tokio::time::sleep(Duration::from_secs(60)).await;
    Ok(())
}

/// A layer of our own: says which runs pass it.
#[derive(Clone)]
struct Say;

#[derive(Clone)]
struct Saying<S>(S);

impl<S> Layer<S> for Say {
    type Service = Saying<S>;

    fn layer(&self, handler: S) -> Saying<S> {
        Saying(handler)
    }
}

impl<S: Service<Run>> Service<Run> for Saying<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, run: Run) -> S::Future {
        println!("layer: {}, attempt {}", run.kind(), run.attempt());
        self.0.call(run)
    }
}

/// A hook hands on how runs ended: to metrics, error reporters, alarms.
struct Report(UnboundedSender<RunReport>);

impl Hook for Report {
    fn ended(&self, run: &RunReport) {
        let _ = self.0.send(run.clone());
    }
}

fn print(report: Option<RunReport>) {
    let report = report.expect("the worker has the hook");
    let error = report.error.map_or("no error".to_owned(), |error| error.message);
    println!("hook: {} is {}: {error}", report.kind, report.state);
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = Client::open("sqlite::memory:").await?;
    client.migrate().await?;
    // Whatever this client enqueues says where it comes from.
    let client = client.before_enqueue(|job| job.meta(r#"{"from":"web"}"#));
    let (tell, mut told) = unbounded_channel();
    let worker = Worker::new(client.clone())
        .queue("default", 1)
        .job(greet)
        .job(crawl.layer(TimeoutLayer::new(Duration::from_millis(50)))) // around this one
        .layer(Say) // around all of them
        .hook(Report(tell))
        .start()?;

    let added = client.enqueue(Greet { name: "Ada".into() }).await?;
    println!("{}", client.output::<Greet>(added.id, None).await?);
    print(told.recv().await);
    client.enqueue(Crawl).await?;
    print(told.recv().await);

    worker.stop().await;
    Ok(())
}
