//! What the test kit does, and what it says when a test fails.
//!
//! `cargo run -p longshore --example testing --features testing`; with a PostgreSQL server in
//! `LONGSHORE_TEST_DATABASE_URL` and the feature `postgres`, `-- postgres` runs it there.

use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use longshore::testing::{App, On, TestStore, run};
use longshore::{Job, JobError, NewJob, StoreError, Worker};
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize)]
struct SendMail {
    to: String,
}

impl Job for SendMail {
    const KIND: &'static str = "send_mail";
    type Output = ();

    fn options(&self, job: NewJob) -> NewJob {
        job.queue("mail")
    }
}

async fn send(job: SendMail) -> Result<(), JobError> {
    match job.to.as_str() {
        "busy@example.org" => Err(JobError::new("the server is busy")),
        _ => Ok(()),
    }
}

fn mail(to: &str) -> SendMail {
    SendMail { to: to.to_owned() }
}

fn main() {
    let on = match std::env::args().nth(1).as_deref() {
        Some("postgres") => On::Postgres,
        _ => On::Sqlite,
    };
    // The failures below are shown as part of the story.
    std::panic::set_hook(Box::new(|_| {}));
    run(on, story);
}

async fn story(store: TestStore) -> Result<(), StoreError> {
    let app = App::from(Worker::new(store.client()).job(send));
    store.enqueue(mail("ada@example.org")).await?;
    store.enqueue(mail("bob@example.org").new_job().run_in(Duration::from_secs(3_600))).await?;

    println!("-- an assertion that fails");
    let miss = store.assert_enqueued::<SendMail>();
    let miss = miss.with(|mail| mail.to.starts_with("bob")).within(Duration::from_secs(300)).once();
    fails(miss).await;
    println!("-- a refutation that fails");
    fails(store.refute_enqueued::<SendMail>().queue("mail")).await;

    println!("-- one job, performed");
    println!("{:?}\n", store.perform(mail("busy@example.org")).handler(send).attempt(2).await);

    println!("-- a crash before the ack, and the rescue");
    store.faults().crash_before_ack();
    println!("{:?}", store.drain(&app).await);
    store.clock().advance(Duration::from_secs(30));
    println!("{:?}", store.drain(&app).await);

    println!("-- all ten attempts");
    store.enqueue(mail("busy@example.org")).await?;
    let began = Instant::now();
    let done = store.drain(&app).with_scheduled().await;
    let took = began.elapsed();
    println!("{done:?}");
    println!(
        "moved_s {}\ntook_ms {}\nruns {}",
        done.moved.as_secs(),
        took.as_millis(),
        done.runs.len()
    );
    Ok(())
}

async fn fails<F: IntoFuture>(failing: F) {
    let Err(panic) = AssertUnwindSafe(failing.into_future()).catch_unwind().await else {
        unreachable!("it fails")
    };
    println!("{}", panic.downcast_ref::<String>().map_or("no text", String::as_str));
}
