//! Workers without a database: two servers hand jobs out for them, and know nothing of each other.

use std::future::pending;

use longshore::store::{
    Ack, AskCancel, Held, KnownKind, LogQuery, NewPause, NodeId, NodeState, PauseScope, Progress,
    Said, Wish,
};
use longshore::work::{
    Beaten, End, Lease, Leased, Line, NewWorker, SHORTEST_LEASE, Say, Work, WorkError,
};
use longshore::{Backoff, Outcome, StoreError};

use super::*;

/// No lease call of a test waits longer.
const LONG: Duration = Duration::from_secs(10);

/// Two servers on one database, and a worker's node.
struct Two {
    here: Work,
    there: Work,
    elsewhere: Client,
    node: NodeId,
}

impl Two {
    async fn on(d: &Desk) -> Two {
        let elsewhere = d.beside().await;
        let (here, there) = (Work::new(d.client.clone()), Work::new(elsewhere.clone()));
        let node = here.join(worker()).await.expect("it joins");
        Two { here, there, elsewhere, node }
    }

    async fn close(self) {
        drop(self.there);
        self.elsewhere.close().await;
    }
}

fn worker() -> NewWorker {
    let kind = |name: &str| KnownKind { name: name.into(), version: None, schema: None };
    NewWorker {
        name: "far away".into(),
        version: "1".into(),
        queues: vec![("default".into(), 10), ("other".into(), 10)],
        kinds: ["k", "done", "fail", "usual", "last", "dead", "snooze", "throttle", "cancel"]
            .map(kind)
            .into(),
        lease_for: SHORTEST_LEASE,
    }
}

fn ask(limit: u32, wait: Duration, holds: &[JobId]) -> Lease {
    Lease { queues: None, limit, holds: holds.to_vec(), wait }
}

async fn lease(work: &Work, node: NodeId, ask: Lease) -> Leased {
    work.lease(node, ask, pending()).await.expect("an answer")
}

async fn take(work: &Work, node: NodeId, limit: u32, holds: &[JobId]) -> Vec<(Held, bool)> {
    let leased = lease(work, node, ask(limit, Duration::ZERO, holds)).await;
    let jobs = leased.jobs.into_iter();
    jobs.map(|one| (Held { id: one.job.id, lease: one.job.lease }, one.again)).collect()
}

/// One job that the node leases now.
async fn one(work: &Work, node: NodeId) -> Held {
    let jobs = lease(work, node, ask(1, LONG, &[])).await.jobs;
    Held { id: jobs[0].job.id, lease: jobs[0].job.lease }
}

async fn end(work: &Work, node: NodeId, held: Held, end: End) -> Ack {
    work.end(node, vec![(held, end)]).await.expect("an answer")[0]
}

async fn beat(work: &Work, node: NodeId, wait: Duration) -> Beaten {
    work.beat(node, NodeState::Serving, wait, pending()).await.expect("it lives")
}

fn complete() -> End {
    End::Complete { output: None }
}

fn fail() -> End {
    let (message, chain) = ("it broke".into(), vec!["since it was old".into()]);
    End::Fail { message, chain, retry_in: None, dead: false }
}

fn is_lost<T: std::fmt::Debug>(answer: Result<T, WorkError>) -> bool {
    matches!(answer, Err(WorkError::Store(StoreError::NodeLost(_))))
}

/// FC-007.
pub async fn a_lost_lease_reply_is_handed_out_again_and_to_nobody_else(d: Arc<Desk>) {
    let two = Two::on(&d).await;
    let other = two.there.join(worker()).await.expect("another joins");
    let ids = d.enqueue_many(jobs(3)).await;
    let first = take(&two.here, two.node, 2, &[]).await;
    assert_eq!(first.len(), 2);
    assert!(first.iter().all(|(held, again)| !again && ids.contains(&held.id)));

    // That answer is lost. Another worker gets what is left, and no more.
    assert_eq!(take(&two.there, other, 10, &[]).await.len(), 1);
    let repeated = take(&two.there, two.node, 10, &[]).await;
    let again: Vec<_> = first.iter().map(|(held, _)| (*held, true)).collect();
    assert_eq!(repeated, again, "the same runs, by another server");
    let known = [first[0].0.id];
    assert_eq!(take(&two.here, two.node, 10, &known).await, again[1..], "but for what is known");
    let known = [first[0].0.id, first[1].0.id];
    d.enqueue(job()).await;
    let new = take(&two.here, two.node, 10, &known).await;
    assert!(matches!(new[..], [(_, false)]), "all is known, so there is something new: {new:?}");
    assert_eq!(d.get(known[0]).await.attempt, 1, "handing out again is no attempt");
    two.close().await;
}

pub async fn a_caller_that_hangs_up_finds_its_jobs_with_the_next_call(d: Arc<Desk>) {
    let two = Two::on(&d).await;
    let mut holds = Vec::new();
    for round in 0..20 {
        let (work, node) = (two.here.clone(), two.node);
        let asks = ask(10, LONG, &holds);
        let call = tokio::spawn(async move { work.lease(node, asks, pending()).await });
        tokio::time::sleep(MILLI * (round % 5)).await;
        let id = d.enqueue(job()).await;
        tokio::time::sleep(MILLI * (round % 7)).await;
        call.abort();
        let _ = call.await;
        let leased = lease(&two.there, two.node, ask(10, LONG, &holds)).await;
        let got: Vec<JobId> = leased.jobs.iter().map(|one| one.job.id).collect();
        assert_eq!(got, [id], "round {round}");
        assert_eq!(d.get(id).await.attempt, 1, "round {round}");
        holds.push(id);
    }
    two.close().await;
}

pub async fn a_server_started_anew_goes_on_where_the_other_stopped(d: Arc<Desk>) {
    let two = Two::on(&d).await;
    let ids = d.enqueue_many(jobs(2)).await;
    let run = one(&two.there, two.node).await;
    let node = two.node;
    two.close().await;

    let anew = d.beside().await;
    let work = Work::new(anew.clone());
    assert_eq!(beat(&work, node, Duration::ZERO).await.lease_for, SHORTEST_LEASE);
    let next = take(&work, node, 10, &[run.id]).await;
    assert!(matches!(next[..], [(held, false)] if held.id == ids[1]), "{next:?}");
    assert_eq!(end(&work, node, run, complete()).await, Ack::Recorded(State::Succeeded));
    anew.close().await;
}

/// What a row says of how a run went, without times and ids.
fn told(row: &JobRow, now: Timestamp) -> String {
    let error = |error: &longshore::job::AttemptError| {
        (error.attempt, error.kind, error.message.clone(), error.chain.clone())
    };
    let errors: Vec<_> = row.errors.iter().map(error).collect();
    // In quarters of an hour, so that a slow machine changes nothing.
    let due = row.run_at.filter(|_| !row.state.is_end()).map(|at| at.since(now).as_secs() / 900);
    let why = row.cancel.as_ref().map(|cancel| cancel.why.clone());
    format!(
        "{} {} {}/{} {errors:?} {due:?} {:?} {why:?}",
        row.kind, row.state, row.attempt, row.max_attempts, row.output
    )
}

pub async fn ends_are_written_as_a_worker_in_the_process_writes_them(d: Arc<Desk>) {
    let broken = || Err::<(), _>(anyhow::anyhow!("since it was old").context("it broke"));
    let in_process = d
        .worker()
        .handle("done", |_| async { Outcome::Done(Some(r#"{"a": 1.50}"#.into())) })
        .handle("fail", move |_| async move { broken() })
        .handle("last", move |_| async move { broken() })
        .handle("dead", |_| async { Outcome::dead(longshore::JobError::new("hopeless")) })
        .handle("snooze", |_| async { Outcome::Snooze(HOUR) })
        .handle("throttle", |_| async { Outcome::Throttled(HOUR) })
        .handle("cancel", |_| async { Outcome::Cancel("not needed".into()) });
    let kinds = ["done", "fail", "last", "dead", "snooze", "throttle", "cancel"];
    let all = || {
        let job = |kind: &str| {
            let attempts = if kind == "last" { 1 } else { 3 };
            NewJob::new(kind).max_attempts(attempts).backoff(Backoff::fixed(HOUR))
        };
        kinds.map(job).into()
    };
    let ours = d.enqueue_many(all()).await;
    let working = in_process.start().expect("it starts");
    until("all ran", async || {
        let mut ran = true;
        for id in &ours {
            let row = d.get(*id).await;
            ran &= row.state != State::Running && row.state != State::Queued;
        }
        ran
    })
    .await;
    working.stop().await;

    let two = Two::on(&d).await;
    let theirs = d.enqueue_many(all()).await;
    let leased = lease(&two.there, two.node, ask(10, LONG, &[])).await.jobs;
    let ending = |kind: &str| match kind {
        "done" => End::Complete { output: Some(r#"{"a": 1.50}"#.into()) },
        "fail" | "last" => fail(),
        "dead" => {
            End::Fail { message: "hopeless".into(), chain: vec![], retry_in: None, dead: true }
        }
        "snooze" => End::Snooze(HOUR),
        "throttle" => End::Throttle(HOUR),
        _ => End::Cancel { why: "not needed".into() },
    };
    let ends = leased.iter().map(|one| {
        let held = Held { id: one.job.id, lease: one.job.lease };
        (held, ending(&one.job.kind))
    });
    let acks = two.here.end(two.node, ends.collect()).await.expect("answers");
    let now = Timestamp::now();
    for (ours, theirs) in ours.iter().zip(&theirs) {
        let (ours, theirs) = (d.get(*ours).await, d.get(*theirs).await);
        assert_eq!(told(&theirs, now), told(&ours, now));
        let place = leased.iter().position(|one| one.job.id == theirs.id).expect("it was leased");
        assert_eq!(acks[place], Ack::Recorded(theirs.state));
    }
    two.close().await;
}

pub async fn attempts_and_backoff_come_from_the_store(d: Arc<Desk>) {
    let two = Two::on(&d).await;
    let usual = d.enqueue(NewJob::new("usual")).await;
    let held = one(&two.here, two.node).await;
    let before = Timestamp::now();
    assert_eq!(end(&two.there, two.node, held, fail()).await, Ack::Recorded(State::Retrying));
    let wait = d.get(usual).await.run_at.expect("it waits").since(before);
    assert!(wait >= SECOND && wait < 10 * SECOND, "the default's first wait: {wait:?}");

    // Its own wait, twice, and then no attempt is left, whatever it asks for.
    let id = d.enqueue(job().max_attempts(2)).await;
    let soon = || End::Fail {
        message: "not yet".into(),
        chain: vec![],
        retry_in: Some(Duration::ZERO),
        dead: false,
    };
    let held = one(&two.here, two.node).await;
    assert_eq!(end(&two.here, two.node, held, soon()).await, Ack::Recorded(State::Retrying));
    let held = one(&two.here, two.node).await;
    assert_eq!(held.id, id);
    assert_eq!(end(&two.here, two.node, held, soon()).await, Ack::Recorded(State::Dead));
    assert_eq!(d.get(id).await.errors.len(), 2);

    let id = d.enqueue(job().max_attempts(1)).await;
    let held = one(&two.here, two.node).await;
    let given = end(&two.here, two.node, held, End::GiveBack).await;
    assert_eq!(given, Ack::Recorded(State::Queued));
    assert_eq!(d.get(id).await.attempt, 0, "no attempt was used up");
    let again = one(&two.there, two.node).await;
    assert!(again.id == id && again.lease != held.lease, "another claim has another number");
    two.close().await;
}

pub async fn a_repeated_late_or_doubled_end_writes_nothing_more(d: Arc<Desk>) {
    let two = Two::on(&d).await;
    let other = two.there.join(worker()).await.expect("another joins");
    let id = d.enqueue(job()).await;
    let held = one(&two.here, two.node).await;
    let output = End::Complete { output: Some("1".into()) };
    let second = End::Complete { output: Some("2".into()) };
    assert_eq!(end(&two.here, two.node, held, output).await, Ack::Recorded(State::Succeeded));
    assert_eq!(end(&two.there, two.node, held, second).await, Ack::Recorded(State::Succeeded));
    assert_eq!(end(&two.there, two.node, held, fail()).await, Ack::Recorded(State::Succeeded));
    assert_eq!(d.get(id).await.output.as_deref(), Some("1"), "the first counts");

    let id = d.enqueue(job().backoff(Backoff::fixed(HOUR))).await;
    let held = one(&two.here, two.node).await;
    assert_eq!(end(&two.here, two.node, held, fail()).await, Ack::Recorded(State::Retrying));
    assert_eq!(end(&two.there, two.node, held, fail()).await, Ack::LeaseLost);
    assert_eq!(d.get(id).await.errors.len(), 1);

    // Another node's run, another number, a job that never was.
    let id = d.enqueue(job()).await;
    let held = one(&two.here, two.node).await;
    let wrong = Held { lease: held.lease ^ 1, ..held };
    let nobodys = Held { id: JobId::new(), ..held };
    for (node, held) in [(other, held), (two.node, wrong), (two.node, nobodys)] {
        assert_eq!(end(&two.there, node, held, complete()).await, Ack::LeaseLost);
    }
    assert_eq!(d.t.state(id).await, State::Running);
    two.close().await;
}

/// FC-005, FC-021.
pub async fn a_worker_that_sleeps_past_its_lease_hands_in_nothing(d: Arc<Desk>) {
    let two = Two::on(&d).await;
    let id = d.enqueue(job()).await;
    let held = one(&two.here, two.node).await;
    let ahead = d.ahead().await;
    assert_eq!(ahead.rescue().await.expect("a rescue").queued, [id]);

    let other = two.there.join(worker()).await.expect("another joins");
    let theirs = one(&two.there, other).await;
    assert_eq!(theirs.id, id);
    let late = two.here.end(two.node, vec![(held, complete())]).await;
    assert!(is_lost(late), "it is told that it is lost");
    assert!(is_lost(two.here.lease(two.node, ask(1, LONG, &[]), pending()).await));
    assert!(is_lost(two.here.beat(two.node, NodeState::Serving, LONG, pending()).await));
    assert!(is_lost(two.here.leave(two.node).await));
    let row = d.get(id).await;
    let holder = Some(other.0);
    assert_eq!((row.state, row.attempt, row.node), (State::Running, 2, holder));
    assert_eq!(end(&two.here, other, theirs, complete()).await, Ack::Recorded(State::Succeeded));
    ahead.close().await;
    two.close().await;
}

pub async fn a_waiting_call_hears_that_its_node_is_lost(d: Arc<Desk>) {
    let two = Two::on(&d).await;
    let (work, node) = (two.here.clone(), two.node);
    let call = tokio::spawn(async move { work.lease(node, ask(1, LONG, &[]), pending()).await });
    tokio::time::sleep(100 * MILLI).await;
    let ahead = d.ahead().await;
    ahead.rescue().await.expect("a rescue");
    let began = Instant::now();
    assert!(is_lost(call.await.expect("it ends")));
    assert!(began.elapsed() < 3 * SECOND, "{:?}", began.elapsed());
    ahead.close().await;
    two.close().await;
}

/// A waiting call, and how long after `act` it was answered.
async fn answered_after<T: Send + 'static>(
    call: impl Future<Output = T> + Send + 'static,
    act: impl Future<Output = ()>,
) -> (T, Duration) {
    let call = tokio::spawn(call);
    tokio::time::sleep(300 * MILLI).await;
    assert!(!call.is_finished(), "it waits");
    act.await;
    let began = Instant::now();
    let answer = call.await.expect("it is answered");
    (answer, began.elapsed())
}

pub async fn an_enqueue_on_one_server_answers_who_waits_at_the_other(d: Arc<Desk>) {
    let two = Two::on(&d).await;
    let (work, node) = (two.there.clone(), two.node);
    let call = async move { lease(&work, node, ask(5, LONG, &[])).await };
    let (leased, after) = answered_after(call, async {
        d.enqueue(job()).await;
    })
    .await;
    assert_eq!(leased.jobs.len(), 1);
    // Behind a pooler nothing is heard, and the poll does it.
    assert!(after < 1_500 * MILLI, "{after:?}");
    two.close().await;
}

pub async fn a_cancel_reaches_a_waiting_heartbeat_within_a_second(d: Arc<Desk>) {
    let two = Two::on(&d).await;
    let id = d.enqueue(job()).await;
    let held = one(&two.here, two.node).await;
    assert_eq!(beat(&two.here, two.node, Duration::ZERO).await.cancel, []);
    let (work, node) = (two.there.clone(), two.node);
    let call = async move { beat(&work, node, LONG).await };
    let (beaten, after) = answered_after(call, async {
        d.client.cancel(id, AskCancel::default()).await.expect("a cancel");
    })
    .await;
    assert_eq!(beaten.cancel, [id]);
    assert!(after < SECOND, "{after:?}");

    // It is told until the run ends; a worker that takes its time is not answered without end.
    let began = Instant::now();
    for _ in 0..3 {
        assert_eq!(beat(&two.there, two.node, LONG).await.cancel, [id]);
    }
    assert!(began.elapsed() > SECOND, "{:?}", began.elapsed());
    let done = end(&two.here, two.node, held, complete()).await;
    assert_eq!(done, Ack::Recorded(State::Cancelled), "whatever is said");
    assert_eq!(beat(&two.here, two.node, Duration::ZERO).await.cancel, []);
    two.close().await;
}

pub async fn a_heartbeat_never_waits_longer_than_a_third_of_its_lease(d: Arc<Desk>) {
    let two = Two::on(&d).await;
    let began = Instant::now();
    let beaten = beat(&two.here, two.node, LONG).await;
    let took = began.elapsed();
    assert!(took >= SHORTEST_LEASE / 3 && took < SHORTEST_LEASE / 2, "{took:?}");
    assert_eq!(beaten, Beaten { cancel: vec![], wish: None, lease_for: SHORTEST_LEASE });
    two.close().await;
}

pub async fn a_quiet_node_gets_nothing_new_and_hears_why(d: Arc<Desk>) {
    let two = Two::on(&d).await;
    let (work, node) = (two.here.clone(), two.node);
    let call = async move { lease(&work, node, ask(1, LONG, &[])).await };
    let quiet = async || d.client.quiet_node(two.node).await.expect("it is asked");
    let (leased, after) = answered_after(call, quiet()).await;
    assert_eq!((leased.jobs.len(), leased.wish), (0, Some(Wish::Quiet)));
    assert!(after < SECOND, "its own server knows at once: {after:?}");
    d.enqueue(job()).await;
    let leased = lease(&two.there, two.node, ask(1, Duration::ZERO, &[])).await;
    assert_eq!((leased.jobs.len(), leased.wish), (0, Some(Wish::Quiet)));

    // A state that does not fit the wish has not heard of it.
    let began = Instant::now();
    assert_eq!(beat(&two.there, two.node, LONG).await.wish, Some(Wish::Quiet));
    assert!(began.elapsed() < SECOND);
    let (work, node) = (two.here.clone(), two.node);
    let call = async move { work.beat(node, NodeState::Quiet, LONG, pending()).await };
    let resume = async { d.client.resume_node(two.node).await.expect("it is asked") };
    let (beaten, after) = answered_after(call, resume).await;
    assert_eq!(beaten.expect("it lives").wish, None);
    assert!(after < SECOND, "{after:?}");
    let nodes = d.client.nodes().await.expect("nodes");
    assert!(nodes[0].remote && nodes[0].state == NodeState::Quiet, "{nodes:?}");
    assert_eq!(take(&two.there, two.node, 1, &[]).await.len(), 1);
    two.close().await;
}

pub async fn a_server_that_stops_ends_every_wait(d: Arc<Desk>) {
    let two = Two::on(&d).await;
    let stop = tokio_util::sync::CancellationToken::new();
    let (work, node, token) = (two.here.clone(), two.node, stop.clone());
    let call = async move { work.lease(node, ask(1, LONG, &[]), token.cancelled_owned()).await };
    let (answer, after) = answered_after(call, async { stop.cancel() }).await;
    assert!(matches!(answer, Err(WorkError::Stopping)), "{answer:?}");
    assert!(after < 200 * MILLI, "{after:?}");

    // Nothing is claimed any more; a heartbeat renews the lease and does not wait.
    let id = d.enqueue(job()).await;
    let answer = two.here.lease(two.node, ask(1, LONG, &[]), stop.cancelled()).await;
    assert!(matches!(answer, Err(WorkError::Stopping)), "{answer:?}");
    assert_eq!(d.t.state(id).await, State::Queued);
    let began = Instant::now();
    let beaten = two.here.beat(two.node, NodeState::Serving, LONG, stop.cancelled()).await;
    assert!(beaten.is_ok() && began.elapsed() < SECOND, "{beaten:?}");
    two.close().await;
}

pub async fn pauses_and_limits_are_kept(d: Arc<Desk>) {
    let two = Two::on(&d).await;
    for queue in ["default", "default", "other", "other"] {
        d.enqueue(job().queue(queue)).await;
    }
    d.client.pause(NewPause::queue("other")).await.expect("a pause");
    let leased = lease(&two.there, two.node, ask(10, Duration::ZERO, &[])).await;
    let queues: Vec<_> = leased.jobs.iter().map(|one| one.job.queue.as_str()).collect();
    assert_eq!(queues, ["default", "default"]);
    let holds: Vec<JobId> = leased.jobs.iter().map(|one| one.job.id).collect();

    let (work, node, asks) = (two.there.clone(), two.node, ask(10, LONG, &holds));
    let call = async move { lease(&work, node, asks).await };
    let resume = async {
        d.client.resume(PauseScope::Queue, "other").await.expect("a resume");
    };
    let (leased, after) = answered_after(call, resume).await;
    assert_eq!(leased.jobs.len(), 2);
    assert!(after < 1_500 * MILLI, "{after:?}");

    // What is due in any of its queues is found, however few are asked for.
    d.enqueue_many(jobs(5)).await;
    d.enqueue(job().queue("other")).await;
    let holds: Vec<JobId> =
        holds.into_iter().chain(leased.jobs.iter().map(|one| one.job.id)).collect();
    let few = Lease {
        queues: Some(vec![("default".into(), 2), ("other".into(), 2)]),
        ..ask(10, Duration::ZERO, &holds)
    };
    assert_eq!(lease(&two.here, two.node, few).await.jobs.len(), 3, "two and one");
    two.close().await;
}

pub async fn an_answer_has_so_many_bytes_and_the_rest_is_others(d: Arc<Desk>) {
    let two = Two::on(&d).await;
    let large = || job().payload(format!("\"{}\"", "x".repeat(1_000_000)));
    let ids = d.enqueue_many((0..12).map(|_| large()).collect()).await;
    let first = take(&two.here, two.node, 100, &[]).await;
    assert_eq!(first.len(), 8, "eight of them are below 8 MiB");
    let last = d.get(ids[11]).await;
    assert_eq!((last.state, last.attempt), (State::Queued, 0), "given back at once");
    let repeated = take(&two.there, two.node, 100, &[]).await;
    assert_eq!(repeated.len(), 8);
    let known: Vec<JobId> = first.iter().map(|(held, _)| held.id).collect();
    assert_eq!(take(&two.there, two.node, 100, &known).await.len(), 4);
    two.close().await;
}

pub async fn what_workers_say_is_kept_once(d: Arc<Desk>) {
    let two = Two::on(&d).await;
    let id = d.enqueue(job()).await;
    let held = one(&two.here, two.node).await;
    let line = |n: u64| Line {
        level: longshore::store::Level::Info,
        message: format!("line {n}"),
        target: None,
        fields: Default::default(),
        at: None,
    };
    let say = |held: Held, first: Option<u64>, lines: std::ops::Range<u64>| {
        let progress = Progress::new(0.5, "half").ok();
        vec![Say { held, progress, first, lines: lines.map(line).collect() }]
    };
    let said = async |work: &Work, say| work.say(two.node, say).await.expect("an answer")[0];
    // More than go into the database together, and the reply is lost.
    assert_eq!(said(&two.here, say(held, Some(0), 0..600)).await, Said::Kept);
    assert_eq!(said(&two.there, say(held, Some(0), 0..600)).await, Said::Kept);
    assert_eq!(said(&two.there, say(held, Some(600), 600..700)).await, Said::Kept);
    let query = LogQuery { limit: 1_000, ..LogQuery::default() };
    let page = d.client.logs(id, query).await.expect("a log");
    let messages: Vec<_> = page.lines.iter().map(|line| line.message.clone()).collect();
    assert_eq!(messages, (0..700).map(|n| format!("line {n}")).collect::<Vec<_>>());
    assert!(page.lines.iter().all(|line| line.target == KIND));
    assert_eq!(d.client.progress(id).await.expect("a look").expect("it said").text, "half");

    let wrong = Held { lease: held.lease ^ 1, ..held };
    assert_eq!(said(&two.here, say(wrong, None, 0..1)).await, Said::LeaseLost);
    end(&two.here, two.node, held, complete()).await;
    assert_eq!(said(&two.here, say(held, Some(700), 700..701)).await, Said::LeaseLost);
    two.close().await;
}

pub async fn a_worker_that_leaves_holds_up_nobody(d: Arc<Desk>) {
    let two = Two::on(&d).await;
    let other = two.there.join(worker()).await.expect("another joins");
    let id = d.enqueue(job()).await;
    one(&two.here, two.node).await;
    two.here.leave(two.node).await.expect("it leaves");
    assert_eq!(one(&two.there, other).await.id, id);
    assert_eq!(d.get(id).await.attempt, 2);
    two.there.leave(NodeId::new()).await.expect_err("nobody has this id");

    // A node of a process of its own is nobody else's.
    let node = d.t.node().await;
    let run = node.look(&[crate::harness::ask("default", 1)], &[KIND]).await;
    assert_eq!(run.jobs.len(), 0);
    assert!(is_lost(two.here.leave(node.id).await));
    assert!(is_lost(two.here.beat(node.id, NodeState::Quiet, Duration::ZERO, pending()).await));
    two.close().await;
}

pub async fn ended_claims_leave_no_notes(d: Arc<Desk>) {
    let two = Two::on(&d).await;
    d.enqueue_many(jobs(60)).await;
    let long = one(&two.here, two.node).await;
    for _ in 0..59 {
        let taken = take(&two.here, two.node, 1, &[long.id]).await;
        end(&two.there, two.node, taken[0].0, complete()).await;
    }
    assert_eq!(take(&two.here, two.node, 1, &[long.id]).await, []);
    if !d.t.is_sqlite() {
        assert_eq!(d.t.count("claim").await, 1, "that of the one that still runs");
    }
    two.close().await;
}
