//! An enqueue in parts: of any size, all of it or nothing, answered in order.

use longshore::store::{Enqueued, Part, StoreError};
use longshore::{JobId, NewJob, OnConflict, State, Unique};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::harness::*;

type Call = JoinHandle<Result<Vec<Enqueued>, StoreError>>;

impl Harness {
    fn parts(&self) -> (mpsc::Sender<Part>, Call) {
        let (send, parts) = mpsc::channel(1);
        let store = self.store.clone();
        (send, tokio::spawn(async move { store.enqueue_parts(parts).await }))
    }

    async fn enqueue_in_parts(&self, parts: Vec<Vec<NewJob>>) -> Result<Vec<Enqueued>, StoreError> {
        let (send, call) = self.parts();
        for part in parts {
            let _ = send.send(Part::Jobs(part)).await;
        }
        let _ = send.send(Part::End).await;
        call.await.unwrap()
    }
}

fn large(letter: &str) -> NewJob {
    job().payload(format!("\"{}\"", letter.repeat(5_000)))
}

/// Every option that a column stands for.
fn full() -> NewJob {
    job()
        .payload("{\"n\": 1e400, \"s\": \"\\u0000\"}")
        .queue("q/ä")
        .priority(9)
        .run_in(HOUR)
        .max_attempts(3)
        .backoff(longshore::Backoff::fixed(SECOND))
        .timeout(MINUTE)
        .retain(HOUR)
        .tag("b")
        .tag("ä \"quoted\"")
        .meta("{\"m\": [1, 2]}")
}

pub async fn parts_are_one_call_in_order(t: Harness) {
    let parts: Vec<Vec<NewJob>> = vec![jobs(1_000), jobs(1_000), jobs(7)];
    let given: Vec<JobId> = parts.iter().flatten().map(NewJob::id).collect();

    let answers = t.enqueue_in_parts(parts).await.unwrap();

    assert_eq!(answers.iter().map(|answer| answer.id).collect::<Vec<_>>(), given);
    assert!(answers.iter().all(|answer| answer.is_added()));
    assert_eq!(ids(&t.claim(3_000).await), given);
}

/// More than PostgreSQL takes in by one `COPY`, and in the second a job that is there already.
pub async fn very_many_parts_are_one_call(t: Harness) {
    let known = job();
    t.enqueue(known.clone()).await;
    let mut parts: Vec<Vec<NewJob>> = (0..12).map(|_| jobs(1_000)).collect();
    parts[10][500] = known.clone();

    let answers = t.enqueue_in_parts(parts).await.unwrap();

    let duplicates: Vec<usize> =
        answers.iter().enumerate().filter(|(_, a)| a.is_duplicate()).map(|(n, _)| n).collect();
    assert_eq!(duplicates, [10_500]);
    assert_eq!(t.count("job").await, 12_000);
}

/// One that is waited for with the call's `COPY` open, and one that comes after that was ended.
pub async fn parts_may_come_slowly(t: Harness) {
    let (send, call) = t.parts();
    let parts = [jobs(150), jobs(20), jobs(150)];
    let given: Vec<JobId> = parts.iter().flatten().map(NewJob::id).collect();
    for (part, pause) in parts.into_iter().zip([20, 300, 20]) {
        send.send(Part::Jobs(part)).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(pause)).await;
    }
    send.send(Part::End).await.unwrap();

    let answers = call.await.unwrap().unwrap();

    assert!(answers.iter().all(Enqueued::is_added));
    assert_eq!(answers.iter().map(|answer| answer.id).collect::<Vec<_>>(), given);
    assert_eq!(t.claim(500).await.len(), given.len());
}

pub async fn a_job_in_a_part_is_the_job_it_would_be_alone(t: Harness) {
    let mut part = jobs(200);
    let (alone, among) = (full(), full());
    let big = large("x");
    part[50] = among.clone();
    part[120] = big.clone();
    part[121] = job().no_timeout().run_at("1999-12-31T23:59:59.999999Z".parse().unwrap());
    let early = part[121].id();

    t.enqueue_in_parts(vec![part]).await.unwrap();
    t.enqueue(alone.clone()).await;

    let (one, other) = (t.get(alone.id()).await, t.get(among.id()).await);
    let same = |mut row: longshore::JobRow| {
        row.id = alone.id();
        format!("{row:?}")
    };
    assert_eq!(same(one), same(other));
    assert_eq!(t.get(big.id()).await.payload.len(), 5_002);
    assert_eq!(t.count("payload").await, 1);
    assert_eq!(t.get(early).await.timeout, None);
    assert_eq!(t.claim(1).await[0].id, early, "the oldest first");
}

pub async fn nothing_is_seen_before_the_end_and_nothing_stays_without_it(t: Harness) {
    for abort in [false, true] {
        let (send, call) = t.parts();
        let part = [jobs(300), vec![large("y"), job().unique(Unique::key("k"))]].concat();
        send.send(Part::Jobs(part)).await.expect("it is taken");
        send.send(Part::Jobs(jobs(300))).await.expect("it is taken");
        assert_eq!(t.count("job").await, 0);
        if abort {
            let _ = send.send(Part::Abort(StoreError::KeyBusy)).await;
        }
        drop(send);

        let error = call.await.unwrap().expect_err("it did not come to its end");

        assert_eq!(matches!(error, StoreError::KeyBusy), abort, "{error:?}");
        for table in ["job", "payload", "unique_key"] {
            assert_eq!(t.count(table).await, 0, "{table}");
        }
    }
    t.enqueue(job().unique(Unique::key("k"))).await;
}

pub async fn a_part_with_known_ids_adds_the_others(t: Harness) {
    let again = job().with_id(JobId::new());
    t.ended(again.clone(), done()).await;
    let known = job();
    t.enqueue(known.clone()).await;
    let twice = job();
    let mut first = jobs(200);
    first[3] = known.clone();
    first[5] = twice.clone();
    let mut second = jobs(200);
    second[7] = twice.clone();
    second[9] = again.clone();

    let answers = t.enqueue_in_parts(vec![first, second]).await.unwrap();

    let duplicates: Vec<usize> =
        answers.iter().enumerate().filter(|(_, a)| a.is_duplicate()).map(|(n, _)| n).collect();
    assert_eq!(duplicates, [3, 207, 209]);
    assert_eq!(t.count("job").await, 398);
    assert_eq!(t.state(again.id()).await, State::Succeeded);
}

pub async fn unique_jobs_in_parts_keep_their_places(t: Harness) {
    let holder = t.enqueue(job().unique(Unique::key("held"))).await;
    let keyed = |key: &str| job().unique(Unique::key(key));
    let mut first = jobs(150);
    first[10] = keyed("a");
    first[20] = keyed("held");
    let mut second = jobs(150);
    second[0] = keyed("a");
    let winner = first[10].id();

    let answers = t.enqueue_in_parts(vec![first, second]).await.unwrap();

    assert_eq!((answers[10].id, answers[10].is_duplicate()), (winner, false));
    assert_eq!((answers[20].id, answers[20].is_duplicate()), (holder, true));
    assert_eq!((answers[150].id, answers[150].is_duplicate()), (winner, true));
    assert_eq!(t.count("job").await, 1 + 298);

    let mut last = jobs(150);
    last[40] = job().unique(Unique::key("held").on_conflict(OnConflict::Refuse));
    let before = t.count("job").await;
    match t.enqueue_in_parts(vec![jobs(100), last]).await {
        Err(StoreError::KeyHeld { holder: who, index, .. }) => {
            assert_eq!((who, index), (holder, Some(140)));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(t.count("job").await, before);
}

pub async fn many_jobs_with_keys_in_opposite_order_meet_in_parts(t: Harness) {
    let keys: Vec<String> = (0..1_200).map(|n| format!("key-{n}")).collect();
    let call = |keys: &[String]| -> Vec<Vec<NewJob>> {
        let job = |key: &String| job().unique(Unique::key(key));
        keys.chunks(400).map(|some| some.iter().map(job).collect()).collect()
    };
    let opposite: Vec<String> = keys.iter().rev().cloned().collect();
    let calls: Vec<_> = [call(&keys), call(&opposite)]
        .into_iter()
        .map(|parts| {
            let t = t.clone();
            tokio::spawn(async move { t.enqueue_in_parts(parts).await })
        })
        .collect();

    let mut added = 0;
    for call in calls {
        let answers = call.await.unwrap().expect("neither fails");
        added += answers.iter().filter(|answer| answer.is_added()).count();
    }

    assert_eq!((added, t.count("job").await), (1_200, 1_200));
}
