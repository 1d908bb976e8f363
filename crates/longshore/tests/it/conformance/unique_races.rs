//! Unique keys when several want one at once.

use longshore::store::{Ack, Repeat, StoreError};
use longshore::{EnqueueOutcome, NewJob, OnConflict, State, Unique};

use super::unique::keyed;
use crate::harness::*;

pub async fn two_calls_with_the_same_keys_in_opposite_order(t: Harness) {
    let keys: Vec<String> = (0..100).map(|n| format!("key-{n}")).collect();
    for round in 0..5 {
        let call = |keys: Vec<String>, rule| -> Vec<NewJob> {
            let unique = |key| Unique::key(format!("{round}-{key}")).on_conflict(rule);
            keys.into_iter().map(|key| job().unique(unique(key))).collect()
        };
        let opposite: Vec<String> = keys.iter().rev().cloned().collect();
        let (keep, replace) = (OnConflict::Keep, OnConflict::Replace);
        let calls = [
            call(keys.clone(), keep),
            call(opposite.clone(), keep),
            call(keys.clone(), replace),
            call(opposite, replace),
        ];
        let calls: Vec<_> = calls
            .into_iter()
            .map(|call| {
                let t = t.clone();
                tokio::spawn(async move { t.enqueue_all(&call).await })
            })
            .collect();
        let mut added = 0;
        for call in calls {
            added += call.await.unwrap().iter().filter(|answer| answer.is_added()).count();
        }
        assert_eq!(added, 100, "round {round}");
    }
    assert_eq!(t.count("job").await, 500);
}

pub async fn fifty_callers_at_once_make_one_job(t: Harness) {
    let second = t.beside().await;
    for round in 0..4 {
        let calls: Vec<_> = (0..50)
            .map(|n| {
                let store = if n % 2 == 0 { t.store.clone() } else { second.clone() };
                let new = job().unique(Unique::key(format!("round-{round}")));
                tokio::spawn(async move { store.enqueue(&[new], Repeat::No).await })
            })
            .collect();
        let mut answers = Vec::new();
        for call in calls {
            answers.push(call.await.unwrap().expect("no caller gets an error")[0]);
        }
        assert_eq!(answers.iter().filter(|answer| answer.is_added()).count(), 1);
        assert!(answers.iter().all(|answer| answer.id == answers[0].id));
        assert_eq!(t.count("job").await, round + 1);
    }
    second.close().await;
}

pub async fn nobody_is_a_duplicate_of_what_rolls_back(t: Harness) {
    for commits in [false, true] {
        let key = Unique::key(format!("commits-{commits}"));
        let mut tx = t.transaction().await;
        let first = job().unique(key.clone());
        t.store.enqueue_in(tx.conn(), std::slice::from_ref(&first)).await.unwrap();
        let second = {
            let (t, new) = (t.clone(), job().unique(key));
            tokio::spawn(async move { t.answer(new).await })
        };
        tokio::time::sleep(200 * MILLI).await;
        assert!(!second.is_finished(), "it waits: nobody knows yet");
        if commits {
            tx.commit().await;
        } else {
            tx.roll_back().await;
        }

        let answer = second.await.unwrap();

        assert_eq!((answer.is_duplicate(), answer.id == first.id()), (commits, commits));
        assert_eq!(t.state(answer.id).await, State::Queued);
    }
    assert_eq!((t.count("job").await, t.count("unique_key").await), (2, 2));
}

pub async fn a_key_that_an_open_transaction_holds_is_busy(t: Harness) {
    let mut tx = t.transaction().await;
    t.store.enqueue_in(tx.conn(), &[keyed()]).await.unwrap();

    let answer = t.store.enqueue_unless_busy(&[job(), keyed()]).await;

    // SQLite has one lock for all, and says that instead.
    let error = answer.expect_err("it must not wait");
    assert!(error.is_unavailable(), "{error:?}");
    assert_eq!(matches!(error, StoreError::KeyBusy), !t.is_sqlite(), "{error:?}");
    tx.commit().await;
    assert_eq!(t.count("job").await, 1);
    assert!(t.store.enqueue_unless_busy(&[keyed()]).await.unwrap()[0].is_duplicate());
}

pub async fn a_replacement_racing_a_claim_leaves_one_waiting_job(t: Harness) {
    let node = t.node().await;
    for round in 0..20 {
        let key = Unique::key(format!("{round}")).on_conflict(OnConflict::Replace);
        let first = t.enqueue(job().payload("\"old\"").unique(key.clone())).await;
        let replaced = {
            let (t, new) = (t.clone(), job().payload("\"new\"").unique(key));
            tokio::spawn(async move { t.answer(new).await })
        };
        let mut runs = node.claim(5).await;
        let answer = replaced.await.unwrap();
        // What the claim passed over, and what came after it.
        runs.extend(node.claim(5).await);

        let last = runs.last().expect("a run");
        assert_eq!(&*last.payload, "\"new\"", "round {round}");
        assert_eq!(last.id, answer.id, "round {round}");
        assert_eq!(runs.len(), if answer.id == first { 1 } else { 2 }, "round {round}");
        for run in &runs {
            assert_eq!(t.finish(run, done()).await, Ack::Recorded(State::Succeeded));
        }
    }
    assert_eq!((t.count("job").await, t.count("unique_key").await), (0, 0));
}

pub async fn enqueues_racing_the_end_of_the_holder_are_answered_truly(t: Harness) {
    let node = t.node().await;
    let mut holder = t.enqueue(keyed()).await;
    for round in 0..30 {
        let run = node.claim_one().await;
        assert_eq!(run.id, holder, "round {round}");
        let racer = {
            let t = t.clone();
            tokio::spawn(async move { t.answer(keyed()).await })
        };
        assert_eq!(t.finish(&run, done()).await, Ack::Recorded(State::Succeeded));
        let answer = racer.await.unwrap();

        // A duplicate of the job that ran, or a fresh one that waits; nothing else.
        holder = match answer.outcome {
            EnqueueOutcome::Added => answer.id,
            EnqueueOutcome::Duplicate => {
                assert_eq!(answer.id, holder, "round {round}");
                t.enqueue(keyed()).await
            }
            EnqueueOutcome::Replaced => unreachable!("nobody asked for it"),
        };
        assert_eq!((t.state(holder).await, t.count("job").await), (State::Queued, 1));
        assert_eq!(t.count("unique_key").await, 1, "round {round}");
    }
}
