//! A handler that holds something of its thread across an await.

use std::rc::Rc;

use longshore::{Client, Job, Worker};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "k")]
struct Count;

async fn count(_: Count) {
    let shared = Rc::new(7);
    std::future::ready(()).await;
    drop(shared);
}

fn worker(client: Client) -> Worker {
    Worker::new(client).job(count)
}

fn main() {}
