//! What makes a job unique.

use longshore::Job;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "k", unique(by = [t0, template, to, to, x]))]
struct Field {
    to: String,
    tomplate: String,
}

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "k", unique(by = [2]))]
struct Tuple(u8, u8);

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "k", unique(by = [a]))]
enum Enum {
    A { a: u8 },
}

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "k", unique(by = [], key = "\t"))]
struct Nothing;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "k", unique(key = "a", by = [to], within = "1h", for_good))]
struct Both {
    to: String,
}

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "k", unique(on_conflict = "replase", until = "1h"))]
struct Words;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "k", unique = "nightly")]
struct Equals;

fn main() {}
