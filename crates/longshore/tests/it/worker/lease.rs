//! What happens when a node is taken for lost, rightly or not.

use std::sync::Arc;

use longshore::store::Rescued;
use longshore::{Outcome, Run, State, StopReason};

use super::*;

pub async fn a_live_node_declared_lost_joins_anew(d: Arc<Desk>) {
    let (starts, told) = (Tally::default(), Gate::default());
    let (begun, heard) = (starts.clone(), told.clone());
    let worker = d
        .worker()
        .config(WorkerConfig { upkeep: false, ..short() })
        .handle("k", move |run: Run| {
            let (starts, told) = (starts.clone(), told.clone());
            async move {
                if starts.add() == 1 {
                    assert_eq!(run.stopped().await, StopReason::LeaseLost);
                    told.open();
                    // A result, but nobody may hear of it.
                    return Outcome::done_with(&"the first");
                }
                Outcome::done_with(&"the second")
            }
        })
        .start()
        .expect("a worker");
    let id = d.enqueue(job().max_attempts(2)).await;
    until("it runs", async || begun.get() == 1).await;
    let first_node = d.get(id).await.node;

    let ahead = d.ahead().await;
    // A rescue passes over a node whose row is locked by a claim just then.
    until("it is rescued", async || ahead.rescue().await.expect("a rescue").queued == [id]).await;

    let row = d.comes_to(id, State::Succeeded).await;
    until("the first was told", async || heard.is_open()).await;
    assert_eq!(row.output.as_deref(), Some("\"the second\""));
    assert_eq!((row.attempt, begun.get()), (2, 2));
    assert_ne!(row.node, first_node, "a node that joins anew has a fresh id");
    until("it is well", async || worker.health().ready).await;
    assert_eq!(worker.health().lost_total, 1);
    let next = d.enqueue(job()).await;
    d.comes_to(next, State::Succeeded).await;
    worker.stop().await;
    ahead.close().await;
}

pub async fn a_rescue_by_a_node_without_handlers_is_enough(d: Arc<Desk>) {
    let gone = longshore::store::NewNode {
        lease_for: SECOND,
        ..new_node(longshore::store::NodeId::new())
    };
    d.t.store.join(&gone).await.expect("a node joins");
    let (once, more) = (d.enqueue(job().max_attempts(1)).await, d.enqueue(job()).await);
    let kinds = [longshore::store::KindAsk { kind: KIND.into(), version: 1 }];
    let queues = [ask("default", 2)];
    let claim = longshore::store::Claim {
        node: gone.id,
        no: 1,
        queues: &queues,
        kinds: &kinds,
        most: None,
    };
    assert_eq!(d.t.store.claim(&claim).await.expect("a claim").jobs.len(), 2);

    // It knows neither the queue nor the kind.
    let rescuer = Worker::new(d.client.clone())
        .config(short())
        .queue("elsewhere", 1)
        .handle("nothing", async |_: Run| {})
        .start()
        .expect("a worker");

    let dead = d.comes_to(once, State::Dead).await;
    assert_eq!(dead.errors.len(), 1);
    d.comes_to(more, State::Queued).await;
    assert_eq!(d.t.store.rescue().await.expect("a rescue"), Rescued::default());
    rescuer.stop().await;
}

pub async fn there_is_a_leader_again_after_the_first_stops(d: Arc<Desk>) {
    let serve = || d.worker().handle("k", async |_: Run| {}).start().expect("a worker");
    let term = async || {
        d.t.number(format!("SELECT coalesce(max(term), 0) FROM {}", d.t.table("leader"))).await
    };
    let first = serve();
    until("the first leads", async || term().await > 0).await;
    let of_the_first = term().await;
    let second = serve();
    first.stop().await;

    until("the second leads", async || term().await > of_the_first).await;
    second.stop().await;
}
