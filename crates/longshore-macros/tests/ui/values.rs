//! A key of what has no JSON, and a backoff that is no such function.

use longshore::{Failure, Job};
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "k", unique(by = [at]))]
struct Key {
    #[serde(skip, default = "Instant::now")]
    at: Instant,
}

fn wait(_: &Failure<'_>) -> Duration {
    Duration::from_secs(1)
}

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "k", backoff_with = wait)]
struct Backoff;

fn main() {}
