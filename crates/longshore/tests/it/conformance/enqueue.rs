//! Enqueue: all or nothing, in order, and the same job never twice.

use longshore::job::Backoff;
use longshore::store::{Repeat, StoreError};
use longshore::{JobId, NewJob, State, Timestamp};

use crate::harness::*;

pub async fn a_job_is_read_back_as_it_was_given(t: Harness) {
    let backoff = Backoff::Exponential { base_ms: 5, factor: 2, max_ms: 1_000 };
    let at: Timestamp = "2099-12-31T23:59:59.123456Z".parse().unwrap();
    let id = t
        .enqueue(
            NewJob::new("send_receipt")
                .payload("{\"order\": 7}")
                .queue("mail")
                .priority(2)
                .run_at(at)
                .max_attempts(3)
                .backoff(backoff.clone())
                .timeout(5 * SECOND)
                .retain(HOUR)
                .tag("b")
                .tag("a")
                .meta("{\"traceparent\": \"00-1\"}"),
        )
        .await;

    let job = t.get(id).await;
    assert_eq!(job.id, id);
    assert_eq!((job.kind.as_str(), job.queue.as_str(), job.priority), ("send_receipt", "mail", 2));
    assert_eq!((job.state, job.run_at), (State::Scheduled, Some(at)));
    assert_eq!((job.attempt, job.max_attempts, job.backoff), (0, 3, backoff));
    assert_eq!((job.timeout, job.retain), (Some(5 * SECOND), Some(HOUR)));
    assert_eq!(job.tags, ["b", "a"]);
    assert_eq!(job.meta.as_deref(), Some("{\"traceparent\": \"00-1\"}"));
    assert_eq!((&*job.payload, job.payload_bytes), ("{\"order\": 7}", Some(12)));
    assert_eq!(job.created_at, t.now().await);
    assert!(job.errors.is_empty() && job.cancel.is_none() && job.node.is_none());
    assert!(job.leased_at.is_none() && job.finished_at.is_none() && job.output.is_none());
}

pub async fn a_job_that_says_nothing_has_the_defaults(t: Harness) {
    let id = t.enqueue(job()).await;

    let job = t.get(id).await;
    assert_eq!((job.queue.as_str(), job.priority, job.max_attempts), ("default", 5, 10));
    assert_eq!((job.state, job.run_at), (State::Queued, Some(t.now().await)));
    assert_eq!((&*job.payload, job.backoff), ("null", Backoff::default()));
    assert_eq!((job.timeout, job.retain), (Some(HOUR), None));
    assert!(job.tags.is_empty() && job.meta.is_none());

    let endless = t.enqueue(crate::harness::job().no_timeout()).await;
    assert_eq!(t.get(endless).await.timeout, None);
}

pub async fn answers_come_in_the_order_given(t: Harness) {
    let known = job();
    t.enqueue(known.clone()).await;
    let (first, last) = (job(), job());

    let answers = t.enqueue_all(&[last.clone(), known.clone(), first.clone()]).await;

    let said: Vec<(JobId, bool)> = answers.iter().map(|a| (a.id, a.is_duplicate())).collect();
    assert_eq!(said, [(last.id(), false), (known.id(), true), (first.id(), false)]);
}

pub async fn a_job_is_due_now_or_later_or_at_a_time(t: Harness) {
    let now = t.now().await;
    let due_now = t.enqueue(job()).await;
    let later = t.enqueue(job().run_in(MINUTE)).await;
    let past = t.enqueue(job().run_at(now.minus(HOUR))).await;
    let at = t.enqueue(job().run_at(now.plus(HOUR))).await;

    assert_eq!(t.get(due_now).await.run_at, Some(now));
    assert_eq!(t.get(later).await.run_at, Some(now.plus(MINUTE)));
    assert_eq!(t.get(past).await.run_at, Some(now.minus(HOUR)));
    assert_eq!(t.get(at).await.run_at, Some(now.plus(HOUR)));
    assert_eq!(t.state(later).await, State::Scheduled);
    assert_eq!(t.state(past).await, State::Queued);
    t.advance(MINUTE);
    assert_eq!(t.state(later).await, State::Queued);
}

pub async fn an_id_that_is_there_is_a_duplicate_and_left_as_it_is(t: Harness) {
    let waiting = t.enqueue(job().payload("1").run_in(HOUR)).await;
    let dead = t.ended(job().payload("1"), dead()).await;
    let running = t.enqueue(job().payload("1")).await;
    t.claim_one().await;

    for id in [waiting, running, dead] {
        let before = t.get(id).await;
        for repeat in [Repeat::No, Repeat::Yes] {
            let again = job().with_id(id).payload("2").queue("other").priority(0);
            let answer = t.store.enqueue(&[again], repeat).await.unwrap();
            assert!(answer[0].is_duplicate() && answer[0].id == id);
        }
        let after = t.get(id).await;
        assert_eq!(format!("{before:?}"), format!("{after:?}"));
    }
    assert_eq!(t.count("job").await, 3);
}

pub async fn the_same_id_twice_in_one_call_is_one_job(t: Harness) {
    let one = job().payload("1");

    let answers = t.enqueue_all(&[one.clone(), one.clone().payload("2"), job()]).await;

    assert_eq!(answers.iter().map(|a| a.is_duplicate()).collect::<Vec<_>>(), [false, true, false]);
    assert_eq!(&*t.get(one.id()).await.payload, "1");
    assert_eq!(t.count("job").await, 2);
}

pub async fn a_repeat_after_the_job_ended_adds_nothing(t: Harness) {
    let large = format!("\"{}\"", "x".repeat(5_000));
    for payload in ["7", &large] {
        for ending in [done(), cancelled()] {
            let new = job().payload(payload);
            t.ended(new.clone(), ending).await;

            assert!(t.repeat(&new).await.is_duplicate());

            assert!(t.claim(10).await.is_empty(), "a job that ended must not run again");
            let kept = t.get(new.id()).await;
            assert!(kept.state.is_end());
            assert_eq!(&*kept.payload, payload);
        }
    }
}

pub async fn a_callers_own_id_is_looked_up_in_history_without_being_asked(t: Harness) {
    let new = job().with_id(JobId::new());
    t.ended(new.clone(), done()).await;

    let answers = t.enqueue_all(std::slice::from_ref(&new)).await;

    assert!(answers[0].is_duplicate());
    assert_eq!(t.state(new.id()).await, State::Succeeded);
    assert_eq!(t.count("job").await, 0);
}

pub async fn a_call_is_all_or_nothing(t: Harness) {
    let large = format!("\"{}\"", "x".repeat(5_000));
    // The client refuses it; here the databases have to, each for its own reason.
    let impossible = job().priority(77).queue("a\0b");
    let call = [job(), job().payload(large), impossible, job()];

    let answer = t.store.enqueue(&call, Repeat::No).await;

    assert!(matches!(answer, Err(StoreError::Bug { .. } | StoreError::Invalid(_))), "{answer:?}");
    assert_eq!((t.count("job").await, t.count("payload").await), (0, 0));
}

pub async fn a_call_without_jobs_adds_nothing(t: Harness) {
    assert!(t.enqueue_all(&[]).await.is_empty());
    assert_eq!(t.count("job").await, 0);
}

pub async fn a_thousand_jobs_keep_their_order(t: Harness) {
    let many = jobs(1_000);
    let given: Vec<JobId> = many.iter().map(NewJob::id).collect();

    let answers = t.enqueue_all(&many).await;

    assert_eq!(answers.iter().map(|a| a.id).collect::<Vec<_>>(), given);
    assert_eq!(ids(&t.claim(1_000).await), given);
}

pub async fn an_enqueue_wakes_who_waits(t: Harness) {
    let mut woken = t.store.wakes().subscribe();
    t.enqueue(job()).await;
    t.until("the wake comes", || {
        let news = woken.take();
        async move { news.look }
    })
    .await;
}

pub async fn a_callers_transaction_is_seen_when_it_commits(t: Harness) {
    let (small, large) = (job(), job().payload(format!("\"{}\"", "x".repeat(5_000))));
    let mut tx = t.transaction().await;

    let answers = t.store.enqueue_in(tx.conn(), &[small.clone(), large.clone()]).await.unwrap();

    assert_eq!(answers.iter().map(|a| a.id).collect::<Vec<_>>(), [small.id(), large.id()]);
    assert!(t.find(small.id()).await.is_none(), "nothing is seen before the commit");
    tx.commit().await;
    assert_eq!(t.state(small.id()).await, State::Queued);
    assert_eq!(t.get(large.id()).await.payload.len(), 5_002);
    assert_eq!(ids(&t.claim(5).await), [small.id(), large.id()]);
}

pub async fn a_callers_transaction_that_rolls_back_leaves_nothing(t: Harness) {
    let mut tx = t.transaction().await;
    let large = job().payload(format!("\"{}\"", "x".repeat(5_000)));

    t.store.enqueue_in(tx.conn(), &[job(), large]).await.unwrap();
    tx.roll_back().await;

    assert_eq!((t.count("job").await, t.count("payload").await), (0, 0));
}

pub async fn a_repeat_in_a_callers_transaction_adds_nothing(t: Harness) {
    let new = job().with_id(JobId::new());
    t.ended(new.clone(), done()).await;

    let mut tx = t.transaction().await;
    let answers = t.store.enqueue_in(tx.conn(), std::slice::from_ref(&new)).await.unwrap();
    tx.commit().await;

    assert!(answers[0].is_duplicate());
    assert_eq!((t.count("job").await, t.state(new.id()).await), (0, State::Succeeded));
}

pub async fn concurrent_enqueues_of_one_id_make_one_job(t: Harness) {
    let new = job().with_id(JobId::new());

    let calls: Vec<_> = (0..8)
        .map(|_| {
            let (t, new) = (t.clone(), new.clone());
            tokio::spawn(async move { t.enqueue_all(&[new]).await[0].is_duplicate() })
        })
        .collect();
    let mut added = 0;
    for call in calls {
        added += i32::from(!call.await.unwrap());
    }

    assert_eq!((added, t.count("job").await), (1, 1));
}
