//! An argument that cannot be taken from a run.

use longshore::{Client, Job, Worker};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "k")]
struct Send;

#[derive(Clone)]
struct Smtp;

async fn send(_: Send, _smtp: Smtp) {}

fn worker(client: Client) -> Worker {
    Worker::new(client).state(Smtp).job(send)
}

fn main() {}
