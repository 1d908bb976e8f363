//! What nodes are asked to be, and what they tell of themselves.

use longshore::store::{Beat, KnownKind, MAX_KNOWN, NewNode, NodeId, NodeState, Pulse, Wish};
use longshore::{Client, StoreError};

use crate::harness::*;

async fn wish(t: &Harness, node: NodeId, wish: Option<Wish>) {
    t.store.wish(node, wish).await.expect("a live node is asked");
}

async fn beat(t: &Harness, node: NodeId, state: NodeState) -> Option<Wish> {
    let beat = Beat { node, lease_for: LEASE_FOR, over: Vec::new(), state };
    match t.store.beat(&beat).await.expect("a heartbeat") {
        Pulse::Alive { wish, .. } => wish,
        Pulse::Lost => panic!("it lives"),
    }
}

pub async fn a_node_hears_what_it_is_asked_with_its_next_heartbeat(t: Harness) {
    let (node, other) = (t.node().await, t.node().await);
    assert_eq!(beat(&t, node.id, NodeState::Serving).await, None);
    for asked in [Some(Wish::Quiet), None, Some(Wish::Stop)] {
        wish(&t, node.id, asked).await;
        assert_eq!(beat(&t, node.id, NodeState::Serving).await, asked);
        assert_eq!(beat(&t, node.id, NodeState::Serving).await, asked, "until it is asked anew");
        assert_eq!(beat(&t, other.id, NodeState::Serving).await, None);
    }
}

pub async fn others_see_what_a_node_is_at(t: Harness) {
    let node = t.node().await;
    let shown = async || {
        let nodes = t.store.nodes().await.expect("nodes");
        (nodes[0].state, nodes[0].wish)
    };
    assert_eq!(shown().await, (NodeState::Serving, None));
    wish(&t, node.id, Some(Wish::Quiet)).await;
    assert_eq!(shown().await, (NodeState::Serving, Some(Wish::Quiet)));
    beat(&t, node.id, NodeState::Quiet).await;
    assert_eq!(shown().await, (NodeState::Quiet, Some(Wish::Quiet)));
    beat(&t, node.id, NodeState::Stopping).await;
    assert_eq!(shown().await.0, NodeState::Stopping);
}

pub async fn a_node_that_is_gone_cannot_be_asked(t: Harness) {
    let (left, lost, late) = (t.node().await, t.node().await, t.node().await);
    t.store.leave(left.id).await.expect("it leaves");
    t.advance(LEASE_FOR + SECOND);
    for node in [left.id, lost.id, late.id, NodeId::new()] {
        let answer = t.store.wish(node, Some(Wish::Stop)).await;
        assert!(matches!(answer, Err(StoreError::NoNode(id)) if id == node), "{answer:?}");
    }
    t.rescue().await;
    assert!(matches!(t.store.wish(lost.id, None).await, Err(StoreError::NoNode(_))));
}

pub async fn a_wish_wakes_heartbeats_alone(t: Harness) {
    let node = t.node().await;
    let (mut wishes, mut woken) = (t.store.wakes().wishes(), t.store.wakes().subscribe());
    wish(&t, node.id, Some(Wish::Quiet)).await;
    assert!(wishes.has_changed().expect("the hub is there"));
    wishes.borrow_and_update();
    assert_eq!(woken.take(), Default::default());
    t.enqueue(job()).await;
    assert!(!wishes.has_changed().expect("the hub is there"));
}

pub async fn a_process_that_joins_anew_is_still_asked(t: Harness) {
    let id = NodeId::new();
    let node = NewNode { wish: Some(Wish::Quiet), ..new_node(id) };
    t.store.join(&node).await.expect("it joins");
    assert_eq!(beat(&t, id, NodeState::Serving).await, Some(Wish::Quiet));
}

fn known(name: &str, version: Option<u32>, schema: Option<&str>) -> KnownKind {
    KnownKind { name: name.into(), version, schema: schema.map(Into::into) }
}

async fn join(t: &Harness, kinds: Vec<KnownKind>) -> NodeId {
    let id = NodeId::new();
    let names = kinds.iter().map(|kind| kind.name.clone()).collect();
    let node = NewNode { kinds: names, known: kinds, ..new_node(id) };
    t.store.join(&node).await.expect("it joins");
    id
}

async fn told(t: &Harness) -> Vec<KnownKind> {
    t.store.kinds().await.expect("kinds").into_iter().map(|kind| kind.known).collect()
}

pub async fn nodes_tell_of_their_kinds_and_the_greatest_version_has_the_say(t: Harness) {
    let any = known("any", None, None);
    let second = known("k", Some(2), Some(r#"{"type":"object"}"#));
    join(&t, vec![any.clone(), second.clone()]).await;
    join(&t, vec![known("k", Some(1), Some("true"))]).await;
    join(&t, vec![known("k", None, None)]).await;
    assert_eq!(told(&t).await, [any.clone(), second], "older ones change nothing");
    let third = known("k", Some(3), None);
    join(&t, vec![third.clone()]).await;
    assert_eq!(told(&t).await, [any, third]);
}

pub async fn a_kind_that_nobody_runs_is_forgotten_in_the_end(t: Harness) {
    const DAY: std::time::Duration = std::time::Duration::from_secs(86_400);
    let old = join(&t, vec![known("gone", Some(1), None), known("runs", Some(1), None)]).await;
    t.store.leave(old).await.expect("it leaves");
    t.advance(20 * DAY);
    let stays = join(&t, vec![known("runs", Some(1), None)]).await;
    t.advance(31 * DAY);
    // A node that has run since: it told of its kinds when it joined.
    let runs = NewNode { kinds: vec!["runs".into()], ..new_node(NodeId::new()) };
    t.store.join(&runs).await.expect("it joins");
    join(&t, vec![known("new", Some(1), None)]).await;
    assert_eq!(told(&t).await, [known("new", Some(1), None), known("runs", Some(1), None)]);
    t.store.leave(stays).await.expect("it leaves");
}

pub async fn odd_kinds_are_told_of_and_many_are_bounded(t: Harness) {
    let odd = ["a b/%'\"\\", "é", "e\u{301}"].map(|name| known(name, Some(1), Some("{}")));
    join(&t, odd.to_vec()).await;
    assert_eq!(told(&t).await.len(), 3);
    let many = (0..MAX_KNOWN + 5).map(|n| known(&format!("x{n:05}"), Some(1), None)).collect();
    join(&t, many).await;
    assert_eq!(told(&t).await.len(), MAX_KNOWN);
}

pub async fn a_queue_is_known_by_its_jobs_its_nodes_or_its_pause(t: Harness) {
    let client = Client::open(&t.database.url()).await.expect("a client");
    let queues = async || client.queues().await.expect("queues");
    assert_eq!(queues().await, []);
    t.enqueue_all(&jobs(3)).await;
    t.enqueue(job().queue("else where")).await;
    client.pause(longshore::store::NewPause::queue("paused").why("so")).await.expect("a pause");

    // Nobody leads: whoever asks counts.
    let seen: Vec<_> = queues().await.iter().map(|queue| queue.name.clone()).collect();
    assert_eq!(seen, ["default", "else where", "paused"]);
    let default = client.queue("default").await.expect("a queue");
    assert_eq!(default.count.as_ref().map(|count| count.depth), Some(3));
    assert_eq!((default.running, default.slots, default.nodes), (0, 0, 0));
    let paused = client.queue("paused").await.expect("a queue").pause.expect("it is paused");
    assert_eq!(paused.why.as_deref(), Some("so"));

    let (url, options) = (t.database.url(), t.database.options(longshore::Clock::real()));
    let store = longshore::store::open(&url, options).await.expect("a store in real time");
    let node = Node { id: NodeId::new(), store: store.clone(), last_no: Default::default() };
    store.join(&new_node(node.id)).await.expect("it joins");
    assert_eq!(node.claim(2).await.len(), 2);
    let default = client.queue("default").await.expect("a queue");
    assert_eq!((default.running, default.slots, default.nodes), (2, 10, 1));
    assert_eq!(client.queue("nowhere").await.expect("a row").slots, 0);
    let stats = client.stats().await.expect("numbers");
    assert_eq!(stats.nodes, 1);
    let of = |state| {
        let found = stats.states.iter().find(|(of, _)| *of == state).expect("it is counted");
        found.1.value
    };
    assert_eq!((of(longshore::State::Queued), of(longshore::State::Running)), (2, 2));
    store.close().await;
    client.close().await;
}

pub async fn a_change_of_a_job_changes_the_mark(t: Harness) {
    let mut last = t.store.change_mark().await.expect("a mark");
    for step in 0..3 {
        match step {
            0 => drop(t.enqueue(job()).await),
            1 => drop(t.claim_one().await),
            _ => drop(t.enqueue(job()).await),
        }
        let before = last;
        // The server's statistics come after a while: sessions that idle bring them up to date after ten seconds.
        t.until("the mark is another one", || {
            let store = t.store.clone();
            async move { store.change_mark().await.expect("a mark") != before }
        })
        .await;
        last = t.store.change_mark().await.expect("a mark");
    }
}
