//! A schema without its feature, and an upgrade that is no such function.

use longshore::Job;
use serde::{Deserialize, Serialize};

fn upgrade(_: u32, payload: Box<str>) -> Box<str> {
    payload
}

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "k", schema)]
struct Schema;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "k", version = 2, upgrade = upgrade)]
struct Upgrade;

fn main() {}
