//! `bench`: each job once, nothing left behind, and never beside somebody's jobs.

use serde_json::Value;

use crate::harness::{Place, both};

both!(bench_runs_each_job_once_and_leaves_nothing, bench_refuses_a_database_with_other_jobs);

fn bench_runs_each_job_once_and_leaves_nothing(place: Place) {
    let line = place.json(&["bench", "--jobs", "1000", "--yardstick", "900"]);
    let peer = line["peer"].as_str().expect("a peer");
    assert!(matches!(peer, "longshore-sqlite" | "longshore-postgres"), "{line}");
    assert_eq!((&line["lost"], &line["duplicates"]), (&0.into(), &0.into()), "{line}");
    assert_eq!((&line["jobs"], &line["yardstick_tps"]), (&1000.into(), &900.0.into()));
    for figure in ["insert_one_per_s", "insert_bulk_per_s", "drain_per_s", "drain_floor_per_s"] {
        assert!(line[figure].as_f64() > Some(0.0), "{figure}: {line}");
    }
    assert_eq!(place.json(&["jobs", "list"])["jobs"], Value::Array(vec![]));
    assert_eq!(place.json(&["nodes", "list"])["nodes"], Value::Array(vec![]));
}

fn bench_refuses_a_database_with_other_jobs(place: Place) {
    let place = place.migrated();
    let id = place.enqueue(&["noop"]);
    let said = place.run(&["bench", "--jobs", "1000"]);
    assert_eq!(said.code, 4, "{said:?}");
    assert!(said.err.contains("1 jobs that are not the benchmark's"), "{said:?}");
    assert_eq!(place.state(&id), "queued");
}
