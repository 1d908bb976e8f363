//! Measures every kind of list and count, and the numbers of now, on a database of 1,000,000 finished and 100,000 waiting jobs.
//! Takes the address of an empty database, and prints a line for each: name, p50 and p95 in ms, rows
//! looked at, jobs found. `scripts/show/13-lists` holds them against their bar.

use std::sync::Arc;
use std::time::Instant;

use longshore::store::{Detail, Effort, ListQuery, Position, Store};
use longshore::{Client, Filter, StoreOptions};
use sqlx::{AssertSqlSafe, Connection, PgConnection, SqliteConnection};

const FINISHED: usize = 1_000_000;
const WAITING: usize = 100_000;
const ROUNDS: usize = 40;

type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

#[tokio::main]
async fn main() -> Result<()> {
    let url = std::env::args().nth(1).ok_or("usage: lists sqlite:PATH|postgres://…")?;
    let store = longshore::store::open(&url, StoreOptions::default()).await?;
    store.migrate().await?;
    let began = Instant::now();
    if url.starts_with("sqlite:") {
        fill_sqlite(url.trim_start_matches("sqlite:")).await?;
    } else {
        fill_postgres(&url).await?;
    }
    eprintln!("filled in {:.1} s", began.elapsed().as_secs_f64());
    lists(&store).await?;
    counts(&store).await?;
    store.close().await;
    stats(&url).await
}

/// Finished ones over the last 7 days, waiting ones between them by age; of 50 queues one is rare. 300
/// are dead, 200 run, 1,000 retry.
async fn fill_postgres(url: &str) -> Result<()> {
    let mut conn = PgConnection::connect(url).await?;
    // An id of version 7 made `back` milliseconds ago.
    let id = |back: &str, n: &str| {
        format!(
            "(lpad(to_hex((extract(epoch from now()) * 1000)::bigint - {back}), 12, '0') || '7000'
              || '8000' || lpad(to_hex({n}), 12, '0'))::uuid"
        )
    };
    for day in 0..8 {
        let sql = format!(
            "select longshore.make_history_day(((now() at time zone 'UTC')::date) - {day})"
        );
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut conn).await?;
    }
    let (old, young) = (id("n * 600", "n"), id("n * 6000", "n"));
    let sql = format!(
        "insert into longshore.history (id, kind, queue, priority, run_at, created_at, max_attempts, tags,
             payload, attempt, node, lease, leased_at, finished_at, state)
         select {old}, 'kind.' || (n % 40), 'queue' || (n % 49), n % 10, t, t, 10,
             case when n % 4 = 0 then array['tag' || (n % 100), 'all'] end,
             '{{\"customer\": 123456, \"text\": \"some payload of usual length\"}}', 1 + n % 3,
             '00000000-0000-7000-8000-000000000001', n, t, t + interval '1 second',
             case when n % 50 = 0 then 'cancelled' else 'succeeded' end
         from (select n, now() - n * interval '600 milliseconds' - interval '2 seconds' as t
               from generate_series({FINISHED}, 1, -1) n) s;
         insert into longshore.job (id, kind, queue, priority, run_at, created_at, max_attempts, tags, payload,
             attempt, node, lease, leased_at, dead_at, unique_key)
         select {young}, 'kind.' || (n % 40), case when n % 5000 = 0 then 'rare' else 'queue' || (n % 49) end,
             n % 10, case when n % 333 <> 0 then t + (n % 3) * interval '1 hour' end, t, 10,
             case when n % 4 = 0 then array['tag' || (n % 100), 'all'] end,
             '{{\"customer\": 123456, \"text\": \"some payload of usual length\"}}',
             case when n % 100 = 1 then 2 else 0 end,
             case when n % 500 = 1 then '00000000-0000-7000-8000-000000000001'::uuid end,
             case when n % 500 = 1 then n end, case when n % 500 = 1 then t end,
             case when n % 333 = 0 then t end, case when n % 10 = 0 then 'key' || n end
         from (select n, now() - n * interval '6 seconds' as t from generate_series({WAITING}, 1, -1) n) s;
         insert into longshore.claim (node, no, ids)
         select node, lease, array[id] from longshore.job where node is not null;
         analyze longshore.job; analyze longshore.history; analyze longshore.claim"
    );
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut conn).await?;
    // As a database is after some hours: its indexes know which pages everybody may see.
    sqlx::raw_sql("vacuum longshore.job").execute(&mut conn).await?;
    sqlx::raw_sql("vacuum longshore.history").execute(&mut conn).await?;
    Ok(conn.close().await?)
}

async fn fill_sqlite(path: &str) -> Result<()> {
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path);
    let mut conn = SqliteConnection::connect_with(&options).await?;
    let id = |back: &str| format!("unhex(printf('%012x70008000%012x', now / 1000 - {back}, n))");
    let (old, young) = (id("n * 600"), id("n * 6000"));
    let sql = format!(
        "BEGIN IMMEDIATE;
         WITH RECURSIVE s(n, now) AS (
             SELECT {FINISHED}, CAST(unixepoch('subsec') * 1000000 AS INTEGER)
             UNION ALL SELECT n - 1, now FROM s WHERE n > 1)
         INSERT INTO longshore_history (id, kind, queue, priority, run_at, created_at, max_attempts, tags,
             payload, attempt, node, lease, leased_at, finished_at, state)
         SELECT {old}, 'kind.' || (n % 40), 'queue' || (n % 49), n % 10, now - n * 600000, now - n * 600000, 10,
             CASE WHEN n % 4 = 0 THEN json_array('tag' || (n % 100), 'all') END,
             '{{\"customer\": 123456, \"text\": \"some payload of usual length\"}}', 1 + n % 3,
             unhex('00000000000070008000000000000001'), n, now - n * 600000, now - n * 600000 + 1000000,
             CASE WHEN n % 50 = 0 THEN 'cancelled' ELSE 'succeeded' END
         FROM s;
         WITH RECURSIVE s(n, now) AS (
             SELECT {WAITING}, CAST(unixepoch('subsec') * 1000000 AS INTEGER)
             UNION ALL SELECT n - 1, now FROM s WHERE n > 1)
         INSERT INTO longshore_job (id, kind, queue, priority, run_at, created_at, max_attempts, tags, payload,
             attempt, node, lease, leased_at, dead_at, unique_key)
         SELECT {young}, 'kind.' || (n % 40), CASE WHEN n % 5000 = 0 THEN 'rare' ELSE 'queue' || (n % 49) END,
             n % 10, CASE WHEN n % 333 <> 0 THEN now - n * 6000000 + (n % 3) * 3600000000 END,
             now - n * 6000000, 10, CASE WHEN n % 4 = 0 THEN json_array('tag' || (n % 100), 'all') END,
             '{{\"customer\": 123456, \"text\": \"some payload of usual length\"}}',
             CASE WHEN n % 100 = 1 THEN 2 ELSE 0 END,
             CASE WHEN n % 500 = 1 THEN unhex('00000000000070008000000000000001') END,
             CASE WHEN n % 500 = 1 THEN n END, CASE WHEN n % 500 = 1 THEN now - n * 6000000 END,
             CASE WHEN n % 333 = 0 THEN now - n * 6000000 END, CASE WHEN n % 10 = 0 THEN 'key' || n END
         FROM s;
         COMMIT;
         PRAGMA wal_checkpoint(TRUNCATE);"
    );
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut conn).await?;
    Ok(conn.close().await?)
}

/// Each way to look, and for each what it finds least of.
const LISTS: [&str; 24] = [
    "",
    "state:queued",
    "state:running",
    "state:dead",
    "state:running,dead",
    "state:retrying",
    "state:scheduled",
    "state:succeeded",
    "state:cancelled",
    "queue:rare",
    "queue:rare state:queued,scheduled,retrying",
    "queue:queue7",
    "kind:kind.7",
    "kind:kind.1*",
    "kind:absent",
    "-kind:kind.* tag:absent",
    "tag:tag4",
    "key:key70",
    "key:*77",
    "node:00000000-0000-7000-8000-000000000001 state:running",
    "id:019364bb-3f3c-7c6e-8f6a-3d2f1b7c9e10",
    "kind:kind.7 state:succeeded finished:>-1h",
    "finished:-5d..-4d",
    "created:<-3d -priority:1..8 attempt:>2 -queue:queue1*,queue2*",
];

async fn lists(store: &Arc<dyn Store>) -> Result<()> {
    for text in LISTS {
        let query = ListQuery { filter: text.parse()?, ..ListQuery::default() };
        measure(store, &format!("list {text}"), &query).await?;
    }
    let first = ListQuery { limit: 200, ..ListQuery::default() };
    let mut at = Position::First;
    for _ in 0..20 {
        let page = store.list(&ListQuery { at, ..first.clone() }).await?;
        at = Position::After(page.next.ok_or("there are more pages")?);
    }
    measure(store, "list, the 21st page of 200", &ListQuery { at, ..first.clone() }).await?;
    if let Position::After(cursor) = at {
        let back = ListQuery { at: Position::Before(cursor), ..first.clone() };
        measure(store, "list, back to the 20th page", &back).await?;
    }
    let whole = ListQuery { detail: Detail::Whole, ..first };
    measure(store, "list, 200 jobs whole", &whole).await
}

async fn measure(store: &Arc<dyn Store>, name: &str, query: &ListQuery) -> Result<()> {
    let (mut times, mut looked, mut found) = (Vec::new(), 0, 0);
    for round in 0..=ROUNDS {
        let began = Instant::now();
        let page = store.list(query).await?;
        // The first warms up.
        if round > 0 {
            times.push(began.elapsed().as_secs_f64() * 1_000.0);
        }
        (looked, found) = (page.looked, page.jobs.len() as u64);
    }
    say(name, times, looked, found);
    Ok(())
}

async fn counts(store: &Arc<dyn Store>) -> Result<()> {
    for text in LISTS {
        let filter: Filter = text.parse()?;
        let (mut times, mut looked, mut found) = (Vec::new(), 0, 0);
        for round in 0..=ROUNDS {
            let began = Instant::now();
            let count = store.count(&filter, Effort::Bounded).await?;
            if round > 0 {
                times.push(began.elapsed().as_secs_f64() * 1_000.0);
            }
            (looked, found) = (count.looked, count.value);
        }
        say(&format!("count {text}"), times, looked, found);
    }
    let began = Instant::now();
    let count = store.count(&"kind:absent".parse()?, Effort::Unbounded).await?;
    let time = began.elapsed().as_secs_f64() * 1_000.0;
    say("exact: count kind:absent", vec![time], count.looked, count.value);
    Ok(())
}

/// What `GET /api/v1/stats/now` asks: with the leader's count of the queues, and where nobody leads, so that it counts
/// them itself.
async fn stats(url: &str) -> Result<()> {
    let client = Client::open(url).await?;
    for counted in [true, false] {
        let (mut times, mut queues) = (Vec::new(), 0);
        for round in 0..=ROUNDS {
            if !counted {
                forget_counts(url).await?;
            }
            let began = Instant::now();
            let stats = client.stats().await?;
            if round > 0 {
                times.push(began.elapsed().as_secs_f64() * 1_000.0);
            }
            queues = stats.queues.len() as u64;
        }
        say(if counted { "stats" } else { "stats, counting queues" }, times, 0, queues);
    }
    client.close().await;
    Ok(())
}

async fn forget_counts(url: &str) -> Result<()> {
    if url.starts_with("sqlite:") {
        let path = url.trim_start_matches("sqlite:");
        let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path);
        let mut conn = SqliteConnection::connect_with(&options).await?;
        sqlx::raw_sql("DELETE FROM longshore_queue_stats").execute(&mut conn).await?;
        return Ok(conn.close().await?);
    }
    let mut conn = PgConnection::connect(url).await?;
    sqlx::raw_sql("delete from longshore.queue_stats").execute(&mut conn).await?;
    Ok(conn.close().await?)
}

fn say(name: &str, mut times: Vec<f64>, looked: u64, found: u64) {
    times.sort_by(f64::total_cmp);
    let at = |part: f64| times[((times.len() - 1) as f64 * part).round() as usize];
    println!("{name}\t{:.1}\t{:.1}\t{looked}\t{found}", at(0.5), at(0.95));
}
