//! What only PostgreSQL does: hears, shares commits, makes partitions.

use std::sync::Arc;

use longshore::{Run, State};

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
