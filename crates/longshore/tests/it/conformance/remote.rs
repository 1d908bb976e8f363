//! Nodes that work over a server: no process of ours knows what they hold, so the store does.

use longshore::store::{
    Claim, Ending, Held, HeldRun, KindAsk, NewNode, NodeId, NodeState, QueueAsk, Remote, Wish,
};
use longshore::{Backoff, JobId};

use crate::harness::*;

/// A node that joins over a server.
async fn remote(t: &Harness) -> Node {
    let node = Node { id: NodeId::new(), store: t.store.clone(), last_no: Default::default() };
    let kinds = vec![KindAsk { kind: KIND.into(), version: 3 }];
    let new = NewNode { remote: Some(kinds), ..new_node(node.id) };
    t.store.join(&new).await.expect("it joins");
    node
}

async fn held(t: &Harness, node: &Node, known: &[JobId], most: u32) -> Vec<(JobId, i64)> {
    let jobs = t.store.held(node.id, known, most).await.expect("what it holds");
    jobs.into_iter().map(|job| (job.id, job.lease)).collect()
}

/// Notes of claims that name jobs; SQLite needs none.
async fn notes(t: &Harness) -> i64 {
    if t.is_sqlite() {
        return 0;
    }
    t.number("SELECT count(*) FROM longshore.claim WHERE ids <> '{}'".into()).await
}

pub async fn a_remote_node_is_read_back_as_it_joined(t: Harness) {
    let node = remote(&t).await;
    let found = async |id| t.store.remote(id).await.expect("a look-up");
    let expected = Remote {
        queues: vec![("default".into(), 10)],
        kinds: vec![KindAsk { kind: KIND.into(), version: 3 }],
        lease_for: LEASE_FOR,
        wish: None,
    };
    assert_eq!(found(node.id).await, Some(expected.clone()));
    t.store.wish(node.id, Some(Wish::Quiet)).await.expect("a wish");
    assert_eq!(found(node.id).await, Some(Remote { wish: Some(Wish::Quiet), ..expected }));

    let local = t.node().await;
    assert_eq!(found(local.id).await, None, "it has a process of its own");
    assert_eq!(found(NodeId::new()).await, None);
    let nodes = t.store.nodes().await.expect("nodes");
    let flags = |id| nodes.iter().find(|row| row.id == id).map(|row| (row.remote, row.state));
    assert_eq!(flags(node.id), Some((true, NodeState::Serving)));
    assert_eq!(flags(local.id), Some((false, NodeState::Serving)));

    t.advance(LEASE_FOR + SECOND);
    assert!(found(node.id).await.is_some(), "its lease ran out, but nobody gave its jobs away");
    t.rescue().await;
    assert_eq!(found(node.id).await, None, "it is lost");
}

pub async fn what_a_node_holds_is_told_but_for_what_is_known(t: Harness) {
    let (node, other) = (remote(&t).await, t.node().await);
    let aside = format!("\"{}\"", "x".repeat(5_000));
    let last = t.enqueue(job().priority(9).payload(aside.clone())).await;
    let first = t.enqueue(job().priority(0)).await;
    let (one, two) = (node.claim(1).await, node.claim(1).await);
    assert_eq!((one[0].id, two[0].id), (first, last));
    t.enqueue(job()).await;
    assert_eq!(other.claim(1).await.len(), 1);

    assert_eq!(held(&t, &node, &[], 10).await, [(first, 1), (last, 2)], "in their order");
    assert_eq!(held(&t, &node, &[], 1).await, [(first, 1)], "at most so many");
    assert_eq!(held(&t, &node, &[first, JobId::new()], 10).await, [(last, 2)]);
    assert_eq!(held(&t, &node, &[last, first], 10).await, []);
    assert_eq!(held(&t, &remote(&t).await, &[], 10).await, []);
    let again = t.store.held(node.id, &[first], 10).await.expect("what it holds").remove(0);
    assert_eq!(format!("{again:?}"), format!("{:?}", two[0].job), "the very job that was claimed");
    assert_eq!(*again.payload, *aside);

    t.finish(&one[0], Ending::GivenBack).await;
    assert_eq!(held(&t, &node, &[], 10).await, [(last, 2)]);
    let anew = node.claim(1).await;
    assert_eq!(anew[0].id, first);
    assert_eq!(held(&t, &node, &[last], 10).await, [(first, 3)], "under its newest number");
    t.advance(LEASE_FOR + SECOND);
    t.rescue().await;
    assert_eq!(held(&t, &node, &[], 10).await, [], "they are others' now");
}

pub async fn claims_that_are_over_are_forgotten_and_no_other(t: Harness) {
    let (node, other) = (remote(&t).await, t.node().await);
    t.enqueue_all(&jobs(30)).await;
    for _ in 0..10 {
        let run = node.claim(1).await.remove(0);
        t.finish(&run, done()).await;
    }
    let pair = node.claim(2).await;
    let rest = node.claim(3).await;
    let others = other.claim(1).await;
    t.finish(&others[0], done()).await;
    t.finish(&pair[0], done()).await;
    if !t.is_sqlite() {
        assert_eq!(notes(&t).await, 13);
    }

    let known: Vec<JobId> = rest.iter().map(|run| run.id).collect();
    assert_eq!(held(&t, &node, &known, 10).await, [(pair[1].id, pair[1].lease)]);
    if !t.is_sqlite() {
        assert_eq!(notes(&t).await, 3, "one half over, one open, and the other node's own");
    }

    // Whoever rescues still finds all that it holds.
    t.advance(LEASE_FOR + SECOND);
    let rescued = t.rescue().await;
    assert_eq!(rescued.queued.len(), 4, "{rescued:?}");
}

pub async fn ends_are_told_the_terms_of_runs_that_are_held(t: Harness) {
    let (node, other) = (remote(&t).await, t.node().await);
    let backoff = Backoff::fixed(7 * SECOND);
    let id = t.enqueue(job().max_attempts(3).backoff(backoff.clone())).await;
    let run = node.claim_one().await;
    t.enqueue(job()).await;
    let elsewhere = other.claim_one().await;
    t.advance(2 * SECOND);

    let ids = [elsewhere.id, id, JobId::new()];
    let runs = t.store.held_runs(node.id, &ids).await.expect("runs");

    let expected = HeldRun {
        held: Held { id, lease: run.lease },
        kind: KIND.into(),
        queue: "default".into(),
        attempt: 1,
        max_attempts: 3,
        backoff: Some(backoff),
        ran: 2 * SECOND,
    };
    assert_eq!(runs, [expected]);
    t.finish(&run, done()).await;
    assert_eq!(t.store.held_runs(node.id, &ids).await.expect("runs"), []);
}

pub async fn a_limit_for_all_queues_is_kept_in_their_order(t: Harness) {
    let node = remote(&t).await;
    for (queue, count) in [("a", 2), ("b", 3), ("c", 5)] {
        for _ in 0..count {
            t.enqueue(job().queue(queue)).await;
        }
    }
    let kinds = [KindAsk { kind: KIND.into(), version: 1 }];
    let claim = async |most: Option<u32>| {
        let queues: Vec<QueueAsk> = ["a", "b", "c"].map(|queue| ask(queue, 3)).into();
        let no = node.next_no();
        let claim = Claim { node: node.id, no, queues: &queues, kinds: &kinds, most };
        let jobs = t.store.claim(&claim).await.expect("a claim").jobs;
        let mut queues: Vec<String> = jobs.into_iter().map(|job| job.queue).collect();
        queues.sort();
        queues.concat()
    };
    assert_eq!(claim(Some(0)).await, "");
    assert_eq!(claim(Some(4)).await, "aabb");
    assert_eq!(claim(Some(2)).await, "bc");
    assert_eq!(claim(None).await, "ccc");
    assert_eq!(claim(Some(9)).await, "c");
}
