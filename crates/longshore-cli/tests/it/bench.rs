//! `bench`: each job once, nothing left behind, and never beside somebody's jobs.

use longshore::bench::SCENARIOS;
use serde_json::Value;

use crate::harness::{Place, Server, both};

both!(
    bench_runs_each_job_once_and_leaves_nothing,
    bench_refuses_a_database_with_other_jobs,
    enqueue_is_measured,
    drain_is_measured,
    processes_are_measured,
    mixed_is_measured,
    pickup_is_measured,
    storm_is_measured,
    backlog_is_measured,
    pinned_is_measured,
    start_is_measured,
    idle_is_measured,
    wal_is_measured,
    what_a_run_left_behind_is_deleted_by_the_next,
    processes_end_with_the_one_that_started_them,
);

/// Runs a scenario and looks at what holds for all of them; answers its figures.
fn measured(place: &Place, scenario: &str, options: &[&str]) -> Vec<Value> {
    let line = place.json(&[&["bench", scenario], options].concat());
    assert_eq!(line["scenario"], *scenario);
    assert!(matches!(line["backend"].as_str(), Some("sqlite" | "postgres")), "{line}");
    assert_eq!((&line["lost"], &line["duplicates"]), (&0.into(), &0.into()), "{line}");
    for what in ["what", "unit"] {
        let figures = line["figures"].as_array().expect("figures");
        assert!(figures.iter().all(|one| one[what].as_str().is_some_and(|text| !text.is_empty())));
    }
    assert_left_nothing(place);
    line["figures"].as_array().expect("figures").clone()
}

fn assert_left_nothing(place: &Place) {
    assert_eq!(place.json(&["jobs", "list"])["jobs"], Value::Array(vec![]));
    assert_eq!(place.json(&["nodes", "list"])["nodes"], Value::Array(vec![]));
}

/// Each row has a figure, a floor and what they make together, all above zero.
fn assert_beside_floors(figures: &[Value], rows: usize) {
    assert_eq!(figures.len(), rows, "{figures:#?}");
    for row in figures {
        let [figure, floor, ratio] =
            ["figure", "floor", "ratio"].map(|field| row[field].as_f64().expect("a number"));
        assert!(figure > 0.0 && floor > 0.0 && ratio > 0.0, "{row}");
        assert!((ratio - figure / floor).abs() < 0.01 * ratio.max(1.0), "{row}");
    }
}

fn figure(figures: &[Value], what: &str) -> f64 {
    let row = figures.iter().find(|one| one["what"] == *what);
    let row = row.unwrap_or_else(|| panic!("no row `{what}`: {figures:#?}"));
    row["figure"].as_f64().unwrap_or_else(|| panic!("no number: {row}"))
}

fn enqueue_is_measured(place: Place) {
    // Only PostgreSQL has plain COPY.
    let rows = if place.is_on_postgres() { 6 } else { 5 };
    assert_beside_floors(&measured(&place, "enqueue", &["--jobs", "200"]), rows);
}

fn drain_is_measured(place: Place) {
    assert_beside_floors(&measured(&place, "drain", &["--jobs", "300"]), 7);
}

fn processes_are_measured(place: Place) {
    let figures = measured(&place, "processes", &["--jobs", "2000", "--processes", "3"]);
    assert_beside_floors(&figures, 2);
    assert_eq!([&figures[0]["what"], &figures[1]["what"]], ["1 process", "2 processes"]);
}

fn mixed_is_measured(place: Place) {
    let figures = measured(&place, "mixed", &["--for", "500ms"]);
    assert_beside_floors(&figures[..2], 2);
    let waits = ["p50", "p99", "longest"]
        .map(|part| figure(&figures, &format!("enqueue called to start, {part}")));
    assert!(0.0 < waits[0] && waits.is_sorted(), "{waits:?}");
    assert!(figure(&figures, "left when the callers end") >= 0.0);
}

fn pickup_is_measured(place: Place) {
    let figures = measured(&place, "pickup", &["--jobs", "1000", "--for", "200ms"]);
    for what in ["idle", "beside half of what it drains", "idle, in another process"] {
        // A handler may start before the enqueue has returned.
        let waits =
            ["p50", "p99", "longest"].map(|part| figure(&figures, &format!("{what}, {part}")));
        assert!(waits.is_sorted() && waits[2] < 10_000.0, "{what}: {waits:?}");
    }
    assert!(figure(&figures, "the jobs beside it") > 0.0);
    assert!(figures[0]["floor"].as_f64() > Some(0.0), "{figures:#?}");
}

fn storm_is_measured(place: Place) {
    let figures = measured(&place, "storm", &["--jobs", "500"]);
    assert_beside_floors(&figures[..2], 2);
    // Nobody starts before it is due.
    assert!(figure(&figures, "from the instant to the first start") > 0.0);
    assert!(figure(&figures, "longest time in which none ended") > 0.0);
}

fn backlog_is_measured(place: Place) {
    let figures = measured(&place, "backlog", &["--jobs", "200", "--most", "1000"]);
    assert_beside_floors(&figures, 2);
    assert_eq!(figures[0]["what"], "enqueue by the list, 1000 waiting");
}

fn pinned_is_measured(place: Place) {
    let figures = measured(&place, "pinned", &["--for", "500ms"]);
    assert_eq!(figures.len(), 11);
    assert!(figures.iter().any(|row| row["figure"].as_f64() > Some(0.0)), "{figures:#?}");
    assert!(figures.iter().any(|row| row["floor"].as_f64() > Some(0.0)), "{figures:#?}");
}

fn start_is_measured(place: Place) {
    assert_beside_floors(&measured(&place, "start", &["--jobs", "1000"]), 2);
}

fn idle_is_measured(place: Place) {
    let figures = measured(&place, "idle", &["--for", "500ms"]);
    assert_eq!(figures.len(), 3);
    if cfg!(target_os = "linux") {
        assert!(figure(&figures, "processor") >= 0.0);
        let memory = figure(&figures, "resident memory, the benchmark's own included");
        assert!((1.0..10_000.0).contains(&memory), "{memory}");
    }
}

fn wal_is_measured(place: Place) {
    let figures = measured(&place, "wal", &["--jobs", "200", "--for", "500ms"]);
    assert_eq!(figures.len(), 7);
    if place.is_on_postgres() {
        assert_beside_floors(&figures[..6], 6);
        assert!(figure(&figures, "dead row versions after a steady load") >= 0.0);
    } else {
        assert!(figures.iter().all(|row| row["figure"].is_null()), "{figures:#?}");
    }
}

fn what_a_run_left_behind_is_deleted_by_the_next(place: Place) {
    let place = place.migrated();
    // As a run does that was killed: payloads aside, and keys.
    let large = format!("{{\"text\": \"{:x<9000}\"}}", "");
    place.enqueue(&["bench.noop", "--unique-key", "bench 7", "--payload", &large]);
    assert_beside_floors(&measured(&place, "start", &["--jobs", "100"]), 2);
    let again = place.enqueue(&["bench.noop", "--unique-key", "bench 7"]);
    assert_eq!(place.json(&["jobs", "show", &again])["payload"], Value::Null, "the key was free");
}

fn processes_end_with_the_one_that_started_them(place: Place) {
    let place = place.migrated();
    let args = ["bench", "processes", "--processes", "1", "--jobs", "10000"];
    let bench = Server::start(place.command(&args));
    let named = || -> Vec<Value> {
        let nodes = place.json(&["nodes", "list"])["nodes"].as_array().expect("nodes").clone();
        nodes.into_iter().filter(|node| node["name"] == "bench").collect()
    };
    place.until("a process has joined", || !named().is_empty());
    bench.signal("INT");
    assert_eq!(bench.ended(), None);
    place.until("it has left", || named().is_empty());
    // What it left is deleted by the next.
    measured(&place, "start", &["--jobs", "100"]);
}

#[test]
fn some_scenarios_are_a_table_each() {
    let place = Place::empty();
    let said = place.run(&["bench", "start", "backlog", "--jobs", "100", "--most", "200"]);
    assert_eq!(said.code, 0, "{said:?}");
    let heads: Vec<&str> = said.out.lines().filter(|line| line.contains("FLOOR")).collect();
    assert!(heads[0].starts_with("start ") && heads[1].starts_with("backlog "), "{said:?}");
    assert_eq!(said.out.matches("ran twice").count(), 2, "{said:?}");
    assert!(said.err.contains("bench: backlog: 100 jobs more"), "{said:?}");
    let args = ["bench", "backlog", "backlog", "--jobs", "100", "--most", "200", "--json"];
    let lines = place.run(&args).out;
    let names = lines.lines().map(|line| {
        let line: Value = serde_json::from_str(line).expect("JSON on each line");
        line["scenario"].clone()
    });
    assert_eq!(names.collect::<Vec<_>>(), ["backlog", "backlog"]);
}

#[test]
fn a_wrong_scenario_is_refused_with_the_names() {
    let said = Place::empty().run(&["bench", "dain"]);
    assert_eq!(said.code, 2, "{said:?}");
    for one in SCENARIOS {
        assert!(said.err.contains(one.name), "no {}: {said:?}", one.name);
    }
    assert!(said.err.contains("all") && said.err.contains("'drain'"), "{said:?}");
}

#[test]
fn options_that_mean_nothing_are_refused() {
    let place = Place::empty();
    for args in [
        ["bench", "--for", "5s"],
        ["bench", "--most", "5"],
        ["bench", "drain", "--pin-snapshot"],
        ["bench", "--processes", "2"],
    ] {
        assert_eq!(place.run(&args).code, 2, "{args:?}");
    }
    assert_eq!(place.run(&["bench", "drain", "--retention", "5s"]).code, 2);
    assert!(!place.path().join("longshore.db").exists(), "it was refused before anything was made");
}

#[test]
fn a_database_in_memory_has_no_other_processes() {
    let place = Place::empty();
    let said = place.run(&["bench", "processes", "--jobs", "10", "--database", "sqlite::memory:"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.err.contains("no other process can open this database"), "{said:?}");
}

/// The page repeats the table, and this holds it to that.
#[test]
fn every_scenario_has_its_row() {
    let path =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/benchmark.md");
    let page = std::fs::read_to_string(path).expect("the page");
    for one in SCENARIOS {
        let row = format!("| `{}` | {} | {} |", one.name, one.measures, one.floor);
        assert!(page.contains(&row), "no row: {row}");
    }
}

fn bench_runs_each_job_once_and_leaves_nothing(place: Place) {
    let line = place.json(&["bench", "--jobs", "1000", "--yardstick", "900"]);
    let peer = line["peer"].as_str().expect("a peer");
    assert!(matches!(peer, "longshore-sqlite" | "longshore-postgres"), "{line}");
    assert_eq!((&line["lost"], &line["duplicates"]), (&0.into(), &0.into()), "{line}");
    assert_eq!((&line["jobs"], &line["yardstick_tps"]), (&1000.into(), &900.0.into()));
    for figure in ["insert_one_per_s", "insert_bulk_per_s", "drain_per_s", "drain_floor_per_s"] {
        assert!(line[figure].as_f64() > Some(0.0), "{figure}: {line}");
    }
    assert_left_nothing(&place);
}

fn bench_refuses_a_database_with_other_jobs(place: Place) {
    let place = place.migrated();
    let id = place.enqueue(&["noop"]);
    let said = place.run(&["bench", "--jobs", "1000"]);
    assert_eq!(said.code, 4, "{said:?}");
    assert!(said.err.contains("1 jobs that are not the benchmark's"), "{said:?}");
    let said = place.run(&["bench", "start", "--jobs", "100"]);
    assert_eq!(said.code, 4, "{said:?}");
    assert_eq!(place.state(&id), "queued");
}
