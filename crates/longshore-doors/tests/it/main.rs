//! An order and its job in one transaction, through drivers that are not sqlx.

mod drivers;
mod psycopg;
mod server;

use std::time::Duration;

use longshore::{Client, JobId, NewJob, OnConflict, Outcome, Run, SqlCall, State, Unique, Worker};

use drivers::{Diesel, Driver, End, SeaOrm, TokioPostgres};
use server::{Server, left_out, with_server};

/// Stamps each case for each driver.
macro_rules! doors {
    ($($case:ident,)*) => {
        doors! { @ tokio_postgres TokioPostgres $($case)* }
        doors! { @ sea_orm SeaOrm $($case)* }
        doors! { @ diesel Diesel $($case)* }
    };
    (@ $name:ident $driver:ident $($case:ident)*) => {
        mod $name {
            $(#[test]
            fn $case() {
                super::with_server(async |server: &super::Server| {
                    let driver = <super::$driver as super::Driver>::connect(&server.url).await;
                    super::$case(server, driver).await;
                });
            })*
        }
    };
}

doors! {
    a_job_of_a_commit_runs,
    a_roll_back_leaves_neither_order_nor_job,
    a_job_that_is_refused_takes_the_order_with_it,
    a_held_key_answers_with_its_holder,
    a_key_that_refuses_says_so,
    a_hook_before_the_enqueue_sees_it,
}

#[test]
fn other_drivers_need_a_server() {
    left_out();
}

fn receipt() -> NewJob {
    NewJob::new("send_receipt").payload("{ \"order\" : 7 }")
}

fn call(client: &Client, job: NewJob) -> SqlCall {
    client.sql_call(job).expect("a call")
}

async fn a_job_of_a_commit_runs(server: &Server, mut driver: impl Driver) {
    let client = &server.client;
    let worker = Worker::new(client.clone())
        .queue("default", 1)
        .handle("send_receipt", async |run: Run| {
            Outcome::Done(Some(format!("{:?}", run.payload()).into()))
        })
        .start()
        .expect("a worker");

    let call = call(client, receipt());
    let id = driver.order(7, &call, End::Commit).await.expect("it is enqueued");

    assert_eq!(id, call.id());
    let ended = client.wait(id, Some(Duration::from_secs(20))).await.expect("the job");
    assert_eq!(ended.state, State::Succeeded);
    assert_eq!(ended.output.as_deref(), Some(r#""{ \"order\" : 7 }""#), "byte for byte");
    assert_eq!(server.orders().await, 1);
    worker.stop().await;
}

async fn a_roll_back_leaves_neither_order_nor_job(server: &Server, mut driver: impl Driver) {
    let call = call(&server.client, receipt());
    let id = driver.order(7, &call, End::RollBack).await.expect("it is enqueued, so far");
    assert_eq!((server.orders().await, server.jobs().await), (0, 0));
    assert!(server.client.get(id).await.is_err());
}

/// The database's own limit is below the client's, so that the function is the one to refuse.
async fn a_job_that_is_refused_takes_the_order_with_it(server: &Server, mut driver: impl Driver) {
    driver.run("set longshore.payload_bytes = 5").await;
    let call = call(&server.client, receipt());
    let refused = driver.order(7, &call, End::Commit).await.expect_err("it is too large");
    assert!(refused.contains("payload has 15 bytes; the limit is 5"), "{refused}");
    assert_eq!((server.orders().await, server.jobs().await), (0, 0));
}

async fn a_held_key_answers_with_its_holder(server: &Server, mut driver: impl Driver) {
    let client = &server.client;
    let keyed = |rule| receipt().unique(Unique::key("order-7").on_conflict(rule));
    let first = call(client, keyed(OnConflict::Keep));
    assert_eq!(driver.order(7, &first, End::Commit).await.expect("a job"), first.id());

    let second = call(client, keyed(OnConflict::Keep));
    let answer = driver.order(8, &second, End::Commit).await.expect("an answer");
    assert_eq!((answer, second.id() == answer), (first.id(), false));
    let third = call(client, keyed(OnConflict::Replace).payload("[8]"));
    assert_eq!(driver.order(9, &third, End::Commit).await.expect("an answer"), first.id());

    assert_eq!((server.orders().await, server.jobs().await), (3, 1));
    assert_eq!(&*client.get(first.id()).await.expect("the job").payload, "[8]");
    // The library knows of the key too.
    assert!(client.enqueue(keyed(OnConflict::Keep)).await.expect("an answer").is_duplicate());
}

async fn a_key_that_refuses_says_so(server: &Server, mut driver: impl Driver) {
    let client = &server.client;
    let keyed = || receipt().unique(Unique::key("order-7").on_conflict(OnConflict::Refuse));
    driver.order(7, &call(client, keyed()), End::Commit).await.expect("a job");
    let ours = client.enqueue(keyed()).await.expect_err("the key is held").to_string();
    let refused = driver.order(8, &call(client, keyed()), End::Commit).await;
    let refused = refused.expect_err("the key is held");
    assert!(refused.contains(&ours), "{refused} is not {ours}");
    assert_eq!((server.orders().await, server.jobs().await), (1, 1));
}

async fn a_hook_before_the_enqueue_sees_it(server: &Server, mut driver: impl Driver) {
    let client = server.client.before_enqueue(|job| job.tag("from:web"));
    let id: JobId = driver.order(7, &call(&client, receipt()), End::Commit).await.expect("a job");
    assert_eq!(client.get(id).await.expect("the job").tags, ["from:web"]);
}
