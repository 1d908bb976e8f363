//! A file that somebody else keeps locked.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use longshore::{Run, State, StopReason};

use super::*;

pub async fn a_file_locked_beyond_the_lease_stops_handlers_in_time(d: Arc<Desk>) {
    let heard = Arc::<Mutex<Option<(StopReason, Instant)>>>::default();
    let note = Arc::clone(&heard);
    let worker = d
        .worker()
        .handle("k", move |run: Run| {
            let heard = Arc::clone(&note);
            async move {
                if heard.lock().expect("no panic").is_none() {
                    let reason = run.stopped().await;
                    *heard.lock().expect("no panic") = Some((reason, Instant::now()));
                    std::future::pending::<()>().await;
                }
            }
        })
        .start()
        .expect("a worker");
    let id = d.enqueue(job().max_attempts(5)).await;
    d.comes_to(id, State::Running).await;

    let lock = d.t.transaction().await;
    let locked = Instant::now();
    until("the handler is told", async || heard.lock().expect("no panic").is_some()).await;
    let (reason, at) = heard.lock().expect("no panic").expect("it was told");
    assert_eq!(reason, StopReason::LeaseLost);
    assert!(at - locked < LEASE, "told {:?} after the lock, too late", at - locked);
    assert!(!worker.health().ready);
    let why = worker.health().reason.expect("a reason");
    assert!(why.contains("lease"), "{why}");
    until("it is cut off", async || worker.health().running == 0).await;
    assert!(locked.elapsed() < LEASE, "nothing runs when the lease ends");
    lock.roll_back().await;

    d.comes_to(id, State::Succeeded).await;
    until("it is well again", async || worker.health().ready).await;
    worker.stop().await;
}

pub async fn a_stop_while_the_file_is_locked_ends_in_bounded_time(d: Arc<Desk>) {
    let worker = d
        .worker()
        .config(WorkerConfig { drain_for: 500 * MILLI, ..short() })
        .handle("k", async |run: Run| {
            run.stopped().await;
        })
        .start()
        .expect("a worker");
    let id = d.enqueue(job()).await;
    d.comes_to(id, State::Running).await;

    let lock = d.t.transaction().await;
    let asked = Instant::now();
    worker.stop().await;
    let took = asked.elapsed();
    lock.roll_back().await;

    assert!(took < 15 * SECOND, "{took:?}");
    // What could not be written is rescued.
    d.ahead().await.rescue().await.expect("a rescue");
    assert_eq!(d.t.state(id).await, State::Queued);
}
