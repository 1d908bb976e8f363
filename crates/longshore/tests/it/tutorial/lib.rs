use std::io::{Error, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use longshore::extract::{Attempt, State};
use longshore::{Client, Job, JobError, Worker};
use serde::{Deserialize, Serialize};

/// Send the customer a receipt.
#[derive(Serialize, Deserialize, Job)]
#[job(kind = "send_receipt", queue = "mail", max_attempts = 5, backoff = fixed("200ms"))]
#[job(unique(by = [order], for_good))]
pub struct SendReceipt {
    pub order: u64,
}

/// In place of a real mail server. This one is busy when it is asked for the first time.
#[derive(Clone, Default)]
pub struct Mailer(Arc<AtomicU32>);

impl Mailer {
    async fn send(&self, text: &str) -> Result<(), Error> {
        if self.0.fetch_add(1, Ordering::Relaxed) == 0 {
            return Err(Error::new(ErrorKind::ResourceBusy, "the mail server is busy"));
        }
        println!("mail: {text}");
        Ok(())
    }
}

async fn send(
    job: SendReceipt,
    State(mailer): State<Mailer>,
    attempt: Attempt,
) -> Result<(), JobError> {
    if job.order == 0 {
        return Err(JobError::dead("there is no order 0"));
    }
    mailer.send(&format!("receipt for order {}, attempt {}", job.order, attempt.number)).await?;
    Ok(())
}

/// A worker with all of the shop's handlers.
pub fn worker(client: Client, mailer: Mailer) -> Worker {
    Worker::new(client).queue("mail", 10).state(mailer).job(send)
}
