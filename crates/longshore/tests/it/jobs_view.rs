//! The view over all jobs says of each what `get` says.

use longshore::store::AskCancel;
use longshore::{JobRow, State, Timestamp, Unique};
use serde_json::Value;
use sqlx::{AssertSqlSafe, Connection};

use crate::harness::*;

#[rustfmt::skip]
const TEXTS: [&str; 9] = ["id", "kind", "queue", "state", "payload", "unique_key", "node", "cancel_by", "cancel_why"];
const NUMBERS: [&str; 4] = ["priority", "attempt", "max_attempts", "payload_version"];
const TIMES: [&str; 5] = ["run_at", "created_at", "leased_at", "finished_at", "cancel_at"];
const JSON: [&str; 5] = ["output", "errors", "tags", "meta", "redacted"];

impl Harness {
    /// A value out of the view, as text.
    async fn seen(&self, row: &JobRow, column: &str) -> Option<String> {
        match &*self.database {
            Database::Sqlite(_) => {
                let mut conn = self.sqlite_conn().await;
                let id = self.literal(row.id.as_uuid());
                let sql = format!(
                    "SELECT CAST({column} AS TEXT) FROM longshore_jobs WHERE id_bytes = {id}"
                );
                let text = sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(&mut conn).await;
                conn.close().await.expect("the connection closes");
                text.expect("a text")
            }
            #[cfg(feature = "postgres")]
            Database::Postgres(database) => {
                let mut conn = database.conn().await;
                let value = match column {
                    _ if TIMES.contains(&column) => {
                        format!(
                            "to_char({column} at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')"
                        )
                    }
                    "tags" | "redacted" => format!("to_json({column})::text"),
                    _ => format!("{column}::text"),
                };
                let id = row.id;
                let sql = format!("SELECT {value} FROM longshore.jobs WHERE id = '{id}'");
                let text = sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(&mut conn).await;
                conn.close().await.expect("the connection closes");
                text.expect("a text")
            }
        }
    }

    async fn looks_the_same(&self, row: &JobRow) {
        let cancel = row.cancel.clone();
        let (cancel_at, by, why) = cancel.map_or((None, None, None), |c| (Some(c.at), c.by, c.why));
        let texts = [
            Some(row.id.to_string()),
            Some(row.kind.clone()),
            Some(row.queue.clone()),
            Some(row.state.to_string()),
            // The database does not look into it, so all of it is left out.
            row.redacted.is_empty().then(|| row.payload.to_string()),
            row.unique_key.clone(),
            row.node.map(|node| node.to_string()),
            by,
            why,
        ];
        let numbers = [u32::from(row.priority), row.attempt, row.max_attempts, row.payload_version];
        let times = [row.run_at, Some(row.created_at), row.leased_at, row.finished_at, cancel_at];
        let parsed = |text: &Option<Box<str>>| {
            text.as_ref().map(|text| serde_json::from_str::<Value>(text).expect("JSON"))
        };
        let json = [
            parsed(&row.output),
            Some(serde_json::to_value(&row.errors).expect("JSON")),
            Some(serde_json::to_value(&row.tags).expect("JSON")),
            parsed(&row.meta),
            Some(serde_json::to_value(&row.redacted).expect("JSON")),
        ];
        let what = row.state;
        for (column, expected) in TEXTS.into_iter().zip(texts) {
            assert_eq!(self.seen(row, column).await, expected, "{column} of {what}");
        }
        for (column, expected) in NUMBERS.into_iter().zip(numbers) {
            assert_eq!(
                self.seen(row, column).await,
                Some(expected.to_string()),
                "{column} of {what}"
            );
        }
        for (column, expected) in TIMES.into_iter().zip(times) {
            let expected = expected.map(|at: Timestamp| at.to_string());
            assert_eq!(self.seen(row, column).await, expected, "{column} of {what}");
        }
        for (column, expected) in JSON.into_iter().zip(json) {
            let seen = self.seen(row, column).await;
            let seen = seen.map(|text| serde_json::from_str::<Value>(&text).expect("JSON"));
            assert_eq!(seen, expected, "{column} of {what}");
        }
    }
}

pub async fn the_view_shows_each_state_as_get_does(t: Harness) {
    let rich = || {
        let job = job().payload("{\"n\": 1}").tag("a").tag("ä").meta("{\"m\":1}").priority(3);
        job.unique(Unique::key(fastrand::u64(..).to_string()).within(HOUR))
    };
    let large = format!("\"{}\"", "x".repeat(2_500));
    let node = t.node().await;
    let mut ids = Vec::new();
    for ending in [done_with("{\"o\":1}"), dead(), failed(HOUR), cancelled()] {
        let redacted = || job().payload_version(7).redact("pin").redact("ä").payload("{\"pin\":1}");
        for new in [rich(), job().payload(large.as_str()), redacted()] {
            let id = t.enqueue(new).await;
            let run = node.claim_one().await;
            t.finish(&run, ending.clone()).await;
            ids.push(id);
        }
    }
    // Waits, and is cancelled; runs, and is asked to.
    ids.push(t.enqueue(rich().run_at("1969-07-20T20:17:40.000001Z".parse().unwrap())).await);
    t.cancel(ids[ids.len() - 1]).await;
    ids.push(t.enqueue(rich()).await);
    node.claim_one().await;
    ids.push(t.enqueue(job()).await);
    node.claim_one().await;
    let ask = AskCancel { by: Some("ada".into()), why: Some("why not".into()) };
    t.store.cancel(ids[ids.len() - 1], &ask).await.expect("a cancel");
    ids.push(t.enqueue(job().run_in(HOUR)).await);
    ids.push(t.enqueue(job()).await);
    t.execute(format!(
        "UPDATE {} SET blocked_on = 1 WHERE id = {}",
        t.table("job"),
        t.literal(ids[ids.len() - 1].as_uuid())
    ))
    .await;
    ids.push(t.enqueue(rich()).await);

    let mut states = Vec::new();
    for id in ids {
        let row = t.get(id).await;
        t.looks_the_same(&row).await;
        states.push(row.state);
    }
    for state in State::ALL {
        assert!(states.contains(&state), "{state} was not looked at");
    }
    assert_eq!(
        t.number(format!("SELECT count(*) FROM {}", jobs_of(&t))).await,
        states.len() as i64
    );
}

fn jobs_of(t: &Harness) -> String {
    if t.is_sqlite() { "longshore_jobs".into() } else { "longshore.jobs".into() }
}

pub async fn one_job_is_found_by_indexes_in_the_view(t: Harness) {
    t.enqueue(job()).await;
    let plan: Vec<String> = match &*t.database {
        Database::Sqlite(_) => {
            let mut conn = t.sqlite_conn().await;
            let sql = "EXPLAIN QUERY PLAN SELECT state, payload, run_at FROM longshore_jobs
                WHERE id_bytes = x'01934b3e8f0070008000000000000000'";
            let rows: Vec<(i64, i64, i64, String)> =
                sqlx::query_as(sql).fetch_all(&mut conn).await.expect("a plan");
            conn.close().await.expect("the connection closes");
            rows.into_iter().map(|row| row.3).collect()
        }
        #[cfg(feature = "postgres")]
        Database::Postgres(database) => {
            let mut conn = database.conn().await;
            // On small tables a scan would be cheaper.
            let sql = "SET enable_seqscan = off";
            sqlx::raw_sql(sql).execute(&mut conn).await.expect("a setting");
            let sql = "EXPLAIN SELECT state, payload, run_at FROM longshore.jobs
                WHERE id = '01934b3e-8f00-7000-8000-000000000000'";
            let plan = sqlx::query_scalar(sql).fetch_all(&mut conn).await.expect("a plan");
            conn.close().await.expect("the connection closes");
            plan
        }
    };
    let plan = plan.join("\n");
    let by_index = |line: &&str| line.contains("USING INDEX") || line.contains("Index Scan");
    assert!(plan.lines().filter(by_index).count() >= 2, "{plan}");
    assert!(!plan.contains("Seq Scan") && !plan.contains("SCAN longshore"), "{plan}");
}

macro_rules! stamped {
    ($($name:ident: $case:ident on $flavour:ident;)+) => {$(
        #[test]
        fn $name() {
            run(Flavour::$flavour, $case);
        }
    )+};
}

stamped! {
    each_state_on_sqlite: the_view_shows_each_state_as_get_does on Sqlite;
    one_job_on_sqlite: one_job_is_found_by_indexes_in_the_view on Sqlite;
}

#[cfg(feature = "postgres")]
stamped! {
    each_state_on_postgres: the_view_shows_each_state_as_get_does on Postgres;
    one_job_on_postgres: one_job_is_found_by_indexes_in_the_view on Postgres;
}
