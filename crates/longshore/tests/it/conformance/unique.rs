//! Unique keys: at most one job for a key, and every answer true.

use std::time::Duration;

use longshore::job::AttemptFault;
use longshore::store::{Ack, Repeat, StoreError};
use longshore::{Edit, EnqueueOutcome, Enqueued, NewJob, OnConflict, State, Timestamp, Unique};

use crate::harness::*;

const KEY: &str = "order-7";

/// A job with the key of this file.
pub(super) fn keyed() -> NewJob {
    job().unique(Unique::key(KEY))
}

fn ruled(rule: OnConflict) -> NewJob {
    job().unique(Unique::key(KEY).on_conflict(rule))
}

impl Harness {
    async fn try_enqueue(&self, job: NewJob) -> Result<Enqueued, StoreError> {
        self.store.enqueue(&[job], Repeat::No).await.map(|added| added[0])
    }

    pub(super) async fn answer(&self, job: NewJob) -> Enqueued {
        self.try_enqueue(job).await.expect("an enqueue")
    }

    /// Moves the clock to this time today, or tomorrow if that is over.
    async fn go_to(&self, hour: u32, minute: u32) {
        const DAY: i64 = 86_400_000_000;
        let now = self.now().await.as_micros();
        let wanted = (i64::from(hour) * 3_600 + i64::from(minute) * 60) * 1_000_000;
        let ahead = (wanted - now.rem_euclid(DAY)).rem_euclid(DAY);
        self.advance(Duration::from_micros(ahead as u64));
    }
}

pub async fn a_key_is_held_while_its_job_is_active(t: Harness) {
    let first = t.enqueue(keyed().payload("1")).await;
    assert_eq!(t.get(first).await.unique_key.as_deref(), Some(KEY));
    let said = |answer: Enqueued| (answer.id, answer.outcome);
    let held = (first, EnqueueOutcome::Duplicate);

    // Queued, running, retrying, scheduled.
    assert_eq!(said(t.answer(keyed().payload("2")).await), held);
    let run = t.claim_one().await;
    assert_eq!(said(t.answer(keyed()).await), held);
    t.finish(&run, failed(HOUR)).await;
    assert_eq!(said(t.answer(keyed()).await), held);
    t.store.edit(first, &Edit::new().run_in(2 * HOUR)).await.unwrap();
    assert_eq!(said(t.answer(keyed()).await), held);

    assert_eq!((t.count("job").await, &*t.get(first).await.payload), (1, "1"));
    assert!(t.answer(job().unique(Unique::key("order-8"))).await.is_added());
}

pub async fn a_job_that_ends_gives_its_key_back_however_it_ends(t: Harness) {
    for retain in [HOUR, Duration::ZERO] {
        for ending in [done(), dead(), cancelled()] {
            t.ended(keyed().retain(retain), ending).await;
            assert_eq!(t.count("unique_key").await, 0);
        }
    }
    // Cancelled while it waits; cancelled, lost and out of attempts while it runs; deleted.
    let id = t.enqueue(keyed()).await;
    t.cancel(id).await;
    assert_eq!(t.count("unique_key").await, 0);
    let id = t.enqueue(keyed()).await;
    let run = t.claim_one().await;
    t.cancel(id).await;
    t.finish(&run, failed(SECOND)).await;
    assert_eq!(t.count("unique_key").await, 0);
    for (attempts, cancel) in [(1, false), (5, true)] {
        let id = t.enqueue(keyed().max_attempts(attempts)).await;
        t.claim_one().await;
        if cancel {
            t.cancel(id).await;
        }
        t.advance(LEASE_FOR + SECOND);
        t.rescue().await;
        assert_eq!(t.count("unique_key").await, 0);
    }
    let id = t.enqueue(keyed()).await;
    t.store.delete(id).await.unwrap();
    assert_eq!(t.count("unique_key").await, 0);
    // One that is rescued with attempts left keeps it.
    let id = t.enqueue(keyed()).await;
    t.claim_one().await;
    t.advance(LEASE_FOR + SECOND);
    t.rescue().await;
    assert_eq!((t.state(id).await, t.answer(keyed()).await.id), (State::Queued, id));
}

pub async fn keys_of_two_kinds_do_not_meet(t: Harness) {
    t.enqueue(keyed()).await;
    let other = NewJob::new("other").unique(Unique::key(KEY));
    assert!(t.answer(other).await.is_added());
    // A hash and a text that looks like a window do not meet the plain key either.
    assert!(t.answer(job().unique(Unique::payload())).await.is_added());
    assert!(t.answer(job().unique(Unique::payload())).await.is_duplicate());
    assert!(t.answer(job().payload("2").unique(Unique::payload())).await.is_added());
    assert!(t.answer(job().unique(Unique::key(KEY).for_good())).await.is_added());
}

pub async fn the_rule_is_refuse_and_the_call_is_all_or_nothing(t: Harness) {
    let holder = t.enqueue(keyed()).await;

    match t.try_enqueue(ruled(OnConflict::Refuse)).await {
        Err(error @ StoreError::KeyHeld { index: None, .. }) => {
            let says = format!("unique key `{KEY}` is held by job {holder}");
            assert_eq!(error.to_string(), says);
        }
        other => panic!("{other:?}"),
    }
    let call = [job(), job().unique(Unique::key("free")), ruled(OnConflict::Refuse), job()];
    match t.store.enqueue(&call, Repeat::No).await {
        Err(StoreError::KeyHeld { key, holder: who, index }) => {
            assert_eq!((key.as_str(), who, index), (KEY, holder, Some(2)));
        }
        other => panic!("{other:?}"),
    }

    assert_eq!((t.count("job").await, t.count("unique_key").await), (1, 1));
}

pub async fn a_refusal_in_a_callers_transaction_leaves_the_transaction_as_it_was(t: Harness) {
    t.enqueue(keyed()).await;
    let kept = job();
    let mut tx = t.transaction().await;
    t.store.enqueue_in(tx.conn(), std::slice::from_ref(&kept)).await.unwrap();

    let call = [job(), job().unique(Unique::key("free")), ruled(OnConflict::Refuse)];
    let refused = t.store.enqueue_in(tx.conn(), &call).await;

    assert!(matches!(refused, Err(StoreError::KeyHeld { index: Some(2), .. })), "{refused:?}");
    let other = job().unique(Unique::key("other"));
    assert!(t.store.enqueue_in(tx.conn(), &[other]).await.unwrap()[0].is_added());
    tx.commit().await;
    assert_eq!((t.count("job").await, t.count("unique_key").await), (3, 2));
    assert!(t.find(kept.id()).await.is_some());
}

pub async fn a_waiting_holder_is_replaced(t: Harness) {
    let first = t.enqueue(ruled(OnConflict::Replace).payload("1").run_in(HOUR).tag("a")).await;
    let mut woken = t.store.wakes().subscribe();

    let answer = t.answer(ruled(OnConflict::Replace).payload("2").priority(1)).await;

    assert_eq!((answer.id, answer.outcome), (first, EnqueueOutcome::Replaced));
    let row = t.get(first).await;
    assert_eq!((&*row.payload, row.priority, row.state), ("2", 1, State::Queued));
    assert_eq!((row.tags, row.version), (vec!["a".to_owned()], 1));
    t.until("the wake comes", || {
        let news = woken.take();
        async move { news.from_start }
    })
    .await;
    assert_eq!(t.count("job").await, 1);
}

pub async fn a_payload_that_is_replaced_may_change_its_place(t: Harness) {
    let large = format!("\"{}\"", "x".repeat(5_000));
    let id = t.enqueue(ruled(OnConflict::Replace)).await;
    for payload in [large.clone(), "7".to_owned(), large.clone()] {
        t.answer(ruled(OnConflict::Replace).payload(payload.clone())).await;
        assert_eq!(*t.get(id).await.payload, payload);
    }
    assert_eq!(*t.claim_one().await.payload, large);
    assert_eq!(t.count("payload").await, 1);
}

pub async fn a_running_holder_gets_one_successor(t: Harness) {
    let runner = t.enqueue(ruled(OnConflict::Replace).payload("0")).await;
    let run = t.claim_one().await;

    let mut answers = Vec::new();
    for n in 1..=20 {
        answers.push(t.answer(ruled(OnConflict::Replace).payload(n.to_string())).await);
    }

    let next = answers[0].id;
    assert!(next != runner && answers[0].is_added());
    assert!(answers[1..].iter().all(|answer| answer.id == next && answer.is_replaced()));
    assert_eq!((t.count("job").await, t.count("unique_key").await), (2, 1));
    assert_eq!((t.state(next).await, &*t.get(next).await.payload), (State::Queued, "20"));
    assert_eq!(t.get(next).await.unique_key.as_deref(), Some(KEY));
    // The runner's end does not give the newer one's key away.
    assert_eq!(t.finish(&run, done()).await, Ack::Recorded(State::Succeeded));
    assert_eq!(t.answer(keyed()).await.id, next);
    assert_eq!(&*t.claim_one().await.payload, "20");
}

pub async fn a_superseded_run_that_does_not_end_well_is_dead(t: Harness) {
    let throttled =
        longshore::store::Ending::Throttled { delay: SECOND, error: fault("too often") };
    for (name, ending, errors) in [
        ("failed", failed(SECOND), 2),
        ("dead", dead(), 2),
        ("snoozed", snoozed(SECOND), 1),
        ("throttled", throttled, 1),
        ("given back", longshore::store::Ending::GivenBack, 1),
    ] {
        let key = Unique::key(name).on_conflict(OnConflict::Replace);
        let runner = t.enqueue(job().unique(key.clone())).await;
        let run = t.claim_one().await;
        let newer = t.enqueue(job().unique(key.clone()).run_in(HOUR)).await;

        assert_eq!(t.finish(&run, ending).await, Ack::Recorded(State::Dead), "{name}");

        let row = t.get(runner).await;
        let last = row.errors.last().expect("it says why");
        assert_eq!((row.state, row.errors.len()), (State::Dead, errors), "{name}");
        assert_eq!(last.kind, AttemptFault::Superseded, "{name}");
        assert!(last.message.contains(&newer.to_string()), "{name}: {}", last.message);
        assert_eq!(t.answer(job().unique(Unique::key(name))).await.id, newer, "{name}");
    }
    // Asked to cancel, it ends cancelled all the same.
    let runner = t.enqueue(ruled(OnConflict::Replace)).await;
    let run = t.claim_one().await;
    t.enqueue(ruled(OnConflict::Replace).run_in(HOUR)).await;
    t.cancel(runner).await;
    assert_eq!(t.finish(&run, failed(SECOND)).await, Ack::Recorded(State::Cancelled));
}

pub async fn a_superseded_run_whose_node_is_lost_is_dead(t: Harness) {
    let runner = t.enqueue(ruled(OnConflict::Replace)).await;
    t.claim_one().await;
    let newer = t.enqueue(ruled(OnConflict::Replace)).await;
    t.enqueue_all(&jobs(10)).await;
    let node = t.node().await;
    assert_eq!(node.claim(20).await.len(), 11);

    t.advance(LEASE_FOR + SECOND);
    let rescued = t.rescue().await;

    assert_eq!((rescued.dead.as_slice(), rescued.queued.len()), ([runner].as_slice(), 11));
    let row = t.get(runner).await;
    assert_eq!(row.errors.last().unwrap().kind, AttemptFault::Superseded);
    assert_eq!((t.state(newer).await, t.answer(keyed()).await.id), (State::Queued, newer));
}

pub async fn a_superseded_run_that_is_done_has_succeeded(t: Harness) {
    let runner = t.enqueue(ruled(OnConflict::Replace)).await;
    let run = t.claim_one().await;
    let newer = t.enqueue(ruled(OnConflict::Replace)).await;

    assert_eq!(t.finish(&run, done()).await, Ack::Recorded(State::Succeeded));

    assert_eq!(t.state(runner).await, State::Succeeded);
    assert_eq!(t.answer(keyed()).await.id, newer);
}

pub async fn a_window_is_a_fixed_stretch_of_time_of_the_jobs_own_time(t: Harness) {
    let hourly = || job().unique(Unique::key(KEY).within(HOUR));
    t.go_to(9, 59).await;
    let ten: Timestamp = t.now().await.plus(MINUTE);
    let today = t.enqueue(hourly().run_at(ten)).await;

    assert!(t.answer(hourly().run_at(ten.plus(24 * HOUR))).await.is_added(), "tomorrow");
    assert_eq!(t.answer(hourly().run_at(ten.plus(30 * MINUTE))).await.id, today);
    assert_eq!(t.answer(hourly().run_in(MINUTE + 59 * SECOND)).await.id, today);
    assert!(t.answer(hourly().run_at(ten.plus(HOUR))).await.is_added(), "the next window");
    // Due now, at 9:59, is the window before.
    let now = t.answer(hourly()).await;
    assert!(now.is_added());
    assert_eq!(t.answer(hourly()).await.id, now.id);
    // Windows of another length are another matter.
    assert!(t.answer(job().unique(Unique::key(KEY).within(2 * HOUR))).await.is_added());
    assert_eq!(t.get(today).await.unique_key.as_deref(), Some(KEY));
}

pub async fn a_window_is_kept_by_success_and_given_back_by_cancel(t: Harness) {
    let hourly = || job().unique(Unique::key(KEY).within(HOUR));
    t.go_to(10, 0).await;
    for ending in [dead(), cancelled()] {
        t.ended(hourly(), ending).await;
    }
    let done = t.ended(hourly(), done()).await;

    assert_eq!(t.answer(hourly()).await, t.answer(hourly()).await);
    assert_eq!(t.answer(hourly()).await.id, done);
    let replace = Unique::key(KEY).within(HOUR).on_conflict(OnConflict::Replace);
    let answer = t.answer(job().unique(replace)).await;
    assert!(answer.is_duplicate(), "it has run already");
    t.advance(HOUR);
    assert!(t.answer(hourly()).await.is_added());
}

pub async fn for_good_is_for_good_unless_it_did_not_succeed(t: Harness) {
    let once = || job().unique(Unique::key(KEY).for_good());
    for ending in [dead(), cancelled()] {
        t.ended(once(), ending).await;
    }
    let done = t.ended(once(), done()).await;

    t.advance(365 * 24 * HOUR);
    let answer = t.answer(once()).await;
    assert!(answer.is_duplicate() && answer.id == done);
    // And the id leads nowhere once the job is deleted; then the key is free again.
    t.store.delete(done).await.unwrap();
    assert!(t.answer(once()).await.is_added());
}

pub async fn the_same_key_with_another_payload_is_told_apart(t: Harness) {
    let same = |payload: &str| job().payload(payload).unique(Unique::key(KEY).same_payload());
    let first = t.enqueue(same("{\"a\":1}")).await;

    assert_eq!(t.answer(same("{\"a\":1}")).await.id, first);
    match t.try_enqueue(same("{\"a\":2}")).await {
        Err(error @ StoreError::KeyReused { .. }) => {
            let says = format!("unique key `{KEY}` was used with another payload, by job {first}");
            assert_eq!(error.to_string(), says);
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(t.answer(keyed().payload("3")).await.id, first, "who does not ask is not told");
    assert_eq!(t.count("job").await, 1);
}

pub async fn the_same_key_many_times_in_one_call(t: Harness) {
    let call: Vec<NewJob> = (0..5).map(|n| keyed().payload(n.to_string())).collect();
    let other: Vec<NewJob> = (0..5).map(|_| keyed()).collect();
    let calls: Vec<_> = [call, other]
        .into_iter()
        .map(|call| {
            let t = t.clone();
            tokio::spawn(async move { t.enqueue_all(&call).await })
        })
        .collect();
    let mut answers = Vec::new();
    for call in calls {
        answers.push(call.await.unwrap());
    }

    let winner = answers[0][0].id;
    let all: Vec<Enqueued> = answers.concat();
    assert!(all.iter().all(|answer| answer.id == winner || answer.id == answers[1][0].id));
    assert_eq!(all.iter().filter(|answer| answer.is_added()).count(), 1);
    assert!(all.iter().all(|answer| answer.id == all[0].id));
    assert_eq!((t.count("job").await, t.count("unique_key").await), (1, 1));
}

pub async fn rules_in_one_call_apply_in_order(t: Harness) {
    let replace = |payload: &str| ruled(OnConflict::Replace).payload(payload);
    let call = [replace("1"), keyed(), replace("2"), job(), replace("3")];

    let answers = t.enqueue_all(&call).await;

    let first = call[0].id();
    for index in [0, 1, 2, 4] {
        assert_eq!(answers[index].id, first, "{index}");
    }
    use EnqueueOutcome::{Added, Duplicate, Replaced};
    let outcomes: Vec<_> = answers.iter().map(|answer| answer.outcome).collect();
    assert_eq!(outcomes, [Added, Duplicate, Replaced, Added, Replaced]);
    assert_eq!((t.count("job").await, &*t.get(first).await.payload), (2, "3"));
}

pub async fn a_repeat_after_the_end_runs_nothing_twice(t: Harness) {
    for (key, ending) in [("a", done()), ("b", cancelled()), ("c", dead())] {
        let new = job().unique(Unique::key(key));
        let id = t.ended(new.clone(), ending).await;

        let answer = t.repeat(&new).await;

        assert!(answer.is_duplicate() && answer.id == id, "{key}: {answer:?}");
        assert!(t.claim(5).await.is_empty(), "{key}");
        assert_eq!(t.count("unique_key").await, 0, "{key}: nor does it keep the key");
    }
}

pub async fn a_repeat_keeps_its_answer_whoever_holds_the_key_now(t: Harness) {
    for rule in [OnConflict::Keep, OnConflict::Replace, OnConflict::Refuse] {
        let new = job().payload("1").unique(Unique::key(format!("{rule:?}")).on_conflict(rule));
        let id = t.ended(new.clone(), done()).await;
        let holder = job().payload("2").run_in(HOUR).unique(Unique::key(format!("{rule:?}")));
        let holder = t.enqueue(holder).await;

        let answer = t.repeat(&new).await;

        assert_eq!((answer.id, answer.outcome), (id, EnqueueOutcome::Duplicate), "{rule:?}");
        assert_eq!((&*t.get(holder).await.payload, t.state(holder).await), ("2", State::Scheduled));
    }
}

pub async fn a_retry_takes_its_key_again(t: Harness) {
    for ending in [dead(), cancelled()] {
        let id = t.ended(keyed(), ending).await;
        assert_eq!(t.count("unique_key").await, 0);

        t.retry(id).await;

        let answer = t.answer(keyed()).await;
        assert!(answer.is_duplicate() && answer.id == id);
        t.finish(&t.claim_one().await, done()).await;
        assert_eq!(t.count("unique_key").await, 0);
    }
    let once = t.ended(job().unique(Unique::key("once").for_good()), dead()).await;
    t.retry(once).await;
    t.finish(&t.claim_one().await, done()).await;
    assert_eq!(t.answer(job().unique(Unique::key("once").for_good())).await.id, once);
}

pub async fn a_retry_is_refused_while_another_job_holds_its_key(t: Harness) {
    for (ending, state) in [(dead(), State::Dead), (cancelled(), State::Cancelled)] {
        let id = t.ended(keyed(), ending).await;
        let holder = t.enqueue(keyed().run_in(HOUR)).await;

        match t.store.retry(id, 1, &Edit::new()).await {
            Err(StoreError::KeyHeld { key, holder: who, index: None }) => {
                assert_eq!((key.as_str(), who), (KEY, holder));
            }
            other => panic!("{other:?}"),
        }

        assert_eq!((t.state(id).await, t.get(id).await.max_attempts), (state, 10));
        t.store.delete(holder).await.unwrap();
        t.retry(id).await;
        t.store.delete(id).await.unwrap();
    }
}

pub async fn a_retry_after_its_window_is_in_nobodys_way(t: Harness) {
    let hourly = || job().unique(Unique::key(KEY).within(HOUR));
    let id = t.ended(hourly(), dead()).await;
    t.advance(2 * HOUR);
    let other = t.enqueue(hourly()).await;

    t.retry(id).await;

    assert_eq!(t.answer(hourly()).await.id, other);
    assert_eq!(t.claim(5).await.len(), 2);
}

pub async fn a_key_whose_job_was_deleted_by_hand_is_free(t: Harness) {
    let lost = t.enqueue(keyed()).await;
    let (table, id) = (t.table("job"), t.literal(lost.as_uuid()));
    if t.is_sqlite() {
        t.execute(format!("UPDATE {table} SET unique_key = NULL WHERE id = {id}")).await;
    }
    t.execute(format!("DELETE FROM {table} WHERE id = {id}")).await;
    assert_eq!(t.count("unique_key").await, 1);

    let answer = t.answer(ruled(OnConflict::Refuse)).await;

    assert!(answer.is_added());
    assert_eq!(t.answer(keyed()).await.id, answer.id);
    t.finish(&t.claim_one().await, done()).await;
    assert_eq!(t.count("unique_key").await, 0);
}

pub async fn keys_of_windows_that_are_over_are_forgotten(t: Harness) {
    let node = t.node().await;
    let lead = t.lead(&node, LEASE_FOR).await.expect("it leads");
    for (key, unique) in [
        ("window", Unique::key("w").within(HOUR)),
        ("good", Unique::key("g").for_good()),
        ("active", Unique::key("a")),
    ] {
        let run_in = if key == "active" { HOUR } else { Duration::ZERO };
        t.enqueue(job().unique(unique).run_in(run_in)).await;
    }
    t.store.forget_keys(lead).await.unwrap();
    assert_eq!(t.count("unique_key").await, 3);

    t.advance(3 * HOUR);
    let refused = t.store.forget_keys(lead).await;
    assert!(matches!(refused, Err(StoreError::NotLeader)), "{refused:?}");
    let lead = t.lead(&node, LEASE_FOR).await.expect("it leads again");
    assert!(!t.store.forget_keys(lead).await.unwrap());
    assert_eq!(t.count("unique_key").await, 2);
}
