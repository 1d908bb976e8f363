//! The first job: enqueue it, run it, see what it answered.
//!
//! `cargo run -p longshore --example hello`

use longshore::{Client, Job, Worker};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Greet {
    name: String,
}

impl Job for Greet {
    const KIND: &'static str = "greet";
    type Output = String;
}

async fn greet(job: Greet) -> String {
    format!("hello, {}", job.name)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = Client::open("sqlite::memory:").await?;
    client.migrate().await?;
    let worker = Worker::new(client.clone()).queue("default", 4).job(greet).start()?;

    let added = client.enqueue(Greet { name: "Ada".into() }).await?;
    println!("{}", client.output::<Greet>(added.id, None).await?);

    worker.stop().await;
    Ok(())
}
