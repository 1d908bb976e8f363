//! Rules of retention and prunes through a server, in the name of the token.

use serde_json::Value;

use super::{through, token};
use crate::harness::{Place, both};

both!(rules_are_set_and_a_prune_goes_to_its_end, others_than_admins_only_look);

fn rules_are_set_and_a_prune_goes_to_its_end(place: Place) {
    let place = place.migrated();
    let admin = token(&place, "admin");
    let server = place.serve(&["--listen", "127.0.0.1:0", "--queue", "idle=1"]);
    let url = format!("http://{}", server.address());
    let there = |args: &[&str]| {
        let said = through(&place, &url, &admin, args);
        assert_eq!(said.code, 0, "{args:?}: {said:?}");
        said.out
    };
    let json = |args: &[&str]| -> Value {
        serde_json::from_str(&there(&[args, &["--json"]].concat())).unwrap()
    };
    let set = ["retention", "set", "90d", "--state", "dead", "--queue", "a&b"];
    assert_eq!(there(&set), "");
    assert_eq!(there(&["retention", "set", "0s", "--kind", "gone"]), "");
    let rules = place.json(&["retention", "list"])["rules"].clone();
    let rule = serde_json::json!(
        {"state": "dead", "queue": "a&b", "kind": null, "keep_ms": 7_776_000_000_u64}
    );
    assert_eq!(rules[1], rule, "{rules}");
    for _ in 0..3 {
        let id = there(&["enqueue", "gone"]);
        there(&["jobs", "cancel", id.trim()]);
    }
    // The server's node leads and prunes by itself, too: together they take all that there was.
    let pruned = json(&["prune"]);
    assert_eq!((&pruned["more"], &pruned["dry_run"]), (&false.into(), &false.into()), "{pruned}");
    assert_eq!(place.json(&["jobs", "count", "kind:gone"])["count"], 0);
    for was_there in [true, false] {
        let removed = json(&["retention", "remove", "--state", "dead", "--queue", "a&b"]);
        assert_eq!(removed["removed"], was_there);
    }

    let log = place.run(&["audit", "tail", "-n", "100", "--json"]).out;
    let entries = || log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    for action in ["retention.set", "retention.remove", "jobs.prune"] {
        let by_token = entries().any(|one| one["action"] == action && one["actor"] == "admin");
        assert!(by_token, "{action}: {log}");
    }
}

fn others_than_admins_only_look(place: Place) {
    let place = place.migrated();
    let operator = token(&place, "operator");
    let server = place.serve(&["--listen", "127.0.0.1:0", "--queue", "idle=1"]);
    let url = format!("http://{}", server.address());
    let there = |args: &[&str]| through(&place, &url, &operator, args);
    assert_eq!(there(&["retention", "list"]).code, 0);
    for (args, right) in [
        (&["retention", "set", "1d"][..], "retention:edit"),
        (&["retention", "remove"], "retention:edit"),
        (&["prune", "--dry-run"], "jobs:prune"),
    ] {
        let said = there(args);
        assert_eq!(said.code, 5, "{said:?}");
        assert!(said.err.contains(right), "{said:?}");
    }
}
