//! Jobs that run before their enqueue answers.

use std::panic::AssertUnwindSafe;

use longshore::extract::State as Given;
use longshore::testing::TestStore;
use longshore::{Client, State};

use super::*;

on_both! {
    an_enqueue_answers_after_the_run,
    jobs_inside_jobs_run_inside,
    what_is_not_due_or_not_served_waits,
    a_failure_is_the_jobs_not_the_enqueues,
    many_run_in_their_order,
    a_duplicate_is_not_run_again,
    endless_jobs_are_stopped,
    it_can_be_turned_off,
    a_worker_that_cannot_start_is_told,
}

async fn state(store: &TestStore, job: impl Into<NewJob>) -> State {
    let added = store.enqueue(job).await.expect("it is enqueued");
    store.get(added.id).await.expect("it is there").state
}

pub async fn an_enqueue_answers_after_the_run(store: TestStore) {
    store.inline(app(&store));
    let added = store.enqueue(mail("ada")).await.expect("it is enqueued");
    let output = store.output::<SendMail>(added.id, Some(Duration::ZERO)).await;
    assert_eq!(output.expect("it has run"), "sent to ada");
}

pub async fn jobs_inside_jobs_run_inside(store: TestStore) {
    async fn first(_: SendMail, client: Client) -> Result<String, JobError> {
        let added = client.enqueue(Invite { friend: 1 }).await?;
        Ok(client.get(added.id).await?.state.to_string())
    }
    store.inline(Worker::new(store.client()).job(first).job(invite));
    let added = store.enqueue(mail("ada")).await.expect("it is enqueued");
    let inner = store.output::<SendMail>(added.id, Some(Duration::ZERO)).await;
    assert_eq!(inner.expect("it has run"), "succeeded");
}

pub async fn what_is_not_due_or_not_served_waits(store: TestStore) {
    store.inline(Worker::new(store.client()).queue("mail", 1).job(send).job(invite));
    assert_eq!(state(&store, mail("ada").new_job().run_in(HOUR)).await, State::Scheduled);
    assert_eq!(state(&store, NewJob::new("unknown").queue("mail")).await, State::Queued);
    assert_eq!(state(&store, Invite { friend: 1 }).await, State::Queued);
    assert_eq!(state(&store, mail("ada")).await, State::Succeeded);
}

pub async fn a_failure_is_the_jobs_not_the_enqueues(store: TestStore) {
    store.inline(app(&store));
    assert_eq!(state(&store, mail("busy")).await, State::Retrying);
    assert_eq!(state(&store, mail("nobody")).await, State::Dead);
}

pub async fn many_run_in_their_order(store: TestStore) {
    type Log = std::sync::Arc<std::sync::Mutex<Vec<u32>>>;
    async fn note(job: Invite, log: Given<Log>) {
        log.lock().expect("a list").push(job.friend);
    }
    let log = Log::default();
    store.inline(Worker::new(store.client()).job(note).state(Log::clone(&log)));
    store.enqueue_many((0..5).map(|friend| Invite { friend })).await.expect("they are enqueued");
    assert_eq!(*log.lock().expect("a list"), [0, 1, 2, 3, 4]);
}

pub async fn a_duplicate_is_not_run_again(store: TestStore) {
    store.inline(app(&store));
    let job = mail("busy").new_job().with_id(longshore::JobId::new());
    store.enqueue(job.clone()).await.expect("it is enqueued");
    let again = store.enqueue(job).await.expect("it is repeated");
    assert!(again.is_duplicate());
    assert_eq!(store.get(again.id).await.expect("it is there").attempt, 1);
}

pub async fn endless_jobs_are_stopped(store: TestStore) {
    async fn again(job: Invite, client: Client) -> Result<(), JobError> {
        client.enqueue(Invite { friend: job.friend + 1 }).await?;
        Ok(())
    }
    store.inline(Worker::new(store.client()).job(again));
    store.enqueue(Invite { friend: 1 }).await.expect("the first ran");
    let all = store.all_enqueued::<Invite>().await;
    // The innermost stays, and the one around it fails, and so on outwards.
    assert_eq!(all.len(), 2, "{all:?}");
    let page = store.list(Default::default()).await.expect("a page");
    let failed = page.jobs.iter().filter_map(|job| job.errors.last()).next().expect("one failed");
    assert!(failed.message.contains("100 jobs stand inside each other"), "{failed:?}");
}

pub async fn it_can_be_turned_off(store: TestStore) {
    store.inline(app(&store));
    store.queued();
    assert_eq!(state(&store, mail("ada")).await, State::Queued);
}

pub async fn a_worker_that_cannot_start_is_told(store: TestStore) {
    async fn needs(_: Invite, _: Given<String>) {}
    let worker = Worker::new(store.client()).job(needs);
    let told = std::panic::catch_unwind(AssertUnwindSafe(|| store.inline(worker)));
    assert!(text(told.expect_err("it cannot start")).contains("no state of type"), "it says why");
}
