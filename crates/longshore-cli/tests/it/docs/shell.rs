//! The commands of the documents, run in their order on a fresh database, one for each page.

use crate::harness::{Place, Server};

use super::{pages, words};

/// Stands in documents for the database; here it is the test's.
const ADDRESS: &str = "postgres://app@localhost/shop";

/// What is not run here, and where it is.
const ELSEWHERE: [&str; 2] = [
    "longshore bench",             // bench.rs
    "longshore jobs watch state:", // lists.rs
];

#[test]
fn the_commands_of_the_pages_work_on_sqlite() {
    let run: usize = pages().iter().map(|(page, text)| run_all(page, text, Place::empty())).sum();
    assert!(run > 50, "only {run} commands were found");
}

#[test]
fn the_commands_of_the_pages_work_on_postgresql() {
    for (page, text) in pages() {
        let Some(place) = Place::on_postgres() else { return };
        run_all(&page, &text, place);
    }
}

fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let begins = format!("```{language}\n");
    let rest: Vec<&str> = text.split(&*begins).skip(1).collect();
    rest.into_iter().filter_map(|rest| rest.split("```").next()).collect()
}

/// Answers how many commands it ran.
fn run_all(page: &str, text: &str, place: Place) -> usize {
    let place = place.migrated();
    let jsonl = blocks(text, "json").concat();
    // Five thousand lines before them, for a page that goes on behind those.
    let many = "{\"payload\": 1}\n".repeat(5_000) + &jsonl;
    place.write("jobs.jsonl", &many);
    place.write("payload.json", "{\"seconds\": 0}");
    let mut run = 0;
    for line in blocks(text, "sh").into_iter().flat_map(str::lines) {
        if !line.starts_with("longshore ") || ELSEWHERE.iter().any(|other| line.starts_with(other))
        {
            continue;
        }
        run += 1;
        let id = if line.contains("\"$id\"") { job_for(&place, line) } else { String::new() };
        let line = line.replace("$id", &id);
        let line = line.replace(&format!(" --database {ADDRESS}"), "");
        let words = words(&line);
        let args: Vec<&str> = words[1..].iter().map(String::as_str).collect();
        let goes_on = match args.as_slice() {
            ["serve", ..] => Some("joined"),
            ["dev"] => Some("Ctrl-C stops"),
            _ => None,
        };
        if let Some(word) = goes_on {
            let server = Server::start(place.command(&args));
            server.until_log(word);
            server.signal("INT");
            assert_eq!(server.ended(), Some(0), "{page}: `{line}`");
            continue;
        }
        let waits = line.contains("--wait") || line.contains("jobs watch");
        let _server = waits.then(|| place.serve(&[]));
        if args.len() == 3 && args[..2] == ["jobs", "edit"] {
            // jobs.rs, with an editor that edits.
            continue;
        }
        let said = place.run_with(&args, jsonl.as_bytes());
        assert_eq!(said.code, 0, "{page}: `{line}`: {}", said.err);
    }
    run
}

/// A job, or an operation, that the line can be about.
fn job_for(place: &Place, line: &str) -> String {
    if line.contains(" operations ") {
        let start = ["operations", "start", "cancel", "--matching", "kind:nightly", "--no-wait"];
        return place.run(&start).out.trim().to_owned();
    }
    if line.contains("jobs watch") {
        return place.enqueue(&["noop"]);
    }
    let id = place.enqueue(&["send_receipt", "--in", "1h"]);
    if line.contains("--if-version 3") {
        while place.json(&["jobs", "show", &id])["version"].as_u64() < Some(3) {
            assert_eq!(place.run(&["jobs", "edit", &id, "--priority", "1"]).code, 0);
        }
    }
    id
}
