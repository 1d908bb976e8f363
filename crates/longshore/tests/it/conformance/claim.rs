//! Claim: what is taken, in which order, by whom; and a claim whose reply was lost.

use std::collections::HashSet;

use longshore::store::{Claim, KindAsk, NodeId, START};
use longshore::{JobId, NewJob, State, Timestamp};

use crate::harness::*;

pub async fn the_smallest_priority_then_the_oldest_then_the_smallest_id(t: Harness) {
    let now = t.now().await;
    let late = t.enqueue(job().priority(5)).await;
    let old = t.enqueue(job().priority(5).run_at(now.minus(HOUR))).await;
    let last = t.enqueue(job().priority(9).run_at(now.minus(2 * HOUR))).await;
    let next = t.enqueue(job().priority(5)).await;
    let urgent = t.enqueue(job().priority(0)).await;

    let mut order = Vec::new();
    for _ in 0..5 {
        order.push(t.claim_one().await.id);
    }
    assert_eq!(order, [urgent, old, late, next, last]);

    let more = [job().priority(9), job().priority(1), job().priority(9)];
    t.enqueue_all(&more).await;
    assert_eq!(ids(&t.claim(9).await), [more[1].id(), more[0].id(), more[2].id()]);
}

pub async fn each_queue_gives_up_to_its_limit(t: Harness) {
    for queue in ["a", "b", "c"] {
        let five: Vec<NewJob> = jobs(5).into_iter().map(|job| job.queue(queue)).collect();
        t.enqueue_all(&five).await;
    }
    let node = t.node().await;

    let runs = node.claim_from(&[ask("a", 2), ask("b", 10), ask("c", 0)], &[KIND]).await;

    let of = |queue: &str| runs.iter().filter(|run| run.queue == queue).count();
    assert_eq!((of("a"), of("b"), of("c")), (2, 5, 0));
    assert!(node.claim_from(&[], &[KIND]).await.is_empty());
    assert!(node.claim_from(&[ask("nowhere", 9)], &[KIND]).await.is_empty());
    assert!(node.claim_from(&[ask("a", 9)], &[]).await.is_empty());
}

pub async fn a_claim_with_room_says_when_the_next_job_falls_due(t: Harness) {
    let now = t.now().await;
    t.enqueue_all(&jobs(2)).await;
    for (queue, minutes) in [("default", 30), ("default", 20), ("other", 10), ("nobody", 5)] {
        t.enqueue(job().queue(queue).priority(7).run_at(now.plus(minutes * MINUTE))).await;
    }
    let node = t.node().await;
    let both = [ask("default", 9), ask("other", 9)];

    assert_eq!(node.look(&[ask("default", 1)], &[KIND]).await.next_due, None, "it is full");
    let room = node.look(&[ask("default", 2)], &[KIND]).await;
    assert_eq!((room.jobs.len(), room.next_due), (1, Some(now.plus(20 * MINUTE))));
    assert_eq!(node.look(&both, &["unknown"]).await.next_due, Some(now.plus(10 * MINUTE)));

    t.advance(10 * MINUTE);
    let one = node.look(&both, &[KIND]).await;
    assert_eq!((one.jobs.len(), one.next_due), (1, Some(now.plus(20 * MINUTE))));
    t.advance(HOUR);
    let last = node.look(&both, &[KIND]).await;
    assert_eq!((last.jobs.len(), last.next_due), (2, None));
}

pub async fn a_limit_counts_over_all_priorities(t: Harness) {
    let all: Vec<NewJob> = (0..30).map(|n| job().priority(9 - n % 10)).collect();
    t.enqueue_all(&all).await;

    let runs = t.claim(7).await;

    let priorities: Vec<u8> = runs.iter().map(|run| run.priority).collect();
    assert_eq!(priorities, [0, 0, 0, 1, 1, 1, 2]);
}

pub async fn an_unknown_kind_is_never_claimed(t: Harness) {
    let unknown = t.enqueue(NewJob::new("new_kind").priority(0)).await;
    let known = t.enqueue(job()).await;
    let node = t.node().await;

    assert_eq!(ids(&node.claim(10).await), [known]);

    assert_eq!((t.state(unknown).await, t.get(unknown).await.attempt), (State::Queued, 0));
    let both = node.claim_from(&[ask("default", 10)], &[KIND, "new_kind"]).await;
    assert_eq!(ids(&both), [unknown]);
}

pub async fn a_future_job_is_never_claimed_before_its_time(t: Harness) {
    let id = t.enqueue(job().run_in(HOUR)).await;
    let node = t.node().await;

    t.advance(HOUR - std::time::Duration::from_micros(1));
    assert!(node.claim(10).await.is_empty());
    t.advance(std::time::Duration::from_micros(1));
    assert_eq!(ids(&node.claim(10).await), [id]);
}

pub async fn a_job_of_the_first_and_of_the_last_year_is_taken_in_its_time(t: Harness) {
    let first = t.enqueue(job().run_at(Timestamp::MIN)).await;
    let last = t.enqueue(job().run_at(Timestamp::MAX)).await;

    assert_eq!(ids(&t.claim(10).await), [first]);
    assert_eq!(t.state(last).await, State::Scheduled);
}

pub async fn a_lane_is_looked_at_from_its_mark(t: Harness) {
    let now = t.now().await;
    let three = jobs(3);
    t.enqueue_all(&three).await;
    let older = t.enqueue(job().run_at(now.minus(SECOND))).await;
    let other_lane = t.enqueue(job().priority(7).run_at(now.minus(SECOND))).await;
    let node = t.node().await;
    let mut look = ask("default", 10);
    look.marks[5] = (now, three[1].id().as_uuid());

    let seen = node.claim_from(&[look], &[KIND]).await;

    assert_eq!(ids(&seen), [three[2].id(), other_lane], "only what lies behind the mark");
    let all = node.claim(10).await;
    assert_eq!(ids(&all), [older, three[0].id(), three[1].id()]);
}

pub async fn start_hides_nothing(t: Harness) {
    // Hostile on purpose: the smallest time and the smallest id there are.
    let first = job().run_at(Timestamp::MIN).with_id(JobId::from_uuid(uuid::Uuid::nil()));
    t.enqueue_all(std::slice::from_ref(&first)).await;
    let node = t.node().await;

    let runs = node.claim_from(&[ask_from("default", 1, START)], &[KIND]).await;

    assert_eq!(ids(&runs), [first.id()]);
}

pub async fn a_lost_node_gets_nothing_and_is_told(t: Harness) {
    let node = t.node().await;
    t.advance(LEASE_FOR + SECOND);
    t.rescue().await;
    let id = t.enqueue(job()).await;

    let claimed = node.look(&[ask("default", 10)], &[KIND]).await;

    assert!(!claimed.live && claimed.jobs.is_empty());
    assert_eq!(t.state(id).await, State::Queued);
}

pub async fn an_unknown_node_gets_nothing_and_is_told(t: Harness) {
    let id = t.enqueue(job()).await;
    let (queues, kinds) = ([ask("default", 10)], [KindAsk { kind: KIND.into(), version: 1 }]);
    let claim = Claim { node: NodeId::new(), no: 1, queues: &queues, kinds: &kinds, most: None };

    let claimed = t.store.claim(&claim).await.unwrap();

    assert!(!claimed.live && claimed.jobs.is_empty());
    assert_eq!(t.state(id).await, State::Queued);
}

pub async fn the_attempt_is_counted_at_the_claim(t: Harness) {
    let id = t.enqueue(job().payload("[1]").meta("{}").max_attempts(4)).await;
    let node = t.node().await;

    let run = node.claim_one().await;

    assert_eq!((run.attempt, run.max_attempts, run.lease), (1, 4, 1));
    assert_eq!((&*run.payload, run.meta.as_deref()), ("[1]", Some("{}")));
    let row = t.get(id).await;
    assert_eq!((row.state, row.attempt, row.lease), (State::Running, 1, Some(1)));
    assert_eq!((row.node, row.leased_at), (Some(node.id.0), Some(t.now().await)));

    t.finish(&run, failed(SECOND)).await;
    t.advance(SECOND);
    let again = node.claim_one().await;
    assert_eq!((again.attempt, again.lease), (2, 2));
}

pub async fn a_claim_says_what_time_it_is(t: Harness) {
    let node = t.node().await;
    let claimed = node.look(&[ask("default", 1)], &[KIND]).await;
    assert_eq!((claimed.now, claimed.live, claimed.picked), (t.now().await, true, 0));
}

pub async fn what_is_running_dead_or_ended_is_not_claimed(t: Harness) {
    t.ended(job(), done()).await;
    t.ended(job(), dead()).await;
    t.ended(job(), cancelled()).await;
    t.ended(job(), failed(HOUR)).await;
    t.enqueue(job()).await;
    t.claim_one().await;
    let cancelled = t.enqueue(job()).await;
    t.cancel(cancelled).await;

    assert!(t.claim(10).await.is_empty());
}

pub async fn concurrent_claims_share_no_job(t: Harness) {
    t.enqueue_all(&jobs(200)).await;

    let claims: Vec<_> = (0..8)
        .map(|_| {
            let t = t.clone();
            tokio::spawn(async move {
                let node = t.node().await;
                let mut mine = Vec::new();
                loop {
                    let runs = node.claim(7).await;
                    if runs.is_empty() {
                        break mine;
                    }
                    mine.extend(ids(&runs));
                }
            })
        })
        .collect();
    let mut all = Vec::new();
    for claim in claims {
        all.extend(claim.await.unwrap());
    }
    // A claim that skipped rows locked by another may end early: what it left is taken now.
    all.extend(ids(&t.claim(200).await));

    assert_eq!(all.len(), 200);
    assert_eq!(all.iter().collect::<HashSet<_>>().len(), 200);
}

pub async fn names_are_compared_byte_by_byte(t: Harness) {
    for queue in ["mail", "Mail", "mäil", "ma_l", "ma%", "mail/1"] {
        t.enqueue(job().queue(queue)).await;
    }
    t.enqueue(NewJob::new("K").queue("mail")).await;
    let node = t.node().await;

    for queue in ["mail", "ma%", "Mail"] {
        let runs = node.claim_from(&[ask(queue, 10)], &[KIND]).await;
        assert_eq!(runs.iter().map(|run| run.queue.as_str()).collect::<Vec<_>>(), [queue]);
    }
}

pub async fn fifty_queues_in_one_claim(t: Harness) {
    let all: Vec<NewJob> = (0..500).map(|n| job().queue(format!("q{}", n % 50))).collect();
    t.enqueue_all(&all).await;
    let asks: Vec<_> = (0..50).map(|n| ask(&format!("q{n}"), 10)).collect();

    let runs = t.node().await.claim_from(&asks, &[KIND]).await;

    assert_eq!(runs.len(), 500);
    assert!(runs.is_sorted_by_key(|run| (run.priority, run.run_at, run.id)));
}

pub async fn a_lost_reply_is_recalled(t: Harness) {
    let large = format!("\"{}\"", "x".repeat(5_000));
    t.enqueue_all(&[job().payload("1").priority(7), job().payload(large).priority(1)]).await;
    let node = t.node().await;
    let runs = node.claim(10).await;

    let recalled = t.store.recall(node.id, runs[0].lease).await.unwrap();

    assert_eq!(
        format!("{recalled:?}"),
        format!("{:?}", runs.iter().map(|r| &r.job).collect::<Vec<_>>())
    );
}

pub async fn a_recall_shows_only_what_is_still_held_under_that_number(t: Harness) {
    t.enqueue_all(&jobs(3)).await;
    let node = t.node().await;
    let first = node.claim(2).await;
    let second = node.claim(1).await;
    t.finish(&first[0], done()).await;

    let held = |no| {
        let t = t.clone();
        async move {
            let jobs = t.store.recall(node.id, no).await.unwrap();
            jobs.into_iter().map(|job| job.id).collect::<Vec<_>>()
        }
    };
    assert_eq!(held(first[0].lease).await, [first[1].id]);
    assert_eq!(held(second[0].lease).await, [second[0].id]);
    assert!(held(99).await.is_empty());
    assert!(t.store.recall(NodeId::new(), 1).await.unwrap().is_empty());
    t.advance(LEASE_FOR + SECOND);
    t.rescue().await;
    assert!(held(second[0].lease).await.is_empty());
}
