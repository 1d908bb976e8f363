//! Nodes that are asked to be quiet, to go on, to stop, by somebody who has nothing but the database.

use std::sync::Arc;

use longshore::store::{NodeId, NodeState};
use longshore::{Run, State};

use super::wakes::{deaf, idle};
use super::*;

async fn only(d: &Desk) -> NodeId {
    let nodes = d.client.nodes().await.expect("nodes");
    nodes.iter().find(|node| node.live).expect("a node").id
}

async fn comes_to_be(d: &Desk, state: NodeState) {
    until(&format!("the node is {state:?}"), async || {
        let nodes = d.client.nodes().await.expect("nodes");
        nodes.iter().any(|node| node.live && node.state == state)
    })
    .await;
}

pub async fn a_quiet_node_claims_nothing_finishes_what_runs_and_goes_on_when_asked(d: Arc<Desk>) {
    let gate = Gate::default();
    let hold = gate.clone();
    let worker = d.worker().config(deaf()).handle("k", move |_: Run| {
        let hold = hold.clone();
        async move { hold.pass().await }
    });
    let worker = worker.start().expect("a worker");
    let runs = d.enqueue(job()).await;
    d.comes_to(runs, State::Running).await;
    let other = d.beside().await;

    other.quiet_node(only(&d).await).await.expect("it is asked");
    comes_to_be(&d, NodeState::Quiet).await;
    let waits = d.enqueue(job()).await;
    gate.open();
    d.comes_to(runs, State::Succeeded).await;
    tokio::time::sleep(300 * MILLI).await;
    assert_eq!(d.t.state(waits).await, State::Queued);
    assert!(worker.health().ready, "it is well");

    other.resume_node(only(&d).await).await.expect("it is asked");
    d.comes_to(waits, State::Succeeded).await;
    comes_to_be(&d, NodeState::Serving).await;
    worker.stop().await;
    other.close().await;
}

/// With a heartbeat so seldom that no test lives to see it, only being told can be the cause.
pub async fn a_node_is_told_at_once_by_its_own_process(d: Arc<Desk>) {
    let config = WorkerConfig {
        lease_for: 10 * MINUTE,
        heartbeat_every: 2 * MINUTE,
        stop_margin: SECOND,
        ..deaf()
    };
    let worker =
        d.worker().config(config).handle("k", async |_: Run| {}).start().expect("a worker");
    until("it is there", async || !d.client.nodes().await.expect("nodes").is_empty()).await;
    d.client.quiet_node(only(&d).await).await.expect("it is asked");
    comes_to_be(&d, NodeState::Quiet).await;
    worker.stop().await;
}

pub async fn a_stop_from_elsewhere_is_like_one_from_here(d: Arc<Desk>) {
    let gate = Gate::default();
    let hold = gate.clone();
    let worker = d.worker().queue("default", 1).handle("k", move |_: Run| {
        let hold = hold.clone();
        async move { hold.pass().await }
    });
    // The application's own reason to stop never comes.
    let running = tokio::spawn(worker.run_until(std::future::pending::<()>()));
    let ids = d.enqueue_many(jobs(2)).await;
    until("one runs", async || d.running().await > 0).await;
    let other = d.beside().await;

    other.stop_node(only(&d).await).await.expect("it is asked");
    comes_to_be(&d, NodeState::Stopping).await;
    gate.open();
    running.await.expect("no panic").expect("it returns");

    assert!(d.client.nodes().await.expect("nodes").is_empty(), "it left");
    let states = [d.t.state(ids[0]).await, d.t.state(ids[1]).await];
    assert_eq!(states, [State::Succeeded, State::Queued], "what ran has ended, the other waits");
    let answer = other.stop_node(NodeId::new()).await;
    assert!(matches!(answer, Err(longshore::StoreError::NoNode(_))), "{answer:?}");
    other.close().await;
}

pub async fn a_quiet_process_that_is_lost_joins_anew_and_stays_quiet(d: Arc<Desk>) {
    let worker = idle(&d).await;
    let first = only(&d).await;
    d.client.quiet_node(first).await.expect("it is asked");
    comes_to_be(&d, NodeState::Quiet).await;
    let ahead = d.ahead().await;
    ahead.rescue().await.expect("a rescue");
    until("another id is there", async || {
        let nodes = d.client.nodes().await.expect("nodes");
        nodes.iter().any(|node| node.live && node.id != first)
    })
    .await;
    let waits = d.enqueue(job()).await;
    comes_to_be(&d, NodeState::Quiet).await;
    tokio::time::sleep(300 * MILLI).await;
    assert_eq!(d.t.state(waits).await, State::Queued);
    d.client.resume_node(only(&d).await).await.expect("it is asked");
    d.comes_to(waits, State::Succeeded).await;
    worker.stop().await;
    ahead.close().await;
}
