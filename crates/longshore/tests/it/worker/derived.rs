//! A derived job, from its enqueue to its output.

use longshore::extract::Attempt;
use longshore::{Failure, Job, JobError};
use serde::{Deserialize, Serialize};

use super::*;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct MessageId(String);

/// At once, where the policy would wait an hour.
fn at_once(failure: &Failure<'_>) -> Option<Duration> {
    (failure.attempt == 1).then_some(MILLI)
}

#[derive(Serialize, Deserialize, Job)]
#[job(
    kind = "email.send",
    alias = "mailer",
    output = MessageId,
    queue = "mail",
    priority = 2,
    max_attempts = 3,
    backoff = fixed("1h"),
    backoff_with = at_once,
    timeout = "30s",
    tags = ["mail", "user"],
    unique(by = [to, template], within = "36600d"),
)]
struct SendEmail {
    to: String,
    template: String,
    token: Option<u32>,
}

fn email(to: &str, token: u32) -> SendEmail {
    SendEmail { to: to.to_owned(), template: "welcome".to_owned(), token: Some(token) }
}

async fn send(job: SendEmail, attempt: Attempt) -> Result<MessageId, JobError> {
    match attempt.number {
        1 => Err(JobError::new("not yet")),
        _ => Ok(MessageId(format!("{} to {}", job.template, job.to))),
    }
}

pub async fn a_derived_job_runs_as_its_options_say(d: Arc<Desk>) {
    let first = d.client.enqueue(email("ada", 1)).await.expect("a job");
    let other_token = d.client.enqueue(email("ada", 2)).await.expect("an answer");
    let other_name = d.client.enqueue(email("bob", 1)).await.expect("a job");
    assert!(first.is_added() && other_token.is_duplicate() && other_name.is_added());
    assert_eq!(other_token.id, first.id, "the token is no part of the key");
    let row = d.get(first.id).await;
    assert_eq!((&*row.queue, row.priority, row.max_attempts), ("mail", 2, 3));
    assert_eq!(row.tags, ["mail", "user"]);

    let worker = d.worker().queue("mail", 4).job(send).start().expect("a worker");
    let old = NewJob::new("mailer").payload(r#"{"to": "eve", "template": "bye", "token": null}"#);
    let old = d.enqueue(old).await;

    let output = d.client.output::<SendEmail>(first.id, None).await.expect("an output");
    assert_eq!(output, MessageId("welcome to ada".to_owned()));
    assert_eq!(d.comes_to(first.id, State::Succeeded).await.attempt, 2, "its own backoff held");
    let row = d.comes_to(old, State::Succeeded).await;
    assert_eq!(row.output.as_deref(), Some(r#""bye to eve""#));
    worker.stop().await;
}
