//! A stop ends in bounded time and costs no attempt.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use longshore::{JobError, Run, State, StopReason};

use super::slots::behind_a_slow_one;
use super::*;

/// Runs until it is told to stop, and notes why.
fn heeds(worker: Worker, reasons: &Arc<Mutex<Vec<StopReason>>>) -> Worker {
    let reasons = Arc::clone(reasons);
    worker.handle("k", move |run: Run| {
        let reasons = Arc::clone(&reasons);
        async move {
            let reason = run.stopped().await;
            reasons.lock().expect("no panic").push(reason);
            Err::<(), _>(JobError::new("broken off"))
        }
    })
}

pub async fn a_stop_lets_runs_end_and_starts_nothing_new(d: Arc<Desk>) {
    let gate = Gate::default();
    let hold = gate.clone();
    let mut worker = Worker::new(d.client.clone())
        .config(short())
        .queue("default", 2)
        .handle("k", move |_: Run| {
            let hold = hold.clone();
            async move { hold.pass().await }
        })
        .start()
        .expect("a worker");
    let ids = d.enqueue_many(jobs(8)).await;
    until("two run", async || worker.health().running == 2).await;

    worker.ask_stop();
    until("it says so", async || worker.health().reason.as_deref() == Some("stopping")).await;
    assert!(!worker.health().ready);
    gate.open();
    worker.stopped().await;

    assert_eq!(worker.health().started_total, 2);
    assert_eq!(d.count(State::Succeeded).await, 2);
    for id in ids {
        let row = d.get(id).await;
        match row.state {
            State::Succeeded => assert_eq!(row.attempt, 1),
            state => assert_eq!((state, row.attempt), (State::Queued, 0)),
        }
    }
    assert!(d.client.nodes().await.expect("nodes").is_empty(), "it left");
}

pub async fn what_a_stop_cannot_wait_for_is_given_back(d: Arc<Desk>) {
    let reasons = Arc::default();
    let config = WorkerConfig { drain_for: 100 * MILLI, ..short() };
    let worker = heeds(d.worker().config(config), &reasons).start().expect("a worker");
    let id = d.enqueue(job().max_attempts(1)).await;
    // Claimed is not yet started: what still waits for its slot is given back untold.
    until("its handler runs", async || worker.health().running == 1).await;

    worker.stop().await;

    assert_eq!(*reasons.lock().expect("no panic"), [StopReason::Shutdown]);
    let row = d.get(id).await;
    assert_eq!((row.state, row.attempt), (State::Queued, 0));
    assert!(row.errors.is_empty());
    let next = d.worker().handle("k", async |_: Run| {}).start().expect("a worker");
    assert_eq!(d.comes_to(id, State::Succeeded).await.attempt, 1);
    next.stop().await;
}

pub async fn a_handler_that_ignores_a_stop_is_cut_off_and_given_back(d: Arc<Desk>) {
    let config = WorkerConfig { drain_for: 100 * MILLI, ..short() };
    let worker = d
        .worker()
        .config(config)
        .handle("k", async |_: Run| std::future::pending::<()>().await)
        .start()
        .expect("a worker");
    let id = d.enqueue(job().max_attempts(1)).await;
    d.comes_to(id, State::Running).await;

    let asked = Instant::now();
    worker.stop().await;

    assert!(asked.elapsed() < 5 * SECOND, "{:?}", asked.elapsed());
    let row = d.get(id).await;
    assert_eq!((row.state, row.attempt, row.errors.len()), (State::Queued, 0, 0));
}

pub async fn a_forced_stop_waits_for_nobody(d: Arc<Desk>) {
    let mut worker = d
        .worker()
        .config(WorkerConfig { drain_for: MINUTE, ..short() })
        .handle("k", async |_: Run| std::future::pending::<()>().await)
        .start()
        .expect("a worker");
    let id = d.enqueue(job()).await;
    d.comes_to(id, State::Running).await;

    worker.ask_stop();
    let asked = Instant::now();
    worker.force_stop();
    worker.stopped().await;

    assert!(asked.elapsed() < 2 * SECOND, "{:?}", asked.elapsed());
    let row = d.get(id).await;
    assert_eq!((row.state, row.attempt), (State::Queued, 0));
}

pub async fn a_stop_gives_back_what_was_kept_ready(d: Arc<Desk>) {
    let mut held = behind_a_slow_one(&d).await;

    held.worker.ask_stop();
    for id in &held.ready {
        let row = d.comes_to(*id, State::Queued).await;
        assert_eq!((row.attempt, row.errors.len()), (0, 0));
    }
    assert_eq!(d.t.state(held.slow).await, State::Running, "it may end");

    held.gate.open();
    held.worker.stopped().await;
    assert_eq!(d.t.state(held.slow).await, State::Succeeded);
    assert_eq!(held.worker.health().started_total, 301);
}

pub async fn nodes_that_stop_leave_no_rows(d: Arc<Desk>) {
    for _ in 0..20 {
        let worker = d.worker().handle("k", async |_: Run| {}).start().expect("a worker");
        let id = d.enqueue(job()).await;
        d.comes_to(id, State::Succeeded).await;
        worker.stop().await;
    }
    assert_eq!(d.t.count("node").await, 0);
}
