//! Drains: the order, what is run and what is not, and their words.

use std::sync::{Arc, Mutex};

use longshore::extract::{Cancelled, State as Given};
use longshore::store::AskCancel;
use longshore::testing::{Ended, TestStore};
use longshore::{Client, JobId, Run, State, StopReason};

use super::*;

on_both! {
    by_priority_then_due_time_then_id_over_all_queues,
    jobs_that_jobs_enqueue_are_run_in_their_place,
    retries_wait_for_the_clock,
    each_ending_is_counted,
    only_the_queues_that_are_named,
    a_kind_without_a_handler_is_left_and_counted,
    with_scheduled_the_clock_moves_to_each_due_time,
    endless_jobs_fail_the_test,
    at_most_so_many,
    a_panic_is_a_failed_attempt,
    a_timeout_is_a_failed_attempt,
    a_cancel_reaches_the_handler,
    a_blocking_handler_runs_too,
    an_output_that_cannot_be_stored_fails_the_attempt,
    a_worker_that_cannot_start_is_told,
    a_worker_on_another_client_is_told,
    the_same_app_drains_again,
    hooks_are_told_before_the_drain_is_over,
}

/// What ran, in its order.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u32>>>);

impl Log {
    fn note(&self, friend: u32) {
        self.0.lock().expect("a list").push(friend);
    }

    fn take(&self) -> Vec<u32> {
        std::mem::take(&mut self.0.lock().expect("a list"))
    }
}

async fn note(job: Invite, log: Given<Log>) {
    log.note(job.friend);
}

fn invite_of(friend: u32) -> NewJob {
    Invite { friend }.new_job()
}

pub async fn by_priority_then_due_time_then_id_over_all_queues(store: TestStore) {
    let before = |seconds: u32| store.now().minus(seconds * SECOND);
    let jobs = [
        invite_of(6),
        invite_of(5).queue("b").run_at(before(1)),
        invite_of(4).queue("a").run_at(before(2)),
        invite_of(7).queue("a"),
        invite_of(8).priority(9).run_at(before(60)),
        invite_of(1).priority(0).queue("c"),
        invite_of(2).priority(0).queue("b"),
        invite_of(3).priority(4),
        invite_of(9).run_in(SECOND),
    ];
    let log = Log::default();
    for job in jobs {
        store.enqueue(job).await.expect("it is enqueued");
    }
    let done = store.drain(Worker::new(store.client()).job(note).state(log.clone())).await;
    assert_eq!(log.take(), [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!((done.succeeded, done.runs.len()), (8, 8), "{done:?}");
    let worker = Worker::new(store.client()).queue("default", 1).job(note).state(log.clone());
    store.clock().advance(SECOND);
    store.drain(worker).await;
    assert_eq!(log.take(), [9]);
}

pub async fn jobs_that_jobs_enqueue_are_run_in_their_place(store: TestStore) {
    async fn first(job: Invite, client: Client, log: Given<Log>) -> Result<(), JobError> {
        log.note(job.friend);
        if job.friend == 1 {
            client.enqueue(invite_of(11).priority(0)).await?;
            client.enqueue(invite_of(12).priority(9)).await?;
        }
        Ok(())
    }
    let log = Log::default();
    store.enqueue_many([invite_of(1), invite_of(2)]).await.expect("they are enqueued");
    let done = store.drain(Worker::new(store.client()).job(first).state(log.clone())).await;
    assert_eq!((log.take(), done.succeeded), (vec![1, 11, 2, 12], 4));
}

pub async fn retries_wait_for_the_clock(store: TestStore) {
    let app = app(&store);
    let added = store.enqueue(mail("busy")).await.expect("it is enqueued");
    let done = store.drain(&app).await;
    assert_eq!((done.failed, done.runs.len()), (1, 1));
    // The longest of what the default draws from.
    assert_eq!(done.runs[0].ended, Ended::Retry { after: 3 * SECOND });
    assert!(store.drain(&app).await.runs.is_empty());
    store.clock().advance(3 * SECOND);
    assert_eq!(store.drain(&app).await.failed, 1);
    store.clock().advance(9 * SECOND);
    assert_eq!(store.drain(&app).await.dead, 1);
    assert_eq!(store.get(added.id).await.expect("it is there").state, State::Dead);
}

pub async fn each_ending_is_counted(store: TestStore) {
    for to in ["ada", "nobody", "busy", "later", "no"] {
        store.enqueue(mail(to)).await.expect("it is enqueued");
    }
    let done = store.drain(app(&store)).await;
    let counts = (done.succeeded, done.dead, done.failed, done.snoozed, done.cancelled);
    assert_eq!(counts, (1, 1, 1, 1, 1), "{done:?}");
    assert_shows("drained", &format!("{done:?}"));
    assert_shows("drained-nothing", &format!("{:?}", store.drain(app(&store)).await));
}

pub async fn only_the_queues_that_are_named(store: TestStore) {
    store.enqueue(mail("ada")).await.expect("it is enqueued");
    store.enqueue(Invite { friend: 1 }).await.expect("it is enqueued");
    let done = store.drain(app(&store)).queue("mail").await;
    assert_eq!((done.succeeded, done.unserved), (1, 1), "{done:?}");
    let serves_mail = Worker::new(store.client()).queue("mail", 1).job(send).job(invite);
    let done = store.drain(serves_mail).await;
    assert_eq!((done.succeeded, done.unserved), (0, 1), "{done:?}");
}

pub async fn a_kind_without_a_handler_is_left_and_counted(store: TestStore) {
    let added = store.enqueue(NewJob::new("unknown")).await.expect("it is enqueued");
    let done = store.drain(app(&store)).await;
    assert_eq!((done.runs.len(), done.unserved), (0, 1));
    assert_eq!(store.get(added.id).await.expect("it is there").state, State::Queued);
    assert_shows("drained-unserved", &format!("{done:?}"));
}

pub async fn with_scheduled_the_clock_moves_to_each_due_time(store: TestStore) {
    store.enqueue(mail("busy")).await.expect("it is enqueued");
    store.enqueue(mail("ada").new_job().run_in(5 * SECOND)).await.expect("it is enqueued");
    let done = store.drain(app(&store)).with_scheduled().await;
    let order: Vec<_> = done.runs.iter().map(|ran| (ran.attempt, ran.ended)).collect();
    let again = |seconds: u32| Ended::Retry { after: seconds * SECOND };
    assert_eq!(order, [(1, again(3)), (2, again(9)), (1, Ended::Succeeded), (3, Ended::Dead)]);
    assert_eq!(done.moved, 12 * SECOND);
}

pub async fn endless_jobs_fail_the_test(store: TestStore) {
    async fn again(job: Invite, client: Client) -> Result<(), JobError> {
        client.enqueue(Invite { friend: job.friend + 1 }).await?;
        Ok(())
    }
    store.enqueue(Invite { friend: 1 }).await.expect("it is enqueued");
    let endless = store.drain(Worker::new(store.client()).job(again)).limit(20);
    assert_shows("endless", &failure(endless).await);
}

pub async fn at_most_so_many(store: TestStore) {
    store.enqueue_many((0..5).map(invite_of)).await.expect("they are enqueued");
    assert_eq!(store.drain(app(&store)).at_most(2).await.succeeded, 2);
    store.assert_enqueued::<Invite>().times(3).await;
}

pub async fn a_panic_is_a_failed_attempt(store: TestStore) {
    async fn boom(_: Invite) {
        panic!("boom");
    }
    store.enqueue(invite_of(1)).await.expect("it is enqueued");
    let done = store.drain(Worker::new(store.client()).job(boom)).await;
    assert_eq!((done.failed, done.runs[0].error.as_deref()), (1, Some("boom")));
}

pub async fn a_timeout_is_a_failed_attempt(store: TestStore) {
    async fn hang(_: Invite) {
        std::future::pending::<()>().await;
    }
    let short = invite_of(1).timeout(Duration::from_millis(20));
    store.enqueue(short).await.expect("it is enqueued");
    let done = store.drain(Worker::new(store.client()).job(hang)).await;
    assert_eq!(done.failed, 1, "{done:?}");
    let error = done.runs[0].error.as_deref().unwrap_or_default();
    assert!(error.contains("timeout of 20ms"), "{error}");
}

pub async fn a_cancel_reaches_the_handler(store: TestStore) {
    async fn cancels_itself(
        _: Invite,
        client: Client,
        id: JobId,
        stop: Cancelled,
    ) -> Result<(), JobError> {
        client.cancel(id, AskCancel::default()).await?;
        assert_eq!(stop.requested().await, StopReason::Cancelled);
        Err(JobError::interrupted())
    }
    store.enqueue(invite_of(1)).await.expect("it is enqueued");
    let done = store.drain(Worker::new(store.client()).job(cancels_itself)).await;
    assert_eq!(done.cancelled, 1, "{done:?}");
}

pub async fn a_blocking_handler_runs_too(store: TestStore) {
    fn blocks(job: Invite, log: Given<Log>) {
        log.note(job.friend);
    }
    let log = Log::default();
    store.enqueue(invite_of(3)).await.expect("it is enqueued");
    store.drain(Worker::new(store.client()).job_blocking(blocks).state(log.clone())).await;
    assert_eq!(log.take(), [3]);
}

pub async fn an_output_that_cannot_be_stored_fails_the_attempt(store: TestStore) {
    let large = "x".repeat(2 << 20);
    store.enqueue(NewJob::new("large")).await.expect("it is enqueued");
    let worker = Worker::new(store.client()).handle("large", move |_: Run| {
        let large = large.clone();
        async move { longshore::Outcome::done_with(&large) }
    });
    let done = store.drain(worker).await;
    // As in life: done, with a marker for the output.
    assert_eq!(done.succeeded, 1, "{done:?}");
    let row = store.get(done.runs[0].id).await.expect("it is there");
    assert!(row.output.expect("a marker").contains("output dropped"));
}

pub async fn a_worker_that_cannot_start_is_told(store: TestStore) {
    let without = Worker::new(store.client()).job(note);
    assert_shows("no-state", &failure(store.drain(without)).await);
    let empty = Worker::new(store.client());
    assert_shows("no-handler", &failure(store.drain(empty)).await);
}

pub async fn a_worker_on_another_client_is_told(store: TestStore) {
    let other = TestStore::sqlite().await;
    let worker = Worker::new(other.client()).job(invite);
    assert_shows("another-client", &failure(store.drain(worker)).await);
}

pub async fn the_same_app_drains_again(store: TestStore) {
    let app = app(&store);
    for friend in 0..3 {
        store.enqueue(invite_of(friend)).await.expect("it is enqueued");
        assert_eq!(store.drain(&app).await.succeeded, 1);
    }
}

pub async fn hooks_are_told_before_the_drain_is_over(store: TestStore) {
    let (log, told) = (Log::default(), Log::default());
    let hears = told.clone();
    store.enqueue_many([invite_of(1), invite_of(2)]).await.expect("they are enqueued");
    let worker = Worker::new(store.client()).job(note).state(log).on_end(move |run| {
        assert_eq!(run.state, State::Succeeded);
        hears.note(run.attempt);
    });
    store.drain(worker).await;
    assert_eq!(told.take(), [1, 1]);
}
