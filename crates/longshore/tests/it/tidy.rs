//! The rules of the tree, so that nobody has to remember them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the workspace").into()
}

/// Every file below `folder` whose name ends in one of `ends`, by its path from the workspace's root.
fn files(folder: &str, ends: &[&str]) -> BTreeMap<String, String> {
    let root = root();
    let (mut found, mut folders) = (BTreeMap::new(), vec![root.join(folder)]);
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for path in entries.map(|entry| entry.expect("an entry").path()) {
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            if path.is_dir() {
                if !matches!(name.as_str(), "target" | ".git" | "node_modules" | "vendor") {
                    folders.push(path);
                }
            } else if ends.iter().any(|end| name.ends_with(end)) {
                let Ok(text) = std::fs::read_to_string(&path) else { continue };
                let short = path.strip_prefix(&root).expect("below the root");
                found.insert(short.to_string_lossy().replace('\\', "/"), text);
            }
        }
    }
    found
}

#[test]
fn only_the_stores_know_sqlx() {
    for (path, text) in files("crates", &[".rs"]) {
        let may = ["/store/sqlite/", "/store/postgres/", "/tests/", "/examples/", "/benches/"];
        if may.iter().any(|place| path.contains(place)) {
            continue;
        }
        for (n, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            assert!(!code.contains("sqlx"), "{path}:{}: sqlx belongs below store/", n + 1);
        }
    }
}

#[test]
fn every_sql_file_is_used() {
    let rust = files("crates", &[".rs"]);
    for (path, _) in files("crates", &[".sql"]) {
        let (folder, name) = path.rsplit_once('/').expect("a folder");
        let named = format!("{name}\"");
        let user = rust.iter().any(|(place, text)| {
            place.starts_with(folder.trim_end_matches("/migrations")) && text.contains(&named)
        });
        assert!(user, "{path} is used by nobody");
    }
}

#[test]
fn every_sql_file_has_a_twin_or_says_why_not() {
    let sql = files("crates/longshore/src/store", &[".sql"]);
    let mut without = Vec::new();
    for (path, text) in &sql {
        let twin = match path.contains("/sqlite/") {
            true => path.replace("/sqlite/", "/postgres/"),
            false => path.replace("/postgres/", "/sqlite/"),
        };
        if !sql.contains_key(&twin) && !text.starts_with("-- Only here: ") {
            without.push(path.as_str());
        }
    }
    assert!(without.is_empty(), "no twin and no `-- Only here: reason`: {without:#?}");
}

#[test]
fn a_long_file_says_why() {
    for (path, text) in files("crates", &[".rs", ".sql"]) {
        let lines = text.lines().count();
        let said = text.lines().take(3).any(|line| line.starts_with("// Long because: "));
        assert!(
            lines <= 600 || said,
            "{path} has {lines} lines; split it or say `// Long because: …`"
        );
    }
}

#[test]
fn no_file_names_a_machine() {
    // Put together here, so that this file does not name them either.
    let marks = ["/home", "/work", "/root", "/Users"].map(|folder| format!("{folder}/"));
    for (path, text) in files("", &[".rs", ".sql", ".md", ".toml", ".sh", ".yml"]) {
        // An address of the API has the name of such a folder.
        let text = text.replace(concat!("/work", "/nodes"), "");
        for mark in &marks {
            assert!(
                !text.contains(mark.as_str()),
                "{path} names a folder of somebody's machine: {mark}"
            );
        }
    }
}

#[test]
fn shipped_sql_names_its_columns() {
    for (path, text) in files("crates/longshore/src/store", &[".sql"]) {
        for line in text.lines() {
            let code = line.split("--").next().unwrap_or_default().to_lowercase();
            assert!(!code.contains("select *") && !code.contains("returning *"), "{path}: {line}");
        }
    }
}

#[test]
fn links_in_the_docs_lead_somewhere() {
    for (path, text) in files("", &[".md"]) {
        let folder = root().join(&path).parent().expect("a folder").to_owned();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let target = link.split('#').next().unwrap_or_default();
            if target.is_empty() || target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            assert!(folder.join(target).exists(), "{path}: {link} leads nowhere");
        }
    }
    // Comments name records of decisions; once there is a folder of them, each must be in it.
    if !root().join("docs/adr").exists() {
        return;
    }
    for (path, text) in files("crates", &[".rs", ".sql"]) {
        for rest in text.split("docs/adr/").skip(1) {
            let name: String =
                rest.chars().take_while(|c| c.is_alphanumeric() || "-_.".contains(*c)).collect();
            let file = root().join("docs/adr").join(name.trim_end_matches('.'));
            assert!(name.is_empty() || file.exists(), "{path}: docs/adr/{name} is not there");
        }
    }
}
