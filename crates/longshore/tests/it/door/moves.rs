//! The guide's statements that carry waiting jobs over from other systems, on tables like theirs.

use std::sync::Arc;

use longshore::{JobRow, State};
use sqlx::Row;

use super::{AssertSqlSafe, Connection, server};
use crate::docs::file;
use crate::harness::*;
use crate::worker::{Desk, run};

/// The columns that the statements name, with the types of River's migrations up to 7, and a job in each state.
const RIVER: &str = "
    CREATE TYPE river_job_state AS ENUM
        ('available', 'cancelled', 'completed', 'discarded', 'pending', 'retryable', 'running', 'scheduled');
    CREATE TABLE river_job (
        id bigserial PRIMARY KEY, state river_job_state NOT NULL DEFAULT 'available', attempt smallint NOT NULL DEFAULT 0,
        max_attempts smallint NOT NULL DEFAULT 25, scheduled_at timestamptz NOT NULL DEFAULT now(),
        priority smallint NOT NULL DEFAULT 1, args jsonb NOT NULL, kind text NOT NULL,
        metadata jsonb NOT NULL DEFAULT '{}', queue text NOT NULL DEFAULT 'default',
        tags varchar(255)[] NOT NULL DEFAULT '{}');
    INSERT INTO river_job (state, attempt, scheduled_at, args, kind, queue, tags, metadata)
    SELECT s, CASE s WHEN 'retryable' THEN 20 ELSE 0 END, now() + CASE s WHEN 'available' THEN '0' ELSE '2 hours' END::interval,
        json_build_object('order', s), 'send_receipt', 'mail', '{signup}', '{\"team\": \"shop\"}'
    FROM unnest(enum_range(NULL::river_job_state)) s;
    INSERT INTO river_job (kind, args) VALUES ('other', '{}')";

/// The same of Oban's, whose times are UTC without saying so.
const OBAN: &str = "
    CREATE TYPE oban_job_state AS ENUM
        ('available', 'scheduled', 'executing', 'retryable', 'completed', 'discarded', 'cancelled');
    CREATE TABLE oban_jobs (
        id bigserial PRIMARY KEY, state oban_job_state NOT NULL DEFAULT 'available', queue text NOT NULL DEFAULT 'default',
        worker text NOT NULL, args jsonb NOT NULL DEFAULT '{}', attempt integer NOT NULL DEFAULT 0,
        max_attempts integer NOT NULL DEFAULT 20, priority integer NOT NULL DEFAULT 0,
        scheduled_at timestamp NOT NULL DEFAULT timezone('UTC', now()), tags varchar(255)[] DEFAULT '{}');
    INSERT INTO oban_jobs (state, attempt, scheduled_at, args, worker, queue, tags)
    SELECT s, CASE s WHEN 'retryable' THEN 15 ELSE 0 END,
        timezone('UTC', now()) + CASE s WHEN 'available' THEN '0' ELSE '2 hours' END::interval,
        json_build_object('order', s), 'Shop.SendReceipt', 'mail', '{signup}'
    FROM unnest(enum_range(NULL::oban_job_state)) s;
    INSERT INTO oban_jobs (worker) VALUES ('Shop.Other')";

/// The page's statement that names the table.
fn statement(table: &str) -> String {
    let page = file("docs/guide/coming-from.md");
    let mut blocks = page.split("```sql\n").skip(1).filter_map(|rest| rest.split_once("```"));
    let (block, _) = blocks.find(|(block, _)| block.contains(table)).expect("the statement");
    block.to_owned()
}

/// What came over, by its order; the session's zone is none of theirs.
async fn moved(d: &Desk, theirs: &str, table: &str) -> (Vec<(String, JobRow)>, i64) {
    d.t.execute(theirs.to_owned()).await;
    let mut conn = server(d).conn().await;
    let sql = format!(
        "SET timezone = 'Asia/Tokyo'; BEGIN; {}; COMMIT",
        statement(table).trim().trim_end_matches(';')
    );
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut conn).await.expect("they come over");
    let left: i64 = sqlx::query(AssertSqlSafe(format!("SELECT count(*) FROM {table}")))
        .fetch_one(&mut conn)
        .await
        .expect("a count")
        .get(0);
    conn.close().await.expect("the connection closes");
    let page = d.client.list(Default::default()).await.expect("a list");
    let order = |job: &JobRow| {
        let payload: serde_json::Value = serde_json::from_str(&job.payload).expect("JSON");
        payload["order"].as_str().expect("an order").to_owned()
    };
    let mut jobs: Vec<_> = page.jobs.into_iter().map(|job| (order(&job), job)).collect();
    jobs.sort_by(|a, b| a.0.cmp(&b.0));
    (jobs, left)
}

fn check(jobs: &[(String, JobRow)], priority: u8, attempts: [u32; 3]) {
    let orders: Vec<&str> = jobs.iter().map(|(order, _)| &**order).collect();
    assert_eq!(orders, ["available", "retryable", "scheduled"]);
    for ((order, job), attempts) in jobs.iter().zip(attempts) {
        let state = if order == "available" { State::Queued } else { State::Scheduled };
        assert_eq!(job.state, state, "{order}");
        assert_eq!((&*job.kind, &*job.queue, job.priority), ("send_receipt", "mail", priority));
        assert_eq!((job.max_attempts, &*job.tags), (attempts, &["signup".to_owned()][..]));
        if state == State::Scheduled {
            let ahead = job.run_at.expect("it waits").since(job.created_at).as_secs();
            assert!((7_100..7_300).contains(&ahead), "{order} is due in {ahead} s");
        }
    }
}

#[test]
fn what_waits_in_river_comes_over() {
    run(Flavour::Postgres, |d: Arc<Desk>| async move {
        let (jobs, left) = moved(&d, RIVER, "river_job").await;
        assert_eq!(left, 6, "what runs or has ended stays, and so does another kind");
        check(&jobs, 5, [25, 5, 25]);
        assert_eq!(jobs[0].1.meta.as_deref(), Some(r#"{"team": "shop"}"#));
    });
}

#[test]
fn what_waits_in_oban_comes_over() {
    run(Flavour::Postgres, |d: Arc<Desk>| async move {
        let (jobs, left) = moved(&d, OBAN, "oban_jobs").await;
        assert_eq!(left, 5, "what runs or has ended stays, and so does another worker");
        check(&jobs, 5, [20, 5, 20]);
    });
}
