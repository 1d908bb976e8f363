//! `enqueue`: what goes in, and how `--wait` ends.

use crate::harness::{Place, both};

both!(
    a_program_runs_if_the_operator_allowed_it,
    a_process_is_asked_many_times_and_ends_with_its_node,
    a_text_is_summarised,
    a_model_that_is_away_gives_way_at_the_last_attempt;
    behind a server, too:
    everything_said_is_stored,
    a_payload_comes_from_a_file_or_from_stdin,
    wait_exits_by_the_outcome,
    wait_says_when_nobody_runs_the_kind,
    a_unique_job_is_enqueued_once,
    many_jobs_come_in_lines,
    a_wrong_line_is_named_and_the_rest_can_go_on,
    lines_have_limits,
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

    // All its options have defaults, so it needs no payload.
    let plain = place.run(&["enqueue", "fail", "--max-attempts", "1", "--wait"]);
    assert_eq!(plain.code, 8, "{plain:?}");
    assert!(plain.err.contains("error: asked to fail"), "{plain:?}");

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

fn a_program_runs_if_the_operator_allowed_it(place: Place) {
    let place = place.migrated();
    place.write("longshore.toml", "[kinds]\nexec_programs = \"/bin/echo, /bin/sleep\"\n");
    let _server = place.serve(&[]);
    let payload = |argv: &str| format!(r#"{{"argv": {argv}}}"#);
    let run = |argv: &str| {
        place.run(&[
            "enqueue",
            "exec",
            "--payload",
            &payload(argv),
            "--wait",
            "--max-attempts",
            "1",
        ])
    };
    let echoed = run(r#"["/bin/echo", "a  b", "$HOME"]"#);
    assert_eq!(echoed.code, 0, "{echoed:?}");
    assert!(echoed.out.contains(r#""stdout":"a  b $HOME""#), "{echoed:?}");
    let refused = run(r#"["/bin/cat", "/etc/passwd"]"#);
    assert_eq!(refused.code, 8, "{refused:?}");
    assert!(refused.err.contains("a program that the operator did not allow"), "{refused:?}");

    let id = place.enqueue(&["exec", "--payload", &payload(r#"["/bin/sleep", "60"]"#)]);
    place.until("it runs", || place.state(&id) == "running");
    assert_eq!(place.run(&["jobs", "cancel", &id]).code, 0);
    place.until("it is cancelled", || place.state(&id) == "cancelled");
}

fn a_process_is_asked_many_times_and_ends_with_its_node(place: Place) {
    let place = place.migrated();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../longshore-kinds/tests/it/pools/child.py");
    place.write(
        "longshore.toml",
        format!("[kinds.pools.p]\nargv = ['/usr/bin/env', 'python3', '{script}']\nsize = 1\n"),
    );
    let server = place.serve(&[]);
    let ask = |what: &str| {
        let payload = format!(r#"{{"pool": "p", "payload": {what}}}"#);
        let id = place.enqueue(&["process_pool", "--payload", &payload]);
        let end = || ["succeeded", "dead"].contains(&&*place.state(&id));
        place.until("it ends", end);
        place.json(&["jobs", "show", &id])
    };
    let first = ask(r#"{"do": "echo", "value": 7}"#);
    assert_eq!((&first["output"]["got"], &first["output"]["asked"]), (&7.into(), &1.into()));
    let logged = ask(r#"{"do": "log"}"#);
    let id = logged["id"].as_str().unwrap();
    let log = place.run(&["jobs", "logs", id]).out;
    assert!(log.contains("on stderr") && log.contains("three"), "{log}");
    let dead = ask(r#"{"do": "error", "words": "never", "retry": false}"#);
    assert_eq!((&dead["state"], &dead["attempt"]), (&"dead".into(), &1.into()));
    let again = ask(r#"{"do": "stubborn"}"#);
    assert_eq!(again["output"], first["output"]["pid"]);
    // It heeds no SIGTERM, and still does not outlive its node.
    server.signal("TERM");
    assert_eq!(server.ended(), Some(0));
    let pid = again["output"].to_string();
    place.until("the process is gone", || !std::path::Path::new("/proc").join(&pid).exists());
}

#[test]
fn pools_that_make_no_sense_are_refused_by_their_names() {
    let place = Place::empty().migrated();
    for (toml, sentence) in [
        ("argv = ['cat']", "kinds.pools.p.argv begins with `cat`; write the whole path"),
        ("argv = ['/bin/cat']\nsize = 0", "kinds.pools.p.size is 0, it must be from 1 to 1000"),
        ("argv = ['/bin/cat']\nzise = 2", "unknown field: found `zise`"),
    ] {
        place.write("longshore.toml", format!("[kinds.pools.p]\n{toml}"));
        let said = place.run(&["serve"]);
        assert!(said.code != 0 && said.err.contains(sentence), "{toml}: {said:?}");
    }
}

fn a_model_that_is_away_gives_way_at_the_last_attempt(place: Place) {
    let place = place.migrated();
    place.write(
        "longshore.toml",
        "[kinds]\nsummary_url = 'http://127.0.0.1:1/v1'\nsummary_model = 'small'\nsummary_key = 'sk-98765'",
    );
    let _server = place.serve(&[]);
    let payload =
        r#"{"text": "Rain fell on the roof. The roof let the rain in. He ate.", "max_words": 6}"#;
    let id = place.enqueue(&[
        "summarize_text",
        "--payload",
        payload,
        "--max-attempts",
        "2",
        "--backoff",
        "fixed:100ms",
    ]);
    place.until("it is done", || place.state(&id) == "succeeded");
    let job = place.json(&["jobs", "show", &id]);
    assert_eq!((&job["attempt"], &job["output"]["method"]), (&2.into(), &"extractive".into()));
    let why = job["output"]["fallback"].as_str().unwrap();
    assert!(why.starts_with("the model's endpoint cannot be reached: "), "{why}");
}

fn a_text_is_summarised(place: Place) {
    let place = place.migrated();
    let _server = place.serve(&[]);
    let payload =
        r#"{"text": "Rain fell on the roof. The roof let the rain in. He ate.", "max_words": 6}"#;
    let made = place.run(&["enqueue", "summarize_text", "--payload", payload, "--wait", "--json"]);
    assert_eq!(made.code, 0, "{made:?}");
    assert!(made.out.contains(r#""summary":"The roof let the rain in.""#), "{made:?}");

    let payload = r#"{"text": "x", "max_words": 0}"#;
    let refused = place.run(&["enqueue", "summarize_text", "--payload", payload, "--wait"]);
    assert_eq!(refused.code, 8, "{refused:?}");
    assert!(refused.err.contains("`max_words` is 0, it must be from 1 to 10000"), "{refused:?}");
}

fn wait_says_when_nobody_runs_the_kind(place: Place) {
    let place = place.migrated();
    let _server = place.serve(&["-q", "other=1"]);
    let said = place.run(&["enqueue", "noop", "--wait", "--timeout-wait", "3s"]);
    assert_eq!(said.code, 7, "{said:?}");
    assert!(said.err.contains("no live node runs kind `noop` of queue `default`"), "{said:?}");
}

fn a_unique_job_is_enqueued_once(place: Place) {
    let place = place.migrated();
    let first = place.enqueue(&["k", "--unique-key", "order-7", "--in", "1h"]);
    let again = place.run(&["enqueue", "k", "--unique-key", "order-7"]);
    assert_eq!((again.code, again.out.trim()), (0, first.as_str()));
    assert!(again.err.contains("holds the unique key; nothing was added"), "{again:?}");

    let refused =
        place.run(&["enqueue", "k", "--unique-key", "order-7", "--on-conflict", "refuse"]);
    assert_eq!(refused.code, 4, "{refused:?}");
    let says = format!("unique key `order-7` is held by job {first}");
    assert!(refused.err.contains(&says), "{refused:?}");

    let replace = ["enqueue", "k", "--unique-key", "order-7", "--on-conflict", "replace"];
    let replaced = place.json(&[&replace[..], &["--payload", "[2]"]].concat());
    assert_eq!((&replaced["id"], &replaced["replaced"]), (&first.as_str().into(), &true.into()));
    let job = place.json(&["jobs", "show", &first]);
    assert_eq!((&job["payload"][0], &job["unique_key"]), (&2.into(), &"order-7".into()));

    let daily = ["k", "--payload", "[3]", "--unique-within", "36500d"];
    assert_eq!(place.enqueue(&daily), place.enqueue(&daily), "by payload");
    let once = ["k", "--payload", "[3]", "--unique-for-good"];
    assert_eq!(place.enqueue(&once), place.enqueue(&once));
}

fn many_jobs_come_in_lines(place: Place) {
    let place = place.migrated();
    let id = "019364bb-3f3c-7c6e-8f6a-3d2f1b7c9e10";
    let mut lines = String::new();
    lines += "{\"payload\": {\"n\": 12345678901234567890123, \"z\":1e400}}\n\n";
    lines += &format!(
        "{{\"kind\": \"other\", \"id\": \"{id}\", \"queue\": \"q\", \"priority\": 0, \"tags\": [\"a\"], \"meta\": {{\"m\": 1}}, \"max_attempts\": 2, \"timeout\": \"none\", \"retain\": \"1d\", \"run_at\": \"2100-01-01T00:00:00Z\", \"unique_key\": \"u\"}}\n"
    );
    for _ in 0..6_000 {
        lines += "{\"payload\": 1}\n";
    }
    lines += "{\"kind\": \"other\", \"unique_key\": \"u\"}";
    let said = place.run_with(
        &["enqueue", "noop", "--lines", "-", "--queue", "bulk", "--json"],
        lines.as_bytes(),
    );
    assert_eq!(said.code, 0, "{said:?}");
    let counts: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(counts, serde_json::json!({ "added": 6_002, "duplicates": 1, "replaced": 0 }));

    let job = place.json(&["jobs", "show", id]);
    assert_eq!(
        (&job["kind"], &job["queue"], &job["priority"]),
        (&"other".into(), &"q".into(), &0.into())
    );
    assert_eq!((&job["max_attempts"], &job["retain_ms"]), (&2.into(), &86_400_000.into()));
    assert_eq!((&job["tags"][0], &job["meta"]["m"]), (&"a".into(), &1.into()));
    assert!(job["timeout_ms"].is_null());

    place.write("two.jsonl", "{\"payload\": {\"a\": 1e400}}\n{}\n");
    let ids = place.run(&["enqueue", "noop", "--lines", "two.jsonl", "--ids"]).out;
    assert_eq!(ids.lines().count(), 2);
    let first = ids.lines().next().unwrap();
    assert!(place.run(&["jobs", "show", first, "--json"]).out.contains("{\"a\": 1e400}"));
}

fn a_wrong_line_is_named_and_the_rest_can_go_on(place: Place) {
    let place = place.migrated();
    let good = "{\"payload\": 1}\n".repeat(5_000);
    for (wrong, says) in [
        ("{\"priority\": 12}", "line 5001: priority is 12; it may be 0 to 9"),
        (
            "{\"kind\": \"a\\u0000\"}",
            "line 5001: kind `a\\u{0}` has the character U+0000 at byte 1",
        ),
        ("{\"quue\": \"q\"}", "line 5001: unknown field `quue`"),
        ("{", "line 5001: EOF"),
        ("{\"timeout\": \"5\"}", "line 5001: `5` is no span of time"),
    ] {
        place.write("jobs.jsonl", format!("{good}{wrong}\n{{}}\n"));
        let lines = ["enqueue", "noop", "--lines", "jobs.jsonl"];
        let said = place.run(&lines);
        assert_eq!(said.code, 2, "{said:?}");
        assert!(said.err.contains(says), "{says}: {said:?}");
        assert!(said.err.contains("5000 lines are done; go on with --from-line 5001"), "{said:?}");
        place.write("jobs.jsonl", format!("{good}{{}}\n{{}}\n"));
        let rest = place.json(&[&lines[..], &["--from-line", "5001"]].concat());
        assert_eq!(rest["added"], 2);
    }
    let held = "{\"kind\": \"k\", \"unique_key\": \"u\", \"on_conflict\": \"refuse\"}\n".repeat(2);
    let said = place.run_with(&["enqueue", "--lines", "-"], held.as_bytes());
    assert_eq!(said.code, 4, "{said:?}");
    assert!(said.err.contains("line 2: unique key `u` is held by job"), "{said:?}");
    assert!(said.err.contains("0 lines are done"), "{said:?}");
}

fn lines_have_limits(place: Place) {
    let place = place.migrated();
    let long = format!("{{\"payload\": \"{}\"}}", "x".repeat(2_000_000));
    let said = place.run_with(&["enqueue", "k", "--lines", "-"], long.as_bytes());
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.err.contains("line 1: it has more than"), "{said:?}");
    let said = place.run_with(&["enqueue", "k", "--lines", "-"], b"{\"queue\": \"\xff\"}");
    assert!(said.err.contains("line 1: it is not UTF-8"), "{said:?}");
    let said = place.run_with(&["enqueue", "--lines", "-"], b"{}");
    assert!(said.err.contains("line 1: it names no kind"), "{said:?}");
    assert_eq!(place.run(&["enqueue"]).code, 2);
    assert_eq!(place.run(&["enqueue", "k", "--lines", "absent"]).code, 2);
}
