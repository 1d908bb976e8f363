//! `serve`: how it starts, stops, and dies.

use crate::harness::{Place, Server, both};

both!(
    a_job_enqueued_elsewhere_runs_and_a_stop_drains,
    a_second_signal_gives_the_running_jobs_back_at_once,
    what_a_killed_server_ran_is_finished_by_the_next,
    a_photo_becomes_small,
    without_migrating_an_empty_database_is_refused,
);

fn a_job_enqueued_elsewhere_runs_and_a_stop_drains(place: Place) {
    let server = place.serve(&["--name", "pier"]);
    let said = place.run(&["enqueue", "noop", "--wait"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.err.contains("succeeded"), "{said:?}");

    let id = place.enqueue(&["sleep", "--payload", r#"{"seconds": 1.5}"#]);
    place.until("it runs", || place.state(&id) == "running");
    let nodes = place.json(&["nodes", "list"]);
    assert_eq!(nodes["nodes"][0]["name"], "pier");
    assert_eq!(nodes["nodes"][0]["running"], 1);
    assert_eq!(nodes["nodes"][0]["live"], true);

    server.signal("TERM");
    server.until_log("stopped after SIGTERM: 1 jobs drained, 0 given back");
    assert_eq!(server.ended(), Some(0));
    assert_eq!(place.state(&id), "succeeded");
    assert_eq!(place.json(&["nodes", "list"])["nodes"].as_array().unwrap().len(), 0);
}

fn a_second_signal_gives_the_running_jobs_back_at_once(place: Place) {
    let server = place.serve(&[]);
    let id = place.enqueue(&["sleep", "--payload", r#"{"seconds": 600}"#]);
    place.until("it runs", || place.state(&id) == "running");
    server.signal("TERM");
    server.until_log("SIGTERM: stopping");
    server.signal("INT");
    server.until_log("0 jobs drained, 1 given back");
    assert_eq!(server.ended(), Some(0));
    let job = place.json(&["jobs", "show", &id]);
    assert_eq!((job["state"].as_str(), job["attempt"].as_u64()), (Some("queued"), Some(0)));
}

fn what_a_killed_server_ran_is_finished_by_the_next(place: Place) {
    let server = place.serve(&["--lease", "2s"]);
    let id = place.enqueue(&["sleep", "--payload", r#"{"seconds": 2}"#]);
    place.until("it runs", || place.state(&id) == "running");
    server.signal("KILL");
    assert_eq!(server.ended(), None);

    let next = place.serve(&["--lease", "2s"]);
    place.until("it ends", || place.state(&id) == "succeeded");
    let job = place.json(&["jobs", "show", &id]);
    assert_eq!(job["attempt"], 2);
    assert_eq!(job["errors"][0]["kind"], "node_lost");
    next.signal("TERM");
    assert_eq!(next.ended(), Some(0));
}

fn a_photo_becomes_small(place: Place) {
    let photo = concat!(env!("CARGO_MANIFEST_DIR"), "/../longshore-kinds/tests/photos/coffee.jpg");
    place.write("photo.jpg", std::fs::read(photo).unwrap());
    let _server = place.serve(&[]);
    let payload = r#"{"source": "photo.jpg", "output": "small.png", "width": 120, "height": 120}"#;
    let said = place.run(&["enqueue", "resize_image", "--payload", payload, "--wait", "--json"]);
    assert_eq!(said.code, 0, "{said:?}");
    let job: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(job["output"]["source"]["width"], 600);
    assert_eq!(
        (&job["output"]["output"]["width"], &job["output"]["output"]["height"]),
        (&120.into(), &80.into())
    );
    assert!(place.path().join("small.png").exists());

    let away = r#"{"source": "../photo.jpg", "output": "small.png", "width": 120, "height": 120}"#;
    let said = place.run(&["enqueue", "resize_image", "--payload", away, "--wait"]);
    assert_eq!(said.code, 8, "{said:?}");
    assert!(said.err.contains("`source` must be a relative path without `..`"), "{said:?}");
}

#[test]
fn a_database_that_is_away_is_waited_for() {
    let place = Place::empty();
    let server = Server::start(place.command(&["serve", "--database", "sqlite:later/jobs.db"]));
    server.until_log("could not open the database");
    std::fs::create_dir(place.path().join("later")).unwrap();
    server.until_log("joined");
    server.signal("TERM");
    assert_eq!(server.ended(), Some(0));

    let server = Server::start(place.command(&["serve", "--database", "sqlite:never/jobs.db"]));
    server.until_log("could not open the database");
    server.signal("TERM");
    assert_eq!(server.ended(), Some(0));
}

fn without_migrating_an_empty_database_is_refused(place: Place) {
    let said = place.run(&["serve", "--no-migrate"]);
    assert_eq!(said.code, 4, "{said:?}");
    assert!(said.err.contains("run `longshore migrate up`"), "{said:?}");
}
