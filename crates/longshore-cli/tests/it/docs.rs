//! What documents say of the executable, asked of the executable.

use std::path::Path;

use crate::harness::Place;

mod shell;

/// Stands for `$id` in a document.
const ID: &str = "019364bb-3f3c-7c6e-8f6a-3d2f1b7c9e10";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the workspace")
}

fn file(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The documents for users, each with its text.
fn pages() -> Vec<(String, String)> {
    let mut paths = vec![root().join("README.md"), root().join("CONTRIBUTING.md")];
    for folder in ["docs/guide", "docs/reference", "docs/explanation"] {
        let entries = std::fs::read_dir(root().join(folder)).expect("a folder of documents");
        paths.extend(entries.map(|entry| entry.expect("an entry").path()));
    }
    paths.iter().map(|path| (path.display().to_string(), file(path))).collect()
}

/// A line's words as a shell takes them; enough for what documents show.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    let mut begun = false;
    for c in line.chars() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (None, '\'' | '"') => (quote, begun) = (Some(c), true),
            (None, '#') if !begun => break,
            (None, ' ') => {
                if std::mem::take(&mut begun) {
                    words.push(std::mem::take(&mut word));
                }
            }
            _ => {
                begun = true;
                word.push(c);
            }
        }
    }
    if begun {
        words.push(word);
    }
    words
}

#[test]
fn every_command_shown_is_understood() {
    let place = Place::empty();
    let mut tried = 0;
    for (page, text) in pages() {
        let shell = text.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
        for line in shell.flat_map(str::lines).filter(|line| line.starts_with("longshore ")) {
            let words = words(&line.replace("$id", ID));
            let mut args: Vec<&str> = words[1..].iter().map(String::as_str).collect();
            // Read up to here, and then shown instead of done.
            args.push("--help");
            let said = place.run(&args);
            assert_eq!(said.code, 0, "{page}: `{line}`: {}", said.err);
            tried += 1;
        }
    }
    assert!(tried > 20, "only {tried} commands were found");
}

#[test]
fn every_exit_code_has_its_row() {
    let page = file(&root().join("docs/guide/command-line.md"));
    let help = Place::empty().run(&["--help"]).out;
    let (_, codes) = help.split_once("Exit codes:\n").expect("a list of exit codes");
    for line in codes.lines().take_while(|line| !line.is_empty()) {
        let (code, meaning) = line.trim().split_once("  ").expect("a code and what it means");
        assert!(page.contains(&format!("| {code} | {meaning} |")), "no row for {line}");
    }
}

#[test]
fn every_setting_has_its_row() {
    let place = Place::empty();
    place.write("longshore.toml", "[zebra]\nstripes = 1\n");
    let said = place.run(&["jobs", "list"]).err;
    let (_, keys) = said.trim().split_once("the keys are ").expect("all keys");
    let page = file(&root().join("docs/reference/configuration.md"));
    for key in keys.split(", ") {
        assert!(page.contains(&format!("| `{key}` |")), "no row for {key}");
    }
}

#[test]
fn every_page_with_rust_is_compiled() {
    let compiled = [
        "crates/longshore-cli/src/pages.rs",
        "crates/longshore/src/lib.rs",
        "crates/longshore-doors/src/lib.rs",
        "crates/longshore/tests/it/tutorial.rs",
    ]
    .map(|path| file(&root().join(path)))
    .concat();
    for (page, text) in pages().iter().filter(|(_, text)| text.contains("```rust")) {
        let short = page.strip_prefix(&format!("{}/", root().display())).expect("below the root");
        assert!(compiled.contains(&format!("{short}\"")), "nothing compiles {short}");
        assert!(!text.contains("```rust,ignore"), "{short} shows Rust that nobody compiles");
    }
}
