//! `dev`: the first thing that anybody runs.

use std::time::{Duration, Instant};

use crate::harness::{Place, Server};

#[test]
fn dev_once_runs_the_demo_jobs_and_prints_how_they_ended() {
    let place = Place::empty();
    let from = Instant::now();
    let said = place.run(&["dev", "--once"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(from.elapsed() < Duration::from_secs(10), "{:?}", from.elapsed());
    for part in [
        "noop",
        "sleep",
        "resize_image",
        "fails once, then works",
        "dead",
        "600×400 jpeg, 70 KiB → 320×213 webp",
    ] {
        assert!(said.out.contains(part), "no `{part}`: {}", said.out);
    }
    assert!(!said.out.contains('✗'), "{}", said.out);
    assert!(place.path().join("longshore.db").exists());
    assert!(place.path().join("longshore-demo/coffee-small.webp").exists());
}

#[test]
fn dev_goes_on_serving_until_ctrl_c() {
    let place = Place::empty();
    let dev = Server::start(place.command(&["dev"]));
    dev.until_log("Ctrl-C stops");
    assert!(dev.log().contains("longshore enqueue sleep"), "{}", dev.log());
    let said = place.run(&["enqueue", "noop", "--wait"]);
    assert_eq!(said.code, 0, "{said:?}");
    dev.signal("INT");
    assert_eq!(dev.ended(), Some(0));
}

#[test]
fn dev_once_leaves_other_jobs_alone() {
    let place = Place::empty().migrated();
    let id = place.enqueue(&["noop"]);
    assert_eq!(place.run(&["dev", "--once"]).code, 0);
    assert_eq!(place.state(&id), "queued");
}
