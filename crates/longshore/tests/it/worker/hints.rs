//! What PostgreSQL hears and shares.

use std::sync::Arc;

use longshore::State;

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
