//! `queues`, `kinds`, `nodes`: what waits, what is paused, who runs it.

use crate::harness::{Place, both};

both!(
    a_queue_is_paused_resumed_and_emptied,
    a_kind_is_shown_and_paused;
    behind a server, too:
    a_node_is_made_quiet_and_stopped,
);

fn a_queue_is_paused_resumed_and_emptied(place: Place) {
    let place = place.migrated();
    place.enqueue(&["noop", "--queue", "mail"]);
    place.enqueue(&["noop", "--queue", "mail", "--in", "1h"]);
    let said = place.run(&[
        "queues",
        "pause",
        "mail",
        "--why",
        "it is night",
        "--by",
        "ada",
        "--for",
        "1h",
    ]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.out.starts_with("queue mail is paused until "), "{said:?}");
    let list = place.json(&["queues", "list"]);
    let queue = &list["queues"][0];
    assert_eq!((&queue["name"], &queue["depth"]), (&"mail".into(), &1.into()));
    assert_eq!(
        (&queue["paused"]["by"], &queue["paused"]["why"]),
        (&"ada".into(), &"it is night".into())
    );
    let table = place.run(&["queues", "list"]).out;
    assert!(table.contains("by ada, until in ") && table.contains(": it is night"), "{table}");

    // Served by a node, it still waits.
    let server = place.serve(&["--queue", "mail=1", "--queue", "default=1"]);
    let other = place.enqueue(&["noop"]);
    place.until("the other queue is served", || place.state(&other) == "succeeded");
    assert_eq!(place.json(&["queues", "list"])["queues"][1]["running"], 0);
    assert_eq!(place.json(&["jobs", "count", "--queue", "mail"])["count"], 2);
    assert_eq!(place.run(&["queues", "resume", "mail"]).out, "queue mail goes on\n");
    assert_eq!(place.run(&["queues", "resume", "mail"]).out, "queue mail was not paused\n");
    place.until("what waited has run", || {
        place.json(&["jobs", "count", "--queue", "mail", "--state", "succeeded"])["count"] == 1
    });
    drop(server);

    let asked = place.run(&["queues", "empty", "mail"]);
    assert_eq!((asked.code, asked.out.as_str()), (0, "1 jobs wait; with --yes they are deleted\n"));
    assert_eq!(place.json(&["queues", "empty", "mail"])["would_remove"], 1);
    assert_eq!(place.json(&["queues", "empty", "mail", "--yes"])["removed"], 1);
    assert_eq!(place.run(&["queues", "empty", "mail", "--yes"]).out, "0 jobs are gone\n");
    for wrong in [
        &["queues", "pause", ""][..],
        &["queues", "pause", "mail", "--for", "0s"],
        &["queues", "pause", "mail", "--until", "1999-01-01T00:00:00Z"],
        &["queues", "pause", "mail", "--until", "9999-01-01T00:00:00Z", "--for", "1h"],
        &["queues", "empty", " mail", "--yes"],
    ] {
        let said = place.run(wrong);
        assert_eq!(said.code, 2, "{wrong:?}: {said:?}");
    }
    let trace = place.run(&["audit", "tail", "--json"]).out;
    for action in ["queues.pause", "queues.resume", "queues.empty"] {
        assert!(trace.contains(action), "{trace}");
    }
}

fn a_kind_is_shown_and_paused(place: Place) {
    let place = place.migrated();
    let server = place.serve(&[]);
    place.until("kinds are told of", || {
        !place.json(&["kinds", "list"])["kinds"].as_array().expect("a list").is_empty()
    });
    let table = place.run(&["kinds", "list"]).out;
    assert!(table.contains("noop") && table.contains("resize_image"), "{table}");
    assert_eq!(place.json(&["kinds", "show", "noop"])["nodes"], 1);
    assert_eq!(place.run(&["kinds", "show", "none"]).code, 3);
    // Built-in kinds say what their payloads look like.
    for (kind, field) in [("exec", "argv"), ("sleep", "seconds"), ("resize_image", "quality")] {
        let shown = place.json(&["kinds", "show", kind]);
        let property = &shown["schema"]["properties"][field];
        assert!(property["description"].is_string(), "{shown}");
        assert!(place.run(&["kinds", "show", kind]).out.contains(&format!("\"{field}\":")));
    }

    assert_eq!(place.run(&["kinds", "pause", "noop", "--why", "later"]).code, 0);
    let waits = place.enqueue(&["noop"]);
    let runs = place.enqueue(&["sleep", "--payload", "{\"seconds\": 0}"]);
    place.until("another kind runs", || place.state(&runs) == "succeeded");
    assert_eq!(place.state(&waits), "queued");
    assert!(place.run(&["kinds", "show", "noop"]).out.contains(": later"));
    assert_eq!(place.run(&["kinds", "resume", "noop"]).out, "kind noop goes on\n");
    place.until("it runs", || place.state(&waits) == "succeeded");
    drop(server);
}

fn a_node_is_made_quiet_and_stopped(place: Place) {
    let place = place.migrated();
    let server = place.serve(&[]);
    let node = || place.json(&["nodes", "list"])["nodes"][0].clone();
    place.until("it is there", || node()["id"].is_string());
    let id = node()["id"].as_str().expect("an id").to_owned();
    let runs = place.enqueue(&["sleep", "--payload", "{\"seconds\": 1}"]);
    place.until("it runs", || place.state(&runs) == "running");

    assert_eq!(place.run(&["nodes", "quiet", &id]).code, 0);
    place.until("it is quiet", || node()["state"] == "quiet");
    let waits = place.enqueue(&["noop"]);
    place.until("what ran has ended", || place.state(&runs) == "succeeded");
    assert_eq!(place.state(&waits), "queued");
    assert!(place.run(&["nodes", "list"]).out.contains("quiet"));
    assert_eq!(place.run(&["nodes", "resume", &id]).code, 0);
    place.until("it serves", || place.state(&waits) == "succeeded");

    assert_eq!(place.run(&["nodes", "stop", &id]).code, 0);
    assert_eq!(server.ended(), Some(0), "it stops by itself");
    let gone = place.run(&["nodes", "stop", &id]);
    assert_eq!(gone.code, 3, "{gone:?}");
    assert!(gone.err.contains("no live node has id"), "{gone:?}");
    assert_eq!(place.run(&["nodes", "stop", "one"]).code, 2);
}
