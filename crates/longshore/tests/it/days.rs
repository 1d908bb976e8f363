//! Whole days of history on PostgreSQL: they go in steps, and whoever is cut off between two of them
//! leaves nothing that the next leader does not put right.

use std::time::{Duration, Instant};

use longshore::store::{Progress, Pruned, Pruner};
use longshore::{Keep, RetentionRule, RetentionScope, State};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::conformance::retention::{DAY, leader, prune, step};
use crate::conformance::said::{part, saying};
use crate::harness::*;

/// Stamps each case for a server and for a pooler before it.
macro_rules! days {
    ($($case:ident,)*) => {
        mod direct { $(#[test] fn $case() { super::run(super::Flavour::Postgres, super::$case) })* }
        mod pooled { $(#[test] fn $case() { super::run(super::Flavour::Pooled, super::$case) })* }
    };
}

days!(
    a_day_that_is_past_goes_as_a_whole,
    a_day_with_one_row_that_stays_is_kept,
    a_day_of_which_little_stays_gives_its_space_back,
    a_day_that_was_detached_and_not_dropped_goes,
    a_detached_day_with_a_row_that_stays_comes_back,
    a_detaching_that_was_cut_off_is_brought_to_its_end,
    a_long_reader_holds_up_no_finish,
    a_stale_leader_takes_no_day_away,
    the_days_ahead_are_left_alone,
);

fn server(t: &Harness) -> &postgres::TestDatabase {
    match &*t.database {
        Database::Postgres(database) => database,
        Database::Sqlite(_) => unreachable!("these tests run on PostgreSQL"),
    }
}

/// The table of the day on which the clock stands.
async fn today(t: &Harness) -> String {
    format!("history_{}", t.now().await.to_string()[..10].replace('-', ""))
}

/// Whether a table is there, and attached.
async fn stands(t: &Harness, table: &str) -> (bool, bool) {
    let there = format!("SELECT count(*) FROM pg_class WHERE relname = '{table}'");
    let attached = format!(
        "SELECT count(*) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
         WHERE c.relname = '{table}' AND NOT i.inhdetachpending"
    );
    (t.number(there).await == 1, t.number(attached).await == 1)
}

/// Prunes until nothing is to be done just now; how many whole days went.
async fn days_gone(t: &Harness, leader: Pruner) -> u32 {
    let mut days = 0;
    for _ in 0..1_000 {
        let Pruned { days: gone, more, .. } = step(t, leader).await;
        days += gone;
        if !more {
            return days;
        }
    }
    panic!("a prune ends");
}

async fn sql(conn: &mut PgConnection, sql: String) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(conn).await.map(drop)
}

/// A report that takes its time: a snapshot that has read history.
async fn reader(t: &Harness) -> PgConnection {
    let mut conn = server(t).conn().await;
    let look = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM longshore.history";
    sql(&mut conn, look.into()).await.expect("a report begins");
    conn
}

async fn a_day_that_is_past_goes_as_a_whole(t: Harness) {
    let day = today(&t).await;
    let large = job().payload(format!("\"{}\"", "x".repeat(4_000)));
    for job in [job(), job(), large] {
        t.ended(job, done()).await;
    }
    // More of a log than goes in one step.
    t.enqueue(job()).await;
    let run = t.claim_one().await;
    let said = saying(&run, Progress::new(0.5, "half").ok(), Some(part(1, 0, 0, &["line"])));
    t.store.say(run.node, &[said]).await.expect("it is kept");
    t.execute(
        "INSERT INTO longshore.log (id, attempt, first, count, bytes, total, run, nth, lines)
         SELECT id, attempt, n, 1, 2, 2, 1, 1, '[]' FROM longshore.log, generate_series(10, 5000) n"
            .into(),
    )
    .await;
    t.finish(&run, done()).await;
    let cancelled = t.ended(job(), cancelled()).await;
    let leader = leader(&t).await;
    assert_eq!(days_gone(&t, leader).await, 0);

    t.advance(8 * DAY);
    let stays = t.ended(job(), done()).await;
    let removed = prune(&t, leader).await;

    assert_eq!((removed.succeeded, removed.cancelled), (4, 1));
    assert_eq!(stands(&t, &day).await, (false, false));
    assert_eq!(t.count("payload").await, 0);
    assert_eq!((t.count("log").await, t.count("progress").await), (0, 0));
    assert!(t.find(cancelled).await.is_none());
    assert_eq!(t.state(stays).await, State::Succeeded);
}

async fn a_day_with_one_row_that_stays_is_kept(t: Harness) {
    let day = today(&t).await;
    let gone = t.ended(job(), done()).await;
    let stays = t.ended(job().retain(30 * DAY), done()).await;
    let leader = leader(&t).await;

    t.advance(9 * DAY);

    assert_eq!(prune(&t, leader).await.succeeded, 1);
    assert_eq!(stands(&t, &day).await, (true, true));
    assert!(t.find(gone).await.is_none());
    assert_eq!(t.state(stays).await, State::Succeeded);
    t.advance(30 * DAY);
    assert_eq!(prune(&t, leader).await.succeeded, 1);
    assert_eq!(stands(&t, &day).await, (false, false));
}

async fn a_day_of_which_little_stays_gives_its_space_back(t: Harness) {
    let day = today(&t).await;
    let now = t.now().await;
    // Every thousandth job stays for a year.
    t.execute(format!(
        "INSERT INTO longshore.history (id, kind, queue, priority, created_at, max_attempts, payload, attempt,
            finished_at, state, output, retain_ms)
         SELECT gen_random_uuid(), 'k', 'default', 5, '{now}', 1, '1', 1, '{now}', 'succeeded',
            to_json(repeat('o', 150)), CASE WHEN i % 1000 = 0 THEN 31536000000 END
         FROM generate_series(1, 30000) i"
    ))
    .await;
    let size = format!("SELECT pg_total_relation_size('longshore.{day}')");
    let before = t.number(size.clone()).await;
    let digest = "SELECT hashtextextended(string_agg(h::text, ',' ORDER BY id), 0)
        FROM longshore.history h WHERE retain_ms IS NOT NULL";
    let stays = t.number(digest.into()).await;
    let leader = leader(&t).await;

    t.advance(9 * DAY);
    // A reader of that day alone is waited for shortly, and then left in peace.
    let mut reader = reader(&t).await;
    assert_eq!(prune(&t, leader).await.succeeded, 29_970);
    assert_eq!(t.number(size.clone()).await, before);
    sql(&mut reader, "COMMIT".into()).await.expect("the report ends");
    t.advance(MINUTE);
    days_gone(&t, leader).await;

    assert_eq!(t.count("history").await, 30);
    assert_eq!(t.number(digest.into()).await, stays, "each is there once, as it was");
    let after = t.number(size).await;
    assert!(after * 10 < before, "{before} bytes before, {after} after");
    assert_eq!(stands(&t, &day).await, (true, true));
}

async fn a_day_that_was_detached_and_not_dropped_goes(t: Harness) {
    let day = today(&t).await;
    t.ended(job(), done()).await;
    t.advance(9 * DAY);
    t.execute(format!("ALTER TABLE longshore.history DETACH PARTITION longshore.{day}")).await;
    let leader = leader(&t).await;

    days_gone(&t, leader).await;

    assert_eq!(stands(&t, &day).await, (false, false));
}

async fn a_detached_day_with_a_row_that_stays_comes_back(t: Harness) {
    let day = today(&t).await;
    let large = || job().payload(format!("\"{}\"", "x".repeat(4_000)));
    t.ended(large(), done()).await;
    let id = t.ended(large().retain(30 * DAY), done()).await;
    t.advance(9 * DAY);
    t.execute(format!("ALTER TABLE longshore.history DETACH PARTITION longshore.{day}")).await;
    assert!(t.find(id).await.is_none());
    let leader = leader(&t).await;

    days_gone(&t, leader).await;

    assert_eq!(stands(&t, &day).await, (true, true));
    assert_eq!(t.get(id).await.payload.len(), 4_002);
    assert_eq!((t.count("history").await, t.count("payload").await), (1, 1));
}

async fn a_detaching_that_was_cut_off_is_brought_to_its_end(t: Harness) {
    let day = today(&t).await;
    t.ended(job(), done()).await;
    t.advance(9 * DAY);
    let mut reader = reader(&t).await;
    let mut conn = server(&t).conn().await;
    sql(&mut conn, "SET statement_timeout = '300ms'".into()).await.expect("a setting");
    let detach =
        format!("ALTER TABLE longshore.history DETACH PARTITION longshore.{day} CONCURRENTLY");
    sql(&mut conn, detach).await.expect_err("the report is in the way");
    conn.close().await.expect("the connection closes");
    assert_eq!(stands(&t, &day).await, (true, false));
    let leader = leader(&t).await;

    days_gone(&t, leader).await;
    assert_eq!(stands(&t, &day).await, (true, false), "the report still needs it");
    let late = t.ended(job(), done()).await;
    assert_eq!(t.state(late).await, State::Succeeded);
    sql(&mut reader, "COMMIT".into()).await.expect("the report ends");
    t.advance(MINUTE);
    days_gone(&t, leader).await;

    assert_eq!(stands(&t, &day).await, (false, false));
}

async fn a_long_reader_holds_up_no_finish(t: Harness) {
    let day = today(&t).await;
    for _ in 0..5 {
        t.ended(job(), done()).await;
    }
    t.advance(9 * DAY);
    t.ended(job(), done()).await;
    let mut reader = reader(&t).await;
    let leader = leader(&t).await;
    let other = t.clone();
    let pruning = tokio::spawn(async move { days_gone(&other, leader).await });
    let mut longest = Duration::ZERO;
    while !pruning.is_finished() {
        t.enqueue(job()).await;
        let run = t.claim_one().await;
        let began = Instant::now();
        t.finish(&run, done()).await;
        longest = longest.max(began.elapsed());
    }

    pruning.await.expect("no panic");
    // A plain DROP would wait for the report with everybody behind it.
    assert!(longest < SECOND, "a finish waited {longest:?}");
    sql(&mut reader, "COMMIT".into()).await.expect("the report ends");
    t.advance(MINUTE);
    days_gone(&t, leader).await;
    assert_eq!(stands(&t, &day).await, (false, false));
}

async fn a_stale_leader_takes_no_day_away(t: Harness) {
    let day = today(&t).await;
    t.ended(job(), done()).await;
    let node = t.node().await;
    t.advance(9 * DAY);
    let lead = t.lead(&node, HOUR).await.expect("nobody else leads");
    // It has seen that the day is past, and would take it away next.
    let memory = step(&t, Pruner::Leader(lead)).await;
    assert!(memory.more);
    t.store.resign(lead).await.expect("it resigns");

    let answer = t.store.prune(Pruner::Leader(lead)).await;

    assert!(answer.is_err(), "{answer:?}");
    prune(&t, Pruner::Hand).await;
    let (there, _) = stands(&t, &day).await;
    assert!(there, "by hand no day is taken away");
    assert_eq!(t.count("history").await, 0);
}

async fn the_days_ahead_are_left_alone(t: Harness) {
    let days = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'longshore.history'::regclass";
    let before = t.number(days.into()).await;
    let scope = RetentionScope::default();
    let rule = RetentionRule { scope, keep: Keep::For(Duration::ZERO) };
    t.store.set_retention(&rule).await.expect("a rule");
    let leader = leader(&t).await;
    t.ended(job(), done()).await;

    assert_eq!(days_gone(&t, leader).await, 0);

    assert_eq!(t.number(days.into()).await, before);
    assert_eq!(t.count("history").await, 0);
}

#[test]
fn a_prune_walks_the_pages_of_one_day() {
    run(Flavour::Postgres, |t: Harness| async move {
        let now = t.now().await;
        t.execute(format!(
            "INSERT INTO longshore.history (id, kind, queue, priority, created_at, max_attempts, payload, attempt,
                finished_at, state)
             SELECT gen_random_uuid(), 'k', 'default', 5, '{now}', 1, '1', 1, '{now}', 'succeeded'
             FROM generate_series(1, 60000) i"
        ))
        .await;
        let (today, day) = (today(&t).await, t.now().await.to_string()[..10].to_owned());
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store/postgres");
        let source = std::fs::read_to_string(folder.join("prune_chunk.sql")).expect("a file");
        let mut conn = server(&t).conn().await;
        let prepare = format!(
            "SET plan_cache_mode = force_custom_plan; SET enable_nestloop = off; PREPARE look AS {source}"
        );
        sql(&mut conn, prepare).await.expect("a statement");
        let explain = format!(
            "EXPLAIN EXECUTE look ('{day} 00:00Z', '{day} 24:00Z', '(0,0)', '(128,0)', 1000, 1000000, false, null)"
        );
        let plan: Vec<String> =
            sqlx::query_scalar(AssertSqlSafe(explain)).fetch_all(&mut conn).await.expect("a plan");
        conn.close().await.expect("the connection closes");

        let plan = plan.join("\n");
        assert!(plan.contains(&format!("Tid Range Scan on {today}")), "{plan}");
        assert!(plan.contains(&format!("Tid Scan on {today}")), "{plan}");
        assert!(!plan.contains("Seq Scan on history"), "{plan}");
    });
}

/// The enqueue finds the old payload row and leaves it; before it looks into history, a prune takes both.
#[test]
fn a_repeat_beside_a_prune_keeps_its_payload() {
    run(Flavour::Postgres, |t: Harness| async move {
        let large = job().payload(format!("\"{}\"", "x".repeat(4_000))).retain(HOUR);
        let id = t.ended(large.clone(), done()).await;
        t.advance(2 * HOUR);
        let leader = leader(&t).await;
        t.execute(
            "CREATE FUNCTION public.slowly() RETURNS trigger LANGUAGE plpgsql AS
                 $$ BEGIN PERFORM pg_sleep(1); RETURN NULL; END $$;
             CREATE TRIGGER slowly AFTER INSERT ON longshore.job
                 FOR EACH STATEMENT EXECUTE FUNCTION public.slowly()"
                .into(),
        )
        .await;
        let other = t.clone();
        let repeat = tokio::spawn(async move { other.repeat(&large).await });
        tokio::time::sleep(300 * MILLI).await;

        assert_eq!(prune(&t, leader).await.succeeded, 1);

        assert!(repeat.await.expect("no panic").is_added());
        assert_eq!(t.get(id).await.payload.len(), 4_002);
        assert_eq!(t.claim_one().await.payload.len(), 4_002);
    });
}
