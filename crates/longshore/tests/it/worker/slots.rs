//! What fits runs; what is kept ready is not kept from others.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use longshore::{JobId, Run, State, Working};

use super::*;

/// A worker with one slot that a slow job holds, and jobs kept ready behind it.
pub struct Held {
    pub worker: Working,
    pub gate: Gate,
    pub slow: JobId,
    /// Jobs that were claimed and not started.
    pub ready: Vec<JobId>,
    /// Jobs that were started by that worker.
    pub ran: Arc<Mutex<HashSet<JobId>>>,
}

/// Jobs are kept ready only while they are shorter than a claim: so many short ones first, and then
/// one that is not.
pub async fn behind_a_slow_one(d: &Desk) -> Held {
    let gate = Gate::default();
    let ran = Arc::<Mutex<HashSet<JobId>>>::default();
    let (hold, note) = (gate.clone(), Arc::clone(&ran));
    let mut batch: Vec<NewJob> = (0..300).map(|_| job().priority(1)).collect();
    batch.push(NewJob::new("slow").priority(2));
    batch.extend((0..50).map(|_| job().priority(3)));
    let ids = d.enqueue_many(batch).await;
    let worker = Worker::new(d.client.clone())
        .config(WorkerConfig { poll_every: MINUTE, ..short() })
        .queue("default", 1)
        .handle("k", move |run: Run| {
            note.lock().expect("no panic").insert(run.id());
            async {}
        })
        .handle("slow", move |_: Run| {
            let hold = hold.clone();
            async move { hold.pass().await }
        })
        .start()
        .expect("a worker");
    until("jobs lie ready behind the slow one", async || {
        let health = worker.health();
        health.waiting > 0 && health.started_total == 301
    })
    .await;
    let waiting = worker.health().waiting as usize;
    let ready = ids[301..301 + waiting].to_vec();
    Held { worker, gate, slow: ids[300], ready, ran }
}

pub async fn jobs_kept_ready_behind_a_slow_one_run_elsewhere(d: Arc<Desk>) {
    let held = behind_a_slow_one(&d).await;
    let elsewhere = d.worker().handle("k", async |_: Run| {}).start().expect("a worker");

    for id in &held.ready {
        let row = d.comes_to(*id, State::Succeeded).await;
        assert_eq!(row.attempt, 1, "giving back does not count");
        assert!(row.errors.is_empty());
    }

    assert_eq!(d.t.state(held.slow).await, State::Running);
    assert!(held.worker.health().given_back_total >= held.ready.len() as u64);
    held.gate.open();
    held.worker.stop().await;
    elsewhere.stop().await;
}

pub async fn handlers_that_use_the_client_cost_no_lease(d: Arc<Desk>) {
    let config = WorkerConfig { lease_for: 2 * SECOND, stop_margin: SECOND, ..short() };
    let worker = Worker::new(d.client.clone())
        .config(config)
        .queue("default", 50)
        .handle("k", async |run: Run| {
            // Longer than a lease in all.
            for _ in 0..25 {
                run.client().get(run.id()).await?;
                run.client().enqueue(NewJob::new("child").queue("children")).await?;
                tokio::time::sleep(100 * MILLI).await;
            }
            Ok::<_, longshore::StoreError>(())
        })
        .start()
        .expect("a worker");
    let ids = d.enqueue_many(jobs(50)).await;

    for id in ids {
        assert_eq!(d.comes_to(id, State::Succeeded).await.attempt, 1);
    }
    let health = worker.health();
    assert_eq!((health.lost_total, health.lost_leases_total), (0, 0));
    assert_eq!(health.started_total, 50);
    worker.stop().await;
}

pub async fn handlers_that_block_every_thread_cost_no_lease(d: Arc<Desk>) {
    let other = d.beside().await;
    let rescuer = Worker::new(other.clone())
        .config(short())
        .queue("elsewhere", 1)
        .handle("nothing", async |_: Run| {})
        .start()
        .expect("a worker");
    let worker = d
        .worker()
        .handle("k", async |_: Run| std::thread::sleep(LEASE + SECOND))
        .start()
        .expect("a worker");
    // The runtime has two threads.
    let ids = d.enqueue_many(jobs(2)).await;

    for id in ids {
        let row = d.comes_to(id, State::Succeeded).await;
        assert_eq!(row.attempt, 1);
        assert!(row.errors.is_empty());
    }
    assert_eq!(worker.health().lost_total, 0);
    worker.stop().await;
    rescuer.stop().await;
    other.close().await;
}

pub async fn settings_that_cannot_work_are_refused_together(d: Arc<Desk>) {
    let config = WorkerConfig { heartbeat_every: MINUTE, stop_margin: MINUTE, ..short() };
    let error = Worker::new(d.client.clone())
        .config(config)
        .queue("mail", 0)
        .queue(" odd", 1)
        .handle("k", async |_: Run| {})
        .start()
        .expect_err("nothing of it can work")
        .to_string();
    for fault in ["`mail` has 0 slots", "` odd`", "heartbeat_every", "stop_margin"] {
        assert!(error.contains(fault), "{fault}: {error}");
    }
    let error = d.worker().start().expect_err("no kind has a handler").to_string();
    assert!(error.contains("handle"), "{error}");
    assert!(d.client.nodes().await.expect("nodes").is_empty(), "nobody joined");
}
