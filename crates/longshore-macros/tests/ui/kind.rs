//! A kind is said, and is a name.

use longshore::Job;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Job)]
struct SendEmail;

#[derive(Serialize, Deserialize, Job)]
#[job(queue = "mail")]
enum Say {
    Hello,
}

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "")]
struct Empty;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "send\u{200b}email")]
struct Hidden;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "send ", queue = ".")]
struct Space;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345")]
struct Long;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "k", alias = ["k", "old", "older\n", "old"])]
struct Aliases;

fn main() {}
