//! Two types with one name.

use longshore::{Job, distinct_kinds};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "email.send")]
struct SendEmail;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "mail", alias = "email.send")]
struct SendMail;

distinct_kinds!(SendEmail, SendMail);

fn main() {}
