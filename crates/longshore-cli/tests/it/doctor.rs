//! `doctor`, run as a person would.

use crate::harness::{Place, both};

both!(a_sound_database_is_well, a_running_job_has_its_node);

fn check(answer: &serde_json::Value, name: &str) -> serde_json::Value {
    let checks = answer["checks"].as_array().expect("a list");
    checks.iter().find(|check| check["name"] == name).expect("the check is there").clone()
}

fn a_sound_database_is_well(place: Place) {
    let before = place.run(&["doctor"]);
    assert_eq!(before.code, 1, "there is no schema: {before:?}");

    let place = place.migrated();
    let answer = place.json(&["doctor"]);
    assert_eq!(answer["ok"], true);
    assert_eq!(check(&answer, "schema")["verdict"], "ok");
    assert_eq!(check(&answer, "nodes")["verdict"], "warn", "nobody serves");
    let said = place.run(&["doctor", "--quick"]);
    assert_eq!(said.code, 0, "a warning is no failure: {said:?}");
    assert!(said.out.contains("run `longshore serve`"), "{}", said.out);
}

fn a_running_job_has_its_node(place: Place) {
    let place = place.migrated();
    let server = place.serve(&["--queue", "default=1"]);
    place.enqueue(&["sleep", "--payload", "{\"seconds\": 60}"]);
    place.until("it runs", || place.json(&["nodes", "list"])["nodes"][0]["running"] == 1);
    let answer = place.json(&["doctor"]);
    assert_eq!(check(&answer, "orphans")["verdict"], "ok");
    assert_eq!(check(&answer, "nodes")["detail"], "1 live");
    drop(server);
}

#[test]
fn no_file_and_no_password() {
    let place = Place::empty();
    let said = place.run(&["doctor", "--json"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.out.contains("no database at longshore.db"), "{}", said.out);
    assert!(!place.path().join("longshore.db").exists(), "it only looks");

    let url = "postgres://u:secret@127.0.0.1:1/x";
    let said = place.run(&["doctor", "--database", url]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.out.contains("postgres://u@127.0.0.1:1/x"), "{}", said.out);
    assert!(!said.out.contains("secret") && !said.err.contains("secret"), "{said:?}");

    assert_eq!(place.run(&["doctor", "--database", "mysql:x"]).code, 2);
}

#[test]
fn a_file_that_is_no_database_fails() {
    let place = Place::empty();
    place.write("longshore.db", vec![7; 8_192]);
    let said = place.run(&["doctor"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.out.contains("not a database"), "{}", said.out);
}
