//! The first job: enqueue it, run it, see how it ended.
//!
//! `cargo run -p longshore --example hello`

use longshore::{Client, NewJob, Outcome, Run, Worker};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Greet {
    name: String,
}

async fn greet(run: Run) -> Outcome {
    match run.decode_or_dead::<Greet>() {
        Ok(greet) => Outcome::done_with(&format!("hello, {}", greet.name)),
        Err(outcome) => outcome,
    }
}

#[tokio::main]
async fn main() -> Result<(), longshore::StoreError> {
    let client = Client::open("sqlite::memory:").await?;
    client.migrate().await?;
    let worker = Worker::new(client.clone()).queue("default", 4).handle("greet", greet).start()?;

    let job = client.enqueue(NewJob::new("greet").json(&Greet { name: "Ada".into() })).await?;
    let ended = client.wait(job.id, None).await?;
    println!("{}: {}", ended.state, ended.output.unwrap_or_default());

    worker.stop().await;
    Ok(())
}
