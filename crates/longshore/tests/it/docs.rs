//! What documents repeat from the code must be what the code says.

use std::fs::read_to_string;
use std::path::Path;

use longshore::State;
use longshore::job::Event;
use longshore::job::state::next;

/// A file of the tree, by its path from the workspace's root.
pub(crate) fn file(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the workspace");
    read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn the_readme_shows_the_example() {
    let readme = file("README.md");
    let (_, rest) = readme.split_once("```rust\n").expect("a block of Rust");
    let (shown, _) = rest.split_once("```").expect("its end");
    let example = file("crates/longshore/examples/hello.rs");
    let (_, code) = example.split_once("\n\n").expect("words, an empty line, code");
    assert_eq!(shown, code, "README.md and examples/hello.rs differ");
}

/// How the table names an event. Without a catch-all arm: a new event has to be put in here, and
/// into `Event::ALL`.
fn words(event: Event) -> &'static str {
    match event {
        Event::FallDue => "it falls due",
        Event::RunNow => "run now",
        Event::Claim => "claim",
        Event::AskCancel => "cancel, while it runs",
        Event::Succeed => "succeed",
        Event::Snooze { first: true } => "snooze, no other attempt counted",
        Event::Snooze { first: false } => "snooze, another attempt counted",
        Event::Fail { last: false } => "fail, attempts left",
        Event::Fail { last: true } => "fail, last attempt",
        Event::Rescue { last: false } => "rescue, attempts left",
        Event::Rescue { last: true } => "rescue, last attempt",
        Event::GiveBack => "give back",
        Event::Bury => "dead, says the handler",
        Event::Cancel => "cancel, while it waits",
        Event::EndAfterCancel => "end, after cancel was asked for",
        Event::Supersede => "end other than done, after a newer job took its key",
        Event::Retry => "retry",
        Event::Edit => "edit",
        Event::Delete => "delete",
    }
}

#[test]
fn the_table_of_moves_is_the_one_of_the_code() {
    let states = State::ALL.map(State::as_str).join(" | ");
    let mut table = format!("| event | {states} |\n|---|{}\n", "---|".repeat(State::ALL.len()));
    for event in Event::ALL {
        let cells = State::ALL.map(|from| next(from, event).map_or("–", State::as_str));
        table += &format!("| {} | {} |\n", words(event), cells.join(" | "));
    }
    let page = file("docs/reference/states.md");
    assert!(page.contains(&table), "docs/reference/states.md should have this table:\n{table}");
}

#[test]
fn every_dependency_has_its_line() {
    let decision = file("docs/adr/0009-dependencies.md");
    for package in
        ["longshore", "longshore-macros", "longshore-kinds", "longshore-cli", "longshore-doors"]
    {
        let mut table = String::new();
        for line in file(&format!("crates/{package}/Cargo.toml")).lines() {
            let name = line.split(['.', ' ', '=']).next().unwrap_or_default();
            if line.starts_with('[') {
                table = line.to_owned();
            } else if table.ends_with("dependencies]")
                && !name.is_empty()
                && !name.starts_with('#')
                && !name.starts_with("longshore")
            {
                assert!(decision.contains(&format!("| `{name}` |")), "0009 has no `{name}`");
            }
        }
    }
}

/// What stands in backticks.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn the_guide_knows_the_language() {
    let page = file("docs/guide/lists.md");
    for field in longshore::query::Field::ALL {
        assert!(page.contains(&format!("\n| `{field}` | ")), "no row for {field}");
    }
    for state in State::ALL {
        assert!(page.contains(&format!("`{state}`")), "{state} is not named");
    }
    let (_, table) = page.split_once("| written | means |\n|---|---|\n").expect("the table");
    let rows = table.lines().take_while(|line| line.starts_with('|'));
    let mut read = 0;
    for query in rows.flat_map(|row| code(row.split('|').nth(1).expect("a cell"))) {
        query.parse::<longshore::Filter>().unwrap_or_else(|error| panic!("{query}\n{error}"));
        read += 1;
    }
    assert!(read >= 6, "only {read} queries were found");
    for time in ["-2h", "+1d12h", "now", "2026-03-01", "2026-03-01T12:00:00Z"] {
        assert!(page.contains(&format!("`{time}`")), "{time} is not named");
        format!("created:>{time}").parse::<longshore::Filter>().expect("a time");
    }
    // What the commands of the guide ask for, quotes of the shell taken away.
    let shell = page.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next());
    let quoted = shell.expect("commands").split('\'').skip(1).step_by(2);
    for query in quoted {
        query.parse::<longshore::Filter>().unwrap_or_else(|error| panic!("{query}\n{error}"));
    }
    let wrong = "state:ded kind:x".parse::<longshore::Filter>().expect_err("no such state");
    assert!(page.contains(&wrong.to_string()), "the guide should show:\n{wrong}");
}

/// All pages below `docs/` but the list of them, by their paths from there.
fn pages_of_the_book() -> Vec<String> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the workspace");
    let docs = docs.join("docs");
    let (mut pages, mut folders) = (Vec::new(), vec![docs.clone()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder of documents") {
            let path = entry.expect("an entry").path();
            let short = path.strip_prefix(&docs).expect("below docs/").to_string_lossy();
            if path.is_dir() {
                folders.push(path);
            } else if short.ends_with(".md") && short != "SUMMARY.md" {
                pages.push(short.replace('\\', "/"));
            }
        }
    }
    pages.sort();
    pages
}

#[test]
fn the_book_has_every_page_once() {
    let summary = file("docs/SUMMARY.md");
    let links = summary.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let mut listed: Vec<String> = links.map(str::to_owned).collect();
    listed.sort();
    assert_eq!(listed, pages_of_the_book(), "docs/SUMMARY.md has each page below docs/ once");
}
