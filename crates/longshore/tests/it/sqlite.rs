//! The conformance suite on SQLite, and what only SQLite does.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use longshore::store::{Claim, KindAsk, LANES, Repeat, START, Store, StoreError};
use longshore::{Clock, StoreOptions};
use sqlx::{AssertSqlSafe, Connection, Executor, SqlSafeStr};

use crate::harness::*;

conformance!(Sqlite);

fn source(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store/sqlite");
    std::fs::read_to_string(folder.join(name)).expect("a file of the store")
}

/// The named statements of a file.
fn steps(file: &str) -> Vec<(String, String)> {
    let text = source(file);
    let steps = text.split("-- step: ").skip(1).map(|step| {
        let (name, body) = step.split_once('\n').expect("a step has a body");
        (name.to_owned(), body.to_owned())
    });
    steps.collect()
}

fn step(file: &str, name: &str) -> String {
    steps(file).into_iter().find(|(step, _)| step == name).expect("the step is there").1
}

/// The highest `$n` of a statement, its comments left out.
fn parameters(sql: &str) -> usize {
    let code = sql.lines().map(|line| line.split("--").next().unwrap_or_default());
    let code: String = code.collect::<Vec<_>>().join("\n");
    let numbers = code.split('$').skip(1).filter_map(|rest| {
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    });
    numbers.max().unwrap_or(0)
}

/// How many values the code binds to a step: the chain of `.bind(` that follows its name.
fn bound(code: &str, konst: &str, name: &str) -> Option<usize> {
    let (_, chain) = code.split_once(&format!("{konst}.step(\"{name}\")"))?;
    let ends = [".execute(", ".fetch_", ";"].iter().filter_map(|end| chain.find(end));
    Some(chain[..ends.min()?].matches(".bind(").count())
}

/// A parameter that nobody binds is NULL on SQLite, in silence.
#[test]
fn every_statement_prepares_and_gets_all_its_parameters() {
    // Steps that are named by a variable or bound in a loop, and what the code binds to them.
    let by_hand = [
        ("cancel.sql", "ask", 4),
        ("cancel.sql", "mark", 4),
        ("checkup.sql", "quick", 0),
        ("checkup.sql", "whole", 0),
        ("claim.sql", "take", 6 + 2 * LANES),
        ("edit.sql", "delete", 1),
        ("edit.sql", "delete_ended", 1),
        ("edit.sql", "drop_aside", 1),
        ("say.sql", "drop_progress", 1),
        ("say.sql", "drop_log", 1),
        ("prune.sql", "drop_progress", 1),
        ("prune.sql", "drop_log", 1),
        ("prune.sql", "drop_dead_progress", 1),
        ("prune.sql", "drop_dead_log", 1),
        ("empty.sql", "free", 1),
        ("empty.sql", "drop_payloads", 1),
        ("empty.sql", "drop_progress", 1),
        ("empty.sql", "drop_log", 1),
        ("empty.sql", "drop", 1),
        ("finish.sql", "drop", 2),
        ("finish.sql", "drop_kept", 2),
        ("list.sql", "hot", 3),
        ("list.sql", "cold", 3),
        ("look.sql", "hot", 29),
        ("look.sql", "cold", 29),
        ("probe.sql", "dead", 1),
        ("probe.sql", "running", 2),
        ("probe.sql", "keys", 2),
        ("probe.sql", "queues", 2),
        ("node.sql", "leave", 1),
        ("node.sql", "expire", 2),
        ("operation.sql", "restore", 1),
        ("operation.sql", "forget", 1),
        ("operation.sql", "ask_cancel", 4),
        ("operation.sql", "mark_cancel", 4),
        ("operation.sql", "delete", 1),
        ("operation.sql", "delete_ended", 1),
        ("operation.sql", "drop_aside", 1),
        ("operation.sql", "drop_progress", 1),
        ("operation.sql", "drop_log", 1),
        ("operation.sql", "jobs", 2),
        ("operation.sql", "ended", 1),
        ("retry.sql", "restore", 1),
        ("retry.sql", "forget", 1),
        ("unique.sql", "free", 1),
    ];
    block_on(async {
        let t = Harness::fresh(Flavour::Sqlite).await.expect("SQLite");
        let mut conn = t.sqlite_conn().await;
        let code: String = [
            "audit",
            "checkup",
            "claim",
            "edit",
            "enqueue",
            "finish",
            "host",
            "kinds",
            "node",
            "once",
            "operate",
            "operation",
            "pause",
            "prune",
            "queues",
            "read",
            "remote",
            "retention",
            "say",
            "session",
            "token",
            "unique",
            "user",
        ]
        .map(|name| source(&format!("{name}.rs")))
        .concat();
        for file in [
            "audit",
            "cancel",
            "checkup",
            "claim",
            "edit",
            "empty",
            "enqueue",
            "finish",
            "host",
            "kinds",
            "leader",
            "list",
            "look",
            "node",
            "operation",
            "pause",
            "probe",
            "prune",
            "queue_counts",
            "release",
            "request",
            "rescue",
            "retention",
            "retry",
            "say",
            "session",
            "token",
            "unique",
            "user",
        ] {
            let (file, konst) = (format!("{file}.sql"), file.to_uppercase());
            for (name, sql) in steps(&file) {
                (&mut conn)
                    .prepare(AssertSqlSafe(sql.clone()).into_sql_str())
                    .await
                    .unwrap_or_else(|error| {
                        panic!("{file}, {name}: {error}");
                    });
                assert!(
                    !sql.contains("LIMIT $"),
                    "{file}, {name}: the planner asks for the value of such a limit, and so the statement is \
                     compiled anew whenever it is bound; write `LIMIT +$n`"
                );
                let listed = by_hand.iter().find(|(f, n, _)| (*f, *n) == (&*file, &*name));
                let bound = match listed {
                    Some((.., count)) => *count,
                    None => bound(&code, &konst, &name)
                        .unwrap_or_else(|| panic!("{file}: nobody uses the step {name}")),
                };
                assert_eq!(parameters(&sql), bound, "{file}, {name}: parameters and binds");
            }
        }
        for (file, bound) in [("get.sql", 2), ("log.sql", 5), ("progress.sql", 1)] {
            let sql = source(file);
            let prepared = (&mut conn).prepare(AssertSqlSafe(sql.clone()).into_sql_str()).await;
            prepared.unwrap_or_else(|error| panic!("{file}: {error}"));
            assert_eq!(parameters(&sql), bound, "{file}");
        }
        conn.close().await.expect("the connection closes");
        t.remove().await;
    });
}

/// Holds the write lock of the file for a while.
async fn block(t: &Harness, span: Duration) -> tokio::task::JoinHandle<()> {
    let mut conn = t.sqlite_conn().await;
    sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut conn).await.expect("the lock");
    tokio::spawn(async move {
        tokio::time::sleep(span).await;
        sqlx::raw_sql("ROLLBACK").execute(&mut conn).await.expect("the lock is let go");
        conn.close().await.expect("the connection closes");
    })
}

#[test]
fn a_writer_that_is_in_the_way_is_waited_for() {
    run(Flavour::Sqlite, |t: Harness| async move {
        t.enqueue_all(&jobs(2)).await;
        let node = t.node().await;
        let run = node.claim_one().await;
        let began = Instant::now();
        let lock = block(&t, SECOND).await;

        let (enqueue, claim, finish) = (t.clone(), node.clone(), t.clone());
        let calls = (
            tokio::spawn(async move { enqueue.enqueue(job()).await }),
            tokio::spawn(async move { claim.claim(1).await }),
            tokio::spawn(async move { finish.finish(&run, done()).await }),
        );
        assert!(t.find(calls.0.await.expect("no error")).await.is_some());
        assert_eq!(calls.1.await.expect("no error").len(), 1);
        calls.2.await.expect("no error");
        assert!(began.elapsed() >= SECOND, "they waited for the lock");
        lock.await.expect("the lock is let go");
    });
}

#[test]
fn a_writer_that_stays_makes_the_store_unavailable() {
    run(Flavour::Sqlite, |t: Harness| async move {
        let options = StoreOptions { busy_for: 200 * MILLI, ..t.database.options(t.clock.clone()) };
        let store = longshore::store::open(&t.database.url(), options).await.expect("it opens");
        let lock = block(&t, SECOND).await;

        let answer = store.enqueue(&[job()], Repeat::No).await;

        assert!(matches!(answer, Err(StoreError::Unavailable { .. })), "{answer:?}");
        lock.await.expect("the lock is let go");
        store.enqueue(&[job()], Repeat::No).await.expect("later it works");
        assert_eq!(t.count("job").await, 1, "nothing of the refused call stayed");
        store.close().await;
    });
}

/// How many steps SQLite's machine makes for one look of the claim, which changes nothing.
async fn work_of_a_look(t: &Harness) -> u64 {
    let take = step("claim.sql", "take");
    let node = t.node().await;
    let mut conn = t.sqlite_conn().await;
    let steps = Arc::new(AtomicU64::new(0));
    let counted = steps.clone();
    conn.lock_handle().await.expect("the handle").set_progress_handler(1, move || {
        counted.fetch_add(1, Ordering::Relaxed);
        true
    });
    let mut look = sqlx::query(AssertSqlSafe(take))
        .bind(node.id.0)
        .bind(1_i64)
        .bind(t.now().await.as_micros())
        .bind("default")
        .bind("[[\"k\",1]]")
        .bind(100_i64);
    for _ in 0..LANES {
        look = look.bind(START.0.as_micros()).bind(START.1);
    }
    assert_eq!(look.fetch_all(&mut conn).await.expect("a look").len(), 0);
    conn.close().await.expect("the connection closes");
    steps.load(Ordering::Relaxed)
}

#[test]
fn a_claim_walks_no_future_job() {
    run(Flavour::Sqlite, |t: Harness| async move {
        let empty = work_of_a_look(&t).await;
        let later = t.now().await.plus(HOUR).as_micros();
        t.execute(format!(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000)
             INSERT INTO longshore_job (id, kind, queue, priority, run_at, created_at, max_attempts, payload)
             SELECT randomblob(16), 'k', 'default', i % 10, {later} + i, 0, 1, 'null' FROM n"
        ))
        .await;

        let full = work_of_a_look(&t).await;

        assert!(
            full < empty * 3,
            "{empty} steps over an empty table, {full} over 300,000 future jobs"
        );
    });
}

#[test]
fn two_processes_share_a_file() {
    let t = block_on(Harness::fresh(Flavour::Sqlite)).expect("SQLite");
    let (url, options) = (t.database.url(), t.database.options(Clock::real()));
    // A runtime and a store of its own for each: they share nothing but the file.
    let processes: Vec<_> = (0..3)
        .map(|_| {
            let (url, options) = (url.clone(), options.clone());
            std::thread::spawn(move || {
                block_on(async {
                    let store = longshore::store::open(&url, options).await.expect("it opens");
                    let done = one_process(&*store).await;
                    store.close().await;
                    done
                })
            })
        })
        .collect();
    let done: usize = processes.into_iter().map(|process| process.join().expect("no error")).sum();
    block_on(async {
        // What was enqueued after a neighbour's last look is still there, and nothing else.
        assert_eq!(t.count("history").await, done as i64);
        assert_eq!(t.count("job").await + t.count("history").await, 300);
        t.remove().await;
    });
}

async fn one_process(store: &dyn Store) -> usize {
    let node = longshore::store::NodeId::new();
    store.join(&new_node(node)).await.expect("a node joins");
    let (queues, kinds) = ([ask("default", 20)], [KindAsk { kind: KIND.into(), version: 1 }]);
    let mut done = 0;
    for no in 1..=20 {
        store.enqueue(&jobs(5), Repeat::No).await.expect("nobody is told that the file is busy");
        let claim = Claim { node, no, queues: &queues, kinds: &kinds, most: None };
        let claimed = store.claim(&claim).await.expect("nor here");
        let ended: Vec<_> = claimed
            .jobs
            .iter()
            .map(|job| {
                (longshore::store::Held { id: job.id, lease: job.lease }, crate::harness::done())
            })
            .collect();
        done += store.finish(node, &ended).await.expect("nor here").len();
    }
    done
}

#[test]
fn others_commits_are_heard() {
    run(Flavour::Sqlite, |t: Harness| async move {
        let other = t.beside().await;
        let store = t.store.clone();
        let ear = tokio::spawn(async move { store.listen().await });
        let mut woken = t.store.wakes().subscribe();
        t.until("the other's commit is heard", || {
            let other = other.clone();
            let heard = woken.take().look;
            async move {
                if !heard {
                    other.enqueue(&[job()], Repeat::No).await.expect("an enqueue");
                }
                heard
            }
        })
        .await;
        ear.abort();
        other.close().await;
    });
}

#[test]
fn a_new_file_is_its_owners_only() {
    #[cfg(unix)]
    run(Flavour::Sqlite, |t: Harness| async move {
        use std::os::unix::fs::PermissionsExt;
        let url = t.database.url();
        let path = url.strip_prefix("sqlite:").expect("a file");
        let mode = std::fs::metadata(path).expect("the file").permissions().mode();
        assert_eq!(mode & 0o077, 0, "{mode:o}");
    });
}

#[test]
fn a_database_in_memory_is_one_connection_for_everything() {
    block_on(async {
        let store =
            longshore::store::open("sqlite::memory:", StoreOptions::default()).await.unwrap();
        store.migrate().await.unwrap();
        store.enqueue(&jobs(3), Repeat::No).await.unwrap();
        assert_eq!(store.list(&Default::default()).await.unwrap().jobs.len(), 3);
        store.close().await;
    });
}
