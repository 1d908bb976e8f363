//! Spans of time.

use longshore::Job;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "k", timeout = "10x", retain = "7 days or so", run_in = "-5m")]
struct Unit;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "k", retain = "30", backoff = list(["1s", "2"]), unique(within = "30m 1h"))]
struct Number;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "k", timeout = "0s", retain = "40000d", unique(within = "0s"))]
struct Length;

fn main() {}
