//! A job without `Serialize` and `Deserialize`.

use longshore::Job;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "j")]
struct WithSerde;

#[derive(Job)]
#[job(kind = "k")]
struct NoSerde {
    to: String,
}

fn main() {}
