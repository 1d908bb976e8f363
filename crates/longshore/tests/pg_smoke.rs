// Long because: one smoke test of a whole backend.
//! Every call of the PostgreSQL store against a real server, directly and through a pooler.
//! Needs LONGSHORE_TEST_DATABASE_URL; with LONGSHORE_TEST_POOLER_URL the second way too.
#![cfg(feature = "postgres")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use longshore::job::{AttemptError, AttemptFault, Event};
use longshore::store::{self, *};
use longshore::{Clock, JobId, NewJob, State, StoreError, StoreOptions, Timestamp};
use sqlx::{Connection, Executor, PgConnection, Row};

const SEC: Duration = Duration::from_secs(1);
const LEASE: Duration = Duration::from_secs(30);

struct T {
    store: Arc<dyn Store>,
    direct: String,
    node: NodeId,
    no: std::sync::atomic::AtomicI64,
    clock: Clock,
    pooled: bool,
}

async fn database(pooled: bool) -> Option<(String, String)> {
    static N: AtomicU32 = AtomicU32::new(0);
    let admin = std::env::var("LONGSHORE_TEST_DATABASE_URL").ok()?;
    let pooler = std::env::var("LONGSHORE_TEST_POOLER_URL").ok();
    if pooled && pooler.is_none() {
        return None;
    }
    let name = format!("smoke_{}_{}", std::process::id(), N.fetch_add(1, Ordering::SeqCst));
    let mut conn = PgConnection::connect(&admin).await.unwrap();
    conn.execute(sqlx::AssertSqlSafe(format!("create database {name}"))).await.unwrap();
    let at = |url: &str| format!("{}/{name}", url.rsplit_once('/').unwrap().0);
    let direct = at(&admin);
    let url = if pooled { at(&pooler.unwrap()) } else { direct.clone() };
    Some((url, direct))
}

impl T {
    async fn new(pooled: bool, clock: Clock) -> Option<T> {
        let (url, direct) = database(pooled).await?;
        let options = StoreOptions { clock: clock.clone(), ..StoreOptions::default() };
        let store = store::open(&url, options).await.unwrap();
        assert_eq!(store.schema_version().await.unwrap(), 0);
        assert_eq!(store.migrate().await.unwrap(), [1]);
        assert_eq!(store.schema_version().await.unwrap(), 1);
        let node = NodeId::new();
        let t = T { store, direct, node, no: 0.into(), clock, pooled };
        t.join(node).await;
        Some(t)
    }
    async fn real(pooled: bool) -> Option<T> {
        T::new(pooled, Clock::real()).await
    }
    async fn manual(pooled: bool) -> Option<T> {
        T::new(pooled, Clock::manual("2031-05-01T12:00:00Z".parse().unwrap())).await
    }
    async fn join(&self, id: NodeId) {
        let node = NewNode {
            id,
            name: "n".into(),
            version: "1".into(),
            queues: vec![("default".into(), 5)],
            kinds: vec!["k".into()],
            lease_for: LEASE,
        };
        self.store.join(&node).await.unwrap();
    }
    async fn sql(&self) -> PgConnection {
        PgConnection::connect(&self.direct).await.unwrap()
    }
    async fn run(&self, sql: &str) {
        self.sql().await.execute(sqlx::AssertSqlSafe(sql.to_owned())).await.unwrap();
    }
    async fn count(&self, sql: &str) -> i64 {
        let sql = sqlx::AssertSqlSafe(sql.to_owned());
        sqlx::query(sql).fetch_one(&mut self.sql().await).await.unwrap().get(0)
    }
    async fn add(&self, job: NewJob) -> JobId {
        let added = self.store.enqueue(&[job], Repeat::No).await.unwrap();
        assert!(!added[0].duplicate);
        added[0].id
    }
    fn next_no(&self) -> i64 {
        self.no.fetch_add(1, Ordering::SeqCst) + 1
    }
    async fn claim_as(
        &self,
        node: NodeId,
        no: i64,
        limit: u32,
        marks: [LaneMark; 10],
    ) -> Result<Claimed> {
        let queues = [QueueAsk { queue: "default".into(), limit, marks }];
        let kinds = ["k".to_owned()];
        self.store.claim(&Claim { node, no, queues: &queues, kinds: &kinds }).await
    }
    async fn claim(&self, limit: u32) -> Vec<ClaimedJob> {
        let no = self.next_no();
        let got = self.claim_as(self.node, no, limit, [START; 10]).await.unwrap();
        assert!(got.live);
        assert_eq!(got.picked, got.jobs.len());
        got.jobs
    }
    async fn finish(&self, job: &ClaimedJob, ending: Ending) -> Ack {
        let held = Held { id: job.id, lease: job.lease };
        self.store.finish(self.node, &[(held, ending)]).await.unwrap()[0]
    }
    async fn state(&self, id: JobId) -> State {
        self.store.get(id).await.unwrap().unwrap().state
    }
    fn fault(&self, message: &str) -> NodeFault {
        AttemptError {
            attempt: 1,
            at: Timestamp::MIN,
            node: self.node.0,
            kind: AttemptFault::Error,
            message: message.into(),
            chain: vec!["cause".into()],
        }
    }
}

fn k() -> NewJob {
    NewJob::new("k")
}

macro_rules! both {
    ($($name:ident: $make:ident),* $(,)?) => { $(
        mod $name {
            #[tokio::test(flavor = "multi_thread")]
            async fn direct() {
                if let Some(t) = super::T::$make(false).await { super::$name(t).await; }
            }
            #[tokio::test(flavor = "multi_thread")]
            async fn pooled() {
                if let Some(t) = super::T::$make(true).await { super::$name(t).await; }
            }
        }
    )* };
}

both! {
    claims_come_in_order_up_to_the_limit: real,
    marks_hide_what_lies_below: real,
    done_goes_to_history_and_twice_is_the_same: real,
    cancel_before_each_ending: manual,
    cancel_and_retry_by_the_table: manual,
    endings_lead_where_they_say: manual,
    lost_nodes_are_rescued: manual,
    a_repeat_after_the_end_adds_nothing: real,
    a_lost_claim_cannot_come_true_after_recall: real,
    a_missing_partition_is_made: manual,
    payloads_come_back_byte_for_byte: real,
    hand_made_infinities_do_no_harm: real,
    lists_page_through_both_tables: real,
    nodes_beat_and_leave: manual,
    one_leads: manual,
    enqueue_in_a_transaction: real,
    wakes: real,
    settings_end_with_the_transaction: real,
    keeping_nothing_leaves_nothing: real,
    edits_during_a_delayed_claim: real,
    large_calls_are_all_or_nothing: real,
    broken_connections_are_replaced: real,
    opposite_orders_do_not_fail: real,
}

async fn claims_come_in_order_up_to_the_limit(t: T) {
    let late = t.add(k().priority(9)).await;
    let first = t.add(k().priority(0)).await;
    let a = t.add(k()).await;
    let b = t.add(k()).await;
    t.add(k().run_in(SEC * 60)).await;
    t.add(NewJob::new("other")).await;
    t.add(k().queue("q2")).await;
    let got: Vec<JobId> = t.claim(3).await.iter().map(|job| job.id).collect();
    assert_eq!(got, [first, a, b]);
    let got = t.claim(3).await;
    assert_eq!((got[0].id, got[0].attempt, got[0].lease, got.len()), (late, 1, 2, 1));
    assert_eq!(got[0].timeout_ms, Some(3_600_000));
    assert!(t.claim(3).await.is_empty());
    let lost = t.claim_as(NodeId::new(), 1, 3, [START; 10]).await.unwrap();
    assert!(!lost.live && lost.jobs.is_empty());
    assert_eq!(t.state(late).await, State::Running);
    let ask = |queue: &str| QueueAsk { queue: queue.into(), limit: 10, marks: [START; 10] };
    let queues = [ask("none"), ask("q2"), ask("default")];
    let kinds = ["k".to_owned(), "other".to_owned()];
    let claim = Claim { node: t.node, no: t.next_no(), queues: &queues, kinds: &kinds };
    assert_eq!(t.store.claim(&claim).await.unwrap().jobs.len(), 2);
    let claim = Claim { node: t.node, no: t.next_no(), queues: &[], kinds: &[] };
    assert!(t.store.claim(&claim).await.unwrap().live);
}

async fn marks_hide_what_lies_below(t: T) {
    let a = t.add(k()).await;
    let b = t.add(k()).await;
    let row = t.store.get(a).await.unwrap().unwrap();
    let mut marks = [START; 10];
    marks[5] = (row.run_at.unwrap(), a.as_uuid());
    let got = t.claim_as(t.node, t.next_no(), 9, marks).await.unwrap();
    assert_eq!(got.jobs.iter().map(|job| job.id).collect::<Vec<_>>(), [b]);
    let old = t.add(k().run_at(Timestamp::MIN)).await;
    let got: Vec<JobId> = t.claim(9).await.iter().map(|job| job.id).collect();
    assert_eq!(got, [old, a]);
}

async fn done_goes_to_history_and_twice_is_the_same(t: T) {
    let id = t.add(k().tag("a b").tag("\"x\"").meta("{\"a\":1}")).await;
    let job = t.claim(1).await.remove(0);
    let done = || Ending::Succeeded { output: Some("{\"o\":1}".into()) };
    assert_eq!(t.finish(&job, done()).await, Ack::Recorded(State::Succeeded));
    assert_eq!(t.finish(&job, done()).await, Ack::Recorded(State::Succeeded));
    let row = t.store.get(id).await.unwrap().unwrap();
    assert_eq!((row.state, row.output.as_deref()), (State::Succeeded, Some("{\"o\":1}")));
    assert_eq!(row.tags, ["a b", "\"x\""]);
    assert_eq!(row.meta.as_deref(), Some("{\"a\":1}"));
    assert_eq!((row.node, row.lease), (Some(t.node.0), Some(job.lease)));
    assert!(row.finished_at.unwrap() >= row.created_at);
    let other = Held { id, lease: job.lease + 1 };
    assert_eq!(t.store.finish(t.node, &[(other, done())]).await.unwrap(), [Ack::LeaseLost]);
    let held = Held { id, lease: job.lease };
    assert_eq!(t.store.finish(NodeId::new(), &[(held, done())]).await.unwrap(), [Ack::LeaseLost]);
    // Both groups in one call, in the order given, a stranger between them.
    let ids = [t.add(k()).await, t.add(k()).await];
    let jobs = t.claim(5).await;
    let ended = [
        (Held { id: ids[1], lease: jobs[0].lease }, Ending::Snoozed { delay: SEC }),
        (Held { id: JobId::new(), lease: 1 }, Ending::GivenBack),
        (Held { id: ids[0], lease: jobs[0].lease }, done()),
    ];
    let acks = t.store.finish(t.node, &ended).await.unwrap();
    use Ack::*;
    assert_eq!(acks, [Recorded(State::Scheduled), LeaseLost, Recorded(State::Succeeded)]);
}

async fn cancel_before_each_ending(t: T) {
    let error = || t.fault("boom");
    let endings: Vec<Ending> = vec![
        Ending::Succeeded { output: Some("7".into()) },
        Ending::Failed { error: error(), delay: SEC },
        Ending::Dead { error: error() },
        Ending::Snoozed { delay: SEC },
        Ending::GivenBack,
        Ending::Cancelled { why: "mine".into() },
    ];
    for ending in endings {
        let id = t.add(k()).await;
        let job = t.claim(1).await.remove(0);
        let ask = AskCancel { by: Some("me".into()), why: Some("x".repeat(20_000)) };
        assert_eq!(t.store.cancel(id, &ask).await.unwrap(), State::Running);
        assert_eq!(t.store.cancel(id, &AskCancel::default()).await.unwrap(), State::Running);
        assert_eq!(t.store.cancels(t.node).await.unwrap(), [id]);
        assert_eq!(
            t.finish(&job, ending.clone()).await,
            Ack::Recorded(State::Cancelled),
            "{ending:?}"
        );
        assert_eq!(
            t.finish(&job, ending.clone()).await,
            Ack::Recorded(State::Cancelled),
            "{ending:?}"
        );
        let row = t.store.get(id).await.unwrap().unwrap();
        let cancel = row.cancel.unwrap();
        assert_eq!((row.state, cancel.by.as_deref()), (State::Cancelled, Some("me")));
        assert!(cancel.why.unwrap().len() <= 8192);
        if matches!(ending, Ending::Succeeded { .. }) {
            assert_eq!(row.output.as_deref(), Some("7"));
        }
        assert!(t.store.cancels(t.node).await.unwrap().is_empty());
    }
    // And before a rescue.
    let id = t.add(k()).await;
    let job = t.claim(1).await.remove(0);
    t.store.cancel(id, &AskCancel::default()).await.unwrap();
    t.clock.advance(LEASE);
    let rescued = t.store.rescue().await.unwrap();
    assert_eq!(rescued.cancelled, [id]);
    assert_eq!(t.state(id).await, State::Cancelled);
    assert_eq!(t.finish(&job, Ending::GivenBack).await, Ack::LeaseLost);
}

async fn cancel_and_retry_by_the_table(t: T) {
    let refused = |error: StoreError, state, event| {
        assert!(
            matches!(&error, StoreError::Refused { state: s, event: e, .. } if *s == state && *e == event),
            "{error:?}"
        );
    };
    let none = AskCancel::default();
    let id = t.add(k()).await;
    refused(t.store.retry(id, 1).await.unwrap_err(), State::Queued, Event::Retry);
    assert_eq!(t.store.cancel(id, &none).await.unwrap(), State::Cancelled);
    refused(t.store.cancel(id, &none).await.unwrap_err(), State::Cancelled, Event::Cancel);
    t.store.retry(id, 1).await.unwrap();
    assert_eq!(t.state(id).await, State::Queued);
    assert!(t.store.get(id).await.unwrap().unwrap().cancel.is_none());
    let job = t.claim(1).await.remove(0);
    refused(t.store.retry(id, 1).await.unwrap_err(), State::Running, Event::Retry);
    assert_eq!(
        t.finish(&job, Ending::Dead { error: t.fault("no") }).await,
        Ack::Recorded(State::Dead)
    );
    refused(t.store.cancel(id, &none).await.unwrap_err(), State::Dead, Event::Cancel);
    let row = t.store.get(id).await.unwrap().unwrap();
    assert_eq!((row.run_at, row.finished_at), (None, Some(t.store.now().await.unwrap())));
    assert_eq!(row.errors.len(), 1);
    assert_eq!(row.errors[0].at, t.store.now().await.unwrap());
    assert_eq!(
        (row.errors[0].message.as_str(), &row.errors[0].chain[..]),
        ("no", &["cause".to_owned()][..])
    );
    t.store.retry(id, u32::MAX).await.unwrap();
    let row = t.store.get(id).await.unwrap().unwrap();
    assert_eq!(
        (row.state, row.attempt, row.errors.len(), row.max_attempts),
        (State::Queued, 1, 1, i32::MAX as u32)
    );
    let job = t.claim(1).await.remove(0);
    t.finish(&job, Ending::Succeeded { output: None }).await;
    refused(t.store.retry(id, 1).await.unwrap_err(), State::Succeeded, Event::Retry);
    refused(t.store.cancel(id, &none).await.unwrap_err(), State::Succeeded, Event::Cancel);
    let gone = JobId::new();
    assert!(matches!(t.store.retry(gone, 1).await, Err(StoreError::NotFound(id)) if id == gone));
    assert!(matches!(t.store.cancel(gone, &none).await, Err(StoreError::NotFound(_))));
    let later = t.add(k().run_in(SEC * 60)).await;
    assert_eq!(t.state(later).await, State::Scheduled);
    t.store.retry(later, 1).await.unwrap();
    assert_eq!(t.state(later).await, State::Queued);
}

async fn endings_lead_where_they_say(t: T) {
    let id = t.add(k().max_attempts(2)).await;
    let now = t.store.now().await.unwrap();
    let mut job = t.claim(1).await.remove(0);
    let snooze = Ending::Snoozed { delay: SEC };
    assert_eq!(t.finish(&job, snooze).await, Ack::Recorded(State::Scheduled));
    assert_eq!(t.store.get(id).await.unwrap().unwrap().run_at, Some(now.plus(SEC)));
    t.clock.advance(SEC);
    job = t.claim(1).await.remove(0);
    assert_eq!(job.attempt, 1);
    assert_eq!(t.finish(&job, Ending::GivenBack).await, Ack::Recorded(State::Queued));
    job = t.claim(1).await.remove(0);
    let failed = Ending::Failed { error: t.fault("\u{fffd} ü \" \\u0000"), delay: Duration::ZERO };
    assert_eq!(t.finish(&job, failed).await, Ack::Recorded(State::Retrying));
    t.clock.advance(Duration::from_millis(1));
    job = t.claim(1).await.remove(0);
    assert_eq!(job.attempt, 2);
    let snooze = Ending::Snoozed { delay: Duration::MAX };
    assert_eq!(t.finish(&job, snooze).await, Ack::Recorded(State::Retrying));
    let row = t.store.get(id).await.unwrap().unwrap();
    assert_eq!((row.attempt, row.node, row.lease, row.leased_at), (1, None, None, None));
    assert_eq!(row.errors[0].message, "\u{fffd} ü \" \\u0000");
    t.store.retry(id, 20).await.unwrap();
    for n in 0..12 {
        let job = t.claim(1).await.remove(0);
        let failed = Ending::Failed { error: t.fault(&n.to_string()), delay: Duration::ZERO };
        assert_eq!(t.finish(&job, failed).await, Ack::Recorded(State::Retrying));
        t.clock.advance(Duration::from_millis(1));
    }
    let row = t.store.get(id).await.unwrap().unwrap();
    let kept: Vec<&str> = row.errors.iter().map(|error| error.message.as_str()).collect();
    assert_eq!(kept, ["2", "3", "4", "5", "6", "7", "8", "9", "10", "11"]);
    let job = t.claim(1).await.remove(0);
    assert_eq!(
        t.finish(&job, Ending::Cancelled { why: "enough".into() }).await,
        Ack::Recorded(State::Cancelled)
    );
    let cancel = t.store.get(id).await.unwrap().unwrap().cancel.unwrap();
    assert_eq!((cancel.by.as_deref(), cancel.why.as_deref()), (Some("handler"), Some("enough")));
}

async fn lost_nodes_are_rescued(t: T) {
    let again = t.add(k()).await;
    let last = t.add(k().max_attempts(1)).await;
    let jobs = t.claim(5).await;
    assert!(t.store.rescue().await.unwrap().nodes.is_empty());
    t.clock.advance(LEASE);
    let rescued = t.store.rescue().await.unwrap();
    assert_eq!(
        (&rescued.nodes[..], &rescued.queued[..], &rescued.dead[..]),
        (&[t.node][..], &[again][..], &[last][..])
    );
    assert_eq!(t.store.rescue().await.unwrap(), Rescued::default());
    for job in &jobs {
        assert_eq!(t.finish(job, Ending::Succeeded { output: None }).await, Ack::LeaseLost);
    }
    let row = t.store.get(last).await.unwrap().unwrap();
    assert_eq!(
        (row.state, row.run_at, row.errors[0].kind),
        (State::Dead, None, AttemptFault::NodeLost)
    );
    let beat = Beat { node: t.node, lease_for: LEASE, over: vec![] };
    assert_eq!(t.store.beat(&beat).await.unwrap(), Pulse::Lost);
    assert!(!t.claim_as(t.node, 99, 1, [START; 10]).await.unwrap().live);
    assert_eq!(t.count("select count(*) from longshore.claim").await, 0);
    // A node that vanished with its row, seen by its claims; then one that not even claims name.
    for by_claim in [true, false] {
        let node = NodeId::new();
        t.join(node).await;
        assert_eq!(t.claim_as(node, 1, 5, [START; 10]).await.unwrap().jobs.len(), 1);
        t.run(&format!("delete from longshore.node where id = '{}'", node.0)).await;
        let rescued = if by_claim {
            t.store.rescue().await.unwrap()
        } else {
            t.run("delete from longshore.claim").await;
            assert_eq!(t.store.rescue().await.unwrap(), Rescued::default());
            let term = t.store.lead(t.node, LEASE).await.unwrap().unwrap();
            let lead = Lead { node: t.node, term };
            let wrong = Lead { node: t.node, term: term + 1 };
            assert!(matches!(t.store.sweep(wrong).await, Err(StoreError::NotLeader)));
            t.store.sweep(lead).await.unwrap()
        };
        assert_eq!(rescued.queued, [again]);
    }
    assert_eq!(t.store.nodes().await.unwrap().len(), 1);
    t.clock.advance(Duration::from_secs(3_601));
    let term = t.store.lead(t.node, LEASE).await.unwrap().unwrap();
    t.store.sweep(Lead { node: t.node, term }).await.unwrap();
    assert!(t.store.nodes().await.unwrap().is_empty());
}

async fn a_repeat_after_the_end_adds_nothing(t: T) {
    for size in [10, 5_000] {
        let body = format!("\"{}\"", "x".repeat(size));
        let job = k().payload(body.clone());
        let id = t.add(job.clone()).await;
        let again = t.store.enqueue(std::slice::from_ref(&job), Repeat::No).await.unwrap();
        assert!(again[0].duplicate);
        let claimed = t.claim(1).await.remove(0);
        t.finish(&claimed, Ending::Succeeded { output: None }).await;
        let again = t.store.enqueue(std::slice::from_ref(&job), Repeat::Yes).await.unwrap();
        assert_eq!(again, [Enqueued { id, duplicate: true }]);
        let again = t.store.enqueue(&[k().with_id(id), k()], Repeat::No).await.unwrap();
        assert_eq!((again[0].duplicate, again[1].duplicate), (true, false));
        assert_eq!(t.state(id).await, State::Succeeded);
        assert_eq!(&*t.store.get(id).await.unwrap().unwrap().payload, body.as_str());
        // Another, larger payload under the same id leaves nothing behind.
        let large = k().with_id(id).payload(format!("\"{}\"", "y".repeat(9_000)));
        assert!(t.store.enqueue(&[large], Repeat::No).await.unwrap()[0].duplicate);
        assert_eq!(&*t.store.get(id).await.unwrap().unwrap().payload, body.as_str());
        assert_eq!(t.claim(9).await.len(), 1);
    }
    assert_eq!(t.count("select count(*) from longshore.payload").await, 1);
    let id = JobId::new();
    let twice = [k().with_id(id), k(), k().with_id(id)];
    let added = t.store.enqueue(&twice, Repeat::No).await.unwrap();
    assert_eq!(added.iter().map(|one| one.duplicate).collect::<Vec<_>>(), [false, false, true]);
}

async fn a_lost_claim_cannot_come_true_after_recall(t: T) {
    let id = t.add(k()).await;
    let job = t.claim(1).await.remove(0);
    let back = t.store.recall(t.node, job.lease).await.unwrap();
    assert_eq!((back.len(), back[0].id, back[0].attempt), (1, id, 1));
    t.finish(&job, Ending::GivenBack).await;
    assert!(t.store.recall(t.node, job.lease).await.unwrap().is_empty());
    // Never arrived so far: recalled, then late.
    assert!(t.store.recall(t.node, 50).await.unwrap().is_empty());
    let beat = Beat { node: t.node, lease_for: LEASE, over: vec![50] };
    t.store.beat(&beat).await.unwrap();
    let late = t.claim_as(t.node, 50, 5, [START; 10]).await;
    assert!(late.is_err(), "{late:?}");
    assert_eq!(t.state(id).await, State::Queued);
    // Under way while it is recalled: the recall waits.
    let mut other = t.sql().await;
    let mut tx = other.begin().await.unwrap();
    let sql = "select 1 from longshore.node where id = $1::uuid for key share";
    sqlx::query(sql).bind(t.node.0).execute(&mut *tx).await.unwrap();
    let (store, node) = (t.store.clone(), t.node);
    let recall = tokio::spawn(async move { store.recall(node, 51).await });
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!recall.is_finished());
    let sql =
        "update longshore.job set node = $1::uuid, lease = 51, attempt = 1 where id = $2::uuid";
    sqlx::query(sql).bind(node.0).bind(id.as_uuid()).execute(&mut *tx).await.unwrap();
    let sql = "insert into longshore.claim (node, no, ids) values ($1::uuid, 51, array[$2::uuid])";
    sqlx::query(sql).bind(node.0).bind(id.as_uuid()).execute(&mut *tx).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(recall.await.unwrap().unwrap()[0].id, id);
    // One that never ends makes it give up.
    let mut tx = other.begin().await.unwrap();
    let sql = "select 1 from longshore.node where id = $1::uuid for key share";
    sqlx::query(sql).bind(t.node.0).execute(&mut *tx).await.unwrap();
    assert!(t.store.recall(t.node, 52).await.unwrap_err().is_unavailable());
}

async fn a_missing_partition_is_made(t: T) {
    for day in 0..3 {
        let mut calls = Vec::new();
        for _ in 0..8 {
            t.add(k()).await;
        }
        for job in t.claim(8).await {
            let (store, node) = (t.store.clone(), t.node);
            let held = Held { id: job.id, lease: job.lease };
            calls.push(tokio::spawn(async move {
                store.finish(node, &[(held, Ending::Succeeded { output: None })]).await
            }));
        }
        for call in calls {
            assert_eq!(call.await.unwrap().unwrap(), [Ack::Recorded(State::Succeeded)], "{day}");
        }
        t.clock.advance(SEC * 86_400);
    }
    t.clock.advance(SEC * 86_400 * 2);
    t.add(k()).await;
    let id = t.add(k()).await;
    assert_eq!(t.store.cancel(id, &AskCancel::default()).await.unwrap(), State::Cancelled);
    assert_eq!(
        t.count("select count(*) from pg_inherits where inhparent = 'longshore.history'::regclass")
            .await,
        8 + 4
    );
    let term = t.store.lead(t.node, LEASE).await.unwrap().unwrap();
    t.store.make_partitions(Lead { node: t.node, term }, 7).await.unwrap();
    t.store.make_partitions(Lead { node: t.node, term }, 7).await.unwrap();
    assert_eq!(
        t.count("select count(*) from pg_inherits where inhparent = 'longshore.history'::regclass")
            .await,
        8 + 4 + 7
    );
    let wrong = Lead { node: NodeId::new(), term };
    assert!(matches!(t.store.make_partitions(wrong, 7).await, Err(StoreError::NotLeader)));
}

async fn payloads_come_back_byte_for_byte(t: T) {
    let large = format!("{{\"a\":\"\\u0000\",\"a\":\"{}\"}}", "é".repeat(3_000));
    let bodies = [
        "\"\\u0000\"",
        "1e400",
        "{\"a\":1,\"a\":2}",
        "12345678901234567890.10",
        " [ 1 ,\t2 ] ",
        "\"\\ud83d\\ude00😀\"",
        "null",
        "-0",
        large.as_str(),
    ];
    for body in bodies {
        let id = t.add(k().payload(body)).await;
        assert_eq!(&*t.store.get(id).await.unwrap().unwrap().payload, body);
        let job = t.claim(1).await.remove(0);
        assert_eq!(&*job.payload, body);
        assert_eq!(&*t.store.recall(t.node, job.lease).await.unwrap()[0].payload, body);
        t.finish(&job, Ending::Succeeded { output: Some(body.into()) }).await;
        let row = t.store.get(id).await.unwrap().unwrap();
        assert_eq!((&*row.payload, row.payload_bytes), (body, Some(body.len())));
        assert_eq!(row.output.as_deref(), Some(body));
    }
}

async fn hand_made_infinities_do_no_harm(t: T) {
    let ids = [t.add(k()).await, t.add(k()).await];
    t.run(&format!("update longshore.job set run_at = '-infinity' where id = '{}'", ids[0])).await;
    t.run(&format!(
        "update longshore.job set run_at = 'infinity', created_at = 'infinity' where id = '{}'",
        ids[1]
    ))
    .await;
    let rows = t.store.list(&ListQuery::default()).await.unwrap().jobs;
    assert_eq!(rows[1].run_at, Some(Timestamp::from_micros(i64::MIN)));
    assert_eq!(
        (rows[0].run_at, rows[0].state),
        (Some(Timestamp::from_micros(i64::MAX)), State::Scheduled)
    );
    let jobs = t.claim(5).await;
    assert_eq!(jobs.iter().map(|job| job.id).collect::<Vec<_>>(), [ids[0]]);
    assert_eq!(jobs[0].run_at.to_string(), "out of range");
    assert_eq!(t.finish(&jobs[0], Ending::GivenBack).await, Ack::Recorded(State::Queued));
}

async fn lists_page_through_both_tables(t: T) {
    let mut all = Vec::new();
    for n in 0..30 {
        let size = if n % 2 == 0 { 10 } else { 3_000 };
        all.push(t.add(k().payload(format!("\"{}\"", "é".repeat(size)))).await);
    }
    for job in t.claim(12).await {
        t.finish(&job, Ending::Succeeded { output: Some("1".into()) }).await;
    }
    all.reverse();
    for limit in [1, 7, 200] {
        let mut query = ListQuery { limit, ..ListQuery::default() };
        let mut seen = Vec::new();
        loop {
            let page = t.store.list(&query).await.unwrap();
            assert!(page.jobs.len() <= limit as usize);
            seen.extend(page.jobs.iter().map(|job| job.id));
            let Some(next) = page.next else { break };
            query.after = Some(next);
        }
        assert_eq!(seen, all);
    }
    let only = |states: Vec<State>| ListQuery { states, limit: 200, ..ListQuery::default() };
    assert_eq!(t.store.list(&only(vec![State::Succeeded])).await.unwrap().jobs.len(), 12);
    let page = t.store.list(&only(vec![State::Queued])).await.unwrap();
    assert_eq!(page.jobs.len(), 18);
    assert!(page.jobs.iter().all(|job| job.payload.len() <= 200 && job.state == State::Queued));
    assert!(page.jobs.iter().any(|job| job.payload.is_empty() && job.payload_bytes.is_none()));
    assert!(page.jobs.iter().any(|job| job.payload_bytes == Some(22)));
    let none = ListQuery { kind: Some("none".into()), ..ListQuery::default() };
    let page = t.store.list(&none).await.unwrap();
    assert!(page.jobs.is_empty() && page.next.is_none());
    // A rare filter over many rows stops, and says how far it looked.
    t.run("insert into longshore.job (id, kind, queue, priority, run_at, created_at, max_attempts, payload)
           select ('ffff' || lpad(to_hex(n), 4, '0') || '-0000-7000-8000-000000000000')::uuid, 'x', 'q', 5, now(), now(), 1, '1' from generate_series(1, 12000) n").await;
    let mut query = ListQuery { kind: Some("k".into()), limit: 200, ..ListQuery::default() };
    let mut pages = 0;
    let mut found = 0;
    loop {
        let page = t.store.list(&query).await.unwrap();
        pages += 1;
        found += page.jobs.len();
        let Some(next) = page.next else { break };
        query.after = Some(next);
    }
    assert_eq!((pages, found), (3, 30));
}

async fn nodes_beat_and_leave(t: T) {
    let now = t.store.now().await.unwrap();
    t.clock.advance(SEC * 10);
    let beat = |over| Beat { node: t.node, lease_for: LEASE, over };
    assert_eq!(t.store.beat(&beat(vec![])).await.unwrap(), Pulse::Alive(now.plus(SEC * 10)));
    t.add(k()).await;
    let job = t.claim(1).await.remove(0);
    let row = t.store.nodes().await.unwrap().remove(0);
    assert_eq!((row.live, row.running, row.expires_at), (true, 1, now.plus(SEC * 40)));
    assert_eq!(
        (&row.queues[..], &row.kinds[..]),
        (&[("default".to_owned(), 5)][..], &["k".to_owned()][..])
    );
    t.store.leave(t.node).await.unwrap();
    assert!(!t.store.nodes().await.unwrap()[0].live);
    assert_eq!(t.store.rescue().await.unwrap().queued, [job.id]);
    let other = NodeId::new();
    t.join(other).await;
    t.join(other).await;
    let job = t.claim_as(other, 1, 1, [START; 10]).await.unwrap().jobs.remove(0);
    let done = (Held { id: job.id, lease: 1 }, Ending::Succeeded { output: None });
    t.store.finish(other, &[done]).await.unwrap();
    let beat = Beat { node: other, lease_for: LEASE, over: vec![1] };
    assert!(matches!(t.store.beat(&beat).await.unwrap(), Pulse::Alive(_)));
    assert_eq!(t.count("select count(*) from longshore.claim").await, 0);
    t.store.leave(other).await.unwrap();
    t.store.leave(other).await.unwrap();
    assert_eq!(t.store.nodes().await.unwrap().len(), 1);
}

async fn one_leads(t: T) {
    let (a, b) = (NodeId::new(), NodeId::new());
    assert_eq!(t.store.lead(a, LEASE).await.unwrap(), Some(1));
    assert_eq!(t.store.lead(b, LEASE).await.unwrap(), None);
    t.clock.advance(SEC * 20);
    assert_eq!(t.store.lead(a, LEASE).await.unwrap(), Some(1));
    t.clock.advance(SEC * 20);
    assert_eq!(t.store.lead(b, LEASE).await.unwrap(), None);
    t.clock.advance(SEC * 10);
    assert_eq!(t.store.lead(b, LEASE).await.unwrap(), Some(2));
    t.store.resign(Lead { node: b, term: 1 }).await.unwrap();
    assert_eq!(t.store.lead(a, LEASE).await.unwrap(), None);
    t.store.resign(Lead { node: b, term: 2 }).await.unwrap();
    assert_eq!(t.store.lead(b, LEASE).await.unwrap(), Some(3));
    t.clock.advance(LEASE);
    assert_eq!(t.store.lead(b, LEASE).await.unwrap(), Some(4));
}

async fn enqueue_in_a_transaction(t: T) {
    let mut conn = t.sql().await;
    let mut listener = sqlx::postgres::PgListener::connect(&t.direct).await.unwrap();
    listener.listen("longshore").await.unwrap();
    for commit in [false, true] {
        let mut tx = conn.begin().await.unwrap();
        let added = t.store.enqueue_in(Tx::conn(&mut tx), &[k(), k()]).await.unwrap();
        t.store.enqueue_in(Tx::conn(&mut tx), &[k()]).await.unwrap();
        assert!(added.iter().all(|one| !one.duplicate));
        assert!(t.claim(9).await.is_empty());
        if commit { tx.commit().await.unwrap() } else { tx.rollback().await.unwrap() }
    }
    assert_eq!(t.claim(9).await.len(), 3);
    let heard = tokio::time::timeout(SEC, listener.recv()).await.unwrap().unwrap();
    assert_eq!(heard.payload(), "look");
    assert!(tokio::time::timeout(SEC / 5, listener.recv()).await.is_err());
}

async fn wakes(t: T) {
    let other = store::open(&t.direct, StoreOptions::default()).await.unwrap();
    let ear = other.clone();
    let listening = tokio::spawn(async move { ear.listen().await });
    tokio::time::sleep(Duration::from_millis(300)).await;
    let mut here = t.store.wakes().subscribe();
    let mut there = other.wakes().subscribe();
    t.add(k().run_in(SEC * 60)).await;
    assert!(!here.take().look);
    t.add(k()).await;
    let news = here.take();
    assert!(news.look && !news.from_start);
    let news = tokio::time::timeout(SEC, there.news()).await.unwrap();
    assert!(news.look && !news.from_start && !news.cancels);
    let id = t.add(k().run_at(Timestamp::MIN)).await;
    assert!(here.take().from_start);
    let job = t.claim(1).await.remove(0);
    assert_eq!(job.id, id);
    t.store.cancel(id, &AskCancel::default()).await.unwrap();
    assert!(here.take().cancels);
    let ears = Instant::now();
    let mut all = there.news().await;
    while !(all.cancels && all.from_start) {
        let more = tokio::time::timeout(SEC, there.news()).await.unwrap();
        all.cancels |= more.cancels;
        all.from_start |= more.from_start;
    }
    assert!(ears.elapsed() < SEC);
    // After the listening connection was killed it comes back and says what may have been missed.
    t.run("select pg_terminate_backend(pid) from pg_stat_activity where query like 'LISTEN%' and datname = current_database()").await;
    let news = tokio::time::timeout(SEC * 5, there.news()).await.unwrap();
    assert!(news.from_start);
    other.close().await;
    tokio::time::timeout(SEC * 2, listening).await.unwrap().unwrap();
    assert!(other.get(id).await.unwrap_err().is_unavailable());
}

async fn settings_end_with_the_transaction(t: T) {
    if t.pooled {
        return;
    }
    t.add(k()).await;
    t.claim(1).await;
    t.run("create table longshore.seen (setting text)").await;
    t.run("create function longshore.note() returns trigger language plpgsql as $$ begin insert into longshore.seen values (current_setting('synchronous_commit')); return null; end $$").await;
    t.run("create trigger note after insert or update or delete on longshore.job execute function longshore.note()").await;
    t.add(k()).await;
    let job = t.claim(1).await.remove(0);
    t.finish(&job, Ending::Succeeded { output: None }).await;
    t.add(k()).await;
    let rows = sqlx::query("select setting from longshore.seen")
        .fetch_all(&mut t.sql().await)
        .await
        .unwrap();
    let seen: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(seen, ["on", "off", "on", "on"]);
}

async fn keeping_nothing_leaves_nothing(t: T) {
    for ending in [Ending::Succeeded { output: None }, Ending::Cancelled { why: "w".into() }] {
        let body = format!("\"{}\"", "x".repeat(5_000));
        let id = t.add(k().payload(body).retain(Duration::ZERO)).await;
        assert_eq!(t.count("select count(*) from longshore.payload").await, 1);
        let job = t.claim(1).await.remove(0);
        assert!(matches!(t.finish(&job, ending).await, Ack::Recorded(_)));
        assert!(t.store.get(id).await.unwrap().is_none());
        assert_eq!(t.count("select count(*) from longshore.payload").await, 0);
    }
    let id = t.add(k().payload(format!("\"{}\"", "x".repeat(5_000))).retain(Duration::ZERO)).await;
    assert_eq!(t.store.cancel(id, &AskCancel::default()).await.unwrap(), State::Cancelled);
    assert_eq!(t.count("select count(*) from longshore.payload").await, 0);
}

async fn edits_during_a_delayed_claim(t: T) {
    // A cancel that is asked for while the finish waits for the row must not be lost, nor the finish.
    for done in [true, false] {
        let id = t.add(k()).await;
        let job = t.claim(1).await.remove(0);
        let mut conn = t.sql().await;
        let mut tx = conn.begin().await.unwrap();
        let sql = "update longshore.job set cancel_at = now(), cancel_by = 'x' where id = $1::uuid";
        sqlx::query(sql).bind(id.as_uuid()).execute(&mut *tx).await.unwrap();
        let (store, node) = (t.store.clone(), t.node);
        let ending = if done { Ending::Succeeded { output: None } } else { Ending::GivenBack };
        let held = Held { id, lease: job.lease };
        let finish = tokio::spawn(async move { store.finish(node, &[(held, ending)]).await });
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert!(!finish.is_finished());
        tx.commit().await.unwrap();
        assert_eq!(finish.await.unwrap().unwrap(), [Ack::Recorded(State::Cancelled)], "{done}");
        assert_eq!(t.state(id).await, State::Cancelled);
    }
    // A row changed between a claim's snapshot and its lock: picked, not got.
    let id = t.add(k()).await;
    let mut conn = t.sql().await;
    let mut tx = conn.begin().await.unwrap();
    let sql = "select 1 from longshore.node where id = $1::uuid for update";
    sqlx::query(sql).bind(t.node.0).execute(&mut *tx).await.unwrap();
    let (store, node) = (t.store.clone(), t.node);
    let no = t.next_no();
    let claim = tokio::spawn(async move {
        let queues = [QueueAsk { queue: "default".into(), limit: 5, marks: [START; 10] }];
        let kinds = ["k".to_owned()];
        store.claim(&Claim { node, no, queues: &queues, kinds: &kinds }).await
    });
    tokio::time::sleep(Duration::from_millis(300)).await;
    t.run(&format!("update longshore.job set meta = '{{}}' where id = '{id}'")).await;
    tx.commit().await.unwrap();
    let got = claim.await.unwrap().unwrap();
    assert_eq!((got.picked, got.jobs.len()), (1, 0));
    assert_eq!(t.claim(5).await.len(), 1);
}

async fn large_calls_are_all_or_nothing(t: T) {
    let many: Vec<NewJob> = (0..1_234).map(|_| k()).collect();
    let added = t.store.enqueue(&many, Repeat::No).await.unwrap();
    assert!(added.iter().zip(&many).all(|(one, job)| one.id == job.id() && !one.duplicate));
    assert_eq!(t.count("select count(*) from longshore.job").await, 1_234);
    // The last statement fails: a payload that the client should have refused.
    let mut bad: Vec<NewJob> = (0..1_000).map(|_| k()).collect();
    bad.push(k().payload("{"));
    assert!(matches!(t.store.enqueue(&bad, Repeat::No).await, Err(StoreError::Bug { .. })));
    assert_eq!(t.count("select count(*) from longshore.job").await, 1_234);
    let big: Vec<NewJob> =
        (0..5).map(|_| k().payload(format!("\"{}\"", "x".repeat(900_000)))).collect();
    t.store.enqueue(&big, Repeat::Yes).await.unwrap();
    assert_eq!(t.count("select count(*) from longshore.payload").await, 5);
    assert!(t.store.enqueue(&[], Repeat::No).await.unwrap().is_empty());
    assert!(t.store.finish(t.node, &[]).await.unwrap().is_empty());
}

async fn broken_connections_are_replaced(t: T) {
    for _ in 0..3 {
        t.add(k()).await;
        t.run("select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()").await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        t.add(k()).await;
        let beat = Beat { node: t.node, lease_for: LEASE, over: vec![] };
        assert!(matches!(t.store.beat(&beat).await.unwrap(), Pulse::Alive(_)));
        let first = t.claim_as(t.node, t.next_no(), 1, [START; 10]).await;
        assert!(first.as_ref().map_or_else(StoreError::is_unavailable, |_| true), "{first:?}");
        assert_eq!(t.claim(1).await.len(), 1);
    }
}

async fn opposite_orders_do_not_fail(t: T) {
    for _ in 0..5 {
        let many: Vec<NewJob> = (0..200).map(|_| k()).collect();
        t.store.enqueue(&many, Repeat::No).await.unwrap();
    }
    let mut calls = Vec::new();
    loop {
        let jobs = t.claim(100).await;
        if jobs.is_empty() {
            break;
        }
        for reverse in [false, true] {
            let mut ended: Vec<_> = jobs
                .iter()
                .enumerate()
                .map(|(n, job)| {
                    let held = Held { id: job.id, lease: job.lease };
                    let ending = match n % 3 {
                        0 => Ending::Succeeded { output: None },
                        1 => Ending::Dead { error: t.fault("x") },
                        _ => Ending::Cancelled { why: "w".into() },
                    };
                    (held, ending)
                })
                .collect();
            if reverse {
                ended.reverse();
            }
            let (store, node) = (t.store.clone(), t.node);
            calls.push(tokio::spawn(async move { store.finish(node, &ended).await }));
        }
        t.store.rescue().await.unwrap();
    }
    for call in calls {
        call.await.unwrap().unwrap();
    }
    assert_eq!(t.count("select count(*) from longshore.job where node is not null").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_may_migrate_at_once() {
    for pooled in [false, true] {
        for _ in 0..5 {
            let Some((url, direct)) = database(pooled).await else { return };
            let mut calls = Vec::new();
            for _ in 0..5 {
                let url = url.clone();
                calls.push(tokio::spawn(async move {
                    let store = store::open(&url, StoreOptions::default()).await.unwrap();
                    let applied = store.migrate().await.unwrap();
                    store.close().await;
                    applied.len()
                }));
            }
            let mut applied = 0;
            for call in calls {
                applied += call.await.unwrap();
            }
            assert_eq!(applied, 1);
            let mut conn = PgConnection::connect(&direct).await.unwrap();
            let store = store::open(&url, StoreOptions::default()).await.unwrap();
            conn.execute("update longshore.migration set checksum = 'x'").await.unwrap();
            assert!(matches!(store.migrate().await, Err(StoreError::Checksum { version: 1 })));
            conn.execute("update longshore.migration set version = 7").await.unwrap();
            assert!(matches!(
                store.migrate().await,
                Err(StoreError::Schema { found: 7, needed: 1 })
            ));
            store.close().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_at_the_door() {
    let Some((url, _)) = database(false).await else { return };
    let store = store::open(&url, StoreOptions::default()).await.unwrap();
    let error = store.enqueue(&[k()], Repeat::No).await.unwrap_err();
    assert!(matches!(error, StoreError::Schema { found: 0, needed: 1 }), "{error:?}");
    assert!(matches!(store.now().await, Ok(now) if now.in_range()));
    let started = Instant::now();
    let error = store::open("postgres://a:secret@127.0.0.1:1/x", StoreOptions::default())
        .await
        .err()
        .unwrap();
    assert!(error.is_unavailable() && started.elapsed() < SEC, "{error:?}");
    let error =
        store::open("postgres://a:secret@[/x", StoreOptions::default()).await.err().unwrap();
    assert!(!format!("{error} {error:?}").contains("secret"), "{error:?}");
}

/// Figures and causes, not bars: run with `--release -- --ignored --nocapture figures`.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes half a minute, prints figures"]
async fn figures() {
    for pooled in [false, true] {
        let Some(t) = T::real(pooled).await else { return };
        println!("== {}", if pooled { "pooled" } else { "direct" });
        if let Ok(fill) = std::env::var("FILL") {
            t.run(&format!("alter table longshore.job set (fillfactor = {fill})")).await;
        }
        // Statements are prepared while the tables are empty.
        t.add(k()).await;
        for job in t.claim(10).await {
            t.finish(&job, Ending::Succeeded { output: None }).await;
        }
        t.store.list(&ListQuery::default()).await.unwrap();
        const JOBS: usize = 100_000;
        let jobs: Vec<NewJob> = (0..JOBS).map(|n| k().payload(format!("{{\"n\":{n}}}"))).collect();
        let started = Instant::now();
        for some in jobs.chunks(500) {
            t.store.enqueue(some, Repeat::No).await.unwrap();
        }
        println!("enqueue: {:.0}/s", JOBS as f64 / started.elapsed().as_secs_f64());
        t.run("vacuum analyze longshore.job").await;
        let wal = t.count("select (pg_current_wal_insert_lsn() - '0/0')::bigint").await;
        let (mut claiming, mut finishing, mut worst, mut n) =
            (Duration::ZERO, Duration::ZERO, Duration::ZERO, 0);
        let mut marks = [START; 10];
        for _ in 0..JOBS / 500 {
            let started = Instant::now();
            let got = t.claim_as(t.node, t.next_no(), 500, marks).await.unwrap();
            worst = worst.max(started.elapsed());
            claiming += started.elapsed();
            if let Some(last) = got.jobs.last() {
                marks[5] = (last.run_at, last.id.as_uuid());
            }
            let ended: Vec<_> = got
                .jobs
                .iter()
                .map(|job| {
                    (Held { id: job.id, lease: job.lease }, Ending::Succeeded { output: None })
                })
                .collect();
            let started = Instant::now();
            let acks = t.store.finish(t.node, &ended).await.unwrap();
            finishing += started.elapsed();
            assert!(acks.iter().all(|ack| *ack == Ack::Recorded(State::Succeeded)));
            n += ended.len();
        }
        assert_eq!(n, JOBS);
        let wal = t.count("select (pg_current_wal_insert_lsn() - '0/0')::bigint").await - wal;
        println!(
            "claim {:.0}/s (worst {worst:?}), finish {:.0}/s, both {:.0}/s, WAL {} bytes a job",
            n as f64 / claiming.as_secs_f64(),
            n as f64 / finishing.as_secs_f64(),
            n as f64 / (claiming + finishing).as_secs_f64(),
            wal / n as i64
        );
        // Reads beside a full history and a full queue.
        for some in jobs.chunks(500) {
            let again: Vec<NewJob> =
                some.iter().map(|job| job.clone().with_id(JobId::new())).collect();
            t.store.enqueue(&again, Repeat::No).await.unwrap();
        }
        let timed = Instant::now();
        for job in jobs.iter().step_by(1_000) {
            assert!(t.store.get(job.id()).await.unwrap().is_some());
        }
        println!("get from history: {:?}", timed.elapsed() / 100);
        for (what, query) in [
            ("all", ListQuery::default()),
            ("rare", ListQuery { kind: Some("none".into()), ..ListQuery::default() }),
            ("dead", ListQuery { states: vec![State::Dead], ..ListQuery::default() }),
        ] {
            let timed = Instant::now();
            t.store.list(&query).await.unwrap();
            println!("list {what}: {:?}", timed.elapsed());
        }
        let timed = Instant::now();
        let term = t.store.lead(t.node, LEASE * 10).await.unwrap().unwrap();
        t.store.sweep(Lead { node: t.node, term }).await.unwrap();
        println!("sweep of 100,000: {:?}", timed.elapsed());
        let timed = Instant::now();
        t.store.rescue().await.unwrap();
        println!(
            "rescue of nothing, {} claim rows: {:?}",
            t.count("select count(*) from longshore.claim").await,
            timed.elapsed()
        );
        // Singles in flight at once, as funnels would not send them.
        let timed = Instant::now();
        let mut calls = Vec::new();
        for _ in 0..8 {
            let store = t.store.clone();
            calls.push(tokio::spawn(async move {
                for _ in 0..100 {
                    store.enqueue(&[k()], Repeat::No).await.unwrap();
                }
            }));
        }
        for call in calls {
            call.await.unwrap();
        }
        println!("single enqueues, 8 at once: {:.0}/s", 800.0 / timed.elapsed().as_secs_f64());
        t.store.close().await;
        if pooled {
            continue;
        }
        tokio::time::sleep(SEC * 2).await;
        println!(
            "HOT: {} % of {} updates; sequential scans of job: {}",
            t.count("select 100 * n_tup_hot_upd / n_tup_upd from pg_stat_user_tables where relname = 'job'").await,
            t.count("select n_tup_upd from pg_stat_user_tables where relname = 'job'").await,
            t.count("select seq_scan from pg_stat_user_tables where relname = 'job'").await,
        );
    }
}
