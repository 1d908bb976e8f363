//! The lead: one holder, terms that only rise, and no write under an old one.

use longshore::State;
use longshore::store::{Lead, NodeId, StoreError};

use crate::harness::*;

const SPAN: std::time::Duration = LEASE_FOR;

pub async fn only_one_leads(t: Harness) {
    let (first, second) = (t.node().await, t.node().await);

    assert!(t.lead(&first, SPAN).await.is_some());
    assert_eq!(t.lead(&second, SPAN).await, None);
}

pub async fn renewing_keeps_the_term(t: Harness) {
    let (node, other) = (t.node().await, t.node().await);
    let lead = t.lead(&node, SPAN).await;

    for _ in 0..10 {
        t.advance(SPAN / 2);
        assert_eq!(t.lead(&node, SPAN).await, lead);
        assert_eq!(t.lead(&other, SPAN).await, None);
    }
}

pub async fn an_expired_lead_goes_to_the_next_with_a_higher_term(t: Harness) {
    let (first, second) = (t.node().await, t.node().await);
    let old = t.lead(&first, SPAN).await.unwrap();

    t.advance(SPAN + MILLI);
    let new = t.lead(&second, SPAN).await.unwrap();

    assert!(new.term > old.term);
    assert_eq!(t.lead(&first, SPAN).await, None);
}

pub async fn an_own_lead_that_expired_raises_the_term(t: Harness) {
    let node = t.node().await;
    let old = t.lead(&node, SPAN).await.unwrap();

    t.advance(SPAN + MILLI);

    // Somebody else may have led in between without a trace: what was begun before must not go on.
    assert!(t.lead(&node, SPAN).await.unwrap().term > old.term);
}

pub async fn a_lead_that_is_resigned_is_free_at_once(t: Harness) {
    let (first, second) = (t.node().await, t.node().await);
    let old = t.lead(&first, SPAN).await.unwrap();

    t.store.resign(old).await.unwrap();

    assert!(t.lead(&second, SPAN).await.unwrap().term > old.term);
    assert!(matches!(t.store.sweep(old).await, Err(StoreError::NotLeader)));
}

pub async fn resigning_an_old_term_changes_nothing(t: Harness) {
    let (first, second) = (t.node().await, t.node().await);
    let old = t.lead(&first, SPAN).await.unwrap();
    t.advance(SPAN + MILLI);
    let new = t.lead(&second, SPAN).await.unwrap();

    t.store.resign(old).await.unwrap();
    t.store.resign(Lead { node: first.id, term: new.term }).await.unwrap();
    t.store.resign(Lead { node: second.id, term: old.term }).await.unwrap();

    assert_eq!(t.lead(&first, SPAN).await, None);
    assert_eq!(t.lead(&second, SPAN).await, Some(new));
}

pub async fn a_sweep_under_an_old_term_is_refused(t: Harness) {
    let (first, second) = (t.node().await, t.node().await);
    let old = t.lead(&first, SPAN).await.unwrap();
    t.store.sweep(old).await.expect("the leader sweeps");
    t.advance(SPAN + MILLI);
    assert!(matches!(t.store.sweep(old).await, Err(StoreError::NotLeader)), "it ran out");
    let new = t.lead(&second, SPAN).await.unwrap();

    for stale in [old, Lead { node: first.id, term: new.term }, Lead { node: NodeId::new(), ..new }]
    {
        let answer = t.store.sweep(stale).await;
        assert!(matches!(answer, Err(StoreError::NotLeader)), "{answer:?}");
    }
    t.store.sweep(new).await.expect("the new leader sweeps");
}

pub async fn partitions_under_an_old_term_are_refused(t: Harness) {
    let node = t.node().await;
    let old = t.lead(&node, SPAN).await.unwrap();
    t.store.make_partitions(old, 3).await.expect("the leader makes partitions");
    t.store.make_partitions(old, 3).await.expect("and finds them made");
    t.store.resign(old).await.unwrap();

    let answer = t.store.make_partitions(old, 3).await;

    // SQLite has none to make, so there is nothing to refuse.
    let refused = matches!(answer, Err(StoreError::NotLeader));
    assert_eq!(refused, !t.is_sqlite(), "{answer:?}");
}

pub async fn a_sweep_forgets_nodes_that_were_lost_over_an_hour_ago(t: Harness) {
    t.enqueue(job()).await;
    let lost = t.node().await;
    lost.claim_one().await;
    t.advance(LEASE_FOR + SECOND);
    t.rescue().await;
    let leader = t.node().await;

    t.advance(HOUR - SECOND);
    leader.beat().await;
    let lead = t.lead(&leader, SPAN).await.unwrap();
    t.store.sweep(lead).await.unwrap();
    assert_eq!(t.count("node").await, 2, "people may still want to see it");

    t.advance(2 * SECOND);
    t.store.sweep(lead).await.unwrap();
    let left: Vec<NodeId> = t.store.nodes().await.unwrap().iter().map(|node| node.id).collect();
    assert_eq!(left, [leader.id]);
}

pub async fn a_sweep_finds_running_jobs_without_a_node(t: Harness) {
    let id = t.enqueue(job()).await;
    let run = t.claim_one().await;
    let node = t.literal(run.node.0);
    t.execute(format!("DELETE FROM {} WHERE id = {node}", t.table("node"))).await;
    if !t.is_sqlite() {
        // Even the note of the claim is gone, so that a rescue cannot see the job.
        t.execute(format!("DELETE FROM {} WHERE node = {node}", t.table("claim"))).await;
    }
    let leader = t.node().await;
    let lead = t.lead(&leader, SPAN).await.unwrap();

    let swept = t.store.sweep(lead).await.unwrap();

    assert_eq!(swept.queued, [id]);
    assert_eq!(t.state(id).await, State::Queued);
}

pub async fn concurrent_candidates_make_one_leader(t: Harness) {
    for _ in 0..10 {
        let calls: Vec<_> = (0..6)
            .map(|_| {
                let t = t.clone();
                tokio::spawn(async move {
                    let node = t.node().await;
                    t.lead(&node, SPAN).await
                })
            })
            .collect();
        let mut leads = Vec::new();
        for call in calls {
            leads.extend(call.await.unwrap());
        }
        assert_eq!(leads.len(), 1, "{leads:?}");
        t.advance(SPAN + MILLI);
    }
}

pub async fn a_recall_after_the_rescue_keeps_no_lost_node(t: Harness) {
    let lost = t.node().await;
    t.advance(LEASE_FOR + SECOND);
    t.rescue().await;
    // It wakes up and asks for a claim whose reply it never got.
    assert!(t.store.recall(lost.id, 7).await.unwrap().is_empty());
    let leader = t.node().await;
    let lead = t.lead(&leader, LEASE_FOR).await.expect("it leads");

    t.advance(2 * HOUR);
    t.store
        .beat(&longshore::store::Beat {
            node: leader.id,
            lease_for: LEASE_FOR,
            over: vec![],
            state: Default::default(),
        })
        .await
        .unwrap();
    let lead = t.lead(&leader, LEASE_FOR).await.unwrap_or(lead);
    t.store.sweep(lead).await.unwrap();

    let nodes = t.store.nodes().await.unwrap();
    assert!(nodes.iter().all(|node| node.id != lost.id), "{nodes:?}");
    if !t.is_sqlite() {
        assert_eq!(t.count("claim").await, 0);
    }
}
