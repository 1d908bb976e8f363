//! What a worker of either language keeps to, whatever is killed.

use std::fmt::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use super::language::{Tools, pass};
use super::worker::{Pier, said};
use crate::fake::{Fake, Passed};
use crate::harness::{Place, Server};

const JOBS: usize = 1_000;

/// The server is killed with jobs under way, answers included, and is away for a second. No lease ends by that, so each
/// job runs once, and no more than once.
pub fn a_thousand_jobs_outlive_a_killed_server(place: Place, tools: &Tools) {
    let mut pier = Pier::open(&place, tools);
    let _workers = [pier.worker(&[("SLOTS", "10")]), pier.worker(&[("SLOTS", "10")])];
    let mut lines = String::new();
    for n in 0..JOBS {
        writeln!(lines, r#"{{"payload": {{"n": {n}, "ms": 50}}}}"#).expect("a text grows");
    }
    let added = place.run_with(&["enqueue", "count", "--lines", "-"], lines.as_bytes());
    assert_eq!(added.code, 0, "{added:?}");
    place.until("a third has run", || pier.runs.over() > JOBS / 3);
    pier.kill_server();
    assert!(pier.runs.over() < JOBS, "it was killed too late");
    std::thread::sleep(Duration::from_secs(1));
    pier.start_server();
    let query = "kind:count state:succeeded";
    let count = || place.json(&["jobs", "count", query, "--exact"])["count"].as_u64();
    place.until("all have succeeded", || count() == Some(JOBS as u64));
    let runs = pier.runs.by_job();
    assert_eq!(runs.len(), JOBS, "none is lost");
    let twice: Vec<_> = runs.iter().filter(|(_, runs)| runs.len() != 1).collect();
    assert!(twice.is_empty(), "run twice: {twice:?}");
    assert!(runs.values().flatten().all(|run| run.attempt == 1 && run.over.is_some()));
}

/// Seconds, as workers count them too.
fn since_1970() -> f64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.expect("it is after 1970").as_secs_f64()
}

pub fn a_stopped_worker_drains_gives_back_and_leaves(place: Place, tools: &Tools) {
    let pier = Pier::open(&place, tools);
    let worker = pier.worker(&[("GRACE", "2")]);
    let short = pier.running(&["count", "--payload", r#"{"ms": 1000}"#]);
    let long = pier.running(&["hold"]);
    let deaf = pier.running(&["deaf", "--payload", r#"{"ms": 20000}"#]);
    worker.signal("TERM");
    place.until("it has heard", || said(&worker).contains("stopping after SIGTERM"));
    let after = place.enqueue(&["count", "--payload", r#"{"ms": 1}"#]);
    assert_eq!(worker.ended(), Some(0));
    assert_eq!(place.state(&short), "succeeded");
    for id in [long.as_str(), &deaf, &after] {
        let job = place.json(&["jobs", "show", id]);
        assert_eq!((job["state"].as_str(), job["attempt"].as_u64()), (Some("queued"), Some(0)));
        assert_eq!(job["errors"].as_array().map(Vec::len), Some(0), "{job}");
    }
    assert_eq!(pier.runs.of(&long)[0].why.as_deref(), Some("stop"));
    assert!(pier.runs.of(&after).is_empty(), "it leases nothing more");
    let nodes = place.json(&["nodes", "list"]);
    assert_eq!(nodes["nodes"].as_array().map(Vec::len), Some(1), "the server's own: {nodes}");
}

pub fn a_second_signal_gives_back_at_once(place: Place, tools: &Tools) {
    let pier = Pier::open(&place, tools);
    let worker = pier.worker(&[("GRACE", "60")]);
    let id = pier.running(&["deaf", "--payload", r#"{"ms": 20000}"#]);
    worker.signal("TERM");
    std::thread::sleep(Duration::from_millis(300));
    worker.signal("INT");
    let began = Instant::now();
    let _ = worker.ended();
    assert!(began.elapsed() < Duration::from_secs(10), "it does not wait for the run");
    let job = place.json(&["jobs", "show", &id]);
    assert_eq!((job["state"].as_str(), job["attempt"].as_u64()), (Some("queued"), Some(0)));
}

pub fn a_cancel_reaches_a_run_within_a_second(place: Place, tools: &Tools) {
    let pier = Pier::open(&place, tools);
    let _worker = pier.worker(&[]);
    let id = pier.running(&["hold"]);
    // The heartbeat that is to hear of it waits at the server by now.
    std::thread::sleep(Duration::from_millis(600));
    let asked = place.run(&["jobs", "cancel", &id]);
    assert_eq!(asked.code, 0, "{asked:?}");
    let at = since_1970();
    pier.until_state(&id, "cancelled");
    let run = &pier.runs.of(&id)[0];
    assert_eq!(run.why.as_deref(), Some("cancel"));
    let late = run.over.expect("it was told") - at;
    assert!(late < 1.0, "told after {late:.2} s");
}

pub fn a_run_over_its_timeout_fails_and_its_late_return_is_dropped(place: Place, tools: &Tools) {
    let pier = Pier::open(&place, tools);
    let worker = pier.worker(&[]);
    let flags = ["deaf", "--payload", r#"{"ms": 2000}"#, "--timeout", "500ms"];
    let id = pier.running(&[&flags[..], &["--max-attempts", "1"]].concat());
    pier.until_state(&id, "dead");
    assert!(pier.runs.of(&id)[0].over.is_none(), "its handler goes on");
    place.until("it returns", || pier.runs.over() == 1);
    place.until("that is dropped", || said(&worker).contains("returned after its end (timeout)"));
    let job = place.json(&["jobs", "show", &id]);
    assert_eq!((job["state"].as_str(), job["output"].is_null()), (Some("dead"), true));
    assert_eq!(job["errors"][0]["message"], "ran longer than its timeout of 500ms");
    assert_eq!(job["errors"].as_array().map(Vec::len), Some(1));
}

pub fn a_killed_workers_jobs_are_run_by_another(place: Place, tools: &Tools) {
    let pier = Pier::open(&place, tools);
    let first = pier.worker(&[("LEASE", "5")]);
    let flags = ["deaf", "--payload", r#"{"ms": 2500}"#];
    let ids = [pier.running(&flags), pier.running(&flags)];
    let killed_at = since_1970();
    first.signal("KILL");
    assert_eq!(first.ended(), None);
    let _second = pier.worker(&[("LEASE", "5")]);
    for id in &ids {
        pier.until_state(id, "succeeded");
        let job = place.json(&["jobs", "show", id]);
        assert_eq!((job["attempt"].as_u64(), job["output"].as_str()), (Some(2), Some("late")));
        assert_eq!(job["errors"][0]["kind"], "node_lost");
        let runs = pier.runs.of(id);
        assert_eq!(runs.len(), 2, "{runs:?}");
        assert_ne!(runs[0].pid, runs[1].pid);
        // Its last heartbeat was at most a third of the lease before that.
        let later = runs[1].began - killed_at;
        assert!(later > 3.0, "another began after {later:.1} s, while the lease went on");
    }
}

/// A laptop that was shut: the process stands still, its lease ends, another runs the job; then it wakes up in the
/// middle of its run.
pub fn a_worker_that_slept_past_its_lease_hands_in_nothing(place: Place, tools: &Tools) {
    let pier = Pier::open(&place, tools);
    let sleeper = pier.worker(&[("LEASE", "5"), ("SLOTS", "1")]);
    let id = pier.running(&["deaf", "--payload", r#"{"ms": 1500}"#]);
    sleeper.signal("STOP");
    let other = pier.worker(&[("LEASE", "5")]);
    pier.until_state(&id, "succeeded");
    let before = place.json(&["jobs", "show", &id]);
    sleeper.signal("CONT");
    place.until("it has woken up", || said(&sleeper).matches("joined as node").count() == 2);
    place.until("its run is over", || pier.runs.over() == 2);
    assert!(said(&sleeper).contains("is lost: 1 jobs are dropped"), "{}", said(&sleeper));
    assert_eq!(place.json(&["jobs", "show", &id]), before, "nothing has come of it");
    let runs = pier.runs.of(&id);
    assert_eq!(runs.iter().map(|run| run.attempt).collect::<Vec<_>>(), [1, 2]);
    // It works on, under another name.
    other.signal("TERM");
    assert_eq!(other.ended(), Some(0));
    let next = place.enqueue(&["count", "--payload", r#"{"ms": 1}"#]);
    pier.until_state(&next, "succeeded");
}

/// Between worker and server the answers of the first ends, and of the first lease that has jobs, are lost.
pub fn a_completion_whose_answer_was_lost_is_written_once(place: Place, tools: &Tools) {
    let pier = Pier::open(&place, tools);
    let (ends, jobs) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let door = Fake::before(pier.address(), move |_, passed: Passed| {
        let (end, lease) = (passed.asked.contains("/end "), passed.asked.contains("/lease "));
        let answer = passed.on();
        let with_jobs = lease && String::from_utf8_lossy(&answer).contains(r#""kind":"count""#);
        let loses = end && ends.fetch_add(1, Ordering::SeqCst) < 2
            || with_jobs && jobs.fetch_add(1, Ordering::SeqCst) == 0;
        if loses { Vec::new() } else { answer }
    });
    let _worker = pier.worker(&[("LONGSHORE_URL", &door.url())]);
    let id = place.enqueue(&["count", "--payload", r#"{"ms": 10, "n": 12345678901234567890}"#]);
    pier.until_state(&id, "succeeded");
    let next = place.enqueue(&["count", "--payload", r#"{"ms": 1}"#]);
    pier.until_state(&next, "succeeded");
    let job = place.json(&["jobs", "show", &id]);
    assert_eq!(
        (job["attempt"].as_u64(), job["output"]["n"].to_string()),
        (Some(1), "12345678901234567890".into())
    );
    assert_eq!(pier.runs.of(&id).len(), 1, "it ran once");
}

pub fn its_suite_passes_against_a_real_server(place: Place, tools: &Tools) {
    let pier = Pier::open(&place, tools);
    let mut live = tools.live();
    live.env("LONGSHORE_TEST_URL", pier.url()).env("LONGSHORE_TEST_TOKEN", &pier.token);
    pass(&mut live);
}

pub fn the_example_of_its_readme_runs(place: Place, tools: &Tools) {
    let (example, readme) = tools.readme();
    assert!(readme.contains(&format!("\n{example}```")), "the README shows another example");
    let pier = Pier::open(&place, tools);
    let run = |args: &[&str]| {
        let mut command = tools.example();
        command.args(args).env("LONGSHORE_URL", pier.url()).env("LONGSHORE_TOKEN", &pier.token);
        command
    };
    let worker = Server::start(run(&["work"]));
    let out = pass(&mut run(&["send", "7"]));
    assert!(out.replace('\'', "").contains("{sent: 7}") || out.contains("{ sent: 7 }"), "{out}");
    worker.signal("INT");
    assert_eq!(worker.ended(), Some(0));
}
