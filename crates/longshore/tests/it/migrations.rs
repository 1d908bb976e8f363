//! Migrations: numbered alike, each applied once, and nothing done to a schema that is not ours.

use std::path::Path;

use longshore::store::{Repeat, StoreError};

use crate::harness::*;

fn names(backend: &str) -> Vec<String> {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store").join(backend).join("migrations");
    let entries = std::fs::read_dir(folder).expect("the migrations");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("a file").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn both_backends_have_the_same_ones_numbered_without_a_gap() {
    assert_eq!(names("sqlite"), names("postgres"));
    for (n, name) in names("sqlite").iter().enumerate() {
        assert!(name.starts_with(&format!("{:04}_", n + 1)) && name.ends_with(".sql"), "{name}");
    }
}

#[test]
fn a_migration_that_was_edited_later_is_refused() {
    for flavour in FLAVOURS {
        run(flavour, |t: Harness| async move {
            t.execute(format!(
                "UPDATE {} SET checksum = 'another' WHERE version = 1",
                t.table("migration")
            ))
            .await;

            let answer = t.store.migrate().await;

            assert!(matches!(answer, Err(StoreError::Checksum { version: 1 })), "{answer:?}");
        });
    }
}

#[test]
fn a_schema_of_a_newer_program_is_left_alone() {
    for flavour in FLAVOURS {
        run(flavour, |t: Harness| async move {
            let now = if t.is_sqlite() { "0" } else { "now()" };
            t.execute(format!(
                "INSERT INTO {} (version, name, checksum, applied_at) VALUES (999, 'new', 'x', {now})",
                t.table("migration")
            ))
            .await;

            let answer = t.store.migrate().await;

            let Err(error @ StoreError::Schema { found: 999, .. }) = answer else {
                panic!("{answer:?}");
            };
            assert!(error.to_string().contains("upgrade this program"), "{error}");
            assert_eq!(t.store.schema_version().await.expect("a version"), 999);
        });
    }
}

#[test]
fn an_empty_database_says_what_to_do() {
    block_on(async {
        let folder = tempfile::tempdir().expect("a folder");
        let url = format!("sqlite:{}", folder.path().join("t.db").display());
        let store = longshore::store::open(&url, Default::default()).await.expect("it opens");
        assert_eq!(store.schema_version().await.expect("a version"), 0);

        let error = store.enqueue(&[job()], Repeat::No).await.expect_err("there is no table");

        assert!(error.to_string().contains("run `longshore migrate up`"), "{error}");
        store.close().await;
    });
}

#[cfg(feature = "postgres")]
const FLAVOURS: [Flavour; 3] = [Flavour::Sqlite, Flavour::Postgres, Flavour::Pooled];
#[cfg(not(feature = "postgres"))]
const FLAVOURS: [Flavour; 1] = [Flavour::Sqlite];
