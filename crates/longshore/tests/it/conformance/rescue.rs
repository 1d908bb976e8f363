//! Rescue: what a lost node held is given away, once, and nothing else is.

use std::collections::HashSet;

use longshore::job::AttemptFault;
use longshore::store::{Ack, Beat, NodeId, Pulse, Rescued};
use longshore::{JobId, State};

use crate::harness::*;

pub async fn jobs_of_a_node_whose_lease_ran_out_are_queued_again(t: Harness) {
    t.enqueue_all(&jobs(5)).await;
    let node = t.node().await;
    let held = ids(&node.claim(5).await);
    t.advance(LEASE_FOR + SECOND);

    let mut rescued = t.rescue().await;

    rescued.queued.sort();
    let all = Rescued { nodes: vec![node.id], queued: held.clone(), ..Rescued::default() };
    assert_eq!(rescued, all);
    let row = t.get(held[0]).await;
    assert_eq!((row.state, row.attempt), (State::Queued, 1));
    assert!(row.node.is_none() && row.leased_at.is_none());
    let error = &row.errors[0];
    assert_eq!((error.kind, error.attempt), (AttemptFault::NodeLost, 1));
    assert_eq!((error.node, error.at), (node.id.0, t.now().await));
    assert_eq!(t.rescue().await, Rescued::default(), "a second rescue finds nothing");
    let runs = t.claim(9).await;
    assert_eq!(ids(&runs), held);
    assert!(runs.iter().all(|run| run.attempt == 2));
}

pub async fn a_live_node_keeps_its_jobs(t: Harness) {
    t.enqueue(job()).await;
    let run = t.claim_one().await;
    t.advance(LEASE_FOR - MILLI);

    assert_eq!(t.rescue().await, Rescued::default());

    assert_eq!(t.finish(&run, done()).await, Ack::Recorded(State::Succeeded));
}

pub async fn a_heartbeat_renews_the_lease(t: Harness) {
    let id = t.enqueue(job()).await;
    let node = t.node().await;
    let run = node.claim_one().await;

    for _ in 0..120 {
        t.advance(5 * SECOND);
        let alive = Pulse::Alive { now: t.now().await, wish: None, overdue: false };
        assert_eq!(node.beat().await, alive);
        assert_eq!(t.rescue().await, Rescued::default());
    }

    assert_eq!(t.get(id).await.attempt, 1, "ten minutes are one run");
    assert_eq!(t.finish(&run, done()).await, Ack::Recorded(State::Succeeded));
}

pub async fn a_heartbeat_says_that_another_node_is_overdue(t: Harness) {
    let (node, other) = (t.node().await, t.node().await);
    let overdue = async || match node.beat().await {
        Pulse::Alive { overdue, .. } => overdue,
        Pulse::Lost => panic!("lost"),
    };
    t.advance(LEASE_FOR - SECOND);
    assert!(!overdue().await, "its lease has a second more");
    t.advance(SECOND);
    assert!(overdue().await);
    assert_eq!(t.rescue().await.nodes, [other.id]);
    assert!(!overdue().await, "and now it is lost");
    t.advance(LEASE_FOR);
    assert!(!overdue().await, "its own lease, renewed in time or late, is no news");
}

pub async fn the_last_attempt_is_dead_with_node_lost(t: Harness) {
    let last = t.enqueue(job().max_attempts(1)).await;
    let more = t.enqueue(job().max_attempts(2)).await;
    t.claim(2).await;
    t.advance(LEASE_FOR + SECOND);

    let rescued = t.rescue().await;

    assert_eq!((rescued.dead, rescued.queued), (vec![last], vec![more]));
    let row = t.get(last).await;
    assert_eq!((row.state, row.attempt, row.run_at), (State::Dead, 1, None));
    assert_eq!(row.finished_at, Some(t.now().await));
    assert_eq!(row.errors[0].kind, AttemptFault::NodeLost);
    assert_eq!(ids(&t.claim(9).await), [more], "one dead job stops nobody");
}

pub async fn a_job_asked_to_cancel_ends_cancelled(t: Harness) {
    t.enqueue_all(&jobs(2)).await;
    let runs = t.claim(2).await;
    t.cancel(runs[0].id).await;
    t.advance(LEASE_FOR + SECOND);

    let rescued = t.rescue().await;

    assert_eq!((rescued.cancelled, rescued.queued), (vec![runs[0].id], vec![runs[1].id]));
    assert_eq!(t.finish(&runs[0], done_with("1")).await, Ack::LeaseLost);
    let row = t.get(runs[0].id).await;
    assert_eq!((row.state, row.attempt, row.output), (State::Cancelled, 1, None));
    assert_eq!(row.errors[0].kind, AttemptFault::NodeLost);
}

pub async fn a_lost_node_hears_that_it_is_lost(t: Harness) {
    let node = t.node().await;
    t.advance(LEASE_FOR + SECOND);
    assert!(matches!(node.beat().await, Pulse::Alive { .. }), "late, but nobody has noticed");
    t.advance(LEASE_FOR + SECOND);
    assert_eq!(t.rescue().await.nodes, [node.id]);

    assert_eq!(node.beat().await, Pulse::Lost);

    let row = t.store.nodes().await.unwrap().pop().unwrap();
    assert_eq!((row.live, row.lost_at), (false, Some(t.now().await)));
}

pub async fn an_unknown_node_hears_that_it_is_lost(t: Harness) {
    let beat = Beat {
        node: NodeId::new(),
        lease_for: LEASE_FOR,
        over: vec![1, 2],
        state: Default::default(),
    };
    assert_eq!(t.store.beat(&beat).await.unwrap(), Pulse::Lost);
    assert_eq!(t.count("node").await, 0);
}

pub async fn a_node_row_deleted_by_hand_leaves_no_orphan(t: Harness) {
    let id = t.enqueue(job()).await;
    let node = t.node().await;
    let run = node.claim_one().await;
    let gone = format!("DELETE FROM {} WHERE id = {}", t.table("node"), t.literal(node.id.0));
    t.execute(gone).await;

    assert_eq!(t.rescue().await.queued, [id]);

    assert_eq!(t.finish(&run, done()).await, Ack::LeaseLost);
    assert_eq!(t.claim_one().await.id, id);
}

pub async fn a_rescue_after_a_finish_finds_nothing(t: Harness) {
    let id = t.enqueue(job()).await;
    let run = t.claim_one().await;
    t.advance(LEASE_FOR + SECOND);

    assert_eq!(t.finish(&run, done()).await, Ack::Recorded(State::Succeeded));
    let rescued = t.rescue().await;

    assert_eq!(rescued, Rescued { nodes: vec![run.node], ..Rescued::default() });
    assert_eq!(t.state(id).await, State::Succeeded);
}

pub async fn a_finish_after_the_lease_ran_out_but_before_the_rescue_counts(t: Harness) {
    for (name, ending) in every_ending() {
        t.enqueue(job()).await;
        let run = t.claim_one().await;
        t.advance(LEASE_FOR + SECOND);
        assert!(matches!(t.finish(&run, ending).await, Ack::Recorded(_)), "{name}");
        let rescued = t.rescue().await;
        assert!(rescued.queued.is_empty() && rescued.dead.is_empty(), "{name}");
        for run in t.claim(9).await {
            t.finish(&run, done()).await;
        }
    }
}

pub async fn a_rescue_racing_a_finish_ends_each_job_once(t: Harness) {
    for round in 0..20 {
        t.enqueue_all(&jobs(20)).await;
        let runs = t.claim(20).await;
        t.advance(LEASE_FOR + SECOND);
        let call: Vec<_> = runs.iter().map(|run| (run.held(), done())).collect();
        let (finisher, rescuer) = (t.clone(), t.clone());
        let node = runs[0].node;
        let finish = async move {
            if round % 2 == 0 {
                tokio::task::yield_now().await;
            }
            finisher.finish_all(node, &call).await
        };

        let (acks, rescued) = tokio::join!(tokio::spawn(finish), async { rescuer.rescue().await });

        let acks = acks.unwrap();
        let given_away: HashSet<JobId> = rescued.queued.into_iter().collect();
        for (run, ack) in runs.iter().zip(acks) {
            let state = t.state(run.id).await;
            let expected = if given_away.contains(&run.id) {
                (Ack::LeaseLost, State::Queued)
            } else {
                (Ack::Recorded(State::Succeeded), State::Succeeded)
            };
            assert_eq!((ack, state), expected);
        }
        for run in t.claim(20).await {
            t.finish(&run, done()).await;
        }
    }
    assert_eq!((t.count("job").await, t.count("history").await), (0, 400));
}

pub async fn at_most_ten_nodes_are_rescued_at_once(t: Harness) {
    t.enqueue_all(&jobs(25)).await;
    for _ in 0..25 {
        t.claim_one().await;
    }
    t.advance(LEASE_FOR + SECOND);

    let rounds = [t.rescue().await, t.rescue().await, t.rescue().await, t.rescue().await];

    assert_eq!(rounds.each_ref().map(|round| round.nodes.len()), [10, 10, 5, 0]);
    assert_eq!(rounds.each_ref().map(|round| round.queued.len()), [10, 10, 5, 0]);
}

pub async fn concurrent_rescues_give_each_job_away_once(t: Harness) {
    t.enqueue_all(&jobs(60)).await;
    for _ in 0..6 {
        t.claim(10).await;
    }
    t.advance(LEASE_FOR + SECOND);

    let calls: Vec<_> = (0..6)
        .map(|_| {
            let t = t.clone();
            tokio::spawn(async move { t.rescue().await.queued })
        })
        .collect();
    let mut all = Vec::new();
    for call in calls {
        all.extend(call.await.unwrap());
    }

    assert_eq!(all.len(), 60);
    assert_eq!(all.iter().collect::<HashSet<_>>().len(), 60);
    assert!(t.claim(60).await.iter().all(|run| run.attempt == 2));
}

pub async fn a_rescue_wakes_from_the_start(t: Harness) {
    t.enqueue(job()).await;
    t.claim_one().await;
    t.advance(LEASE_FOR + SECOND);
    let mut woken = t.store.wakes().subscribe();
    t.rescue().await;
    t.until("the wake comes", || {
        let news = woken.take();
        async move { news.from_start }
    })
    .await;
}

pub async fn a_node_that_leaves_is_forgotten(t: Harness) {
    t.enqueue(job()).await;
    let node = t.node().await;
    let run = node.claim_one().await;
    t.finish(&run, done()).await;

    t.store.leave(node.id).await.unwrap();

    assert_eq!(t.count("node").await, 0);
    t.store.leave(node.id).await.expect("leaving twice is no fault");
}

pub async fn a_node_that_leaves_with_jobs_loses_them_at_once(t: Harness) {
    let id = t.enqueue(job()).await;
    let node = t.node().await;
    node.claim_one().await;

    t.store.leave(node.id).await.unwrap();

    let rescued = t.rescue().await;
    assert_eq!((rescued.nodes, rescued.queued), (vec![node.id], vec![id]));
}

pub async fn nodes_are_listed_live_ones_first(t: Harness) {
    let old = t.node().await;
    t.advance(SECOND);
    let lost = t.node().await;
    t.enqueue_all(&jobs(3)).await;
    old.claim(3).await;
    t.advance(LEASE_FOR);
    old.beat().await;
    t.advance(SECOND);
    t.rescue().await;
    let young = t.node().await;

    let nodes = t.store.nodes().await.unwrap();

    assert_eq!(nodes.iter().map(|node| node.id).collect::<Vec<_>>(), [young.id, old.id, lost.id]);
    assert_eq!(nodes.iter().map(|node| node.live).collect::<Vec<_>>(), [true, true, false]);
    assert_eq!(nodes.iter().map(|node| node.running).collect::<Vec<_>>(), [0, 3, 0]);
    let young = &nodes[0];
    assert_eq!((young.name.as_str(), young.version.as_str()), ("test", "1.2.3"));
    assert_eq!(young.queues, [("default".to_owned(), 10)]);
    assert_eq!(young.kinds, [KIND]);
    let now = t.now().await;
    assert_eq!((young.started_at, young.expires_at), (now, now.plus(LEASE_FOR)));
}

pub async fn errors_of_rescues_are_capped_as_well(t: Harness) {
    let id = t.enqueue(job().max_attempts(100)).await;
    for _ in 0..13 {
        t.claim_one().await;
        t.advance(LEASE_FOR + SECOND);
        t.rescue().await;
    }

    let kept: Vec<u32> = t.get(id).await.errors.iter().map(|error| error.attempt).collect();
    assert_eq!(kept, (4..=13).collect::<Vec<_>>());
}
