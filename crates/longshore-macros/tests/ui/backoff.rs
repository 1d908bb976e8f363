//! Backoffs.

use longshore::Job;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "k", backoff = exponentiel("5s"))]
struct Policy;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "k", backoff = "5s")]
struct Text;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "k", backoff = fixed)]
struct Bare;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "k", backoff = fixed("5s", max = "1h"))]
struct Fixed;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "k", backoff = exponential("5s", base = 2, max = "1s"))]
struct Exponential;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "k", backoff = polynomial(max = "1h", exponent = 4))]
struct NoFirst;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "k", backoff = polynomial("1s", exponent = 21))]
struct Polynomial;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "k", backoff = list([]))]
struct Nothing;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "k", backoff = list("1s", "5s"))]
struct List;

fn main() {}
