//! What a worker and its client count.

use longshore::{JobError, Outcome, Run};

use super::*;

/// The number of a sample, by its name and labels as they are written.
async fn sample(client: &Client, sample: &str) -> Option<f64> {
    let page = client.metrics_text().await;
    let line = page.lines().find_map(|line| line.strip_prefix(sample)?.strip_prefix(' '));
    line.map(|number| number.parse().expect("a number"))
}

async fn until_sample(client: &Client, what: &str, want: f64) {
    let came = async || sample(client, what).await == Some(want);
    until(&format!("{what} is {want}"), came).await;
}

pub async fn every_end_of_a_run_is_counted_by_kind_queue_and_outcome(d: Arc<Desk>) {
    let worker = d
        .worker()
        .handle("well", async |_: Run| {})
        .handle("fails", async |_: Run| Err::<(), _>(JobError::new("no")))
        .handle("snoozes", async |_: Run| Outcome::Snooze(HOUR))
        .handle("cancels", async |_: Run| Outcome::Cancel("no more".into()))
        .handle("slow", async |_: Run| tokio::time::sleep(HOUR).await)
        .start()
        .expect("a worker");
    d.client.enqueue_many((0..3).map(|_| NewJob::new("well"))).await.expect("they are enqueued");
    d.enqueue(NewJob::new("fails").max_attempts(1)).await;
    d.enqueue(NewJob::new("fails").max_attempts(2)).await;
    d.enqueue(NewJob::new("snoozes")).await;
    d.enqueue(NewJob::new("cancels")).await;
    d.enqueue(NewJob::new("slow").max_attempts(1).timeout(300 * MILLI)).await;

    let finished = |kind: &str, outcome: &str| {
        format!(
            "longshore_jobs_finished_total{{kind=\"{kind}\",queue=\"default\",outcome=\"{outcome}\"}}"
        )
    };
    for (kind, outcome, runs) in [
        ("well", "succeeded", 3.0),
        ("fails", "dead", 1.0),
        ("fails", "failed", 1.0),
        ("snoozes", "snoozed", 1.0),
        ("cancels", "cancelled", 1.0),
        ("slow", "dead", 1.0),
    ] {
        until_sample(&d.client, &finished(kind, outcome), runs).await;
    }
    for (metric, value) in [
        ("longshore_jobs_enqueued_total{kind=\"well\",queue=\"default\"}", 3.0),
        ("longshore_jobs_claimed_total{kind=\"well\",queue=\"default\"}", 3.0),
        ("longshore_job_run_seconds_count{kind=\"slow\",queue=\"default\"}", 1.0),
        ("longshore_job_run_seconds_bucket{kind=\"slow\",queue=\"default\",le=\"0.25\"}", 0.0),
        ("longshore_job_run_seconds_bucket{kind=\"slow\",queue=\"default\",le=\"0.5\"}", 1.0),
        ("longshore_job_wait_seconds_count{kind=\"well\",queue=\"default\"}", 3.0),
        ("longshore_slots{queue=\"default\"}", 10.0),
        ("longshore_jobs_running", 0.0),
        ("longshore_worker_ready", 1.0),
        ("longshore_database_up", 1.0),
        ("longshore_lost_leases_total", 0.0),
    ] {
        assert_eq!(sample(&d.client, metric).await, Some(value), "{metric}");
    }
    worker.stop().await;
    // What is gone is told no more.
    assert_eq!(sample(&d.client, "longshore_slots{queue=\"default\"}").await, None);
    assert_eq!(sample(&d.client, "longshore_heartbeat_age_seconds").await, None);
}

pub async fn the_leader_tells_everybody_how_deep_the_queues_are(d: Arc<Desk>) {
    d.enqueue(NewJob::new("nobody's").queue("deep")).await;
    let worker = d.worker().handle("k", async |_: Run| {}).start().expect("a worker");
    let other = d.beside().await;

    until_sample(&other, "longshore_queue_depth{queue=\"deep\"}", 1.0).await;

    assert_eq!(sample(&other, "longshore_queue_depth{queue=\"default\"}").await, Some(0.0));
    assert_eq!(sample(&other, "longshore_queue_depth_capped{queue=\"deep\"}").await, Some(0.0));
    assert!(sample(&other, "longshore_queue_oldest_age_seconds{queue=\"deep\"}").await > Some(0.0));
    assert_eq!(sample(&other, "longshore_leader").await, Some(0.0));
    until_sample(&d.client, "longshore_leader", 1.0).await;
    let page = other.metrics_text().await;
    assert!(!page.contains("node="), "a node is no label: {page}");
    worker.stop().await;
    assert_eq!(sample(&d.client, "longshore_leader").await, Some(0.0));
    other.close().await;
}

pub async fn only_what_is_new_counts_as_enqueued(d: Arc<Desk>) {
    d.client.metrics().name_kinds(["k"]);
    d.client.metrics().name_queues(["default"]);
    let id = JobId::new();
    for _ in 0..2 {
        d.client.enqueue(NewJob::new("k").with_id(id)).await.expect("it is enqueued");
    }
    let many = (0..2_500).map(|n| NewJob::new(if n % 2 == 0 { "k" } else { "another" }));
    d.client.enqueue_many(many).await.expect("they are enqueued");

    let of = async |kind: &str, queue: &str| {
        let labels = format!("{{kind=\"{kind}\",queue=\"{queue}\"}}");
        sample(&d.client, &format!("longshore_jobs_enqueued_total{labels}")).await
    };
    assert_eq!(of("k", "default").await, Some(1_251.0));
    assert_eq!(of("other", "default").await, Some(1_250.0));
}
