//! A request that is sent again is carried out once, whatever happened to the first answer.

use std::time::Duration;

use longshore::Unique;
use longshore::store::{Once, REQUESTS_KEPT, RequestKey, StoreError};

use crate::harness::*;

fn request(key: &str, asked: &str) -> RequestKey {
    RequestKey::new("token:ada", key, &[b"POST", asked.as_bytes()])
}

async fn sent(t: &Harness, key: &str, asked: &str, count: usize) -> Once {
    t.store.enqueue_once(&request(key, asked), &jobs(count)).await.expect("an answer")
}

pub async fn a_repeat_adds_nothing_and_is_answered_as_the_first_was(t: Harness) {
    let Once::Now(added) = sent(&t, "a", "x", 3).await else { panic!("it is new") };
    assert_eq!((added.len(), t.count("job").await), (3, 3));
    assert_eq!(sent(&t, "a", "x", 3).await, Once::Before(added.clone()));
    // The jobs are gone, the request is remembered all the same.
    for run in t.claim(3).await {
        t.finish(&run, done()).await;
    }
    t.advance(REQUESTS_KEPT - MILLI);
    assert_eq!(sent(&t, "a", "x", 3).await, Once::Before(added));
    assert_eq!(t.count("job").await, 0);
    t.advance(MILLI);
    assert!(matches!(sent(&t, "a", "x", 1).await, Once::Now(_)), "a day later it is another one");
}

pub async fn keys_are_told_apart_by_caller_and_by_what_is_asked_for(t: Harness) {
    assert!(matches!(sent(&t, "a", "x", 1).await, Once::Now(_)));
    assert_eq!(sent(&t, "a", "y", 1).await, Once::Other);
    let others = RequestKey::new("token:bob", "a", &[b"POST", b"x"]);
    assert!(matches!(t.store.enqueue_once(&others, &jobs(1)).await.unwrap(), Once::Now(_)));
    let joined = RequestKey::new("token:ada", "a", &[b"POSTx", b""]);
    assert_eq!(t.store.enqueue_once(&joined, &jobs(1)).await.unwrap(), Once::Other);
    assert_eq!(t.count("job").await, 2);
}

pub async fn what_is_refused_is_not_remembered(t: Harness) {
    let held = job().unique(Unique::key("k"));
    t.enqueue(held.clone()).await;
    let refuse = job().unique(Unique::key("k").on_conflict(longshore::OnConflict::Refuse));
    let request = request("a", "x");
    let refused = t.store.enqueue_once(&request, &[job(), refuse]).await;
    assert!(matches!(refused, Err(StoreError::KeyHeld { .. })), "{refused:?}");
    assert_eq!((t.count("job").await, t.count("request").await), (1, 0));
    // A duplicate is an answer, and stays one.
    let Once::Now(first) = t.store.enqueue_once(&request, &[held]).await.unwrap() else { panic!() };
    assert!(!first[0].is_added());
    assert_eq!(t.store.enqueue_once(&request, &jobs(1)).await.unwrap(), Once::Before(first));
}

pub async fn of_many_at_once_one_is_carried_out(t: Harness) {
    let store = t.beside().await;
    let calls = (0..16).map(|n| {
        let store = if n % 2 == 0 { t.store.clone() } else { store.clone() };
        tokio::spawn(async move { store.enqueue_once(&request("a", "x"), &jobs(2)).await })
    });
    let mut answers = Vec::new();
    let mut now = 0;
    for call in calls.collect::<Vec<_>>() {
        match call.await.unwrap().expect("an answer") {
            Once::Now(added) => {
                now += 1;
                answers.push(added);
            }
            Once::Before(added) => answers.push(added),
            Once::Other => panic!("it is the same"),
        }
    }
    assert_eq!((now, t.count("job").await), (1, 2));
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
}

pub async fn old_requests_go_with_new_ones(t: Harness) {
    for n in 0..10 {
        sent(&t, &format!("old{n}"), "x", 1).await;
    }
    t.advance(REQUESTS_KEPT + Duration::from_secs(1));
    for n in 0..5 {
        sent(&t, &format!("new{n}"), "x", 1).await;
    }
    assert_eq!(t.count("request").await, 5);
}
