//! `Client::sql_call`: what its statement adds is what the library would have added.

use std::sync::Arc;
use std::time::Duration;

use longshore::{
    Backoff, Client, JobId, NewJob, OnConflict, SqlCall, StoreError, Timestamp, Unique,
};
use sqlx::{Connection, PgConnection};

use super::{options, server};
use crate::harness::*;
use crate::worker::{Desk, run};

async fn run_call(conn: &mut PgConnection, call: &SqlCall) -> Result<JobId, sqlx::Error> {
    // Through a pooler a name would outlive the transaction.
    let query = sqlx::query_scalar(call.sql()).bind(call.argument()).persistent(false);
    let id: String = query.fetch_one(conn).await?;
    Ok(id.parse().expect("an id"))
}

impl Desk {
    /// The call in a transaction of its own.
    async fn by_call(&self, job: NewJob) -> JobId {
        let call = self.client.sql_call(job).expect("a call");
        let mut conn = server(self).transaction().await;
        let id = run_call(&mut conn, &call).await.expect("a job");
        sqlx::raw_sql("COMMIT").execute(&mut conn).await.expect("it commits");
        conn.close().await.expect("the connection closes");
        id
    }
}

/// One of each option, and each at its ends.
fn all_sorts() -> Vec<NewJob> {
    let at = |text: &str| text.parse::<Timestamp>().expect("a time");
    let plain = || NewJob::new("k");
    let large = format!(" [\"{}\"]\n", "x".repeat(3_000));
    vec![
        plain(),
        plain().payload("{ \"a\" : 1.50,\n\t\"a\": \"\\u0000\\ud83d\\ude00\\\\\" } "),
        plain().payload(large),
        NewJob::new("ä 'quoted' \\ %").queue("ä\"\\").priority(0),
        plain().priority(9).max_attempts(1_000_000_000),
        plain().no_timeout().retain(Duration::ZERO),
        plain().timeout(MILLI).retain(Duration::from_millis(3_162_240_000_000)),
        plain().timeout(Duration::from_micros(1_500_999)),
        plain().run_at(at("0000-01-01T00:00:00.000001Z")),
        plain().run_at(at("1969-12-31T23:59:59.999999Z")),
        plain().run_at(at("2099-01-02T03:04:05.678901Z")),
        plain().run_at(at("9999-12-31T23:59:59.999999Z")),
        plain().tag("a").tag("{ä,\"/%}").meta("{ \"n\": 1}").payload_version(i32::MAX as u32),
        plain().payload(r#"{"pin":1}"#).redact("pin").redact("ä"),
    ]
}

#[test]
fn a_call_adds_what_the_library_adds() {
    for flavour in [Flavour::Postgres, Flavour::Pooled] {
        run(flavour, |d: Arc<Desk>| async move {
            for job in all_sorts() {
                let said = format!("{job:?}");
                let ours = d.get(d.enqueue(job.clone().with_id(JobId::new())).await).await;
                let id = job.id();
                assert_eq!(d.by_call(job).await, id, "{said}");
                let row = d.get(id).await;
                assert_eq!(options(&row), options(&ours), "{said}");
                if ours.run_at != Some(ours.created_at) {
                    assert_eq!(row.run_at, ours.run_at, "{said}");
                }
            }
            // Due in a while, by the database's clock.
            let row = d.get(d.by_call(job().run_in(HOUR)).await).await;
            let waits = row.run_at.expect("it waits").since(row.created_at);
            assert!(waits <= HOUR && HOUR - waits < SECOND, "{waits:?}");
        });
    }
}

#[test]
fn a_call_holds_keys_as_the_library_does() {
    run(Flavour::Postgres, |d: Arc<Desk>| async move {
        let at: Timestamp = "2099-01-02T03:04:05Z".parse().expect("a time");
        let holds = [
            Unique::key("ä"),
            Unique::payload(),
            Unique::key("hourly").within(HOUR),
            Unique::key("once").for_good(),
            Unique::value(&[7, 8]).hashed(),
        ];
        for unique in holds {
            let keyed = |n: &OnConflict| {
                job().run_at(at).unique(unique.clone().on_conflict(*n)).priority(3)
            };
            let first = d.by_call(keyed(&OnConflict::Keep)).await;
            // The library finds the key, and so does the next call.
            let theirs = d.client.enqueue(keyed(&OnConflict::Keep)).await.expect("an answer");
            assert!(theirs.is_duplicate() && theirs.id == first, "{unique:?}");
            let call = d.client.sql_call(keyed(&OnConflict::Replace).priority(8)).expect("a call");
            let mut conn = server(&d).conn().await;
            assert_eq!(run_call(&mut conn, &call).await.expect("an answer"), first);
            assert_ne!(call.id(), first, "so the caller sees that it is another's");
            assert_eq!(d.get(first).await.priority, 8);
            // Refused in the library's words.
            let call = d.client.sql_call(keyed(&OnConflict::Refuse)).expect("a call");
            let sqlx::Error::Database(refused) = run_call(&mut conn, &call).await.unwrap_err()
            else {
                panic!("the database refuses it")
            };
            let ours = d.client.enqueue(keyed(&OnConflict::Refuse)).await.unwrap_err();
            assert_eq!(
                (refused.message(), refused.code().as_deref()),
                (ours.to_string().as_str(), Some("23505"))
            );
            conn.close().await.expect("the connection closes");
        }
    });
}

#[test]
fn a_call_that_is_run_again_adds_nothing() {
    run(Flavour::Postgres, |d: Arc<Desk>| async move {
        let call = d.client.sql_call(job()).expect("a call");
        let mut conn = server(&d).conn().await;
        for _ in 0..2 {
            assert_eq!(run_call(&mut conn, &call).await.expect("an answer"), call.id());
        }
        conn.close().await.expect("the connection closes");
        assert_eq!(d.t.count("job").await, 1);
    });
}

#[test]
fn a_call_is_checked_as_an_enqueue_is() {
    run(Flavour::Postgres, |d: Arc<Desk>| async move {
        let client = d.client.before_enqueue(|job| match job.kind() {
            "loud" => job.tag(""),
            _ => job.tag("from:web"),
        });
        let wrong = [
            job().priority(10),
            job().payload("{]"),
            job().payload(format!("\"{}\"", "x".repeat(1 << 20))),
            job().run_in(Duration::MAX),
            job().unique(Unique::key(" ")),
            NewJob::new("loud"), // what the hook makes of it is refused
        ];
        for job in wrong {
            let ours = client.enqueue(job.clone()).await.expect_err("it is refused");
            let call = client.sql_call(job).expect_err("it is refused");
            assert_eq!(call.to_string(), ours.to_string());
        }
        let not_known = [
            ("backoff", job().backoff(Backoff::default())),
            ("same_payload", job().unique(Unique::key("a").same_payload())),
        ];
        for (field, job) in not_known {
            let refused = client.sql_call(job).expect_err("the function does not know it");
            let words = "is no option of the SQL function longshore.enqueue; enqueue this job with the \
                         library, or without it";
            assert_eq!(refused.to_string(), format!("{field} {words}"));
        }
        let secret = client.sql_call(job().payload(r#"{"pin":4711}"#).redact("pin")).unwrap();
        assert!(!format!("{secret:?}").contains("4711"), "{secret:?}");
        // A hook's change goes along.
        let call = client.sql_call(job()).expect("a call");
        let mut conn = server(&d).conn().await;
        let id = run_call(&mut conn, &call).await.expect("a job");
        conn.close().await.expect("the connection closes");
        assert_eq!(d.get(id).await.tags, ["from:web"]);
    });
}

#[test]
fn sqlite_has_no_call() {
    block_on(async {
        let client = Client::open("sqlite::memory:").await.expect("a client");
        let refused = client.sql_call(job()).expect_err("no function there");
        assert!(matches!(refused, StoreError::Config(_)), "{refused:?}");
        client.close().await;
    });
}
