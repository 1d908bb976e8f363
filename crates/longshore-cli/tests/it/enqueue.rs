//! `enqueue`: what goes in, and how `--wait` ends.

use crate::harness::{Place, both};

both!(
    everything_said_is_stored,
    a_payload_comes_from_a_file_or_from_stdin,
    wait_exits_by_the_outcome,
    wait_says_when_nobody_runs_the_kind,
);

fn everything_said_is_stored(place: Place) {
    let place = place.migrated();
    let id = "019364bb-3f3c-7c6e-8f6a-3d2f1b7c9e10";
    let args = [
        "k",
        "--payload",
        "{\"n\": 12345678901234567890123}",
        "--queue",
        "q/ä",
        "--priority",
        "0",
        "--at",
        "2100-01-01T00:00:00+01:00",
        "--max-attempts",
        "3",
        "--timeout",
        "none",
        "--tag",
        "a",
        "--tag",
        "b",
        "--id",
        id,
    ];
    assert_eq!(place.enqueue(&args), id);
    let shown = place.run(&["jobs", "show", id, "--json"]).out;
    assert!(shown.contains("{\"n\": 12345678901234567890123}"), "{shown}");
    let job: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(job["run_at"], "2099-12-31T23:00:00.000000Z");
    assert_eq!((&job["state"], &job["queue"]), (&"scheduled".into(), &"q/ä".into()));
    assert_eq!((&job["priority"], &job["max_attempts"]), (&0.into(), &3.into()));
    assert!(job["timeout_ms"].is_null());
    assert_eq!(job["tags"], serde_json::json!(["a", "b"]));

    let again = place.run(&["enqueue", "k", "--id", id]);
    assert_eq!((again.code, again.out.trim()), (0, id));
    assert!(again.err.contains("nothing was added"), "{again:?}");
}

fn a_payload_comes_from_a_file_or_from_stdin(place: Place) {
    let place = place.migrated();
    place.write("p.json", "{\"from\": \"file\"}");
    let id = place.enqueue(&["k", "--payload", "@p.json"]);
    assert_eq!(place.json(&["jobs", "show", &id])["payload"]["from"], "file");
    let said =
        place.run_with(&["enqueue", "k", "--payload", "-", "--json"], b"{\"from\": \"stdin\"}");
    let added: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(added["duplicate"], false);
    let id = added["id"].as_str().unwrap();
    assert_eq!(place.json(&["jobs", "show", id])["payload"]["from"], "stdin");
}

fn wait_exits_by_the_outcome(place: Place) {
    let place = place.migrated();
    let _server = place.serve(&[]);
    let dead = place.run(&[
        "enqueue",
        "fail",
        "--payload",
        r#"{"message": "no \u001b[31m", "dead": true}"#,
        "--wait",
    ]);
    assert_eq!(dead.code, 8, "{dead:?}");
    assert!(dead.err.contains("error: no \\u{1b}[31m"), "{dead:?}");

    let panic = r#"{"message": "oh", "panic": true}"#;
    let panic = ["enqueue", "fail", "--payload", panic, "--max-attempts", "1", "--wait"];
    let panic = place.run(&panic);
    assert_eq!(panic.code, 8, "{panic:?}");
    assert!(panic.err.contains("panic: oh"), "{panic:?}");

    let late = [
        "enqueue",
        "sleep",
        "--payload",
        r#"{"seconds": 60}"#,
        "--wait",
        "--timeout-wait",
        "300ms",
    ];
    let late = place.run(&late);
    assert_eq!(late.code, 7, "{late:?}");

    let id = late.out.trim();
    assert_eq!(place.run(&["jobs", "cancel", id, "--why", "enough"]).code, 0);
    place.until("it is cancelled", || place.state(id) == "cancelled");
    assert_eq!(place.json(&["jobs", "show", id])["cancel"]["why"], "enough");
}

fn wait_says_when_nobody_runs_the_kind(place: Place) {
    let place = place.migrated();
    let _server = place.serve(&["-q", "other=1"]);
    let said = place.run(&["enqueue", "noop", "--wait", "--timeout-wait", "3s"]);
    assert_eq!(said.code, 7, "{said:?}");
    assert!(said.err.contains("no live node runs kind `noop` of queue `default`"), "{said:?}");
}
