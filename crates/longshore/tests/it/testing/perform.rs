//! One job, run as in life.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use longshore::extract::{Attempt, Log, Meta, Progress, State as Given};
use longshore::job::AttemptFault;
use longshore::store::Effort;
use longshore::testing::{Ended, TestStore};
use longshore::{Client, Filter, JobId, Run};

use super::*;

on_both! {
    the_outcome_output_and_row_come_back,
    each_outcome_can_be_told,
    a_given_attempt_is_really_that_one,
    others_that_wait_are_left_as_they_were,
    nothing_stays_in_the_queue,
    what_the_run_said_comes_back,
    what_it_enqueues_stays,
    due_time_and_unique_key_make_no_difference,
    the_whole_worker_can_run_it,
    an_output_that_does_not_read_back_is_told,
    what_cannot_be_performed_is_told,
    its_words,
}

pub async fn the_outcome_output_and_row_come_back(store: TestStore) {
    let run = store.perform(mail("ada")).handler(send).await;
    assert_eq!(run.outcome, Ended::Succeeded);
    assert_eq!(run.output.as_deref(), Some("sent to ada"));
    assert_eq!((run.row.queue.as_str(), run.row.attempt), ("mail", 1));
    assert!(run.row.node.is_some() && run.row.finished_at.is_some() && run.error.is_none());
    let run = store.perform(Invite { friend: 1 }).handler(invite).await;
    assert_eq!(run.output, Some(()));
}

pub async fn each_outcome_can_be_told(store: TestStore) {
    let busy = store.perform(mail("busy")).handler(send).await;
    assert_eq!(
        (busy.outcome, busy.again_in()),
        (Ended::Retry { after: 3 * SECOND }, Some(3 * SECOND))
    );
    let error = busy.error.expect("it failed");
    assert_eq!((error.kind, error.message.as_str()), (AttemptFault::Error, "the server is busy"));
    let dead = store.perform(mail("nobody")).handler(send).await;
    assert_eq!((dead.outcome, dead.again_in(), dead.output), (Ended::Dead, None, None));
    let later = store.perform(mail("later")).handler(send).await;
    assert_eq!(later.outcome, Ended::Snoozed { after: 5 * MINUTE });
    let no = store.perform(mail("no")).handler(send).await;
    assert_eq!(no.outcome, Ended::Cancelled);
}

pub async fn what_the_run_said_comes_back(store: TestStore) {
    async fn says(_: Invite, progress: Progress, log: Log) -> Result<(), JobError> {
        progress.set(0.5, "half");
        log.warn("no friend so far");
        Err(JobError::new("no friend"))
    }
    let run = store.perform(Invite { friend: 1 }).handler(says).attempt(2).await;
    assert_eq!(run.logs.len(), 1);
    assert_eq!((&*run.logs[0].message, run.logs[0].place.attempt), ("no friend so far", 2));
    let progress = run.progress.expect("it said so");
    assert_eq!((progress.fraction, &*progress.text), (0.5, "half"));
    let quiet = store.perform(mail("ada")).handler(send).await;
    assert!(quiet.logs.is_empty() && quiet.progress.is_none());
}

pub async fn a_given_attempt_is_really_that_one(store: TestStore) {
    async fn last_counts(_: Invite, attempt: Attempt) -> Result<(), JobError> {
        assert_eq!((attempt.number, attempt.of, attempt.is_last()), (3, 3, true));
        Err(JobError::new("still no"))
    }
    let three = store.perform(Invite { friend: 1 }).options(|job| job.max_attempts(3));
    let run = three.handler(last_counts).attempt(3).await;
    assert_eq!((run.outcome, run.row.attempt), (Ended::Dead, 3), "{run:?}");
    assert_eq!(run.error.expect("it failed").message, "still no");
    // Each of them is in the row, as in life.
    let attempts: Vec<u32> = run.row.errors.iter().map(|error| error.attempt).collect();
    assert_eq!(attempts, [1, 2, 3]);
    let second = store.perform(mail("busy")).handler(send).attempt(2).await;
    assert_eq!(second.outcome, Ended::Retry { after: 9 * SECOND });
}

pub async fn others_that_wait_are_left_as_they_were(store: TestStore) {
    let mut before = Vec::new();
    for to in ["ada", "bob"] {
        let added = store.enqueue(mail(to).new_job().priority(1)).await.expect("it is enqueued");
        before.push(store.get(added.id).await.expect("it is there"));
    }
    store.perform(mail("cy")).handler(send).attempt(2).await;
    for old in before {
        let new = store.get(old.id).await.expect("it is there");
        assert_eq!((new.state, new.attempt, new.run_at), (old.state, old.attempt, old.run_at));
        assert_eq!((new.version, new.errors.len(), new.node), (old.version, 0, None));
    }
}

pub async fn nothing_stays_in_the_queue(store: TestStore) {
    for to in ["ada", "busy", "nobody", "later", "no"] {
        store.perform(mail(to)).handler(send).await;
    }
    let count = store.count(Filter::all(), Effort::Bounded).await.expect("a count");
    assert_eq!(count.value, 0);
    assert!(store.nodes().await.expect("nodes").is_empty());
}

pub async fn what_it_enqueues_stays(store: TestStore) {
    async fn invites(_: SendMail, client: Client) -> Result<String, JobError> {
        client.enqueue(Invite { friend: 9 }).await?;
        Ok(String::new())
    }
    store.perform(mail("ada")).handler(invites).await;
    store.assert_enqueued::<Invite>().with(|invite| invite.friend == 9).once().await;
    store.refute_enqueued::<SendMail>().await;
}

pub async fn due_time_and_unique_key_make_no_difference(store: TestStore) {
    let unique = || Invite { friend: 1 }.new_job().unique(longshore::Unique::key("one"));
    store.enqueue(unique()).await.expect("it is enqueued");
    let run = store.perform(Invite { friend: 1 }).options(|_| unique().run_in(HOUR));
    assert_eq!(run.handler(invite).await.outcome, Ended::Succeeded);
    store.assert_enqueued::<Invite>().once().await;
}

pub async fn the_whole_worker_can_run_it(store: TestStore) {
    async fn noted(_: Invite, seen: Given<Arc<AtomicU32>>, meta: Meta) {
        assert_eq!(&*meta.0, r#"{"a":1}"#);
        seen.fetch_add(1, Ordering::SeqCst);
    }
    let seen = Arc::new(AtomicU32::new(0));
    let app = App::from(Worker::new(store.client()).job(noted).state(Arc::clone(&seen)));
    let with_notes = |job: NewJob| job.meta(r#"{"a":1}"#);
    let run = store.perform(Invite { friend: 1 }).options(with_notes).by(&app).await;
    assert_eq!((run.outcome, seen.load(Ordering::SeqCst)), (Ended::Succeeded, 1));
    let run = store.perform(Invite { friend: 1 }).options(with_notes).handler(noted);
    run.state(Arc::clone(&seen)).await;
    assert_eq!(seen.load(Ordering::SeqCst), 2);
}

#[derive(Serialize, Deserialize)]
struct Odd;

/// Writes a number, and reads a text.
#[derive(Serialize, Deserialize)]
#[serde(into = "u32", from = "String")]
#[derive(Clone)]
struct OddOutput;

impl From<OddOutput> for u32 {
    fn from(_: OddOutput) -> u32 {
        7
    }
}

impl From<String> for OddOutput {
    fn from(_: String) -> OddOutput {
        OddOutput
    }
}

impl Job for Odd {
    const KIND: &'static str = "odd";
    type Output = OddOutput;
}

pub async fn an_output_that_does_not_read_back_is_told(store: TestStore) {
    async fn odd(_: Odd) -> OddOutput {
        OddOutput
    }
    let text = failure(store.perform(Odd).handler(odd)).await;
    assert!(text.starts_with("the output that was kept cannot be read as `"), "{text}");
    assert!(text.ends_with("\n  7"), "{text}");
}

pub async fn what_cannot_be_performed_is_told(store: TestStore) {
    assert_shows("performs-nothing", &failure(store.perform(mail("ada"))).await);
    let never = store.perform(mail("ada")).handler(send).attempt(4);
    assert_shows("no-such-attempt", &failure(never).await);
    let invites = Worker::new(store.client()).job(invite);
    assert_shows("no-handler-for-kind", &failure(store.perform(mail("ada")).by(invites)).await);
    let invalid = store.perform(mail("ada")).options(|job| job.priority(10)).handler(send);
    assert_shows("invalid", &failure(invalid).await);
}

pub async fn its_words(store: TestStore) {
    async fn chain(_: Invite, _: Run, _: JobId) -> Result<(), JobError> {
        let error = std::io::Error::other("connection reset");
        #[derive(Debug, thiserror::Error)]
        #[error("could not reach the server")]
        struct Reach(#[source] std::io::Error);
        Err(Reach(error).into())
    }
    let done = store.perform(mail("ada")).handler(send).await;
    let failed = store.perform(Invite { friend: 1 }).handler(chain).attempt(2).await;
    assert_shows("performed", &format!("{done:?}\n{failed:?}"));
}
