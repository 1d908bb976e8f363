//! How deep queues are: counted by the leader, bounded, and forgotten when they are gone.

use longshore::store::{Lead, MAX_DEPTH, NewNode, NodeId, QueueCount, StoreError};

use crate::harness::*;

async fn leader(t: &Harness) -> Lead {
    let node = t.node().await;
    t.lead(&node, HOUR).await.expect("nobody else leads")
}

async fn count(t: &Harness, lead: Lead) -> Vec<QueueCount> {
    t.store.count_queues(lead).await.expect("the leader counts");
    counts(t).await
}

async fn counts(t: &Harness) -> Vec<QueueCount> {
    t.store.queue_counts().await.expect("what was counted")
}

fn depths(counts: &[QueueCount]) -> Vec<(&str, u32)> {
    counts.iter().map(|one| (one.queue.as_str(), one.depth)).collect()
}

pub async fn only_what_is_due_and_waits_is_counted(t: Harness) {
    let lead = leader(&t).await;
    // They end before the others come: claims take the oldest of all.
    t.ended(job(), dead()).await;
    t.ended(job(), done()).await;
    t.ended(job(), failed(HOUR)).await;
    let running = t.enqueue(job()).await;
    assert_eq!(t.claim_one().await.id, running);
    t.enqueue(job().run_in(MINUTE)).await;
    t.enqueue(job().priority(0)).await;
    t.enqueue(job().priority(9)).await;
    t.enqueue(job().queue("mail")).await;

    assert_eq!(depths(&count(&t, lead).await), [("default", 2), ("mail", 1)]);
}

pub async fn the_oldest_of_all_priorities_is_told_and_grows_older(t: Harness) {
    let lead = leader(&t).await;
    t.enqueue(job().priority(9)).await;
    t.advance(MINUTE);
    t.enqueue(job().priority(0)).await;
    t.advance(SECOND);
    count(&t, lead).await;
    t.advance(SECOND);

    let counted = counts(&t).await;

    assert_eq!(counted[0].oldest_for, MINUTE + 2 * SECOND);
    assert_eq!(counted[0].counted_for, SECOND);
    assert!(!counted[0].capped);
}

pub async fn a_count_of_a_queue_stops_and_says_so(t: Harness) {
    let lead = leader(&t).await;
    for _ in 0..10 {
        t.enqueue_all(&jobs(1_000)).await;
    }
    let counted = count(&t, lead).await;
    assert_eq!((counted[0].depth, counted[0].capped), (MAX_DEPTH, false));
    t.enqueue(job().priority(9)).await;

    let counted = count(&t, lead).await;

    assert_eq!((counted[0].depth, counted[0].capped), (MAX_DEPTH, true));
}

pub async fn a_queue_that_is_gone_is_forgotten(t: Harness) {
    let lead = leader(&t).await;
    let id = t.enqueue(job().queue("gone")).await;
    assert_eq!(depths(&count(&t, lead).await), [("default", 0), ("gone", 1)]);
    t.cancel(id).await;

    // Served by a live node and empty: told. Neither: no longer.
    assert_eq!(depths(&count(&t, lead).await), [("default", 0)]);
    t.advance(LEASE_FOR + SECOND);
    assert_eq!(depths(&count(&t, lead).await), []);
}

pub async fn a_count_that_nobody_renews_is_not_told_for_ever(t: Harness) {
    let lead = leader(&t).await;
    t.enqueue(job()).await;
    count(&t, lead).await;

    t.advance(4 * MINUTE);
    assert_eq!(counts(&t).await.len(), 1);
    t.advance(2 * MINUTE);
    assert_eq!(counts(&t).await, []);
}

pub async fn a_count_under_an_old_term_is_refused(t: Harness) {
    let (first, second) = (t.node().await, t.node().await);
    t.enqueue(job()).await;
    let old = t.lead(&first, SECOND).await.expect("it leads");
    t.advance(2 * SECOND);
    let new = t.lead(&second, HOUR).await.expect("it leads now");

    for stale in [old, Lead { node: first.id, term: new.term }, Lead { node: NodeId::new(), ..new }]
    {
        let answer = t.store.count_queues(stale).await;
        assert!(matches!(answer, Err(StoreError::NotLeader)), "{answer:?}");
    }
    assert_eq!(counts(&t).await, [], "nothing was written");
    assert_eq!(count(&t, new).await.len(), 1);
}

pub async fn odd_names_of_queues_are_counted_byte_by_byte(t: Harness) {
    let lead = leader(&t).await;
    let served = NewNode { queues: vec![("Mail".into(), 1)], ..new_node(NodeId::new()) };
    t.store.join(&served).await.expect("a node joins");
    for queue in ["mail", "MAIL", "é", "e\u{301}", "a b/%"] {
        t.enqueue(job().queue(queue)).await;
    }
    let counted = count(&t, lead).await;
    assert_eq!(
        depths(&counted),
        [
            ("MAIL", 1),
            ("Mail", 0),
            ("a b/%", 1),
            ("default", 0),
            ("e\u{301}", 1),
            ("mail", 1),
            ("é", 1)
        ]
    );
}
