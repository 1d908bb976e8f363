//! Unique keys and repeats, with both doors at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use longshore::{JobId, NewJob, OnConflict, Run, State, StoreError, Unique};
use sqlx::Connection;
use uuid::Uuid;

use super::{call, server};
use crate::harness::*;
use crate::worker::{Desk, run};

const KEY: &str = "order-7";

fn keyed() -> NewJob {
    job().unique(Unique::key(KEY))
}

/// The same by SQL, with more options behind.
fn by_sql(payload: &str, more: &str) -> String {
    format!("'k', '{payload}', unique_key => '{KEY}'{more}")
}

#[test]
fn the_doors_know_of_each_others_keys() {
    for flavour in [Flavour::Postgres, Flavour::Pooled] {
        run(flavour, |d: Arc<Desk>| async move {
            let ours = d.enqueue(keyed()).await;
            assert_eq!(d.added(&by_sql("2", "")).await, ours);
            let refused = d.ask(&by_sql("2", ", on_conflict => 'refuse'")).await.unwrap_err();
            let theirs = d
                .client
                .enqueue(job().unique(Unique::key(KEY).on_conflict(OnConflict::Refuse)))
                .await;
            assert_eq!(
                (refused.state.as_str(), refused.words),
                ("23505", theirs.unwrap_err().to_string())
            );
            // Another kind is another scope.
            assert_ne!(d.added(&by_sql("2", "").replace("'k'", "'other'")).await, ours);

            d.cancel(ours).await;
            let by_sql_now = d.added(&by_sql("3", "")).await;
            assert_ne!(by_sql_now, ours);
            let answer = d.client.enqueue(keyed()).await.expect("an enqueue");
            assert_eq!((answer.id, answer.is_duplicate()), (by_sql_now, true));
            // A holder that went without giving its key back.
            d.t.execute("DELETE FROM longshore.job WHERE kind = 'k'".into()).await;
            let next = d.added(&by_sql("4", ", on_conflict => 'refuse'")).await;
            assert_eq!(d.get(next).await.state, State::Queued);
        });
    }
}

#[test]
fn windows_and_for_good_are_the_librarys() {
    run(Flavour::Postgres, |d: Arc<Desk>| async move {
        let at = |text: &str| text.parse().expect("a time");
        let hourly = |when: &str| keyed().unique(Unique::key(KEY).within(HOUR)).run_at(at(when));
        let first = d.enqueue(hourly("2099-01-02T10:00:00Z")).await;
        let sql =
            |when: &str| by_sql("1", &format!(", run_at => '{when}', unique_within => '1 hour'"));
        assert_eq!(d.added(&sql("2099-01-02T10:59:59.999999Z")).await, first);
        let second = d.added(&sql("2099-01-02T11:00:00Z")).await;
        assert_ne!(second, first);
        assert_eq!(d.client.enqueue(hourly("2099-01-02T11:30:00Z")).await.unwrap().id, second);
        d.cancel(first).await;
        d.cancel(second).await;

        // For good, once it succeeded.
        let good = d.added(&by_sql("1", ", unique_for_good => true")).await;
        let node = d.t.node().await;
        let run = node.claim_one().await;
        assert_eq!(run.id, good);
        d.t.finish(&run, done()).await;
        for rule in ["keep", "replace"] {
            let more = format!(", unique_for_good => true, on_conflict => '{rule}'");
            assert_eq!(d.added(&by_sql("1", &more)).await, good);
        }
        let refused =
            d.ask(&by_sql("1", ", unique_for_good => true, on_conflict => 'refuse'")).await;
        assert_eq!(refused.unwrap_err().state, "23505");
        let theirs = d.client.enqueue(job().unique(Unique::key(KEY).for_good())).await.unwrap();
        assert_eq!((theirs.id, theirs.is_duplicate()), (good, true));
    });
}

#[test]
fn replace_edits_who_waits_and_succeeds_who_runs() {
    for flavour in [Flavour::Postgres, Flavour::Pooled] {
        run(flavour, |d: Arc<Desk>| async move {
            let waiting = d.enqueue(keyed().payload("1").run_in(HOUR).tag("kept").queue("q")).await;
            let large = format!("\"{}\"", "x".repeat(2_500));
            // Aside, and back.
            for payload in [large.as_str(), "3"] {
                let answer =
                    d.added(&by_sql(payload, ", priority => 1, on_conflict => 'replace'")).await;
                let row = d.get(waiting).await;
                assert_eq!((answer, &*row.payload, row.priority), (waiting, payload, 1));
                assert_eq!((row.state, &*row.queue, row.tags.len()), (State::Queued, "q", 1));
            }
            assert_eq!((d.get(waiting).await.version, d.t.count("payload").await), (2, 0));

            let node = d.t.node().await;
            let run = node.claim_from(&[ask("q", 1)], &[KIND]).await.pop().expect("it is due");
            let next = d.added(&by_sql("4", ", on_conflict => 'replace'")).await;
            assert_ne!(next, waiting);
            assert_eq!(d.added(&by_sql("5", "")).await, next, "the key went over");
            d.t.finish(&run, failed(MINUTE)).await;
            let dead = d.get(waiting).await;
            assert_eq!(dead.state, State::Dead, "superseded");
            assert_eq!(&*d.get(next).await.payload, "4");
        });
    }
}

#[test]
fn a_repeat_with_an_id_adds_nothing() {
    run(Flavour::Postgres, |d: Arc<Desk>| async move {
        let id = Uuid::now_v7();
        let large = format!("\"{}\"", "x".repeat(2_500));
        let sql = |payload: &str| format!("'k', '{payload}', unique_key => '{KEY}', id => '{id}'");
        for payload in [large.as_str(), "2"] {
            assert_eq!(d.added(&sql(payload)).await.as_uuid(), id);
        }
        assert_eq!((d.t.count("job").await, d.t.count("payload").await), (1, 1));
        assert_eq!(*d.get(JobId::from_uuid(id)).await.payload, *large);
        let run = d.t.node().await.claim_one().await;
        d.t.finish(&run, done()).await;
        // Somebody else has the key by now: the answer stays.
        let other = d.enqueue(keyed()).await;
        assert_eq!(d.added(&sql("3")).await.as_uuid(), id);
        assert_eq!(d.t.count("job").await, 1);
        assert_eq!(d.get(other).await.state, State::Queued);
        assert_eq!(d.get(JobId::from_uuid(id)).await.state, State::Succeeded);
    });
}

#[test]
fn fifty_callers_of_both_doors_make_one_job() {
    for flavour in [Flavour::Postgres, Flavour::Pooled] {
        run(flavour, |d: Arc<Desk>| async move {
            for round in 0..3 {
                let calls: Vec<_> = (0..50)
                    .map(|n| {
                        let d = d.clone();
                        tokio::spawn(async move {
                            let key = format!("round-{round}");
                            match n % 4 {
                                0 => {
                                    d.client
                                        .enqueue(job().unique(Unique::key(key)))
                                        .await
                                        .expect("ours")
                                        .id
                                }
                                1 => {
                                    let replace = Unique::key(key).on_conflict(OnConflict::Replace);
                                    d.client.enqueue(job().unique(replace)).await.expect("ours").id
                                }
                                2 => d.added(&format!("'k', '1', unique_key => '{key}'")).await,
                                _ => {
                                    d.added(&format!(
                                        "'k', '1', unique_key => '{key}', on_conflict => 'replace'"
                                    ))
                                    .await
                                }
                            }
                        })
                    })
                    .collect();
                let mut ids = Vec::new();
                for call in calls {
                    ids.push(call.await.expect("no caller fails"));
                }
                assert!(ids.iter().all(|id| *id == ids[0]));
                assert_eq!(d.t.count("job").await, round + 1);
            }
        });
    }
}

#[test]
fn neither_door_is_a_duplicate_of_what_rolls_back() {
    run(Flavour::Postgres, |d: Arc<Desk>| async move {
        for (n, end) in ["ROLLBACK", "COMMIT"].into_iter().enumerate() {
            // SQL first, the library waits.
            let key = format!("sql-{n}");
            let mut conn = server(&d).transaction().await;
            let first =
                call(&mut conn, &format!("'k', '1', unique_key => '{key}'")).await.expect("a job");
            let second = tokio::spawn({
                let (d, new) = (d.clone(), job().unique(Unique::key(&key)));
                async move { d.client.enqueue(new).await.expect("an answer") }
            });
            tokio::time::sleep(200 * MILLI).await;
            assert!(!second.is_finished(), "nobody knows yet");
            sqlx::raw_sql(end).execute(&mut conn).await.expect("it ends");
            conn.close().await.expect("the connection closes");
            let answer = second.await.expect("no panic");
            assert_eq!(
                (answer.is_duplicate(), answer.id == first),
                (end == "COMMIT", end == "COMMIT")
            );

            // And the other way round.
            let key = format!("ours-{n}");
            let mut tx = d.t.transaction().await;
            let new = job().unique(Unique::key(&key));
            let first = d.t.store.enqueue_in(tx.conn(), &[new]).await.expect("a job")[0].id;
            let second = tokio::spawn({
                let d = d.clone();
                async move { d.added(&format!("'k', '1', unique_key => '{key}'")).await }
            });
            tokio::time::sleep(200 * MILLI).await;
            assert!(!second.is_finished(), "nobody knows yet");
            match end {
                "COMMIT" => tx.commit().await,
                _ => tx.roll_back().await,
            }
            assert_eq!(second.await.expect("no panic") == first, end == "COMMIT");
        }
    });
}

/// Four callers replace while workers run what they replace: no deadlock, and no key without its job.
#[test]
fn replacing_beside_workers_ends_well() {
    run(Flavour::Postgres, |d: Arc<Desk>| async move {
        let worker = d
            .worker()
            .handle("k", async |_: Run| tokio::time::sleep(2 * MILLI).await)
            .start()
            .expect("a worker");
        let stop = Arc::new(AtomicBool::new(false));
        let calls: Vec<_> = (0..4)
            .map(|n| {
                let (d, stop) = (d.clone(), stop.clone());
                tokio::spawn(async move {
                    let mut conn = server(&d).conn().await;
                    let (mut made, mut busy) = (0, 0);
                    while !stop.load(Ordering::Relaxed) {
                        let key = format!("key-{}", fastrand::u8(..3));
                        let sql =
                            format!("'k', '1', unique_key => '{key}', on_conflict => 'replace'");
                        if n % 2 == 0 {
                            call(&mut conn, &sql).await.expect("no deadlock");
                        } else {
                            let replace = Unique::key(key).on_conflict(OnConflict::Replace);
                            match d.client.enqueue(job().unique(replace)).await {
                                Ok(_) => {}
                                Err(StoreError::KeyBusy) => busy += 1,
                                Err(error) => panic!("{error}"),
                            }
                        }
                        made += 1;
                    }
                    conn.close().await.expect("the connection closes");
                    (made, busy)
                })
            })
            .collect();
        tokio::time::sleep(4 * SECOND).await;
        stop.store(true, Ordering::Relaxed);
        for call in calls {
            let (made, busy) = call.await.expect("no caller fails");
            assert!(made > 20 && busy * 10 < made, "{made} calls, {busy} busy");
        }
        d.t.until("all have run", || {
            let d = d.clone();
            async move {
                d.t.number("SELECT count(*) FROM longshore.job WHERE dead_at IS NULL".into()).await
                    == 0
            }
        })
        .await;
        worker.stop().await;
        assert_eq!(d.t.count("unique_key").await, 0);
    });
}
