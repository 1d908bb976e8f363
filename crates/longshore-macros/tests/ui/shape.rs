//! What is no handler at all: a borrowed job, too many arguments.

use longshore::extract::{Attempt, Deadline, Meta};
use longshore::{Client, Job, Worker};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "k")]
struct Send;

async fn borrowed(_: &Send) {}

#[rustfmt::skip]
async fn many(
    _: Send, _: Attempt, _: Attempt, _: Attempt, _: Deadline, _: Deadline, _: Deadline, _: Meta, _: Meta, _: Meta,
) {
}

fn worker(client: Client) -> Worker {
    Worker::new(client).job(many)
}

fn other(client: Client) -> Worker {
    Worker::new(client).job(borrowed)
}

fn main() {}
