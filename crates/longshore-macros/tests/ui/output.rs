//! Answers that are not the job's output, and an output that is none.

use longshore::{Client, Job, JobError, Worker};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "count", output = u64)]
struct Count;

async fn count(_: Count) -> Result<String, JobError> {
    Ok("seven".to_owned())
}

fn count_blocking(_: Count) -> &'static str {
    "seven"
}

struct Answer;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "answer", output = Answer)]
struct Ask;

fn worker(client: Client) -> Worker {
    Worker::new(client).job(count).job_blocking(count_blocking)
}

fn main() {}
