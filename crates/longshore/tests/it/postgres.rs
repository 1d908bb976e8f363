//! The conformance suite on PostgreSQL, directly and through a pooler, and what only PostgreSQL does.

use std::path::Path;

use longshore::store::{Repeat, StoreError, Tx};
use sqlx::{AssertSqlSafe, Connection};

use crate::harness::*;

mod direct {
    conformance!(Postgres);
}

mod pooled {
    conformance!(Pooled);
}

#[test]
fn postgresql_is_tested_or_said_to_be_left_out() {
    crate::harness::postgres::left_out();
}

fn source(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store/postgres");
    std::fs::read_to_string(folder.join(name)).expect("a file of the store")
}

fn server(t: &Harness) -> &postgres::TestDatabase {
    match &*t.database {
        Database::Postgres(database) => database,
        Database::Sqlite(_) => unreachable!("these tests run on PostgreSQL"),
    }
}

#[test]
fn claims_touch_no_index() {
    run(Flavour::Postgres, |t: Harness| async move {
        // As in a running system: jobs come, are claimed and go, and their pages are used again.
        let node = t.node().await;
        for _ in 0..40 {
            t.enqueue_all(&jobs(50)).await;
            for _ in 0..5 {
                let runs = node.claim(10).await;
                let call: Vec<_> = runs.iter().map(|run| (run.held(), done())).collect();
                t.finish_all(node.id, &call).await;
            }
        }
        let of = |column: &str| {
            format!(
                "SELECT coalesce(sum({column}), 0)::bigint FROM pg_stat_user_tables
                 WHERE schemaname = 'longshore' AND relname = 'job'"
            )
        };
        t.until("the counts arrive", || {
            let (t, all) = (t.clone(), of("n_tup_upd"));
            // Any further call makes a session tell what it has counted.
            async move {
                t.store.now().await.expect("the time");
                t.store.rescue().await.expect("a rescue");
                t.number(all).await >= 2_000
            }
        })
        .await;
        // Young pages give 84 %; an index that names what a claim changes would give none.
        let (all, hot) = (t.number(of("n_tup_upd")).await, t.number(of("n_tup_hot_upd")).await);
        assert!(hot * 100 >= all * 75, "{hot} of {all} updates were heap-only");
    });
}

/// With one kind the planner believes that "of no paused kind" leaves nothing, takes the waiting jobs for one row and
/// would rather fetch and sort them all than walk the index in order.
#[test]
fn claims_fetch_what_they_take_and_little_more() {
    for flavour in [Flavour::Postgres, Flavour::Pooled] {
        run(flavour, |t: Harness| async move {
            const WAITING: i64 = 4_000;
            t.enqueue_all(&jobs(WAITING as usize)).await;
            t.execute("ANALYZE longshore.job".into()).await;
            let of = |what: &str| {
                format!(
                    "SELECT coalesce(sum({what}), 0)::bigint FROM pg_stat_user_tables
                     WHERE schemaname = 'longshore' AND relname = 'job'"
                )
            };
            let read = of("coalesce(idx_tup_fetch, 0) + seq_tup_read");
            let node = t.node().await;
            // Each claim in a row is a new look from the start.
            let before = t.number(read.clone()).await;
            for _ in 0..5 {
                assert_eq!(node.claim(10).await.len(), 10);
            }
            t.until("the counts arrive", || {
                let (t, all) = (t.clone(), of("n_tup_upd"));
                async move {
                    t.store.now().await.expect("the time");
                    t.number(all).await >= 50
                }
            })
            .await;
            let read = t.number(read).await - before;
            assert!(read < WAITING / 4, "50 jobs were taken and {read} rows read");
        });
    }
}

/// What a claim is called with in a statement by hand.
async fn claim_by_hand(t: &Harness, node: &Node) -> String {
    let marks = |value: &str| [value; 10].join(",");
    format!(
        "('{}'::uuid, {}, '{{default}}'::text[], '{{100}}'::int[], '{{k}}'::text[],
          '{{{}}}'::timestamptz[], '{{{}}}'::uuid[], to_timestamp({}::float8 / 1000000), '{{1}}'::int[], null)",
        node.id,
        node.next_no(),
        marks("0001-01-01 00:00:00+00 BC"),
        marks("00000000-0000-0000-0000-000000000000"),
        t.now().await.as_micros()
    )
}

/// Another node's claim may commit after ours has begun. What it took is passed over untouched: locked by us in the version
/// that is the other's now, its results would wait for our claim.
#[test]
fn a_claim_locks_nothing_that_another_has_taken() {
    run(Flavour::Postgres, |t: Harness| async move {
        let (late, quick) = (t.node().await, t.node().await);
        t.enqueue_all(&jobs(5)).await;
        let mut holds = server(&t).conn().await;
        let hold = format!("BEGIN; SELECT FROM longshore.node WHERE id = '{}' FOR UPDATE", late.id);
        sqlx::raw_sql(AssertSqlSafe(hold)).execute(&mut holds).await.expect("it holds the node");
        let claiming = tokio::spawn({
            let late = late.clone();
            async move { late.claim(5).await }
        });
        t.until("the claim has begun", || {
            let t = t.clone();
            let waiting = "SELECT count(*) FROM pg_stat_activity
                WHERE datname = current_database() AND wait_event_type = 'Lock'";
            async move { t.number(waiting.into()).await == 1 }
        })
        .await;
        assert_eq!(quick.claim(5).await.len(), 5);

        sqlx::raw_sql("ROLLBACK").execute(&mut holds).await.expect("it lets go");

        assert!(claiming.await.expect("no panic").is_empty());
        // Who wrote a row after a lock is named twice; who locks it then, in `xmax`.
        let touched = "SELECT count(*) FROM longshore.job WHERE xmax::text <> xmin::text";
        assert_eq!(t.number(touched.into()).await, 0);
    });
}

/// A row keeps the mark of whoever locked it last, and a claim passes over none for it once that is over: however it
/// ended, and whatever transactions are open beside.
#[test]
fn what_was_locked_and_let_go_is_claimed_at_once() {
    run(Flavour::Postgres, |t: Harness| async move {
        let node = t.node().await;
        let ids = t.enqueue_all(&jobs(5)).await;
        let mut conns = Vec::new();
        for _ in 0..4 {
            conns.push(server(&t).conn().await);
        }
        let [writes, one, other, holds] = &mut conns[..] else { unreachable!("four") };
        let say = async |conn: &mut sqlx::PgConnection, sql: &str, of: usize| {
            let sql = sql.replace("$id", &format!("'{}'", ids[of].id));
            sqlx::raw_sql(AssertSqlSafe(sql)).execute(conn).await.expect("a statement");
        };
        say(writes, "BEGIN; SELECT txid_current()", 0).await;
        let lock = "BEGIN; SELECT FROM longshore.job WHERE id = $id FOR UPDATE;";
        say(one, &format!("{lock} ROLLBACK"), 0).await;
        say(one, &format!("{lock} COMMIT"), 1).await;
        let inner = "BEGIN; SAVEPOINT s; UPDATE longshore.job SET attempt = 0 WHERE id = $id; ROLLBACK TO s; COMMIT";
        say(one, inner, 2).await;
        for conn in [&mut *one, &mut *other] {
            say(conn, "BEGIN; SELECT FROM longshore.job WHERE id = $id FOR SHARE", 3).await;
        }
        for conn in [&mut *one, &mut *other] {
            say(conn, "COMMIT", 3).await;
        }
        say(holds, lock, 4).await;

        assert_eq!(node.claim(10).await.len(), 4);
        say(holds, "ROLLBACK", 4).await;
        assert_eq!(node.claim(10).await.len(), 1);
    });
}

#[test]
fn a_plan_made_on_the_empty_table_stays_good() {
    run(Flavour::Postgres, |t: Harness| async move {
        let node = t.node().await;
        let mut conn = server(&t).conn().await;
        let prepare = format!(
            "SET plan_cache_mode = force_custom_plan; PREPARE look AS {}",
            source("claim.sql")
        );
        sqlx::raw_sql(AssertSqlSafe(prepare)).execute(&mut conn).await.expect("a statement");
        let look = format!("EXECUTE look {}", claim_by_hand(&t, &node).await);
        sqlx::raw_sql(AssertSqlSafe(look)).execute(&mut conn).await.expect("a look");
        t.execute(
            "INSERT INTO longshore.job (id, kind, queue, priority, run_at, created_at, max_attempts, payload)
             SELECT gen_random_uuid(), 'k', 'default', i % 10, now() + interval '30 days', now(), 1, 'null'
             FROM generate_series(1, 300000) i"
                .into(),
        )
        .await;

        let explain = format!("EXPLAIN EXECUTE look {}", claim_by_hand(&t, &node).await);
        let plan: Vec<String> =
            sqlx::query_scalar(AssertSqlSafe(explain)).fetch_all(&mut conn).await.expect("a plan");

        let plan = plan.join("\n");
        assert!(plan.contains("job_claim"), "{plan}");
        assert!(!plan.contains("Seq Scan on job"), "{plan}");
        conn.close().await.expect("the connection closes");
    });
}

#[test]
fn a_claim_leaves_no_setting_behind() {
    run(Flavour::Postgres, |t: Harness| async move {
        t.enqueue(job()).await;
        let node = t.node().await;
        let mut conn = server(&t).conn().await;
        let prepare = format!("PREPARE look AS {}", source("claim.sql"));
        sqlx::raw_sql(AssertSqlSafe(prepare)).execute(&mut conn).await.expect("a statement");
        let look = format!("EXECUTE look {}", claim_by_hand(&t, &node).await);
        sqlx::raw_sql(AssertSqlSafe(look)).execute(&mut conn).await.expect("a look");

        let setting: String = sqlx::query_scalar("SHOW synchronous_commit")
            .fetch_one(&mut conn)
            .await
            .expect("a setting");

        assert_eq!(
            setting, "on",
            "what is enqueued and finished must be on disk when it is answered"
        );
        conn.close().await.expect("the connection closes");
    });
}

#[test]
fn a_killed_listener_comes_back() {
    run(Flavour::Postgres, |t: Harness| async move {
        let other = t.beside().await;
        let store = t.store.clone();
        let ear = tokio::spawn(async move { store.listen().await });
        for round in 0..2 {
            let mut woken = t.store.wakes().subscribe();
            t.until("the other's enqueue is heard", || {
                let other = other.clone();
                let heard = woken.take().look;
                async move {
                    if !heard {
                        other.enqueue(&[job()], Repeat::No).await.expect("an enqueue");
                        tokio::time::sleep(50 * MILLI).await;
                    }
                    heard
                }
            })
            .await;
            if round == 0 {
                let killed = t
                    .number(
                        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                         WHERE datname = current_database() AND query ILIKE 'listen%'"
                            .into(),
                    )
                    .await;
                assert!(killed >= 1, "somebody listened");
            }
        }
        ear.abort();
        other.close().await;
    });
}

#[test]
fn a_finish_without_a_partition_makes_it() {
    run(Flavour::Postgres, |t: Harness| async move {
        t.enqueue(job()).await;
        let run = t.claim_one().await;
        t.execute(
            "DO $$ DECLARE part regclass; BEGIN
                FOR part IN SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = 'longshore.history'::regclass
                LOOP EXECUTE format('DROP TABLE %s', part); END LOOP; END $$"
                .into(),
        )
        .await;

        t.finish(&run, done()).await;
        assert_eq!(t.state(run.id).await, longshore::State::Succeeded);

        // Long after the last one that was made ahead.
        t.enqueue(job()).await;
        let run = t.claim_one().await;
        t.advance(40 * 24 * HOUR);
        t.finish(&run, cancelled()).await;
        assert_eq!(t.state(run.id).await, longshore::State::Cancelled);
    });
}

#[test]
fn a_transaction_of_the_other_database_is_refused() {
    run(Flavour::Postgres, |t: Harness| async move {
        let file = Harness::fresh(Flavour::Sqlite).await.expect("SQLite");
        let mut ours = file.sqlite_conn().await;
        let mut theirs = server(&t).conn().await;

        let first = t.store.enqueue_in(ours.conn(), &[job()]).await;
        let second = file.store.enqueue_in(theirs.conn(), &[job()]).await;

        for answer in [first, second] {
            assert!(matches!(answer, Err(StoreError::Config(_))), "{answer:?}");
        }
        ours.close().await.expect("it closes");
        theirs.close().await.expect("it closes");
        file.remove().await;
    });
}

/// Nor does it keep the lead from being renewed for longer than a second at a time.
#[test]
fn an_operation_passes_a_job_that_somebody_holds() {
    run(Flavour::Postgres, |t: Harness| async move {
        t.enqueue_all(&jobs(30)).await;
        let client = crate::conformance::token::client(&t).await;
        let action = longshore::operation::Action::Priority { priority: 1 };
        let all = longshore::Filter::all().kind(KIND);
        let new = longshore::operation::NewOperation::new(action, all);
        let mut other = t.transaction().await;
        other.execute("SELECT id FROM longshore.job ORDER BY id LIMIT 1 FOR UPDATE").await;
        let id = client.start_operation(new).await.expect("it starts").id;
        let helper = client.help_with_operations();
        t.until("the operation ends", || async {
            client.operation(id).await.expect("a look").state.is_end()
        })
        .await;
        helper.end().await;
        other.roll_back().await;
        let row = client.operation(id).await.expect("a look");
        assert_eq!((row.done, row.reasons.get("error")), (29, Some(&1)), "{row:?}");
        client.close().await;
    });
}
