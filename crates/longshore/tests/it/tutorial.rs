//! The tutorial's last state, compiled and tested here, and held against the page word by word.
//! `scripts/show/20-tutorial` does what the page says, step by step, in a directory of its own.

use std::collections::BTreeMap;
use std::path::Path;

use crate::docs::file;

const PAGE: &str = "docs/guide/tutorial.md";

#[allow(dead_code, reason = "it is compiled here, and run by the script")]
mod hello;
#[path = "tutorial/lib.rs"]
mod shop;
#[allow(dead_code, reason = "it is compiled here, and run by the script")]
mod main {
    use super::shop;
    include!("tutorial/main.rs");
}
mod receipts {
    use super::shop;
    include!("tutorial/receipts.rs");
}

/// What the page makes of a file, from its first state to its last.
type States = Vec<String>;

/// Follows the page: a block below a line **`path`** is that file, whole; as `diff` a change of it.
fn files() -> BTreeMap<String, States> {
    let page = file(PAGE);
    let mut files: BTreeMap<String, States> = BTreeMap::new();
    let mut lines = page.lines();
    let mut label: Option<&str> = None;
    while let Some(line) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            let Some(path) = label.take() else { continue };
            let states = files.entry(path.to_owned()).or_default();
            let next = match language {
                "diff" => changed(states.last().expect("a file to change"), &body),
                _ => body.join("\n") + "\n",
            };
            states.push(next);
        } else if !line.is_empty() {
            label = line.strip_prefix("**`").and_then(|rest| rest.strip_suffix("`**"));
        }
    }
    files
}

fn changed(text: &str, diff: &[&str]) -> String {
    let side = |sign: char| -> String {
        let kept = diff.iter().filter(|line| line.starts_with([' ', sign]));
        kept.map(|line| format!("{}\n", &line[1..])).collect()
    };
    let was = side('-');
    assert_eq!(text.matches(&*was).count(), 1, "{PAGE} changes what is not there once:\n{was}");
    text.replacen(&*was, &side('+'), 1)
}

fn shown_here(path: &str) -> String {
    file(&Path::new("crates/longshore/tests/it/tutorial").join(path).to_string_lossy())
}

#[test]
fn the_page_shows_what_is_compiled_here() {
    let files = files();
    let state = |path: &str, last: bool| {
        let states = &files[path];
        if last { states[states.len() - 1].clone() } else { states[0].clone() }
    };
    assert_eq!(state("src/main.rs", false), shown_here("hello.rs"), "the first src/main.rs");
    assert_eq!(state("src/main.rs", true), shown_here("main.rs"), "the last src/main.rs");
    assert_eq!(state("src/lib.rs", true), shown_here("lib.rs"), "the last src/lib.rs");
    assert_eq!(state("tests/receipts.rs", true), shown_here("receipts.rs"), "tests/receipts.rs");
}

#[test]
fn a_first_job_takes_fifteen_lines() {
    let lines = shown_here("hello.rs").lines().filter(|line| !line.is_empty()).count();
    assert!(lines <= 15, "the first program of the tutorial has {lines} lines");
}
