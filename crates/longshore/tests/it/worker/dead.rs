//! Dead letters: what a person does with many at once.

use longshore::store::Effort;
use longshore::{Filter, JobError, Run, StoreError, Unique};

use super::*;

fn matching(query: &str) -> Filter {
    Filter::parse(query).expect("a query")
}

pub async fn all_that_match_run_again_or_go(d: Arc<Desk>) {
    let fails = async |_: Run| Err::<(), _>(JobError::dead("no"));
    let worker = d.worker().handle("a", fails).handle("b", fails).start().expect("a worker");
    let many = |kind: &'static str, count| (0..count).map(move |_| NewJob::new(kind)).collect();
    d.enqueue_many(many("a", 450)).await;
    d.enqueue_many(many("b", 30)).await;
    let first = d.enqueue(NewJob::new("a").unique(Unique::key("k"))).await;
    until("all are dead", async || d.count(State::Dead).await == 481).await;
    worker.stop().await;
    // Its key is another job's by now, so that one cannot come back.
    d.enqueue(NewJob::new("a").unique(Unique::key("k")).run_in(HOUR)).await;

    let acted =
        d.client.retry_all(matching("state:dead kind:a"), 2).await.expect("they are retried");

    assert_eq!((acted.done, acted.refused), (450, 1));
    assert_eq!(acted.refusals[0].0, first);
    assert!(matches!(acted.refusals[0].1, StoreError::KeyHeld { .. }), "{:?}", acted.refusals);
    assert_eq!((d.count(State::Queued).await, d.count(State::Dead).await), (450, 31));

    let acted = d.client.delete_all(matching("state:dead")).await.expect("they go");

    assert_eq!((acted.done, acted.refused), (31, 0));
    let left = d.client.count(Filter::all(), Effort::Unbounded).await.expect("a count");
    assert_eq!(left.value, 451);
}

pub async fn all_that_match_are_cancelled(d: Arc<Desk>) {
    let jobs = (0..40).map(|n| job().queue(if n % 2 == 0 { "even" } else { "odd" }));
    d.enqueue_many(jobs.collect()).await;
    let ask = AskCancel { by: Some("ann".into()), why: Some("a mistake".into()) };
    let acted = d.client.cancel_all(matching("queue:even"), ask).await.expect("they end");
    assert_eq!((acted.done, acted.refused), (20, 0));
    assert_eq!((d.count(State::Cancelled).await, d.count(State::Queued).await), (20, 20));
}
