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

/// FC-029, FC-030: from the schema of the first release, with jobs in it, while others work on it and
/// somebody reads for long.
#[cfg(feature = "postgres")]
#[test]
fn a_migration_behind_a_long_reader_holds_up_nobody() {
    run(Flavour::Postgres, |t: Harness| async move {
        schema_of(&t, 1).await;
        let insert = |count: u32| {
            format!(
                "insert into longshore.job (id, kind, queue, priority, run_at, created_at, max_attempts, payload)
                 select gen_random_uuid(), 'k', 'default', 5, now(), now(), 10, '{{}}'::json
                 from generate_series(1, {count})"
            )
        };
        t.execute(insert(20_000)).await;
        let mut reader = t.transaction().await;
        reader.execute("select count(*) from longshore.job").await;
        let migration = {
            let store = t.store.clone();
            tokio::spawn(async move { store.migrate().await })
        };

        // What an older program goes on doing. Behind a lock that a migration waits for without end it
        // would wait as long as the reader reads, and fail here.
        for _ in 0..40 {
            t.execute(format!("set lock_timeout = '1500ms'; {}", insert(5))).await;
            tokio::time::sleep(50 * MILLI).await;
        }
        assert!(!migration.is_finished(), "the reader is in its way");
        reader.commit().await;
        let applied = migration.await.unwrap().expect("it comes through");

        let steps = longshore::store::migrations(&t.database.url()).expect("the steps");
        assert_eq!(applied, (2..=steps.len() as u32).collect::<Vec<_>>());
        t.execute(insert(5)).await;
        assert_eq!(t.count("job").await, 20_205);
        // The database's own time, which the rows have, is ahead of the test's clock.
        t.advance(MINUTE);
        assert_eq!(t.claim(10).await.len(), 10);
    });
}

/// Drops all, and makes what there was at this version.
async fn schema_of(t: &Harness, version: u32) {
    if t.is_sqlite() {
        drop_all_of_sqlite(t).await;
    } else {
        let begin = "src/store/postgres/migrate_begin.sql";
        let begin = Path::new(env!("CARGO_MANIFEST_DIR")).join(begin);
        t.execute("drop schema longshore cascade".into()).await;
        t.execute(std::fs::read_to_string(begin).expect("how a schema begins")).await;
    }
    let steps = longshore::store::migrations(&t.database.url()).expect("the steps");
    let table = t.table("migration");
    for step in steps.iter().filter(|step| step.version <= version) {
        t.execute(step.sql.to_owned()).await;
        let (version, name, checksum) = (step.version, step.name, step.checksum());
        t.execute(format!(
            "INSERT INTO {table} (version, name, checksum{}) VALUES ({version}, '{name}', '{checksum}'{})",
            if t.is_sqlite() { ", applied_at" } else { "" },
            if t.is_sqlite() { ", 0" } else { "" },
        ))
        .await;
    }
}

/// All but the empty list of what was done.
async fn drop_all_of_sqlite(t: &Harness) {
    use sqlx::Row;
    let mut conn = t.sqlite_conn().await;
    let named = "SELECT type, name FROM sqlite_schema
                 WHERE type IN ('table', 'view') AND name LIKE 'longshore%' AND name != 'longshore_migration'";
    let rows = sqlx::query(named).fetch_all(&mut conn).await.expect("what there is");
    for row in rows {
        let (kind, name) = (row.get::<String, _>(0), row.get::<String, _>(1));
        t.execute(format!("DROP {kind} {name}")).await;
    }
    t.execute("DELETE FROM longshore_migration".into()).await;
}

#[cfg(feature = "postgres")]
pub const FLAVOURS: [Flavour; 3] = [Flavour::Sqlite, Flavour::Postgres, Flavour::Pooled];
#[cfg(not(feature = "postgres"))]
pub const FLAVOURS: [Flavour; 1] = [Flavour::Sqlite];

/// A day of history that a prune has taken out may come back after a step that adds columns.
#[cfg(feature = "postgres")]
#[test]
fn a_day_that_is_taken_out_gets_new_columns_too() {
    run(Flavour::Postgres, |t: Harness| async move {
        schema_of(&t, 1).await;
        let day = "to_char(now() at time zone 'UTC', 'YYYYMMDD')";
        t.execute(format!(
            "do $$ begin
                execute 'alter table longshore.history detach partition longshore.history_' || {day};
            end $$"
        ))
        .await;

        t.store.migrate().await.expect("the steps");

        t.execute("select longshore.make_history_day((now() at time zone 'UTC')::date)".into())
            .await;
        let attached = format!(
            "select count(*) from pg_class where relname = 'history_' || {day} and relispartition"
        );
        assert_eq!(t.number(attached).await, 1);
    });
}

/// A store as the version before had it, with a job that runs: it takes what that run says once it is migrated.
#[test]
fn what_runs_say_has_a_place_after_the_upgrade() {
    use crate::conformance::said::{part, saying};
    use longshore::store::{LogQuery, Said};
    for flavour in FLAVOURS {
        run(flavour, |t: Harness| async move {
            t.enqueue_all(&jobs(2)).await;
            let ended = t.claim_one().await;
            let running = t.claim_one().await;
            // All that this step and later ones have made.
            let (said, access) = (["log", "progress"], ["token", "audit", "session", "user"]);
            let later = ["queue_stats", "request", "operation", "pause", "kind"];
            for table in said.into_iter().chain(access).chain(later) {
                t.execute(format!("DROP TABLE {}", t.table(table))).await;
            }
            for column in ["wish", "state", "remote"] {
                t.execute(format!("ALTER TABLE {} DROP COLUMN {column}", t.table("node"))).await;
            }
            t.execute(format!("DELETE FROM {} WHERE version >= 7", t.table("migration"))).await;
            assert_eq!(t.store.schema_version().await.expect("a version"), 6);

            assert_eq!(t.store.migrate().await.expect("the steps")[0], 7);

            t.finish(&ended, done()).await;
            let said = saying(&running, None, Some(part(1, 0, 0, &["since the upgrade"])));
            assert_eq!(t.store.say(running.node, &[said]).await.expect("an answer"), [Said::Kept]);
            let page = t.store.log(running.id, &LogQuery::default()).await.expect("a page");
            assert_eq!(page.lines[0].message, "since the upgrade");
            assert!(t.store.progress(ended.id).await.expect("an answer").is_none());
        });
    }
}

/// Two sessions migrate an empty database. The second has looked for the schema before, as a session behind a
/// pooler may have done for anybody, and waits for the lock in a transaction that began before the first one's end.
#[cfg(feature = "postgres")]
#[test]
fn who_waited_for_a_migration_sees_that_it_was_done() {
    use sqlx::{AssertSqlSafe, Row};
    const FOUND: &str = include_str!("../../src/store/postgres/migrate_found.sql");
    const LOCK: &str = include_str!("../../src/store/postgres/migrate_lock.sql");
    run(Flavour::Postgres, |t: Harness| async move {
        let Database::Postgres(server) = &*t.database else { unreachable!("asked for PostgreSQL") };
        t.execute("DROP SCHEMA longshore CASCADE".into()).await;
        let (mut first, mut second) = (server.conn().await, server.conn().await);
        let found = async |conn: &mut sqlx::PgConnection| -> bool {
            let row =
                sqlx::query(FOUND).persistent(false).fetch_one(conn).await.expect("an answer");
            row.get(0)
        };
        assert!(!found(&mut second).await);
        let begin = format!("BEGIN; {LOCK}");
        sqlx::raw_sql(AssertSqlSafe(begin.clone())).execute(&mut first).await.expect("the lock");
        let waiting = tokio::spawn(async move {
            sqlx::raw_sql(AssertSqlSafe(begin)).execute(&mut second).await.expect("the lock");
            second
        });
        let blocked = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted";
        while t.number(blocked.into()).await == 0 {
            tokio::task::yield_now().await;
        }
        let made =
            "CREATE SCHEMA longshore; CREATE TABLE longshore.migration (version int); COMMIT";
        sqlx::raw_sql(made).execute(&mut first).await.expect("the first migration");

        let mut second = waiting.await.expect("it goes on");

        assert!(found(&mut second).await);
    });
}
