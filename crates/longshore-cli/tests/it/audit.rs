//! `audit tail`, and what leaves a trace on the command line.

use crate::harness::{Place, Server, both};

both!(changes_on_the_command_line_leave_a_trace, the_log_is_followed);

fn changes_on_the_command_line_leave_a_trace(place: Place) {
    let place = place.migrated();
    let id = place.enqueue(&["noop"]);
    assert_eq!(place.run(&["jobs", "list"]).code, 0);
    assert_eq!(place.run(&["jobs", "cancel", &id, "--why", "a slip"]).code, 0);
    assert_eq!(place.run(&["jobs", "run-now", &id]).code, 4);
    assert_eq!(place.run(&["jobs", "delete", "--matching", "kind:noop"]).code, 0);
    assert_eq!(place.run(&["jobs", "delete", "--matching", "kind:noop", "--yes"]).code, 0);
    assert_eq!(place.run(&["retention", "set", "3d", "--queue", "mail"]).code, 0);
    let secret = place.run(&["token", "create", "ci", "--role", "viewer"]).out;
    assert_eq!(place.run(&["token", "revoke", secret.trim()]).code, 2);

    let said = place.run(&["audit", "tail", "--json"]);
    assert_eq!(said.code, 0, "{said:?}");
    let entries: Vec<serde_json::Value> =
        said.out.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let told: Vec<_> = entries
        .iter()
        .map(|entry| (entry["action"].as_str().unwrap(), entry["status"].as_u64().unwrap()))
        .collect();
    assert_eq!(
        told,
        [
            ("jobs.cancel", 200),
            ("jobs.run_now", 409),
            ("jobs.delete", 200),
            ("retention.set", 200),
            ("tokens.create", 200),
        ]
    );
    assert_eq!((&entries[0]["target"], &entries[0]["why"]), (&id.into(), &"a slip".into()));
    assert!(entries.iter().all(|entry| entry["actor"].as_str().unwrap().starts_with("cli:")));
    assert_eq!(entries[3]["target"], "queue:mail");

    let shown = place.run(&["audit", "tail", "--action", "jobs.cancel"]).out;
    assert!(shown.contains("because a slip") && shown.lines().count() == 1, "{shown}");
    assert_eq!(place.run(&["audit", "tail", "--actor", "eve"]).out, "");
    assert!(!said.out.contains(&secret.trim()[10..]));
}

fn the_log_is_followed(place: Place) {
    let place = place.migrated();
    let follower = Server::start(place.command(&["audit", "tail", "-f"]));
    for n in 1..=3 {
        let unit = format!("{n}d");
        assert_eq!(place.run(&["retention", "set", &unit, "--kind", &unit]).code, 0);
        place.until("it is told", || follower.out().contains(&format!("kind:{unit}")));
    }
    follower.signal("TERM");
    assert_eq!(follower.ended(), Some(0));
}
