//! `jobs`: list, show, cancel, retry.

use crate::harness::{Place, both};

both!(pages_and_filters, cancel_and_retry, a_stored_text_cannot_drive_the_terminal,);

fn pages_and_filters(place: Place) {
    let place = place.migrated();
    let ids: Vec<String> = (0..5).map(|_| place.enqueue(&["noop"])).collect();
    let other = place.enqueue(&["sleep", "--in", "1h", "--queue", "slow"]);

    let mut seen = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let mut args = vec!["jobs", "list", "--kind", "noop", "--limit", "2"];
        args.extend(after.as_deref().map(|cursor| ["--after", cursor]).iter().flatten());
        let page = place.json(&args);
        seen.extend(
            page["jobs"]
                .as_array()
                .unwrap()
                .iter()
                .map(|job| job["id"].as_str().unwrap().to_owned()),
        );
        match page["next"].as_str() {
            Some(next) => after = Some(next.to_owned()),
            None => break,
        }
    }
    assert_eq!(seen, ids.into_iter().rev().collect::<Vec<_>>());

    for filter in [["--state", "scheduled"], ["--queue", "slow"], ["--kind", "sleep"]] {
        let page = place.json(&[&["jobs", "list"][..], &filter[..]].concat());
        assert_eq!(page["jobs"].as_array().unwrap().len(), 1, "{filter:?}");
        assert_eq!(page["jobs"][0]["id"], *other);
    }
    let table = place.run(&["jobs", "list"]).out;
    assert!(
        table.starts_with("ID ") && table.contains(" scheduled ") && table.contains("in 59 min"),
        "{table}"
    );
    let wrong = place.run(&["jobs", "list", "--state", "done"]);
    assert_eq!(wrong.code, 2, "{wrong:?}");
}

fn cancel_and_retry(place: Place) {
    let place = place.migrated();
    let id = place.enqueue(&["noop", "--in", "1h"]);
    let cancel = ["jobs", "cancel", &id, "--why", "not needed", "--by", "ann"];
    assert_eq!(place.json(&cancel)["state"], "cancelled");
    assert_eq!(place.json(&["jobs", "show", &id])["cancel"]["by"], "ann");
    let again = place.run(&["jobs", "cancel", &id]);
    assert_eq!(again.code, 4, "{again:?}");

    assert_eq!(place.json(&["jobs", "retry", &id, "--attempts", "3"])["jobs"][0]["retried"], true);
    assert_eq!(place.state(&id), "queued");

    let absent = "019364bb-3f3c-7c6e-8f6a-3d2f1b7c9e10";
    let both = place.run(&["jobs", "retry", absent, &id]);
    assert_eq!(both.code, 3, "{both:?}");
    assert!(both.err.contains(&format!("no job has id {absent}")), "{both:?}");
    assert_eq!(place.run(&["jobs", "show", absent]).code, 3);
}

fn a_stored_text_cannot_drive_the_terminal(place: Place) {
    let place = place.migrated();
    let id = place.enqueue(&["k", "--payload", "\"\u{202e}\u{9b}31m\"", "--in", "1h"]);
    let why = "\u{1b}[2J";
    assert_eq!(place.run(&["jobs", "cancel", &id, "--why", why]).code, 0);
    let shown = place.run(&["jobs", "show", &id]).out;
    assert!(shown.contains("\\u{202e}\\u{9b}31m") && shown.contains("\\u{1b}[2J"), "{shown}");
    assert!(!shown.chars().any(|c| c.is_control() && c != '\n'), "{shown:?}");
}
