//! `retention` and `prune`: rules are set and heeded.

use crate::harness::{Place, both};

both!(rules_are_set_listed_and_removed, prune_removes_what_is_past_its_time, a_job_may_say_its_own);

fn rules_are_set_listed_and_removed(place: Place) {
    let place = place.migrated();
    let set = |args: &[&str]| {
        let said = place.run(&[&["retention", "set"], args].concat());
        assert_eq!(said.code, 0, "{said:?}");
    };
    set(&["1h"]);
    set(&["60s", "--state", "cancelled"]);
    set(&["forever", "--kind", "k", "--queue", "q"]);
    set(&["2d"]);
    let rules = place.json(&["retention", "list"])["rules"].clone();
    let expected = serde_json::json!([
        {"state": null, "queue": "q", "kind": "k", "keep_ms": null},
        {"state": "cancelled", "queue": null, "kind": null, "keep_ms": 60_000},
        {"state": null, "queue": null, "kind": null, "keep_ms": 172_800_000},
    ]);
    assert_eq!(rules, expected);
    let table = place.run(&["retention", "list"]).out;
    assert!(table.contains("forever") && table.contains("7d (default)"), "{table}");
    assert_eq!(place.json(&["retention", "remove"])["removed"], true);
    assert_eq!(place.json(&["retention", "remove"])["removed"], false);
    for wrong in [&["5"][..], &["1h", "--state", "running"], &["1h", "--queue", ""], &["900000d"]] {
        let said = place.run(&[&["retention", "set"], wrong].concat());
        assert_eq!(said.code, 2, "{wrong:?}: {said:?}");
    }
}

fn prune_removes_what_is_past_its_time(place: Place) {
    let place = place.migrated();
    let id = place.enqueue(&["k"]);
    let stays = place.enqueue(&["k"]);
    assert_eq!(place.run(&["jobs", "cancel", &id]).code, 0);
    assert_eq!(place.json(&["prune"])["removed"]["cancelled"], 0);
    assert_eq!(place.run(&["retention", "set", "0s"]).code, 0);
    let counted = place.json(&["prune", "--dry-run"]);
    assert_eq!((&counted["removed"]["cancelled"], &counted["dry_run"]), (&1.into(), &true.into()));
    assert_eq!(place.state(&id), "cancelled");
    let said = place.run(&["prune"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.out.contains("removed") && said.out.contains("took"), "{said:?}");
    assert_eq!(place.run(&["jobs", "show", &id]).code, 3);
    assert_eq!(place.state(&stays), "queued");
}

fn a_job_may_say_its_own(place: Place) {
    let place = place.migrated();
    let id = place.enqueue(&["k", "--retain", "90d", "--backoff", "list:1s,10s,1m"]);
    let job = place.json(&["jobs", "show", &id]);
    assert_eq!(job["retain_ms"], 7_776_000_000_u64);
    assert_eq!(job["backoff"]["list"]["delays_ms"], serde_json::json!([1_000, 10_000, 60_000]));
    for wrong in ["list:", "fixed:1", "polynomial:1s,21,1h"] {
        assert_eq!(place.run(&["enqueue", "k", "--backoff", wrong]).code, 2, "{wrong}");
    }
}
