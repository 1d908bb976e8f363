//! `longshore.enqueue`: what the SQL door adds is what the library would have added, and what it
//! refuses it refuses in the library's words.

mod moves;
mod rules;
mod sql_call;
mod words;

use std::sync::Arc;
use std::time::{Duration, Instant};

use longshore::{JobId, JobRow, NewJob, State};
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};
use uuid::Uuid;

use crate::harness::*;
use crate::worker::wakes::idle;
use crate::worker::{Desk, run};

/// Why the door refused.
#[derive(Debug, PartialEq, Eq)]
pub struct Refused {
    pub state: String,
    pub words: String,
}

/// One call of `longshore.enqueue` with these arguments.
pub async fn call(conn: &mut PgConnection, arguments: &str) -> Result<JobId, Refused> {
    let sql = format!("SELECT longshore.enqueue({arguments})");
    match sqlx::raw_sql(AssertSqlSafe(sql)).fetch_one(conn).await {
        Ok(row) => Ok(JobId::from_uuid(row.try_get(0).expect("an id"))),
        Err(sqlx::Error::Database(error)) => Err(Refused {
            state: error.code().unwrap_or_default().into_owned(),
            words: error.message().to_owned(),
        }),
        Err(error) => panic!("{error}"),
    }
}

/// A text as it stands in a statement.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

pub fn server(d: &Desk) -> &postgres::TestDatabase {
    match &*d.t.database {
        Database::Postgres(database) => database,
        Database::Sqlite(_) => unreachable!("the door is PostgreSQL's"),
    }
}

impl Desk {
    /// A call in a transaction of its own, by the way that the store under test takes.
    pub async fn ask(&self, arguments: &str) -> Result<JobId, Refused> {
        let mut conn = server(self).transaction().await;
        let answer = call(&mut conn, arguments).await;
        let end = if answer.is_ok() { "COMMIT" } else { "ROLLBACK" };
        sqlx::raw_sql(end).execute(&mut conn).await.expect("the transaction ends");
        conn.close().await.expect("the connection closes");
        answer
    }

    pub async fn added(&self, arguments: &str) -> JobId {
        self.ask(arguments).await.expect("a job is enqueued")
    }
}

/// All of a row that two jobs with the same options have alike.
fn options(job: &JobRow) -> String {
    format!(
        "{:?}",
        (
            (&job.kind, &job.queue, job.priority, job.state, job.max_attempts, &job.backoff),
            (job.timeout, job.retain, &job.unique_key, &job.tags, &job.meta, &job.payload),
            (job.payload_version, &job.redacted),
        )
    )
}

#[test]
fn what_is_not_said_is_what_the_library_says() {
    for flavour in [Flavour::Postgres, Flavour::Pooled] {
        run(flavour, |d: Arc<Desk>| async move {
            let ours = d.enqueue(NewJob::new("k").payload(r#"{"order":7}"#)).await;
            let by_sql = d.added(r#"'k', '{"order":7}'"#).await;
            let with_nulls = d
                .added(
                    r#"'k', '{"order":7}', null, null, null, null, null, null, null, null, null, null,
                        id => null, payload_version => null, redacted => null"#,
                )
                .await;

            let ours = d.get(ours).await;
            for id in [by_sql, with_nulls] {
                let row = d.get(id).await;
                assert_eq!(options(&row), options(&ours));
                assert_eq!(row.run_at, Some(row.created_at));
                assert!(d.t.now().await.since(row.created_at) < MINUTE);
            }
            let null = d.added("'k', null").await;
            assert_eq!(&*d.get(null).await.payload, "null");
        });
    }
}

#[test]
fn every_option_is_kept() {
    for flavour in [Flavour::Postgres, Flavour::Pooled] {
        run(flavour, |d: Arc<Desk>| async move {
            let id = Uuid::now_v7();
            let at = "2099-01-02T03:04:05.678901Z";
            // An integer literal is taken for the priority by place and by name.
            let by_place = format!(
                "'k', '[ 1.50 ]', 'mail', 2, '{at}', 'key', 3, array['a', 'ä/%'], '{{ \"n\": 1}}'"
            );
            let id_given = d
                .added(&format!("{by_place}, timeout => '90 s', retain => '1 day', id => '{id}'"))
                .await;
            let by_name = format!(
                "meta => '{{ \"n\": 1}}', tags => '{{a,ä/%}}', max_attempts => 3, unique_key => 'key2',
                 run_at => '{at}', priority => 2::smallint, queue => 'mail', payload => '[ 1.50 ]', kind => 'k',
                 unique_within => '1 hour', on_conflict => 'refuse', timeout => null, retain => '0', payload_version => 3,
                 redacted => array['pin', 'ä']"
            );
            let named = d.added(&by_name).await;

            let row = d.get(id_given).await;
            assert_eq!(id_given.as_uuid(), id);
            let same = NewJob::new("k")
                .payload("[ 1.50 ]")
                .queue("mail")
                .priority(2)
                .run_at(at.parse().unwrap());
            let same = same.max_attempts(3).tag("a").tag("ä/%").meta("{ \"n\": 1}");
            let ours = same.clone().timeout(90 * SECOND).retain(24 * HOUR);
            let ours = ours.unique(longshore::Unique::key("another"));
            let ours = d.get(d.enqueue(ours).await).await;
            assert_eq!(options(&row).replace("\"key\"", "\"another\""), options(&ours));
            assert_eq!((row.run_at, row.state), (ours.run_at, State::Scheduled));
            let ours = same.with_id(JobId::new()).no_timeout().retain(Duration::ZERO);
            let ours = ours.payload_version(3).redact("pin").redact("ä");
            let unique = longshore::Unique::key("another").within(HOUR);
            let ours = d.get(d.enqueue(ours.unique(unique)).await).await;
            assert_eq!(
                options(&d.get(named).await).replace("\"key2\"", "\"another\""),
                options(&ours)
            );
        });
    }
}

#[test]
fn large_payloads_lie_aside_and_come_back() {
    run(Flavour::Postgres, |d: Arc<Desk>| async move {
        for (bytes, aside) in [(2_000, 0), (2_001, 1)] {
            let text = format!("\"{}\"", "x".repeat(bytes - 2));
            let id = d.added(&format!("'k', {}", quoted(&text))).await;
            assert_eq!(*d.get(id).await.payload, *text);
            assert_eq!(d.t.count("payload").await, aside);
        }
    });
}

#[test]
fn a_database_may_set_another_size() {
    run(Flavour::Postgres, |d: Arc<Desk>| async move {
        d.t.execute(
            "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET longshore.payload_bytes = 10', current_database()); END $$"
                .into(),
        )
        .await;
        let refused = d.ask(r#"'k', '"90123456789"'"#).await.expect_err("it is too large");
        assert_eq!(refused.words, "payload has 13 bytes; the limit is 10");
        d.added(r#"'k', '"12345678"'"#).await;
    });
}

#[test]
fn a_roll_back_leaves_nothing() {
    for flavour in [Flavour::Postgres, Flavour::Pooled] {
        run(flavour, |d: Arc<Desk>| async move {
            let large = format!("'k', '\"{}\"', unique_key => 'key'", "x".repeat(3_000));
            let mut conn = server(&d).transaction().await;
            call(&mut conn, &large).await.expect("a job");
            sqlx::raw_sql("ROLLBACK").execute(&mut conn).await.expect("it rolls back");
            conn.close().await.expect("the connection closes");
            for table in ["job", "payload", "unique_key"] {
                assert_eq!(d.t.count(table).await, 0, "{table}");
            }
        });
    }
}

#[test]
fn an_idle_worker_hears_of_it() {
    run(Flavour::Postgres, |d: Arc<Desk>| async move {
        let worker = idle(&d).await;
        // Now, in the past, and one of a transaction that stays open for a while.
        for arguments in ["'k', '1'", "'k', '1', run_at => now() - interval '1 hour'"] {
            let id = d.added(arguments).await;
            let from = Instant::now();
            d.comes_to(id, State::Succeeded).await;
            assert!(from.elapsed() < SECOND, "{arguments}: {:?}", from.elapsed());
            tokio::time::sleep(60 * MILLI).await;
        }
        worker.stop().await;
    });
}

#[test]
fn a_job_enqueued_by_sql_runs_behind_a_pooler() {
    run(Flavour::Pooled, |d: Arc<Desk>| async move {
        let worker =
            d.worker().handle("k", async |_: longshore::Run| {}).start().expect("a worker");
        let id = d.added("'k', '1'").await;
        d.comes_to(id, State::Succeeded).await;
        worker.stop().await;
    });
}

#[test]
fn a_transaction_tells_once() {
    run(Flavour::Postgres, |d: Arc<Desk>| async move {
        let mut ear =
            sqlx::postgres::PgListener::connect(&server(&d).direct).await.expect("an ear");
        ear.listen("longshore").await.expect("it listens");
        d.added("'k', (select json_agg(longshore.enqueue('k', '1')) from generate_series(1, 20))")
            .await;
        // What is due later tells nobody.
        d.added("'k', '1', run_at => now() + interval '1 hour'").await;
        let mut heard = 0;
        while tokio::time::timeout(SECOND, ear.recv()).await.is_ok() {
            heard += 1;
        }
        assert_eq!(heard, 1);
    });
}

#[test]
fn ids_are_of_version_7_and_grow() {
    run(Flavour::Postgres, |d: Arc<Desk>| async move {
        let mut conn = server(&d).conn().await;
        let ids: Vec<Uuid> =
            sqlx::query_scalar("SELECT longshore.enqueue('k', '1') FROM generate_series(1, 1000)")
                .fetch_all(&mut conn)
                .await
                .expect("ids");
        conn.close().await.expect("the connection closes");
        assert!(ids.is_sorted_by(|a, b| a < b), "they grow");
        let now = d.t.now().await.as_micros() / 1_000;
        for id in ids {
            assert_eq!((id.get_version_num(), id.get_variant()), (7, uuid::Variant::RFC4122));
            let made = (id.as_u128() >> 80) as i64;
            assert!((now - made).abs() < 60_000, "{id}");
        }
    });
}

/// The guide's blocks of SQL that have `word` in them.
fn guide(word: &str) -> Vec<String> {
    let root =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the tree");
    let page = std::fs::read_to_string(root.join("docs/guide/sql-door.md")).expect("the guide");
    let blocks = page.split("```sql\n").skip(1).filter_map(|rest| rest.split_once("```"));
    blocks.map(|(block, _)| block.to_owned()).filter(|block| block.contains(word)).collect()
}

#[test]
fn the_guides_trigger_enqueues_in_its_transaction() {
    run(Flavour::Postgres, |d: Arc<Desk>| async move {
        d.t.execute(guide("create trigger").remove(0)).await;
        let mut conn = server(&d).conn().await;
        let insert = "INSERT INTO orders VALUES (7, 'ada@example.com')";
        for (end, jobs) in [("ROLLBACK", 0), ("COMMIT", 1)] {
            let all = format!("BEGIN; {insert}; {end}");
            sqlx::raw_sql(AssertSqlSafe(all)).execute(&mut conn).await.expect("an order");
            assert_eq!(d.t.count("job").await, jobs);
        }
        let payload: String = sqlx::query_scalar("SELECT payload::text FROM longshore.jobs")
            .fetch_one(&mut conn)
            .await
            .expect("the job");
        assert_eq!(payload, r#"{"order" : 7, "to" : "ada@example.com"}"#);
        // A job that is refused takes the order with it.
        d.t.execute("ALTER TABLE orders ALTER email TYPE text; CREATE OR REPLACE FUNCTION orders_enqueue() RETURNS trigger
            LANGUAGE plpgsql AS $$ BEGIN PERFORM longshore.enqueue('', '1'); RETURN NULL; END $$".into()).await;
        let refused = sqlx::raw_sql("INSERT INTO orders VALUES (8, 'x')").execute(&mut conn).await;
        assert!(refused.unwrap_err().to_string().contains("kind `` is empty"));
        conn.close().await.expect("the connection closes");
    });
}

#[test]
fn the_guides_examples_work() {
    run(Flavour::Postgres, |d: Arc<Desk>| async move {
        for block in guide("longshore.enqueue('send_receipt', '{")
            .into_iter()
            .chain(guide("from longshore.jobs"))
        {
            d.t.execute(block).await;
        }
        assert_eq!(d.t.count("job").await, 2);
    });
}

#[test]
fn the_guides_rights_are_enough() {
    run(Flavour::Postgres, |d: Arc<Desk>| async move {
        let role = format!("app_{}", Uuid::now_v7().simple());
        d.t.execute(format!("CREATE ROLE {role}")).await;
        let mut conn = server(&d).conn().await;
        let mut become_app = async |grants: &str| {
            d.t.execute(grants.replace("to app", &format!("to {role}"))).await;
            sqlx::raw_sql(AssertSqlSafe(format!("SET ROLE {role}")))
                .execute(&mut conn)
                .await
                .expect("the role");
        };
        let grants = guide("grant ");
        assert_eq!(grants.len(), 3, "plain, keys, view");
        become_app("SELECT").await;
        let large = format!("'k', '\"{}\"'", "x".repeat(3_000));
        let refused = call(&mut conn, &large).await.expect_err("it may not yet");
        assert_eq!(refused.state, "42501");

        d.t.execute(grants[0].replace("to app", &format!("to {role}"))).await;
        call(&mut conn, &large).await.expect("plain ones");
        let keyed = format!("{large}, unique_key => 'key'");
        assert_eq!(call(&mut conn, &keyed).await.expect_err("not yet").state, "42501");

        d.t.execute(grants[1].replace("to app", &format!("to {role}"))).await;
        for rule in ["keep", "replace"] {
            call(&mut conn, &format!("{keyed}, on_conflict => '{rule}'")).await.expect(rule);
        }
        call(&mut conn, "'k', '1', unique_key => 'key', on_conflict => 'replace'")
            .await
            .expect("inline");
        let given = "'k', '1', id => '01934b3e-8f00-7000-8000-000000000000'";
        for _ in 0..2 {
            call(&mut conn, given).await.expect("an id of its own");
        }

        d.t.execute(grants[2].replace("to app", &format!("to {role}"))).await;
        let seen: i64 = sqlx::query_scalar("SELECT count(payload) FROM longshore.jobs")
            .fetch_one(&mut conn)
            .await
            .expect("the view");
        assert_eq!(seen, 3);
        conn.close().await.expect("the connection closes");
        d.t.execute(format!("DROP OWNED BY {role}; DROP ROLE {role}")).await;
    });
}
