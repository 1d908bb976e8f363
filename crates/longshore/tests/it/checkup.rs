//! What a checkup finds: on a sound database nothing, on a broken one the fault by name.

use std::io::{Read, Seek, SeekFrom, Write};

use longshore::store::{Check, Depth, StoreOptions, Verdict};
use longshore::{Client, Clock, Limits};

use crate::harness::*;
use crate::migrations::FLAVOURS;

fn named<'a>(checks: &'a [Check], name: &str) -> &'a Check {
    checks
        .iter()
        .find(|check| check.name == name)
        .unwrap_or_else(|| panic!("no {name}: {checks:?}"))
}

async fn look(t: &Harness) -> Vec<Check> {
    t.store.checkup(Depth::Full).await.expect("a checkup")
}

#[test]
fn a_checkup_of_a_sound_database_finds_nothing() {
    for flavour in FLAVOURS {
        run(flavour, |t: Harness| async move {
            t.enqueue_all(&jobs(3)).await;
            t.claim_one().await;
            let checks = look(&t).await;
            for check in &checks {
                assert_ne!(check.verdict, Verdict::Fail, "{check:?}");
            }
            assert!(checks.len() >= 7, "{checks:?}");
            assert_eq!(named(&checks, "schema").verdict, Verdict::Ok);
            assert_eq!(named(&checks, "nodes").detail, "1 live");
        });
    }
}

/// FC-006: no node's row, or one that is silent for longer than a rescue takes.
#[test]
fn a_checkup_counts_running_jobs_without_a_live_node() {
    for flavour in FLAVOURS {
        run(flavour, |t: Harness| async move {
            t.enqueue_all(&jobs(5)).await;
            let (orphan, held) = (t.claim(2).await, t.claim(3).await);
            assert_eq!((orphan.len(), held.len()), (2, 3));
            assert_eq!(named(&look(&t).await, "orphans").verdict, Verdict::Ok);

            let node = t.literal(orphan[0].node.0);
            t.execute(format!("DELETE FROM {} WHERE id = {node}", t.table("node"))).await;
            let checks = look(&t).await;
            let check = named(&checks, "orphans");
            assert_eq!(check.verdict, Verdict::Fail);
            assert_eq!(check.detail, "2 running jobs have no live node");
            assert!(check.advice.is_some());

            t.advance(LEASE_FOR + MINUTE + SECOND);
            let checks = look(&t).await;
            assert_eq!(named(&checks, "orphans").detail, "5 running jobs have no live node");
            assert_eq!(named(&checks, "nodes").verdict, Verdict::Warn, "none lives");
        });
    }
}

/// Only a deletion by hand leaves a log without its job.
#[test]
fn a_checkup_finds_logs_whose_job_is_gone() {
    use crate::conformance::said::{part, saying};
    for flavour in FLAVOURS {
        run(flavour, |t: Harness| async move {
            t.enqueue_all(&jobs(3)).await;
            let runs = t.claim(3).await;
            for run in &runs {
                let said = saying(run, None, Some(part(1, 0, 0, &["line"])));
                t.store.say(run.node, &[said]).await.expect("it is kept");
            }
            t.finish(&runs[0], done()).await;
            assert_eq!(named(&look(&t).await, "logs").verdict, Verdict::Ok);

            for (run, table) in [(&runs[0], "history"), (&runs[1], "job")] {
                let id = t.literal(run.id.as_uuid());
                t.execute(format!("DELETE FROM {} WHERE id = {id}", t.table(table))).await;
            }

            let checks = look(&t).await;
            let check = named(&checks, "logs");
            assert_eq!(check.verdict, Verdict::Warn);
            assert!(check.detail.starts_with("2 jobs are gone"), "{check:?}");
        });
    }
}

/// Spoils what lies in the middle of an index's pages, as a bad disk would.
fn spoil(t: &Harness, page: i64, page_bytes: i64) {
    let url = t.database.url();
    let path = url.strip_prefix("sqlite:").expect("a file");
    let mut file = std::fs::OpenOptions::new().read(true).write(true).open(path).expect("the file");
    let at = SeekFrom::Start(((page - 1) * page_bytes) as u64);
    let mut bytes = vec![0; page_bytes as usize];
    file.seek(at).expect("the page");
    file.read_exact(&mut bytes).expect("the page");
    bytes[8..200].iter_mut().for_each(|byte| *byte ^= 0x5a);
    file.seek(at).expect("the page");
    file.write_all(&bytes).expect("the page is spoilt");
}

/// FC-075. In a process of its own the file is opened anew; here every connection is closed before.
#[test]
fn a_checkup_finds_a_damaged_file() {
    run(Flavour::Sqlite, |t: Harness| async move {
        t.enqueue_all(&jobs(2_000)).await;
        t.execute("PRAGMA wal_checkpoint(TRUNCATE)".into()).await;
        let sql = "SELECT rootpage FROM sqlite_schema WHERE name = 'longshore_job_claim'";
        let page = t.number(sql.into()).await;
        let page_bytes = t.number("PRAGMA page_size".into()).await;
        t.store.close().await;
        spoil(&t, page, page_bytes);

        let options = t.database.options(Clock::real());
        let client = Client::open_with(&t.database.url(), options, Limits::default()).await;
        let client = client.expect("its first page is sound");
        for depth in [Depth::Quick, Depth::Full] {
            let checks = client.doctor(depth).await.expect("a checkup, all the same");
            let check = named(&checks, "integrity");
            assert_eq!(check.verdict, Verdict::Fail, "{checks:?}");
            assert!(
                check.detail.contains("fault") || check.detail.contains("malformed"),
                "{check:?}"
            );
            assert_eq!(named(&checks, "schema").verdict, Verdict::Ok, "the others go on");
        }
        client.close().await;
    });
}

#[test]
fn a_checkup_names_another_host() {
    run(Flavour::Sqlite, |t: Harness| async move {
        t.node().await;
        let options = StoreOptions {
            host: Some("two kernel-2".into()),
            allow_other_host: true,
            ..t.database.options(t.clock.clone())
        };
        let other =
            longshore::store::open(&t.database.url(), options).await.expect("it is allowed");
        let checks = other.checkup(Depth::Quick).await.expect("a checkup");
        assert_eq!(named(&checks, "hosts").verdict, Verdict::Fail);
        assert_eq!(named(&look(&t).await, "hosts").verdict, Verdict::Ok);
        other.close().await;
    });
}

#[cfg(feature = "postgres")]
#[test]
fn a_checkup_names_what_is_wrong_with_a_server() {
    run(Flavour::Postgres, |t: Harness| async move {
        let database = "current_database()";
        t.execute(format!(
            "do $$ begin execute format('alter database %I set synchronous_commit = off', {database}); end $$"
        ))
        .await;
        t.execute(
            "update pg_index set indisvalid = false
             where indexrelid = (select oid from pg_class where relname = 'job_pkey'
                 and relnamespace = 'longshore'::regnamespace)"
                .into(),
        )
        .await;
        t.execute(
            "do $$ begin execute 'drop table longshore.history_'
                || to_char((now() at time zone 'UTC')::date + 2, 'YYYYMMDD'); end $$"
                .into(),
        )
        .await;
        let other = t.beside().await;
        let checks = other.checkup(Depth::Quick).await.expect("a checkup");
        assert_eq!(named(&checks, "synchronous_commit").verdict, Verdict::Warn);
        assert!(named(&checks, "indexes").detail.contains("job_pkey"), "{checks:?}");
        assert_eq!(named(&checks, "partitions").verdict, Verdict::Warn);
        assert_eq!(named(&checks, "clocks").verdict, Verdict::Ok);
        other.close().await;
    });
}
