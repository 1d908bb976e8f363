//! A cancel reaches whoever it concerns.

use std::sync::Arc;
use std::time::Instant;

use longshore::{Run, State, StopReason};

use super::slots::behind_a_slow_one;
use super::*;

pub async fn a_cancel_reaches_a_running_job_within_a_second(d: Arc<Desk>) {
    let worker = d
        .worker()
        .handle("k", async |run: Run| {
            assert_eq!(run.stopped().await, StopReason::Cancelled);
        })
        .start()
        .expect("a worker");
    let other = d.beside().await;
    for client in [&d.client, &other] {
        let id = d.enqueue(job()).await;
        d.comes_to(id, State::Running).await;

        let asked = Instant::now();
        let ask = AskCancel { by: Some("ops".into()), why: Some("a test".into()) };
        assert_eq!(client.cancel(id, ask).await.expect("a cancel"), State::Running);

        let row = d.comes_to(id, State::Cancelled).await;
        assert!(asked.elapsed() < SECOND, "{:?}", asked.elapsed());
        assert_eq!(row.cancel.and_then(|cancel| cancel.by).as_deref(), Some("ops"));
        assert!(row.errors.is_empty());
    }
    worker.stop().await;
    other.close().await;
}

pub async fn a_late_success_of_a_cancelled_job_stays_cancelled(d: Arc<Desk>) {
    let (gate, starts) = (Gate::default(), Tally::default());
    let (release, seen) = (gate.clone(), starts.clone());
    let worker = d
        .worker()
        .handle("k", move |run: Run| {
            let (gate, starts) = (gate.clone(), starts.clone());
            async move {
                starts.add();
                run.stopped().await;
                // Told, and deaf to it.
                gate.pass().await;
            }
        })
        .start()
        .expect("a worker");
    let id = d.enqueue(job().max_attempts(5)).await;
    d.comes_to(id, State::Running).await;

    d.cancel(id).await;
    assert_eq!(d.t.state(id).await, State::Running, "it ends when its handler does");
    release.open();

    let row = d.comes_to(id, State::Cancelled).await;
    assert_eq!(row.attempt, 1);
    worker.stop().await;
    assert_eq!(seen.get(), 1, "it is never run again");
}

pub async fn a_cancel_of_a_job_kept_ready_ends_it_unstarted(d: Arc<Desk>) {
    let held = behind_a_slow_one(&d).await;

    let one = *held.ready.last().expect("some are ready");
    assert_eq!(d.cancel(one).await, State::Running, "it is claimed");
    d.comes_to(one, State::Cancelled).await;

    assert!(!held.ran.lock().expect("no panic").contains(&one), "it was never started");
    held.gate.open();
    held.worker.stop().await;
    assert!(!held.ran.lock().expect("no panic").contains(&one));
}
