//! Options that are not there, are said twice, or are written otherwise.

use longshore::Job;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "k", queu = "mail", foo, priority = 12)]
struct Unknown;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "k", queue = "a", queue = "b")]
#[job(kind = "other")]
struct Twice;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = k, queue("mail"), timeout = 30, priority = "2", retain, tags = [mail], output = 7)]
struct Written;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "k" queue = "mail")]
struct Comma;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "k", meta(team = mail))]
struct Meta;

#[derive(Serialize, Deserialize, Job)]
#[job = "k"]
struct Equals;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "k")]
struct Field {
    #[job(queue = "mail")]
    to: String,
}

fn main() {}
