//! A node whose way to PostgreSQL is cut, held up, or loses a reply.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use longshore::{Outcome, Run, State, StopReason};

use super::*;
use crate::harness::proxy::{Proxy, Way};

/// A way to the server that we hold in our hands, and the database's address through it.
pub async fn door(d: &Desk) -> (Proxy, String) {
    let url = d.t.database.url();
    let (scheme, rest) = url.split_once("://").expect("a scheme");
    let (authority, path) = rest.split_once('/').expect("a database");
    let (user, host) = authority.rsplit_once('@').map_or(("", authority), |(u, h)| (u, h));
    let proxy = Proxy::to(host.to_owned()).await;
    let at = if user.is_empty() { String::new() } else { format!("{user}@") };
    let url = format!("{scheme}://{at}{}/{path}", proxy.address);
    (proxy, url)
}

/// A client that goes this way.
pub async fn through(d: &Desk) -> (Proxy, Client) {
    let (proxy, url) = door(d).await;
    let client = d.client_at(&url).await;
    (proxy, client)
}

pub fn on(client: &Client) -> Worker {
    Worker::new(client.clone()).config(short()).queue("default", 10)
}

/// When handlers of one job ran, and on whose behalf.
#[derive(Clone, Default)]
struct Spans(Arc<Mutex<Vec<Ran>>>);

/// Who ran, from when, and until when if it ended.
type Ran = (&'static str, Instant, Option<Instant>);

impl Spans {
    /// Noted until dropped.
    fn begin(&self, who: &'static str) -> Span {
        let mut spans = self.0.lock().expect("no panic");
        spans.push((who, Instant::now(), None));
        Span { spans: self.clone(), at: spans.len() - 1 }
    }

    fn count(&self) -> usize {
        self.0.lock().expect("no panic").len()
    }
}

struct Span {
    spans: Spans,
    at: usize,
}

impl Drop for Span {
    fn drop(&mut self) {
        self.spans.0.lock().expect("no panic")[self.at].2 = Some(Instant::now());
    }
}

async fn cut_off_node_is_fenced(d: Arc<Desk>, way: Way) {
    let spans = Spans::default();
    let told = Arc::<Mutex<Vec<StopReason>>>::default();
    let (proxy, client) = through(&d).await;
    let (mine, note) = (spans.clone(), Arc::clone(&told));
    let first = on(&client)
        .handle("k", move |run: Run| {
            let span = mine.begin("first");
            let note = Arc::clone(&note);
            async move {
                let _span = span;
                let reason = run.stopped().await;
                note.lock().expect("no panic").push(reason);
                // A late result, which must change nothing.
                Outcome::done_with(&"late")
            }
        })
        .start()
        .expect("a worker");
    let id = d.enqueue(job().max_attempts(9)).await;
    until("the first runs it", async || spans.count() == 1).await;
    let theirs = spans.clone();
    let second = d
        .worker()
        .handle("k", move |_: Run| {
            let _span = theirs.begin("second");
            async { Outcome::done_with(&"in time") }
        })
        .start()
        .expect("a worker");

    proxy.set(way);

    let row = d.comes_to(id, State::Succeeded).await;
    assert_eq!(row.output.as_deref(), Some("\"in time\""));
    assert_eq!(row.attempt, 2);
    assert_eq!(*told.lock().expect("no panic"), [StopReason::LeaseLost]);
    {
        let spans = spans.0.lock().expect("no panic");
        let [(_, _, first_end), (_, second_start, _)] = spans[..] else {
            panic!("{} runs", spans.len())
        };
        assert!(first_end.expect("it ended") < second_start, "two live runs at once");
    }
    assert!(!first.health().ready);

    second.stop().await;
    proxy.set(Way::Open);
    until("the first is back", async || first.health().ready).await;
    assert_eq!(first.health().lost_total, 1, "it heard that it was lost");
    assert_eq!(d.get(id).await.output.as_deref(), Some("\"in time\""));
    let next = d.enqueue(job()).await;
    until("it serves again", async || spans.count() == 3).await;
    assert_eq!(d.t.state(next).await, State::Running);
    first.force_stop();
    first.stop().await;
    let closing = Instant::now();
    client.close().await;
    assert!(closing.elapsed() < 10 * SECOND, "{:?}", closing.elapsed());
}

pub async fn a_node_that_is_cut_off_stops_its_handlers_and_joins_anew(d: Arc<Desk>) {
    cut_off_node_is_fenced(d, Way::Shut).await;
}

pub async fn a_node_whose_packets_vanish_stops_its_handlers_and_joins_anew(d: Arc<Desk>) {
    cut_off_node_is_fenced(d, Way::Swallows).await;
}

pub async fn results_outlast_an_outage_and_nothing_runs_twice(d: Arc<Desk>) {
    let (gate, starts) = (Gate::default(), Tally::default());
    let (release, begun) = (gate.clone(), starts.clone());
    let (proxy, client) = through(&d).await;
    let config = WorkerConfig {
        lease_for: 20 * SECOND,
        heartbeat_every: SECOND,
        poll_every: SECOND,
        ..short()
    };
    let worker = on(&client)
        .config(config)
        .handle("k", move |_: Run| {
            starts.add();
            let gate = gate.clone();
            async move { gate.pass().await }
        })
        .start()
        .expect("a worker");
    let ids = d.enqueue_many(jobs(10)).await;
    until("all run", async || begun.get() == 10).await;

    proxy.set(Way::Shut);
    let before = proxy.connects();
    release.open();
    until("all ended", async || worker.health().unwritten == 10).await;
    // Time itself is what this is about: how often is the door tried meanwhile?
    tokio::time::sleep(4 * SECOND).await;
    let tries = proxy.connects() - before;
    assert!(tries < 250, "{tries} connections in 4 s: a hot loop");
    assert_eq!(worker.health().unwritten, 10, "the results are kept");
    proxy.set(Way::Open);

    for id in ids {
        let row = d.comes_to(id, State::Succeeded).await;
        assert_eq!(row.attempt, 1);
    }
    assert_eq!(begun.get(), 10, "nothing ran twice");
    assert_eq!(worker.health().lost_leases_total, 0);
    worker.stop().await;
    client.close().await;
}

pub async fn readiness_goes_with_the_lease_and_comes_back(d: Arc<Desk>) {
    let (proxy, client) = through(&d).await;
    let worker = on(&client).handle("k", async |_: Run| {}).start().expect("a worker");
    until("it is ready", async || worker.health().ready).await;

    proxy.set(Way::Shut);
    until("it is not", async || !worker.health().ready).await;
    let why = worker.health().reason.expect("it says why");
    assert!(why.contains("lease") || why.contains("database"), "{why}");

    proxy.set(Way::Open);
    until("it is again", async || worker.health().ready).await;
    assert_eq!(worker.health().reason, None);
    let id = d.enqueue(job()).await;
    d.comes_to(id, State::Succeeded).await;
    worker.stop().await;
    client.close().await;
}

pub async fn a_claim_whose_reply_is_lost_runs_its_jobs_once(d: Arc<Desk>) {
    let starts = Tally::default();
    let begun = starts.clone();
    let ids = d.enqueue_many(jobs(10)).await;
    let (proxy, client) = through(&d).await;
    proxy.lose_reply_to("Takes queued jobs for a node");
    let worker = on(&client)
        .handle("k", move |_: Run| {
            starts.add();
            async {}
        })
        .start()
        .expect("a worker");

    for id in ids {
        let row = d.comes_to(id, State::Succeeded).await;
        assert_eq!((row.attempt, row.errors.len()), (1, 0));
    }
    assert_eq!(proxy.lost_replies(), 1, "the reply was lost");
    assert_eq!(begun.get(), 10);
    worker.stop().await;
    assert_eq!(d.t.count("claim").await, 0, "no note is left");
    client.close().await;
}

pub async fn a_finish_whose_reply_is_lost_is_written_once(d: Arc<Desk>) {
    let starts = Tally::default();
    let begun = starts.clone();
    let ids = d.enqueue_many(jobs(10)).await;
    let (proxy, client) = through(&d).await;
    proxy.lose_reply_to("Moves runs that ended well to history");
    let worker = on(&client)
        .handle("k", move |_: Run| {
            starts.add();
            async { Outcome::done_with(&1) }
        })
        .start()
        .expect("a worker");

    for id in &ids {
        let row = d.comes_to(*id, State::Succeeded).await;
        assert_eq!((row.attempt, row.output.as_deref()), (1, Some("1")));
    }
    until("all are acknowledged", async || worker.health().finished_total == 10).await;
    assert_eq!(proxy.lost_replies(), 1, "the reply was lost");
    assert_eq!(begun.get(), 10);
    assert_eq!(worker.health().lost_leases_total, 0, "the repeat was recorded");
    worker.stop().await;
    client.close().await;
}

async fn stop_while_away(d: Arc<Desk>, way: Way) {
    let (proxy, client) = through(&d).await;
    let worker = on(&client)
        .config(WorkerConfig { drain_for: 500 * MILLI, ..short() })
        .handle("k", async |run: Run| {
            run.stopped().await;
        })
        .start()
        .expect("a worker");
    let id = d.enqueue(job()).await;
    d.comes_to(id, State::Running).await;
    proxy.set(way);

    let asked = Instant::now();
    worker.stop().await;

    let took = asked.elapsed();
    proxy.set(Way::Shut);
    assert!(took < 15 * SECOND, "{took:?}");
    d.ahead().await.rescue().await.expect("a rescue");
    assert_eq!(d.t.state(id).await, State::Queued);
}

pub async fn a_stop_while_the_database_is_away_ends_in_bounded_time(d: Arc<Desk>) {
    stop_while_away(d, Way::Shut).await;
}

pub async fn a_stop_while_packets_vanish_ends_in_bounded_time(d: Arc<Desk>) {
    stop_while_away(d, Way::Swallows).await;
}

pub async fn claims_pause_while_results_pile_up(d: Arc<Desk>) {
    let worker = d
        .worker()
        .queue("default", 50)
        .config(WorkerConfig { lease_for: MINUTE, ..short() })
        .handle("k", async |_: Run| {})
        .start()
        .expect("a worker");
    // Results need this table and claims do not.
    let mut tx = d.t.transaction().await;
    let CallersTx::Postgres(conn) = &mut tx else { unreachable!("this is PostgreSQL's") };
    sqlx::raw_sql("LOCK TABLE longshore.history IN EXCLUSIVE MODE")
        .execute(&mut **conn)
        .await
        .expect("a lock");
    for _ in 0..4 {
        d.enqueue_many(jobs(1_000)).await;
    }
    until("results pile up", async || worker.health().unwritten >= 1_000).await;
    // Long enough for several more claims, if any were made.
    tokio::time::sleep(SECOND).await;
    let most = worker.health().unwritten;
    // 1,500 stop it; a claim may be under way then, and two claims' worth of jobs lie ready.
    assert!(most <= 3_000, "{most} results wait, and it still claimed");
    assert!(d.count(State::Queued).await >= 1_000, "the rest is left for others");
    tx.roll_back().await;

    until("all are written", async || worker.health().finished_total == 4_000).await;
    assert_eq!(worker.health().started_total, 4_000, "nothing ran twice");
    worker.stop().await;
}
