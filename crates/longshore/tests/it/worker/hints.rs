//! What only PostgreSQL does: hears, shares commits, makes partitions.

use std::sync::Arc;

use longshore::store::Store;
use longshore::{Clock, Limits, Run, State, StoreOptions, Unique};
use sqlx::postgres::PgListener;

use super::wakes::idle;
use super::*;

pub async fn single_enqueues_share_their_commits(d: Arc<Desk>) {
    let calls = (0..1_000).map(|_| {
        let client = d.client.clone();
        tokio::spawn(async move { client.enqueue(job()).await.expect("a job").id })
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.expect("no panic");
    }
    let commits = d.t.number("SELECT count(DISTINCT xmin::text) FROM longshore.job".into()).await;
    assert_eq!(d.t.count("job").await, 1_000);
    assert!(commits <= 200, "{commits} commits");
}

pub async fn jobs_start_after_the_listener_was_killed_ten_times(d: Arc<Desk>) {
    let worker = idle(&d).await;
    let other = d.beside().await;
    let listeners = "SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND query ILIKE 'listen %'";
    for _ in 0..10 {
        until("it listens", async || d.t.number(listeners.into()).await > 0).await;
        let kill = listeners.replace("count(*)", "count(pg_terminate_backend(pid))");
        d.t.number(kill).await;
        let id = other.enqueue(job()).await.expect("a job").id;
        // Said while nobody listened: heard of when it listens again.
        d.comes_to(id, State::Succeeded).await;
    }
    worker.stop().await;
    other.close().await;
}

pub async fn a_leader_whose_first_chore_fails_does_it_later(d: Arc<Desk>) {
    let rename =
        |from: &str, to: &str| format!("ALTER FUNCTION longshore.{from}(date) RENAME TO {to}");
    let days = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'longshore.history'::regclass";
    // The migration made the first week; the last of its days is wanted again.
    let drop_last = "DO $$ DECLARE last regclass; BEGIN
        SELECT inhrelid::regclass INTO last FROM pg_inherits
        WHERE inhparent = 'longshore.history'::regclass
        ORDER BY inhrelid::regclass::text DESC LIMIT 1;
        EXECUTE 'DROP TABLE ' || last; END $$";
    let whole = d.t.number(days.into()).await;
    d.t.execute(drop_last.into()).await;
    d.t.execute(rename("make_history_day", "away")).await;
    let worker = d.worker().handle("k", async |_: Run| {}).start().expect("a worker");
    let term = "SELECT max(term) FROM longshore.leader";
    until("it leads", async || d.t.number(term.into()).await > 0).await;
    assert_eq!(d.t.number(days.into()).await, whole - 1, "it could not make the day");

    d.t.execute(rename("away", "make_history_day")).await;

    until("it is made", async || d.t.number(days.into()).await == whole).await;
    worker.stop().await;
}

/// What any node hears, in the order of the commits.
async fn listener(d: &Desk) -> PgListener {
    let mut listener = PgListener::connect(&d.t.database.url()).await.expect("a connection");
    listener.listen("longshore").await.expect("it listens");
    listener
}

/// All that was said to `listener` so far.
async fn heard(d: &Desk, listener: &mut PgListener) -> Vec<String> {
    d.t.execute("SELECT pg_notify('longshore', 'that is all')".into()).await;
    let mut heard = Vec::new();
    loop {
        let said = listener.recv().await.expect("it hears");
        if said.payload() == "that is all" {
            return heard;
        }
        heard.push(said.payload().to_owned());
    }
}

/// The stretches of 50 ms there were so far.
async fn bucket(d: &Desk) -> i64 {
    d.t.number("SELECT floor(extract(epoch FROM clock_timestamp()) * 20)::bigint".into()).await
}

pub async fn callers_at_once_notify_once_in_a_while(d: Arc<Desk>) {
    let mut listener = listener(&d).await;
    let mut open = Vec::new();
    for _ in 0..64 {
        open.push(d.t.transaction().await);
    }
    let from = bucket(&d).await;
    let callers = open.into_iter().map(|mut tx| {
        let store = d.t.store.clone();
        tokio::spawn(async move {
            // The second is the transaction's second try, in whatever stretch of time it comes.
            for _ in 0..2 {
                store.enqueue_in(tx.conn(), &[job()]).await.expect("a job");
            }
            tx
        })
    });
    let mut all = Vec::new();
    for caller in callers.collect::<Vec<_>>() {
        all.push(caller.await.expect("no panic"));
    }
    let stretches = bucket(&d).await - from + 1;
    for tx in all {
        tx.commit().await;
    }

    let heard = heard(&d, &mut listener).await;

    assert_eq!(d.t.count("job").await, 128);
    assert!(!heard.is_empty(), "somebody tells");
    assert!(heard.len() as i64 <= stretches, "{} told in {stretches} x 50 ms", heard.len());
    assert!(heard.iter().all(|word| word == "look"), "{heard:?}");
}

pub async fn switched_off_nobody_is_told(d: Arc<Desk>) {
    let mut listener = listener(&d).await;
    let options = || StoreOptions { notify: false, ..d.t.database.options(Clock::real()) };
    let url = d.t.database.url();
    let client = longshore::Client::open_with(&url, options(), Limits::default());
    let client = client.await.expect("a client");
    let store = longshore::store::open(&url, options()).await.expect("a store");
    client.enqueue(job()).await.expect("a job");
    client.enqueue_many(jobs(3)).await.expect("jobs");
    add_in(&d, &*store).await;
    let id = client.enqueue(job().run_in(HOUR)).await.expect("a job").id;
    client.retry(id, 1).await.expect("a retry");
    // Closed, so that whatever it had under way has gone out.
    client.close().await;
    store.close().await;

    assert_eq!(heard(&d, &mut listener).await, [""; 0]);
    assert_eq!(d.t.count("job").await, 7);
}

pub async fn a_database_may_switch_it_off_for_callers(d: Arc<Desk>) {
    let mut listener = listener(&d).await;
    let name: String = {
        let options = d.t.database.url().parse::<sqlx::postgres::PgConnectOptions>();
        options.expect("our own address").get_database().expect("a name").to_owned()
    };
    d.t.execute(format!("ALTER DATABASE {name} SET longshore.told = 'yes'")).await;
    let by_hand = "SELECT longshore.enqueue('k', '1')";
    let mut tx = d.t.transaction().await;
    tx.execute(by_hand).await;
    tx.commit().await;
    add_in(&d, &*d.t.store).await;
    assert_eq!(heard(&d, &mut listener).await, [""; 0]);

    d.t.execute(format!("ALTER DATABASE {name} RESET longshore.told")).await;
    let mut tx = d.t.transaction().await;
    tx.execute(by_hand).await;
    tx.commit().await;
    assert_eq!(heard(&d, &mut listener).await, ["look"]);
}

/// Two jobs, each in a transaction of a caller: a plain one and one with a key.
async fn add_in(d: &Desk, store: &dyn Store) {
    for new in [job(), job().unique(Unique::key("key"))] {
        let mut tx = d.t.transaction().await;
        store.enqueue_in(tx.conn(), &[new]).await.expect("a job");
        tx.commit().await;
    }
}
