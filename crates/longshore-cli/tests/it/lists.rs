//! Queries on the command line: `jobs list`, `count`, `watch` and `export`.

use serde_json::Value;

use crate::harness::{Place, Server, both};

both!(
    a_query_picks_jobs;
    behind a server, too:
    a_wrong_query_is_underlined,
    pages_go_forward_and_back,
    a_rare_job_is_found_over_short_pages,
    watching_a_job_ends_with_it,
    watching_a_query_goes_on_until_it_is_told_to_end,
    an_export_keeps_every_digit,
    an_export_as_csv_reads_back,
);

fn listed(place: &Place, query: &[&str]) -> Vec<String> {
    let page = place.json(&[&["jobs", "list"], query].concat());
    let jobs = page["jobs"].as_array().expect("a list").clone();
    jobs.iter().map(|job| job["id"].as_str().expect("an id").to_owned()).collect()
}

fn a_query_picks_jobs(place: Place) {
    let place = place.migrated();
    let send = place.enqueue(&["email.send", "--queue", "mail", "--tag", "a b", "--in", "1h"]);
    let sent = place.enqueue(&["email.sent", "--queue", "mail"]);
    let other = place.enqueue(&["noop", "--priority", "1"]);

    assert_eq!(listed(&place, &["kind:email.*"]), [&*sent, &*send]);
    assert_eq!(listed(&place, &["kind:email.*", "due:>now"]), [&*send]);
    assert_eq!(listed(&place, &["queue:mail -kind:*.sent"]), [&*send]);
    // Behind `--`, where no flag is meant any more.
    let rest = place.run(&["jobs", "list", "--", "-queue:mail"]).out;
    assert!(rest.contains(&other) && !rest.contains(&send), "{rest}");
    assert_eq!(listed(&place, &["tag:\"a b\""]), [&*send]);
    assert_eq!(listed(&place, &["kind:e*", "--state", "queued", "--state", "dead"]), [&*sent]);
    assert_eq!(listed(&place, &["created:<-1h"]), [""; 0]);

    let count = |query: &[&str]| place.run(&[&["jobs", "count"], query].concat());
    assert_eq!(count(&["queue:mail"]).out, "2\n");
    assert_eq!(count(&["--exact"]).out, "3\n");
    let json = place.json(&["jobs", "count", "priority:1"]);
    assert_eq!((&json["count"], &json["relation"]), (&Value::from(1), &Value::from("eq")));
}

fn a_wrong_query_is_underlined(place: Place) {
    let place = place.migrated();
    for command in [&["jobs", "list"][..], &["jobs", "count"], &["jobs", "watch"]] {
        let said = place.run(&[command, &["state:ded", "kind:x"]].concat());
        assert_eq!((said.code, &*said.out), (2, ""), "{said:?}");
        let lines =
            "  state:ded kind:x\n        ^^^ no state is called `ded`; did you mean `dead`?\n";
        assert!(said.err.ends_with(lines), "{}", said.err);
    }
    let hidden = place.run(&["jobs", "list", "kind:a\u{1b}[2J"]);
    assert!(hidden.code == 2 && !hidden.err.contains('\u{1b}'), "{hidden:?}");
}

fn pages_go_forward_and_back(place: Place) {
    let place = place.migrated();
    let mut ids: Vec<String> = (0..5).map(|_| place.enqueue(&["noop"])).collect();
    ids.reverse();
    let page = |args: &[&str]| place.json(&[&["jobs", "list", "--limit", "2"], args].concat());
    let ids_of = |page: &Value| -> Vec<String> {
        let jobs = page["jobs"].as_array().expect("a list");
        jobs.iter().map(|job| job["id"].as_str().expect("an id").to_owned()).collect()
    };
    let first = page(&[]);
    assert!(first["prev"].is_null());
    let second = page(&["--after", first["next"].as_str().expect("more")]);
    assert_eq!(ids_of(&second), ids[2..4]);
    let back = page(&["--before", second["prev"].as_str().expect("a way back")]);
    assert_eq!((ids_of(&back), back["prev"].is_null()), (ids[..2].to_vec(), true));

    let foreign =
        place.run(&["jobs", "list", "kind:x", "--after", first["next"].as_str().unwrap()]);
    assert_eq!(foreign.code, 2, "{foreign:?}");
    assert!(foreign.err.contains("belongs to another query"), "{foreign:?}");
    assert_eq!(place.run(&["jobs", "list", "--after", "x"]).code, 2);
    let said = place.run(&["jobs", "list", "--limit", "2"]);
    assert!(said.err.starts_with("more: --after a"), "{said:?}");
}

/// A page looks at 5,000 rows; the rare ones lie two pages apart.
fn a_rare_job_is_found_over_short_pages(place: Place) {
    let place = place.migrated();
    let oldest = place.enqueue(&["rare"]);
    let lines = "{}\n".repeat(10_500);
    let many = || {
        let said = place.run_with(&["enqueue", "common", "--lines", "-"], lines.as_bytes());
        assert_eq!(said.code, 0, "{said:?}");
    };
    many();
    let newest = place.enqueue(&["rare"]);
    many();

    let page = place.json(&["jobs", "list", "kind:rare"]);
    let ids: Vec<&str> = page["jobs"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|job| job["id"].as_str().expect("an id"))
        .collect();
    assert_eq!(ids, [&*newest, &*oldest]);
    assert!(page["next"].is_null() && page["looked"].as_u64() >= Some(21_000), "{page}");

    // Full with the first, far from the end; and from its cursor to the other.
    let first = place.json(&["jobs", "list", "kind:rare", "--limit", "1"]);
    assert_eq!(first["jobs"][0]["id"], *newest);
    assert!(first["looked"].as_u64() < Some(21_000), "{first}");
    let said = place.run(&["jobs", "list", "kind:rare", "--limit", "1"]);
    assert!(said.out.contains(&newest) && !said.out.contains(&oldest), "{said:?}");
    let cursor = said.err.trim().strip_prefix("more: --after ").expect("a cursor");
    let said = place.run(&["jobs", "list", "kind:rare", "--after", cursor]);
    assert!(said.out.contains(&oldest) && !said.out.contains(&newest), "{said:?}");
    assert_eq!((said.code, &*said.err), (0, ""), "that was the end");
    // Back again, over the same short pages.
    let back = place.json(&["jobs", "list", "kind:rare", "--limit", "1", "--before", cursor]);
    assert_eq!(back["jobs"][0]["id"], *newest);
}

fn watching_a_query_goes_on_until_it_is_told_to_end(place: Place) {
    let place = place.migrated();
    for (signal, flag) in [("INT", None), ("TERM", Some("--json"))] {
        let query = ["jobs", "watch", "kind:noop", "state:queued,succeeded", "--every", "20ms"];
        let args: Vec<&str> = query.into_iter().chain(flag).collect();
        let watch = Server::start(place.command(&args));
        let id = place.enqueue(&["noop"]);
        let other = place.enqueue(&["other"]);
        let states = || -> Vec<String> {
            let lines = watch.out();
            let jobs = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
            let ours = jobs.filter(|job| job["id"] == *id);
            ours.map(|job| job["state"].as_str().expect("a state").to_owned()).collect()
        };
        place.until("the job's line appears", || states() == ["queued"]);
        {
            let _server = place.serve(&[]);
            place.until("its change appears", || states() == ["queued", "succeeded"]);
        }
        assert!(!watch.out().contains(&other), "another kind");
        watch.signal(signal);
        assert_eq!((watch.log().as_str(), watch.ended()), ("", Some(0)));
    }
}

fn watching_a_job_ends_with_it(place: Place) {
    let place = place.migrated();
    let good = place.enqueue(&["noop"]);
    let bad = place.enqueue(&["fail", "--max-attempts", "1"]);
    let _server = place.serve(&[]);
    let said = place.run(&["jobs", "watch", &good, "--every", "20ms"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.out.lines().last().is_some_and(|line| line.contains("succeeded")), "{said:?}");
    let said = place.run(&["jobs", "watch", &bad, "--every", "20ms", "--json"]);
    assert_eq!(said.code, 8, "{said:?}");
    let last: Value = serde_json::from_str(said.out.lines().last().expect("a line")).expect("JSON");
    assert_eq!(last["state"], "dead");
    assert_eq!(place.run(&["jobs", "watch", "019364bb-3f3c-7c6e-8f6a-3d2f1b7c9e10"]).code, 3);
}

fn an_export_keeps_every_digit(place: Place) {
    let place = place.migrated();
    let exact = "{\"n\": 12345678901234567890.10,\n \"e\": 1e400, \"n\": 9007199254740993}";
    let id = place.enqueue(&["k", "--payload", exact]);
    let large = format!("\"{}\"", "x".repeat(500_000));
    place.write("large", &large);
    place.enqueue(&["k", "--payload", "@large"]);
    let said = place.run(&["jobs", "export", "--format", "jsonl"]);
    let lines: Vec<&str> = said.out.lines().collect();
    assert_eq!((said.code, lines.len()), (0, 2));
    assert!(lines[0].contains(&large), "a large payload comes whole");
    assert!(lines[1].contains(&id) && lines[1].contains(&exact.replace('\n', " ")), "{}", lines[1]);
    let one = place.run(&["jobs", "export", "--format", "jsonl", &format!("id:{id}"), "-o", "out"]);
    assert_eq!((one.code, &*one.out, &*one.err), (0, "", "1 jobs\n"));
    let file = std::fs::read_to_string(place.path().join("out")).expect("the file");
    assert_eq!(file.lines().count(), 1);
    let again = place.run(&["jobs", "export", "--format", "jsonl", "-o", "out"]);
    assert_eq!(again.code, 2, "{again:?}");
}

fn an_export_as_csv_reads_back(place: Place) {
    let place = place.migrated();
    let payload = "{\"a\": \"=1+1\",\n \"b\": \"say \\\"hi\\\"\"}";
    let id = place.enqueue(&["=cmd,\"x\"", "--payload", payload, "--tag", "a,b"]);
    let said = place.run(&["jobs", "export", "--format", "csv"]);
    let mut reader = csv::Reader::from_reader(said.out.as_bytes());
    let header = reader.headers().expect("a header").clone();
    let row = reader.records().next().expect("a row").expect("of as many cells");
    let cell = |name| &row[header.iter().position(|column| column == name).expect("a column")];
    assert_eq!((cell("id"), cell("kind"), cell("payload")), (&*id, "=cmd,\"x\"", payload));
    assert_eq!(cell("tags"), "[\"a,b\"]");
}

#[test]
fn looking_makes_no_file() {
    let place = Place::empty();
    for args in [
        &["jobs", "list"][..],
        &["jobs", "count"],
        &["jobs", "export", "--format", "csv"],
        &["jobs", "watch"],
        &["jobs", "cancel", "019364bb-3f3c-7c6e-8f6a-3d2f1b7c9e10"],
        &["nodes", "list"],
    ] {
        let said = place.run(args);
        assert_eq!(said.code, 6, "{said:?}");
        assert!(said.err.contains("no database at longshore.db"), "{said:?}");
    }
    assert!(!place.path().join("longshore.db").exists());
}
