//! Versions and what is hidden.

use longshore::Job;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "k", version = 0, redact = ["a\n"])]
struct Numbers;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "k", upgrade = grown, schema = "x")]
struct NoVersion;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "k")]
struct Tuple(#[job(redact)] String);

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "k")]
struct Flat {
    #[job(redact)]
    #[serde(flatten)]
    all: std::collections::BTreeMap<String, u8>,
    #[job(redact = "b", hide)]
    b: u8,
}

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "k")]
#[serde(transparent)]
struct Inner {
    #[job(redact)]
    token: String,
}

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "k")]
enum Variant {
    #[job(queue = "mail")]
    Mail {
        #[job(redact)]
        token: String,
    },
}

fn main() {}
