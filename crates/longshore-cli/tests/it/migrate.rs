//! `migrate`: up, status, sql.

use crate::harness::{Place, both};

both!(up_brings_the_schema_there_once,);

fn up_brings_the_schema_there_once(place: Place) {
    let before = place.run(&["migrate", "status"]);
    assert_eq!(before.code, 4, "{before:?}");
    assert!(before.out.contains("missing"), "{before:?}");

    assert!(place.run(&["migrate", "up"]).out.contains("applied migration 1"));
    assert!(place.run(&["migrate", "up"]).out.contains("up to date"));

    let status = place.json(&["migrate", "status"]);
    assert_eq!(status["version"], status["needed"]);
    assert_eq!(status["migrations"][0]["applied"], true);
}

#[test]
fn sql_prints_and_touches_nothing() {
    let place = Place::empty();
    let said = place.run(&["migrate", "sql"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.out.contains("CREATE TABLE longshore_job"), "{}", said.out);
    assert!(!place.path().join("longshore.db").exists());
}
