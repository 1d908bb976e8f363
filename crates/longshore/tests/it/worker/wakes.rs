//! Work starts because somebody said so; with a poll once a minute nothing else could be the cause.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use longshore::{
    Backoff, Client, Clock, JobError, Limits, Run, State, StoreOptions, Unique, Worker, Working,
};

use super::*;

/// Polls so seldom that no test lives to see it.
pub fn deaf() -> WorkerConfig {
    WorkerConfig { poll_every: 10 * MINUTE, ..short() }
}

pub async fn idle(d: &Desk) -> Working {
    let worker =
        d.worker().config(deaf()).handle("k", async |_: Run| {}).start().expect("a worker");
    // Its first look is over once it has run something.
    let id = d.enqueue(job()).await;
    d.comes_to(id, State::Succeeded).await;
    worker
}

pub async fn an_idle_worker_starts_a_job_at_once(d: Arc<Desk>) {
    let worker = idle(&d).await;
    for _ in 0..20 {
        let id = d.enqueue(job()).await;
        d.comes_to(id, State::Succeeded).await;
    }
    worker.stop().await;
}

/// Whoever ran it knows when it is due; nobody else tells.
pub async fn what_runs_again_after_a_while_does_so_in_time(d: Arc<Desk>) {
    let worker = d
        .worker()
        .config(deaf())
        .handle("fails", async |run: Run| match run.attempt() {
            1 => Err(JobError::new("once")),
            _ => Ok(()),
        })
        .start()
        .expect("a worker");
    let fails = d.enqueue(NewJob::new("fails").backoff(Backoff::fixed(100 * MILLI))).await;
    d.comes_to(fails, State::Succeeded).await;
    worker.stop().await;
}

/// The first is so near that its enqueue tells of it. Each further one is seen by the claim of the one before.
pub async fn what_is_scheduled_starts_in_time(d: Arc<Desk>) {
    let worker = idle(&d).await;
    let far = d.enqueue(job().priority(9).run_in(1_500 * MILLI)).await;
    let near = d.enqueue(job().run_in(300 * MILLI)).await;
    d.comes_to(near, State::Succeeded).await;
    d.comes_to(far, State::Succeeded).await;
    worker.stop().await;
}

pub async fn retries_rescues_and_what_is_given_back_start_at_once(d: Arc<Desk>) {
    let worker = idle(&d).await;

    // Waiting for tomorrow, then wanted now.
    let later = d.enqueue(job().run_in(HOUR)).await;
    d.client.retry(later, 1).await.expect("a retry");
    d.comes_to(later, State::Succeeded).await;

    // Held by a node that gives back, and by one that is lost.
    for lost in [false, true] {
        let node = d.t.node().await;
        let id = d.enqueue(NewJob::new("held")).await;
        let run =
            node.claim_from(&[ask("default", 1)], &["held"]).await.pop().expect("it is there");
        let kind = format!("UPDATE {} SET kind = 'k'", d.t.table("job"));
        d.t.execute(kind).await;
        if lost {
            d.t.store.leave(node.id).await.expect("it leaves");
            // By the worker's own client: what others do is another test's.
        } else {
            d.t.finish(&run, longshore::store::Ending::GivenBack).await;
        }
        d.comes_to(id, State::Succeeded).await;
    }
    worker.stop().await;
}

pub async fn a_commit_of_another_process_starts_a_job_at_once(d: Arc<Desk>) {
    let worker = idle(&d).await;
    let other = d.beside().await;
    for _ in 0..20 {
        let id = other.enqueue(job()).await.expect("a job").id;
        d.comes_to(id, State::Succeeded).await;
    }
    worker.stop().await;
    other.close().await;
}

/// Whatever hid a job from the looks, such as a commit that came late, or a lock held for a moment: a worker that always
/// has something to do never polls, and finds it all the same.
pub async fn a_job_that_was_passed_over_starts_on_a_busy_worker(d: Arc<Desk>) {
    let worker = idle(&d).await;
    let done = Arc::new(AtomicBool::new(false));
    let feeding = tokio::spawn({
        let (d, done) = (Arc::clone(&d), Arc::clone(&done));
        async move {
            while !done.load(Ordering::Relaxed) {
                d.enqueue(job()).await;
                tokio::time::sleep(20 * MILLI).await;
            }
        }
    });
    let hidden = d.enqueue(job().run_in(HOUR)).await;
    let (table, which) = (d.t.table("job"), d.t.literal(hidden.as_uuid()));
    let at = d.t.now().await.minus(MINUTE);
    let at = if d.t.is_sqlite() { at.as_micros().to_string() } else { format!("'{at}'") };

    d.t.execute(format!("UPDATE {table} SET run_at = {at} WHERE id = {which}")).await;

    d.comes_to(hidden, State::Succeeded).await;
    done.store(true, Ordering::Relaxed);
    feeding.await.expect("no panic");
    worker.stop().await;
}

/// The commit is the application's; what tells of it stands in its transaction, or is seen in the file.
pub async fn a_callers_commit_wakes_an_idle_worker(d: Arc<Desk>) {
    let worker = idle(&d).await;
    let unique = |n: usize| job().unique(Unique::key(format!("key {n}")));
    for n in 0..20 {
        let new = if n % 2 == 0 { job() } else { unique(n) };
        let mut tx = d.t.transaction().await;
        let id = d.t.store.enqueue_in(tx.conn(), &[new]).await.expect("a job")[0].id;
        tx.commit().await;
        d.comes_to(id, State::Succeeded).await;
    }
    worker.stop().await;
}

/// Enqueued alone, in a batch and in callers' transactions, while nobody tells and nobody hears.
pub async fn polling_alone_runs_every_job(d: Arc<Desk>) {
    let options = || StoreOptions { notify: false, ..d.t.database.options(Clock::real()) };
    let open = async || {
        Client::open_with(&d.t.database.url(), options(), Limits::default())
            .await
            .expect("a client")
    };
    // Two processes, so that no signal inside one does it.
    let (serving, adding) = (open().await, open().await);
    let store = longshore::store::open(&d.t.database.url(), options()).await.expect("a store");
    let worker = Worker::new(serving.clone())
        .config(short())
        .queue("default", 10)
        .handle("k", async |_: Run| {})
        .start()
        .expect("a worker");
    let mut ids = Vec::new();
    for n in 0..5 {
        ids.push(adding.enqueue(job()).await.expect("a job").id);
        let many = adding.enqueue_many(jobs(3)).await.expect("jobs");
        ids.extend(many.iter().map(|added| added.id));
        for new in [job(), job().unique(Unique::key(format!("key {n}")))] {
            let mut tx = d.t.transaction().await;
            ids.push(store.enqueue_in(tx.conn(), &[new]).await.expect("a job")[0].id);
            tx.commit().await;
        }
        // The next ones meet a worker that has gone idle again.
        until("it has nothing left", async || d.count(State::Succeeded).await == ids.len()).await;
    }
    for id in ids {
        assert_eq!(d.get(id).await.attempt, 1);
    }
    worker.stop().await;
    store.close().await;
    adding.close().await;
    serving.close().await;
}

/// What no call of ours does: the database refuses one kind.
async fn refuse(d: &Desk) {
    let sql = if d.t.is_sqlite() {
        "CREATE TRIGGER refuse BEFORE INSERT ON longshore_job WHEN new.kind = 'odd'
         BEGIN SELECT RAISE(ABORT, 'refused by hand'); END"
    } else {
        "ALTER TABLE longshore.job ADD CONSTRAINT refuse CHECK (kind <> 'odd')"
    };
    d.t.execute(sql.into()).await;
}

pub async fn a_bad_row_fails_no_neighbour(d: Arc<Desk>) {
    refuse(&d).await;
    let calls = (0..60).map(|at| {
        let client = d.client.clone();
        let kind = if at % 20 == 7 { "odd" } else { "k" };
        tokio::spawn(async move { (kind, client.enqueue(NewJob::new(kind)).await.is_ok()) })
    });
    let mut added = 0;
    for call in calls.collect::<Vec<_>>() {
        let (kind, went_well) = call.await.expect("no panic");
        assert_eq!(went_well, kind == "k");
        added += i64::from(went_well);
    }
    assert_eq!(d.t.count("job").await, added);
}

/// A failure comes back by itself: its time is looked at without a word from anybody.
pub async fn a_failed_job_comes_back_at_its_time(d: Arc<Desk>) {
    let worker = d
        .worker()
        .handle(
            "k",
            async |run: Run| {
                if run.attempt() == 1 { Err(JobError::new("not yet")) } else { Ok(()) }
            },
        )
        .start()
        .expect("a worker");
    let id = d.enqueue(job().backoff(Backoff::fixed(300 * MILLI))).await;
    let row = d.comes_to(id, State::Succeeded).await;
    assert_eq!(row.attempt, 2);
    worker.stop().await;
}
