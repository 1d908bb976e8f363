//! An application with a command line of its own: `cargo run --example shop -- serve`.
//!
//! Its payloads have changed once, and hold something that is nobody's business. Before a new build of it is rolled
//! out, `shop check-deploy` tells whether the jobs that wait still fit.

use std::process::ExitCode;

use longshore::job::BoxError;
use longshore::{Job, JobError, Worker};
use longshore_cli::{App, Settings};
use serde::{Deserialize, Serialize};

/// The second version: the first knew no language.
#[derive(Serialize, Deserialize)]
struct SendReceipt {
    order: u64,
    language: String,
    card: String,
}

impl Job for SendReceipt {
    const KIND: &'static str = "send_receipt";
    const VERSION: u32 = 2;
    const REDACTED: &'static [&'static str] = &["card"];
    type Output = ();

    fn upgrade(_from: u32, payload: Box<str>) -> Result<Box<str>, BoxError> {
        #[derive(Deserialize)]
        struct First {
            order: u64,
            card: String,
        }
        let First { order, card } = serde_json::from_str(&payload)?;
        let now = SendReceipt { order, language: "en".to_owned(), card };
        Ok(serde_json::to_string(&now)?.into())
    }
}

async fn send_receipt(job: SendReceipt) -> Result<(), JobError> {
    println!("order {}, in {}, card ending in {}", job.order, job.language, last_two(&job.card));
    Ok(())
}

fn last_two(card: &str) -> String {
    let digits: Vec<char> = card.chars().collect();
    digits[digits.len().saturating_sub(2)..].iter().collect()
}

fn main() -> ExitCode {
    longshore_cli::run(App::new("shop", "2.0.0", |worker: Worker, _: &Settings| {
        Ok(worker.job(send_receipt).handle("note", async |_: longshore::Run| {}))
    }))
}
