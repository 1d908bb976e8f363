//! The side file (`-wal`): while a reader holds a snapshot it grows, and when the reader is gone it
//! shrinks again, with nobody opening anything anew.

use std::time::Instant;

use longshore::store::{Depth, Verdict};
use longshore::{Client, Clock, Limits, Worker, WorkerConfig};
use sqlx::Connection;

use crate::harness::*;

const BOUND: u64 = 64 << 20;

/// FC-073: what an hour writes, in seconds. Commits go on, a few small ones a second, after the reader left.
#[test]
fn the_side_file_shrinks_when_a_long_reader_is_gone() {
    run(Flavour::Sqlite, |t: Harness| async move {
        let options = t.database.options(Clock::real());
        let client = Client::open_with(&t.database.url(), options, Limits::default()).await;
        let client = client.expect("a client");
        let config = WorkerConfig {
            lease_for: 3 * SECOND,
            heartbeat_every: 500 * MILLI,
            stop_margin: 500 * MILLI,
            ..WorkerConfig::default()
        };
        let worker = Worker::new(client.clone()).config(config).queue("none", 1);
        let worker = worker.handle(KIND, |_| async {}).start().expect("a worker");
        let mut reader = t.sqlite_conn().await;
        sqlx::raw_sql("BEGIN; SELECT count(*) FROM longshore_job")
            .execute(&mut reader)
            .await
            .expect("a snapshot");

        let payload = format!("\"{}\"", "x".repeat(200_000));
        let side_file = || t.store.side_file_bytes().expect("a file has one");
        while side_file() <= BOUND + (BOUND >> 2) {
            let large: Vec<_> = (0..20).map(|_| job().payload(&*payload)).collect();
            client.enqueue_many(large).await.expect("steady writes");
            let page = client.list(Default::default()).await;
            assert!(!page.expect("a reader that polls").jobs.is_empty());
        }
        t.until("health says so", || async {
            worker.health().side_file_bytes.is_some_and(|bytes| bytes > BOUND)
        })
        .await;
        let checks = t.store.checkup(Depth::Quick).await.expect("a checkup");
        let check = checks.iter().find(|check| check.name == "side file").expect("a check of it");
        assert_eq!(check.verdict, Verdict::Warn, "{check:?}");
        assert!(check.detail.contains(&std::process::id().to_string()), "{check:?}");

        sqlx::raw_sql("COMMIT").execute(&mut reader).await.expect("the reader leaves");
        reader.close().await.expect("the connection closes");
        let left = Instant::now();
        while side_file() > BOUND {
            assert!(left.elapsed() < 20 * SECOND, "still {} bytes", side_file());
            client.enqueue(job()).await.expect("steady writes");
            tokio::time::sleep(20 * MILLI).await;
        }
        t.until("health says so", || async {
            worker.health().side_file_bytes.is_some_and(|bytes| bytes <= BOUND)
        })
        .await;
        worker.stop().await;
        client.close().await;
    });
}
