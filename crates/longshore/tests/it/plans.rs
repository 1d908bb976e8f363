//! How lists get at their rows: by an index, whichever way is taken, on tables that no statistics know.

use std::path::Path;

use sqlx::{AssertSqlSafe, Connection};

use crate::harness::*;

fn source(store: &str, name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store").join(store);
    std::fs::read_to_string(folder.join(name)).expect("a file of the store")
}

/// `look.sql` called with this way, these ids, and nothing of the filter but its states.
#[cfg(feature = "postgres")]
fn look(way: u8, ids: &str, states: &str, now: &str, last: &str) -> String {
    let null = |kind: &str, count: usize| vec![format!("null::{kind}"); count].join(", ");
    format!(
        "({way}, 'ffffffff-ffff-7fff-8fff-ffffffffffff'::uuid, 5000, {ids}::uuid[], true, {now}, {states}::text[],
          {}, {}, {}{last})",
        null("uuid[]", 3),
        null("text[]", 11),
        null("text", 5)
    )
}

#[cfg(feature = "postgres")]
#[test]
fn no_list_scans_a_table() {
    run(Flavour::Postgres, |t: Harness| async move {
        let Database::Postgres(database) = &*t.database else { unreachable!("on PostgreSQL") };
        let mut conn = database.conn().await;
        let one = "'{019364bb-3f3c-7c6e-8f6a-3d2f1b7c9e10}'";
        let probe = |dead, running, keys, queues| {
            format!(
                "(5001, {dead}, {running}, null::uuid[], {keys}::text[], {queues}::text[], 20000)"
            )
        };
        let begin = source("postgres", "list_begin.sql").replace("$1", "null");
        sqlx::raw_sql(AssertSqlSafe(format!(
            "SET plan_cache_mode = force_custom_plan; BEGIN; {begin};"
        )))
        .execute(&mut conn)
        .await
        .expect("a list begins");
        for (name, file) in [("look", "look"), ("look_ended", "look_ended"), ("probe", "probe")] {
            let sql = source("postgres", &format!("{file}.sql"));
            sqlx::raw_sql(AssertSqlSafe(format!("PREPARE {name} AS {sql}")))
                .execute(&mut conn)
                .await
                .expect("it prepares");
        }
        let calls = [
            ("look", look(0, "null", "'{dead}'", "now()", ""), "job_pkey"),
            ("look", look(1, "null", "null", "now()", ""), "job_pkey"),
            ("look", look(2, one, "null", "now()", ""), "job_pkey"),
            ("look_ended", look(0, "null", "null", "null", ", null"), "_pkey"),
            ("look_ended", look(1, "null", "null", "null", ", null"), "_pkey"),
            ("look_ended", look(2, one, "null", "null", ", null"), "_pkey"),
            ("probe", probe(true, false, "null", "null"), "job_dead"),
            ("probe", probe(false, true, "null", "null"), "job_pkey"),
            ("probe", probe(false, false, "'{a}'", "null"), "job_unique"),
            ("probe", probe(false, false, "null", "'{a}'"), "job_claim"),
            ("probe", probe(false, false, "null", "'{a}'"), "job_part"),
        ];
        for filled in [false, true] {
            for (statement, call, index) in &calls {
                let explain = format!("EXPLAIN EXECUTE {statement} {call}");
                let plan: Vec<String> = sqlx::query_scalar(AssertSqlSafe(explain))
                    .fetch_all(&mut conn)
                    .await
                    .expect("a plan");
                let plan = plan.join("\n");
                assert!(plan.contains(index), "{statement} {call}: no {index}:\n{plan}");
                let scans = plan.lines().filter(|line| line.contains("Seq Scan on"));
                let ours: Vec<_> = scans
                    .filter(|line| line.contains(" job") || line.contains(" history"))
                    .collect();
                assert!(ours.is_empty(), "{statement} {call}:\n{plan}");
            }
            if !filled {
                t.execute(
                    "INSERT INTO longshore.job (id, kind, queue, priority, run_at, created_at, max_attempts)
                     SELECT gen_random_uuid(), 'k', 'q' || i % 9, 5, now(), now(), 1 FROM generate_series(1, 50000) i"
                        .into(),
                )
                .await;
            }
        }
        // Days in which the jobs cannot have ended are left out.
        let some_day = look(0, "null", "null", "now()", ", now() + interval '1 microsecond'");
        let explain = format!("EXPLAIN EXECUTE look_ended {some_day}");
        let plan: Vec<String> =
            sqlx::query_scalar(AssertSqlSafe(explain)).fetch_all(&mut conn).await.expect("a plan");
        let parts = plan.iter().filter(|line| line.contains(" on history_")).count();
        assert_eq!(parts, 1, "{}", plan.join("\n"));
        conn.close().await.expect("the connection closes");
    });
}

#[test]
fn no_list_scans_a_file() {
    run(Flavour::Sqlite, |t: Harness| async move {
        let mut conn = t.sqlite_conn().await;
        let mut plans = String::new();
        for file in ["look.sql", "probe.sql", "list.sql", "queue_counts.sql"] {
            let text = source("sqlite", file);
            for step in text.split("-- step: ").skip(1) {
                let explain =
                    format!("EXPLAIN QUERY PLAN {}", step.split_once('\n').expect("a body").1);
                let lines: Vec<(i64, i64, i64, String)> = sqlx::query_as(AssertSqlSafe(explain))
                    .fetch_all(&mut conn)
                    .await
                    .expect("a plan");
                for (.., line) in lines {
                    let table = line.contains("longshore_") || line.starts_with("SCAN j");
                    let scan = line.starts_with("SCAN") && table && !line.contains("INDEX");
                    let inner =
                        line.starts_with("SCAN json_each") || line.contains("VIRTUAL TABLE");
                    // A row for each node and for each queue.
                    let small = ["SCAN n", "SCAN longshore_queue_stats"].contains(&line.as_str());
                    assert!(!scan || inner || small, "{file}: {line}");
                    plans += &format!("{line}\n");
                }
            }
        }
        for index in ["job_claim", "job_part", "job_node", "job_dead", "job_cancel", "job_unique"] {
            assert!(
                plans.contains(&format!("longshore_{index}")),
                "no step uses {index}:\n{plans}"
            );
        }
        conn.close().await.expect("the connection closes");
    });
}

/// Without statistics the planner guesses, and once it walked all jobs in each finish.
#[test]
fn no_statement_walks_all_jobs_of_a_file() {
    run(Flavour::Sqlite, |t: Harness| async move {
        let mut conn = t.sqlite_conn().await;
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store/sqlite");
        let mut looked = 0;
        for entry in std::fs::read_dir(folder).expect("the store's files") {
            let file = entry.expect("a file").file_name().into_string().expect("a name");
            // The benchmark counts everything, by intent.
            if !file.ends_with(".sql") || file == "bench.sql" {
                continue;
            }
            for step in source("sqlite", &file).split("-- step: ").skip(1) {
                let (name, sql) = step.split_once('\n').expect("a body");
                let explain = format!("EXPLAIN QUERY PLAN {sql}");
                let lines: Vec<(i64, i64, i64, String)> = sqlx::query_as(AssertSqlSafe(explain))
                    .fetch_all(&mut conn)
                    .await
                    .unwrap_or_else(|error| panic!("{file}, {name}: {error}"));
                looked += lines.len();
                for (.., line) in lines.iter().filter(|line| line.3.starts_with("SCAN")) {
                    let large = ["job", "history", "payload", "unique_key"];
                    let walks =
                        large.iter().any(|table| line.contains(&format!("longshore_{table}")));
                    assert!(!walks && !line.starts_with("SCAN j "), "{file}, {name}: {line}");
                }
            }
        }
        assert!(looked > 100, "{looked} lines");
        conn.close().await.expect("the connection closes");
    });
}

/// Counting the queues looks at each through the claim index: on tables that no statistics know, and where they say that
/// all jobs are in one lane, so that looking through the table for ten thousand of them seems cheap. The other nine lanes
/// would be looked for through all of it.
#[cfg(feature = "postgres")]
#[test]
fn queues_are_counted_through_the_claim_index() {
    run(Flavour::Postgres, |t: Harness| async move {
        let Database::Postgres(database) = &*t.database else { unreachable!("on PostgreSQL") };
        let node = t.node().await;
        let lead = t.lead(&node, HOUR).await.expect("it leads");
        let mut conn = database.conn().await;
        let sql = source("postgres", "queue_count.sql");
        sqlx::raw_sql(AssertSqlSafe(format!(
            "SET plan_cache_mode = force_custom_plan; PREPARE count AS {sql}"
        )))
        .execute(&mut conn)
        .await
        .expect("it prepares");
        let call = format!("count ('{}'::uuid, {}, 10000, 1000, now())", node.id, lead.term);
        let fill = |queue: &str, priority: &str| {
            format!(
                "INSERT INTO longshore.job (id, kind, queue, priority, run_at, created_at, max_attempts)
                 SELECT gen_random_uuid(), 'k', {queue}, {priority}, now(), now(), 1
                 FROM generate_series(1, 50000) i"
            )
        };
        let emptied = "TRUNCATE longshore.job".to_owned();
        let many_lanes = fill("'q' || i % 9", "i % 10");
        let one_lane = fill("'one'", "4");
        let known = "ANALYZE longshore.job".to_owned();
        for before in [vec![], vec![many_lanes], vec![emptied, one_lane, known]] {
            for statement in &before {
                t.execute(statement.clone()).await;
            }
            let explain = format!("EXPLAIN EXECUTE {call}");
            let plan: Vec<String> = sqlx::query_scalar(AssertSqlSafe(explain))
                .fetch_all(&mut conn)
                .await
                .expect("a plan");
            let plan = plan.join("\n");
            assert!(plan.matches("job_claim").count() >= 3, "{before:?}:\n{plan}");
            let scan = ["Seq Scan on job", "Bitmap Heap Scan on job", "job_pkey"];
            assert!(!scan.iter().any(|scan| plan.contains(scan)), "{before:?}:\n{plan}");
        }
        conn.close().await.expect("the connection closes");
    });
}

/// A step of an operation finds its jobs by id, in tables of any size that no statistics know.
#[cfg(feature = "postgres")]
#[test]
fn no_step_of_an_operation_scans_a_table() {
    run(Flavour::Postgres, |t: Harness| async move {
        let Database::Postgres(database) = &*t.database else { unreachable!("on PostgreSQL") };
        t.execute(
            "INSERT INTO longshore.job (id, kind, queue, priority, run_at, created_at, max_attempts)
             SELECT gen_random_uuid(), 'k', 'q' || i % 9, 5, now(), now(), 1 FROM generate_series(1, 50000) i;
             INSERT INTO longshore.history
                 (id, kind, queue, priority, run_at, created_at, attempt, max_attempts, finished_at, state)
             SELECT gen_random_uuid(), 'k', 'q', 5, now(), now(), 1, 1, now(), 'cancelled'
             FROM generate_series(1, 50000) i"
                .into(),
        )
        .await;
        let mut conn = database.conn().await;
        // Of a small table five hundred rows are cheaper to find by reading it whole; what counts is that nothing
        // has to.
        sqlx::raw_sql("SET plan_cache_mode = force_custom_plan; SET enable_seqscan = off")
            .execute(&mut conn)
            .await
            .expect("settings");
        let ids = "array(select gen_random_uuid() from generate_series(1, 500))::uuid[]";
        let ids: String = sqlx::query_scalar(AssertSqlSafe(format!("select ({ids})::text")))
            .fetch_one(&mut conn)
            .await
            .expect("ids");
        let ids = format!("'{ids}'::uuid[]");
        let days = "now() - interval '1 hour', now()";
        for (file, call) in [
            ("jobs", format!("({ids}, null)")),
            ("ended", format!("({ids}, {days})")),
            ("retry", format!("({ids}, 1, null)")),
            ("retry_ended", format!("({ids}, 1, null, {days})")),
            ("cancel", format!("({ids}, 'ada', 'why', null)")),
            ("delete", format!("({ids}, {ids}, {days})")),
            ("edit", format!("({ids}, null, 1, null)")),
        ] {
            let sql = source("postgres", &format!("operation_{file}.sql"));
            sqlx::raw_sql(AssertSqlSafe(format!("PREPARE step_{file} AS {sql}")))
                .execute(&mut conn)
                .await
                .expect("it prepares");
            let explain = format!("EXPLAIN EXECUTE step_{file} {call}");
            let plan: Vec<String> = sqlx::query_scalar(AssertSqlSafe(explain))
                .fetch_all(&mut conn)
                .await
                .expect("a plan");
            let large = ["Seq Scan on job", "Seq Scan on history"];
            let scans = plan.iter().any(|line| large.iter().any(|scan| line.contains(scan)));
            let plan: Vec<&str> = plan.iter().map(|line| &line[..line.len().min(200)]).collect();
            assert!(!scans, "{file}:\n{}", plan.join("\n"));
        }
        conn.close().await.expect("the connection closes");
    });
}
