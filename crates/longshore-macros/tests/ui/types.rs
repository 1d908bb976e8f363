//! Types that can be no job.

use longshore::Job;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Job)]
#[job(kind = "k")]
union Either {
    a: u8,
    b: u16,
}

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "k")]
struct Generic<T>(T);

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "k")]
struct Borrowed<'a> {
    to: &'a str,
}

fn main() {}
