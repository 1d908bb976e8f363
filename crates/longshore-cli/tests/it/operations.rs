//! `operations`, and `jobs … --matching`: with a node and without, waited for or left to the nodes.

use crate::harness::{Place, Server, both};

both!(
    an_operation_is_done_where_no_node_is,
    a_node_does_what_nobody_waits_for;
    behind a server, too:
    an_operation_is_steered,
    ctrl_c_ends_the_waiting_and_not_the_operation,
    what_cannot_be_meant_is_refused,
    running_jobs_are_asked_to_stop,
);

fn parked(place: &Place, count: usize) {
    let lines = "{\"kind\": \"parked\", \"run_in\": \"1h\"}\n".repeat(count);
    let said = place.run_with(&["enqueue", "parked", "--lines", "-"], lines.as_bytes());
    assert_eq!(said.code, 0, "{said:?}");
}

fn count(place: &Place, query: &str) -> u64 {
    place.json(&["jobs", "count", query])["count"].as_u64().expect("a number")
}

fn an_operation_is_done_where_no_node_is(place: Place) {
    let place = place.migrated();
    parked(&place, 1_200);
    let start = ["operations", "start", "priority", "--priority", "1", "--matching", "kind:parked"];
    let dry = place.run(&[&start[..], &["--dry-run"]].concat());
    assert_eq!(dry.code, 0, "{dry:?}");
    assert!(
        dry.out.starts_with("1,200 match\nID ") && dry.out.lines().count() == 12,
        "{}",
        dry.out
    );
    assert_eq!(count(&place, "priority:1"), 0);
    let done = place.run(&[&start[..], &["--why", "a test"]].concat());
    assert_eq!((done.code, done.out.trim()), (0, "1,200 changed"), "{done:?}");
    assert_eq!(count(&place, "priority:1"), 1_200);

    let all = place.json(&["operations", "list"]);
    let row = &all["operations"][0];
    assert_eq!((&row["state"], &row["done"]), (&"succeeded".into(), &1_200.into()));
    assert!(row["by"].as_str().unwrap().starts_with("cli:"));
    let shown = place.run(&["operations", "show", row["id"].as_str().unwrap()]).out;
    for fact in ["priority {\"priority\":1}", "kind:parked", "a test", "succeeded"] {
        assert!(shown.contains(fact), "{fact}: {shown}");
    }
    let table = place.run(&["operations", "list"]).out;
    assert!(table.starts_with("ID ") && table.contains(" succeeded ") && table.contains("1,200"));
    let trail = place.run(&["audit", "tail"]).out;
    assert!(trail.contains("operations.start") && trail.contains("because a test"), "{trail}");
}

fn a_node_does_what_nobody_waits_for(place: Place) {
    let place = place.migrated();
    parked(&place, 700);
    let start = ["operations", "start", "move", "--queue", "q", "--matching", "kind:parked"];
    let said = place.run(&[&start[..], &["--no-wait"]].concat());
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.err.contains("no node is live"), "{}", said.err);
    let id = said.out.trim();
    let _node = place.serve(&[]);
    place.until("the node has done it", || {
        place.json(&["operations", "show", id])["state"] == "succeeded"
    });
    assert_eq!(count(&place, "queue:q"), 700);
    // With a node, whoever waits only looks.
    let gone = place.run(&["jobs", "delete", "--matching", "kind:parked", "--yes"]);
    assert_eq!((gone.code, gone.out.trim()), (0, "700 deleted"), "{gone:?}");
}

fn an_operation_is_steered(place: Place) {
    let place = place.migrated();
    parked(&place, 3);
    let id =
        place.run(&["operations", "start", "cancel", "--matching", "kind:parked", "--no-wait"]).out;
    let id = id.trim();
    let said = place.run(&["operations", "pause", id]);
    assert_eq!((said.code, said.out.trim()), (0, &*format!("{id} is paused; 0 done")));
    assert_eq!(place.json(&["operations", "show", id])["state"], "paused");
    assert_eq!(place.run(&["operations", "resume", id]).code, 0);
    let done = place.run(&["operations", "wait", id]);
    assert_eq!((done.code, done.out.trim()), (0, "3 cancelled, or asked to stop"));
    let refused = place.run(&["operations", "cancel", id]);
    assert_eq!(refused.code, 4, "{refused:?}");
    assert!(refused.err.contains("is succeeded, so it cannot be cancelled"), "{}", refused.err);
    let unknown = "019364bb-3f3c-7c6e-8f6a-3d2f1b7c9e10";
    assert_eq!(place.run(&["operations", "show", unknown]).code, 3);

    let id =
        place.run(&["operations", "start", "retry", "--matching", "kind:parked", "--no-wait"]).out;
    assert_eq!(place.run(&["operations", "cancel", id.trim()]).code, 0);
    assert_eq!(place.run(&["operations", "wait", id.trim()]).code, 4);
    assert_eq!(count(&place, "state:cancelled"), 3);
}

fn ctrl_c_ends_the_waiting_and_not_the_operation(place: Place) {
    let place = place.migrated();
    parked(&place, 3);
    let id =
        place.run(&["operations", "start", "delete", "--matching", "kind:parked", "--no-wait"]).out;
    let id = id.trim();
    assert_eq!(place.run(&["operations", "pause", id]).code, 0);
    let waiter = Server::start(place.command(&["operations", "wait", id]));
    place.until("it says that it waits", || waiter.log().contains("is paused"));
    waiter.signal("INT");
    waiter.until_log("goes on with the nodes");
    assert_eq!(waiter.ended(), Some(0));
    assert_eq!(place.json(&["operations", "show", id])["state"], "paused");
    assert_eq!(place.run(&["operations", "resume", id]).code, 0);
    assert_eq!(place.run(&["operations", "wait", id]).out.trim(), "3 deleted");
}

fn what_cannot_be_meant_is_refused(place: Place) {
    let place = place.migrated();
    for (args, words) in [
        (&["delete"][..], "--matching"),
        (&["delete", "--matching", ""], "every job there is"),
        (&["delete", "--matching", "colour:red"], "the query cannot be read"),
        (&["priority", "--matching", "kind:a"], "priority is missing"),
        (&["priority", "--priority", "10", "--matching", "kind:a"], "it may be 0 to 9"),
        (&["retry", "--queue", "q", "--matching", "kind:a"], "belongs to the action `move`"),
        (&["fly", "--matching", "kind:a"], "possible values: retry, cancel"),
    ] {
        let said = place.run(&[&["operations", "start"], args].concat());
        assert_eq!(said.code, 2, "{args:?}: {said:?}");
        assert!(said.err.contains(words), "{args:?}: {}", said.err);
    }
    assert_eq!(place.json(&["operations", "list"])["operations"], serde_json::json!([]));
}

fn running_jobs_are_asked_to_stop(place: Place) {
    let place = place.migrated();
    let _node = place.serve(&[]);
    let id = place.enqueue(&["sleep", "--payload", r#"{"seconds": 60}"#]);
    place.until("it runs", || place.state(&id) == "running");
    let asked = place.run(&["jobs", "cancel", "--matching", "kind:sleep"]);
    assert!(asked.out.starts_with("1 match; with --yes they are cancelled"), "{asked:?}");
    let said =
        place.run(&["jobs", "cancel", "--matching", "kind:sleep", "--yes", "--why", "no need"]);
    assert_eq!((said.code, said.out.trim()), (0, "1 cancelled, or asked to stop"), "{said:?}");
    place.until("it ends", || place.state(&id) == "cancelled");
    assert_eq!(place.json(&["jobs", "show", &id])["cancel"]["why"], "no need");
}
