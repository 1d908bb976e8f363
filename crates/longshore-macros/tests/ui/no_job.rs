//! A type that is no job: handled, enqueued.

use longshore::{Client, StoreError, Worker};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct SendEmail {
    to: String,
}

async fn send(_: SendEmail) {}

fn worker(client: Client) -> Worker {
    Worker::new(client).job(send)
}

async fn enqueue(client: Client) -> Result<(), StoreError> {
    client.enqueue(SendEmail { to: "ada".to_owned() }).await?;
    Ok(())
}

fn main() {}
