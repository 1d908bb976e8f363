//! An async function where a blocking one goes, and the other way round.

use longshore::{Client, Job, Worker};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "a")]
struct A;

async fn waits(_: A) {}

fn blocks(_: A) {}

fn worker(client: Client) -> Worker {
    Worker::new(client).job(blocks)
}

fn other(client: Client) -> Worker {
    Worker::new(client).job_blocking(waits)
}

fn main() {}
