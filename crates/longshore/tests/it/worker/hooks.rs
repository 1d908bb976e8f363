//! What hooks are told.

use std::sync::Mutex;

use longshore::job::AttemptFault;
use longshore::{Hook, JobError, Outcome, Run, RunReport};

use super::*;

/// Writes down what it is told, and panics each time.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<String>>>);

impl Notes {
    fn add(&self, note: String) {
        self.0.lock().expect("no panic while it is locked").push(note);
    }

    fn has(&self, note: &str) -> bool {
        self.0.lock().expect("no panic while it is locked").iter().any(|known| known == note)
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().expect("no panic while it is locked").clone()
    }
}

impl Hook for Notes {
    fn started(&self, run: &Run) {
        self.add(format!("{} {} starts", run.kind(), run.attempt()));
        panic!("a hook that panics harms nobody");
    }

    fn ended(&self, run: &RunReport) {
        let error = run.error.as_ref().map_or("", |error| &error.message);
        let note =
            format!("{} {}/{} is {} {error}", run.kind, run.attempt, run.max_attempts, run.state);
        self.add(note.trim().to_owned());
        panic!("a hook that panics harms nobody");
    }
}

pub async fn hooks_are_told_how_runs_start_and_end(d: Arc<Desk>) {
    let notes = Notes::default();
    let took = Arc::<Mutex<Option<Duration>>>::default();
    let seen = Arc::clone(&took);
    let worker = d
        .worker()
        .handle("well", async |_: Run| {})
        .handle("fails", async |_: Run| Err::<(), _>(JobError::new("no")))
        .handle("panics", async |_: Run| -> () { panic!("oh") })
        .handle("snoozes", async |_: Run| Outcome::Snooze(HOUR))
        .hook(notes.clone())
        .on_end(move |run| *seen.lock().expect("no panic") = run.took)
        .start()
        .expect("a worker");
    for kind in ["well", "panics", "snoozes"] {
        d.enqueue(NewJob::new(kind).max_attempts(1)).await;
    }
    let backoff = longshore::Backoff::Fixed { delay_ms: 1 };
    d.enqueue(NewJob::new("fails").max_attempts(2).backoff(backoff)).await;

    for note in [
        "well 1 starts",
        "well 1/1 is succeeded",
        "panics 1/1 is dead oh",
        "snoozes 1/1 is scheduled",
        "fails 1/2 is retrying no",
        "fails 2 starts",
        "fails 2/2 is dead no",
    ] {
        until(&format!("it is told `{note}`: {:?}", notes.all()), async || notes.has(note)).await;
    }
    assert!(took.lock().expect("no panic").is_some());
    worker.stop().await;
}

pub async fn a_hook_is_told_of_jobs_that_died_with_their_node(d: Arc<Desk>) {
    // A node that claims a job in its last attempt and is never heard of again.
    let id = d.enqueue(job().max_attempts(1)).await;
    let node = d.t.node().await;
    assert_eq!(node.claim(1).await.len(), 1);
    let long_ago = if d.t.is_sqlite() { "1" } else { "now() - interval '1 hour'" };
    let (table, node) = (d.t.table("node"), d.t.literal(node.id.0));
    d.t.execute(format!("update {table} set expires_at = {long_ago} where id = {node}")).await;
    let told = Arc::<Mutex<Option<RunReport>>>::default();
    let seen = Arc::clone(&told);
    let worker = d
        .worker()
        .handle("k", async |_: Run| {})
        .on_end(move |run| *seen.lock().expect("no panic") = Some(run.clone()))
        .start()
        .expect("a worker");

    until("it is told", async || told.lock().expect("no panic").is_some()).await;

    let report = told.lock().expect("no panic").take().expect("a report");
    assert_eq!((report.id, report.state, report.took), (id, State::Dead, None));
    assert_eq!(report.error.expect("an error").kind, AttemptFault::NodeLost);
    worker.stop().await;
}

pub async fn a_hook_before_the_enqueue_sees_every_job(d: Arc<Desk>) {
    let client = d.client.before_enqueue(|job| job.tag("one")).before_enqueue(|job| {
        let queue = format!("of-{}", job.kind());
        job.tag("two").queue(queue)
    });
    let added = client.enqueue(job()).await.expect("a job");
    let many = client.enqueue_many(jobs(2)).await.expect("jobs");
    for id in [added.id, many[0].id, many[1].id] {
        let row = d.get(id).await;
        assert_eq!((&*row.queue, row.tags.join(" ")), ("of-k", "two one".to_owned()));
    }
    let refused = client.before_enqueue(|job| job.priority(10)).enqueue(job()).await;
    assert!(refused.expect_err("a bad job").to_string().starts_with("priority is 10"));
}
