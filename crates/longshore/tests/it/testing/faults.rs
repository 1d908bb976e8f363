//! Faults that a test arms: what becomes of jobs when a node is gone, a reply is lost, a call refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use longshore::extract::State as Given;
use longshore::job::AttemptFault;
use longshore::testing::{Ended, TestStore};
use longshore::{JobId, State, StoreError, WorkerConfig};

use super::*;

on_both! {
    a_crash_before_the_ack_runs_the_job_again_after_the_lease,
    a_crash_after_the_claim_runs_it_once,
    a_crash_on_the_last_attempt_is_dead,
    a_drain_goes_on_with_another_node,
    with_scheduled_a_crashed_job_is_rescued,
    a_crashed_performed_job_is_there_to_be_rescued,
    what_was_done_in_the_handlers_transaction_is_rolled_back,
    a_lost_reply_leaves_the_job,
    a_lost_reply_of_many_leaves_all,
    refused_calls_are_not_carried_out,
    a_drain_outlasts_refusals,
    a_real_worker_that_crashes_joins_anew,
    what_never_came_fails_the_test,
}

fn counting(store: &TestStore) -> (App, Arc<AtomicU32>) {
    async fn count(_: Invite, runs: Given<Arc<AtomicU32>>) {
        runs.fetch_add(1, Ordering::SeqCst);
    }
    let runs = Arc::new(AtomicU32::new(0));
    (Worker::new(store.client()).job(count).state(Arc::clone(&runs)).into(), runs)
}

async fn state(store: &TestStore, id: JobId) -> State {
    store.get(id).await.expect("it is there").state
}

pub async fn a_crash_before_the_ack_runs_the_job_again_after_the_lease(store: TestStore) {
    let (app, runs) = counting(&store);
    let id = store.enqueue(Invite { friend: 1 }).await.expect("it is enqueued").id;
    store.faults().crash_before_ack();
    let done = store.drain(&app).await;
    assert_eq!((done.lost, done.runs[0].ended), (1, Ended::Crashed), "{done:?}");
    assert_eq!((runs.load(Ordering::SeqCst), state(&store, id).await), (1, State::Running));

    store.clock().advance(29 * SECOND);
    assert!(store.drain(&app).await.runs.is_empty(), "the lease is not over");
    store.clock().advance(SECOND);
    let done = store.drain(&app).await;
    assert_eq!((done.succeeded, done.runs[0].attempt), (1, 2), "{done:?}");
    assert_eq!((runs.load(Ordering::SeqCst), state(&store, id).await), (2, State::Succeeded));
    let row = store.get(id).await.expect("it is there");
    assert_eq!(row.errors[0].kind, AttemptFault::NodeLost);
}

pub async fn a_crash_after_the_claim_runs_it_once(store: TestStore) {
    let (app, runs) = counting(&store);
    let id = store.enqueue(Invite { friend: 1 }).await.expect("it is enqueued").id;
    store.faults().crash_after_claim();
    assert_eq!(store.drain(&app).await.lost, 1);
    assert_eq!((runs.load(Ordering::SeqCst), state(&store, id).await), (0, State::Running));
    store.clock().advance(30 * SECOND);
    let done = store.drain(&app).await;
    assert_eq!((done.succeeded, done.runs[0].attempt, runs.load(Ordering::SeqCst)), (1, 2, 1));
}

pub async fn a_crash_on_the_last_attempt_is_dead(store: TestStore) {
    let (app, _) = counting(&store);
    let once = Invite { friend: 1 }.new_job().max_attempts(1);
    let id = store.enqueue(once).await.expect("it is enqueued").id;
    store.faults().crash_before_ack();
    store.drain(&app).await;
    store.clock().advance(30 * SECOND);
    assert!(store.drain(&app).await.runs.is_empty());
    assert_eq!(state(&store, id).await, State::Dead);
}

pub async fn a_drain_goes_on_with_another_node(store: TestStore) {
    let (app, runs) = counting(&store);
    store.enqueue_many((0..3).map(|friend| Invite { friend })).await.expect("enqueued");
    store.faults().crash_before_ack();
    let done = store.drain(&app).await;
    assert_eq!((done.lost, done.succeeded, runs.load(Ordering::SeqCst)), (1, 2, 3), "{done:?}");
}

pub async fn with_scheduled_a_crashed_job_is_rescued(store: TestStore) {
    let (app, runs) = counting(&store);
    store.enqueue(Invite { friend: 1 }).await.expect("it is enqueued");
    store.faults().crash_before_ack();
    store.faults().crash_after_claim();
    let done = store.drain(&app).with_scheduled().await;
    assert_eq!((done.lost, done.succeeded, runs.load(Ordering::SeqCst)), (2, 1, 2), "{done:?}");
    assert_shows("drained-crash", &format!("{done:?}"));
}

pub async fn a_crashed_performed_job_is_there_to_be_rescued(store: TestStore) {
    let (app, _) = counting(&store);
    store.faults().crash_before_ack();
    let run = store.perform(Invite { friend: 1 }).by(&app).attempt(3).await;
    assert_eq!((run.outcome, run.row.state, run.row.attempt), (Ended::Crashed, State::Running, 3));
    store.clock().advance(30 * SECOND);
    assert_eq!(store.drain(&app).await.runs[0].attempt, 4);
}

pub async fn what_was_done_in_the_handlers_transaction_is_rolled_back(store: TestStore) {
    use longshore::extract::Tx;
    // The handler's own work is a further job: it is there exactly if the transaction is.
    macro_rules! charging {
        ($name:ident, $db:ty) => {
            async fn $name(
                _: SendMail,
                client: longshore::Client,
                mut tx: Tx<$db>,
            ) -> Result<String, JobError> {
                client.enqueue_in(tx.conn().await?, Invite { friend: 5 }).await?;
                Ok("charged".to_owned())
            }
        };
    }
    charging!(on_sqlite, sqlx::Sqlite);
    #[cfg(feature = "postgres")]
    charging!(on_postgres, sqlx::Postgres);
    let worker = Worker::new(store.client());
    #[cfg(feature = "postgres")]
    let app = match format!("{store:?}").contains("postgres") {
        true => App::from(worker.job(on_postgres)),
        false => App::from(worker.job(on_sqlite)),
    };
    #[cfg(not(feature = "postgres"))]
    let app = App::from(worker.job(on_sqlite));

    store.enqueue(mail("ada")).await.expect("it is enqueued");
    store.faults().crash_before_ack();
    assert_eq!(store.drain(&app).await.lost, 1);
    store.refute_enqueued::<Invite>().ever().await;
    store.clock().advance(30 * SECOND);
    let done = store.drain(&app).await;
    assert_eq!((done.succeeded, done.unserved), (1, 1), "{done:?}");
    store.assert_enqueued::<Invite>().once().await;
}

pub async fn a_lost_reply_leaves_the_job(store: TestStore) {
    let job = Invite { friend: 1 }.new_job().with_id(JobId::new());
    store.faults().lose_next_reply();
    let lost = store.enqueue(job.clone()).await.expect_err("the reply is lost");
    assert!(matches!(lost, StoreError::Unavailable { .. }), "{lost}");
    store.assert_enqueued::<Invite>().once().await;
    assert!(store.enqueue(job).await.expect("a repeat").is_duplicate());
    store.assert_enqueued::<Invite>().once().await;
}

pub async fn a_lost_reply_of_many_leaves_all(store: TestStore) {
    store.faults().lose_next_reply();
    let many = (0..1_500).map(|friend| Invite { friend });
    store.enqueue_many(many).await.expect_err("the reply is lost");
    store.assert_enqueued::<Invite>().times(1_500).await;
}

pub async fn refused_calls_are_not_carried_out(store: TestStore) {
    store.faults().refuse_next(2);
    for _ in 0..2 {
        let refused = store.enqueue(Invite { friend: 1 }).await.expect_err("refused");
        assert!(matches!(refused, StoreError::Unavailable { .. }), "{refused}");
    }
    store.refute_enqueued::<Invite>().await;
    store.enqueue(Invite { friend: 1 }).await.expect("the third is carried out");
}

pub async fn a_drain_outlasts_refusals(store: TestStore) {
    let (app, runs) = counting(&store);
    store.enqueue(Invite { friend: 1 }).await.expect("it is enqueued");
    store.faults().refuse_next(5);
    let done = store.drain(&app).await;
    assert_eq!((done.succeeded, runs.load(Ordering::SeqCst)), (1, 1), "{done:?}");
}

/// Beside the drain: the fault meets a worker that serves by itself, as it would in life.
pub async fn a_real_worker_that_crashes_joins_anew(store: TestStore) {
    let runs = Arc::new(AtomicU32::new(0));
    let seen = Arc::clone(&runs);
    let id = store.enqueue(NewJob::new("k")).await.expect("it is enqueued").id;
    store.faults().crash_before_ack();
    let config = WorkerConfig { poll_every: Duration::from_millis(50), ..WorkerConfig::default() };
    let worker = Worker::new(store.client()).config(config).queue("default", 1);
    let handler = move |_: longshore::Run| {
        let before = seen.fetch_add(1, Ordering::SeqCst);
        async move { longshore::Outcome::done_with(&before) }
    };
    let working = worker.handle("k", handler).start().expect("it starts");
    crate::worker::until("it has run", async || runs.load(Ordering::SeqCst) == 1).await;
    crate::worker::until("its node is another", async || working.health().ready).await;
    store.clock().advance(MINUTE);
    // Rescued by a drain that does nothing else; its own rescue comes every ten seconds.
    store.drain(app(&store)).await;
    let ended = store.wait(id, Some(20 * SECOND)).await.expect("a look");
    assert_eq!((ended.state, ended.attempt), (State::Succeeded, 2));
    working.stop().await;
}

pub async fn what_never_came_fails_the_test(store: TestStore) {
    let other = TestStore::sqlite().await;
    other.faults().lose_next_reply();
    other.faults().refuse_next(3);
    let dropped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || drop(other)));
    assert_shows("never-came", &text(dropped.expect_err("it was armed")));
    store.faults().crash_before_ack();
    store.faults().disarm();
}
