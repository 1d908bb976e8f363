//! All set-up there is: a store whose clock stands until a test moves it, on a database of its own.

use std::future::Future;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use longshore::job::{AttemptError, AttemptFault};
use longshore::store::{
    ANY_VERSION, Ack, AskCancel, Beat, Claim, Claimed, ClaimedJob, Conn, Ending, Enqueued, Held,
    KindAsk, LANES, LaneMark, Lead, NewNode, NodeId, NodeState, Pooler, Pulse, QueueAsk, Repeat,
    Rescued, START, Store, Tx,
};
use longshore::{Clock, Edit, JobId, JobRow, NewJob, State, StoreOptions, Timestamp};
use sqlx::{AssertSqlSafe, Connection, SqliteConnection};
use uuid::Uuid;

#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "postgres")]
pub mod proxy;

pub const MILLI: Duration = Duration::from_millis(1);
pub const SECOND: Duration = Duration::from_secs(1);
pub const MINUTE: Duration = Duration::from_secs(60);
pub const HOUR: Duration = Duration::from_secs(3_600);
/// How long a test's node keeps its jobs without a heartbeat.
pub const LEASE_FOR: Duration = Duration::from_secs(30);
/// No test may hang.
const LONGEST_TEST: Duration = Duration::from_secs(180);
/// How long `until` waits.
const LONGEST_WAIT: Duration = Duration::from_secs(20);

/// Which database a test runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    Sqlite,
    #[cfg(feature = "postgres")]
    Postgres,
    /// PostgreSQL through a pooler in transaction mode.
    #[cfg(feature = "postgres")]
    Pooled,
}

/// A fresh, migrated database that goes when the test is over.
pub enum Database {
    Sqlite(tempfile::TempDir),
    #[cfg(feature = "postgres")]
    Postgres(postgres::TestDatabase),
}

/// A store under test.
#[derive(Clone)]
pub struct Harness {
    pub store: Arc<dyn Store>,
    pub clock: Clock,
    pub database: Arc<Database>,
}

/// Runs `case` on a fresh database, and takes the database away whatever happened.
pub fn run<F>(flavour: Flavour, case: impl FnOnce(Harness) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    block_on(async {
        let Some(t) = Harness::fresh(flavour).await else { return };
        let ended = tokio::spawn(tokio::time::timeout(LONGEST_TEST, case(t.clone()))).await;
        t.remove().await;
        match ended {
            Ok(in_time) => in_time.expect("the test ends in time"),
            Err(panic) => std::panic::resume_unwind(panic.into_panic()),
        }
    });
}

/// A runtime of two threads, as in the smallest deployment.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime")
        .block_on(future)
}

impl Database {
    /// A fresh one, migrated; `None` where there is no server for it.
    async fn fresh(flavour: Flavour) -> Option<Database> {
        match flavour {
            Flavour::Sqlite => {
                Some(Database::Sqlite(tempfile::tempdir().expect("a temporary folder")))
            }
            #[cfg(feature = "postgres")]
            Flavour::Postgres => postgres::TestDatabase::fresh(false).await.map(Database::Postgres),
            #[cfg(feature = "postgres")]
            Flavour::Pooled => postgres::TestDatabase::fresh(true).await.map(Database::Postgres),
        }
    }

    /// What `store::open` takes.
    pub fn url(&self) -> String {
        match self {
            Database::Sqlite(folder) => format!("sqlite:{}", folder.path().join("t.db").display()),
            #[cfg(feature = "postgres")]
            Database::Postgres(database) => database.url.clone(),
        }
    }

    pub fn options(&self, clock: Clock) -> StoreOptions {
        let pooler = match self {
            #[cfg(feature = "postgres")]
            Database::Postgres(database) if database.pooled => Pooler::Transaction,
            _ => Pooler::Off,
        };
        StoreOptions { clock, pooler, ..StoreOptions::default() }
    }
}

impl Harness {
    pub async fn fresh(flavour: Flavour) -> Option<Harness> {
        Harness::with_clock(flavour, Clock::manual(Timestamp::now())).await
    }

    pub async fn with_clock(flavour: Flavour, clock: Clock) -> Option<Harness> {
        let database = Database::fresh(flavour).await?;
        let store = longshore::store::open(&database.url(), database.options(clock.clone()))
            .await
            .expect("the store opens");
        // PostgreSQL's comes migrated, cloned from a template.
        if flavour == Flavour::Sqlite {
            store.migrate().await.expect("the schema migrates");
        }
        Some(Harness { store, clock, database: Arc::new(database) })
    }

    pub async fn remove(self) {
        self.store.close().await;
        #[cfg(feature = "postgres")]
        if let Database::Postgres(database) = &*self.database {
            database.remove().await;
        }
    }

    /// Another process's view: a second store on the same database, with the same clock.
    pub async fn beside(&self) -> Arc<dyn Store> {
        longshore::store::open(&self.database.url(), self.database.options(self.clock.clone()))
            .await
            .expect("a second store opens")
    }

    pub fn is_sqlite(&self) -> bool {
        matches!(*self.database, Database::Sqlite(_))
    }

    pub async fn now(&self) -> Timestamp {
        self.store.now().await.expect("the store tells the time")
    }

    pub fn advance(&self, span: Duration) {
        self.clock.advance(span);
    }

    pub async fn enqueue(&self, job: NewJob) -> JobId {
        let answer = self.enqueue_all(&[job]).await;
        assert!(answer[0].is_added(), "the id is fresh");
        answer[0].id
    }

    pub async fn enqueue_all(&self, jobs: &[NewJob]) -> Vec<Enqueued> {
        self.store.enqueue(jobs, Repeat::No).await.expect("jobs are enqueued")
    }

    pub async fn repeat(&self, job: &NewJob) -> Enqueued {
        let jobs = std::slice::from_ref(job);
        self.store.enqueue(jobs, Repeat::Yes).await.expect("an enqueue is repeated")[0]
    }

    /// A node that has just joined.
    pub async fn node(&self) -> Node {
        let node = Node { id: NodeId::new(), store: self.store.clone(), last_no: Arc::default() };
        self.store.join(&new_node(node.id)).await.expect("a node joins");
        node
    }

    /// One job, claimed by a fresh node.
    pub async fn claim_one(&self) -> Run {
        self.node().await.claim_one().await
    }

    /// Up to `limit` jobs, claimed by a fresh node.
    pub async fn claim(&self, limit: u32) -> Vec<Run> {
        self.node().await.claim(limit).await
    }

    pub async fn finish(&self, run: &Run, ending: Ending) -> Ack {
        self.finish_all(run.node, &[(run.held(), ending)]).await[0]
    }

    pub async fn finish_all(&self, node: NodeId, ended: &[(Held, Ending)]) -> Vec<Ack> {
        let acks = self.store.finish(node, ended).await.expect("endings are written");
        assert_eq!(acks.len(), ended.len());
        acks
    }

    /// A job that ended in this way, in its first attempt.
    pub async fn ended(&self, job: NewJob, ending: Ending) -> JobId {
        let id = self.enqueue(job).await;
        let run = self.claim_one().await;
        assert_eq!(run.id, id, "nothing else waits");
        assert!(matches!(self.finish(&run, ending).await, Ack::Recorded(_)));
        id
    }

    pub async fn rescue(&self) -> Rescued {
        self.store.rescue().await.expect("a rescue")
    }

    pub async fn cancel(&self, id: JobId) -> State {
        self.store.cancel(id, &AskCancel::default()).await.expect("a cancel")
    }

    pub async fn retry(&self, id: JobId) {
        self.store.retry(id, 1, &Edit::new()).await.expect("a retry");
    }

    pub async fn find(&self, id: JobId) -> Option<JobRow> {
        self.store.get(id).await.expect("a look-up")
    }

    pub async fn get(&self, id: JobId) -> JobRow {
        self.find(id).await.expect("the job is there")
    }

    pub async fn state(&self, id: JobId) -> State {
        self.get(id).await.state
    }

    pub async fn lead(&self, node: &Node, span: Duration) -> Option<Lead> {
        let term = self.store.lead(node.id, span).await.expect("an election");
        term.map(|term| Lead { node: node.id, term })
    }

    /// Waits until `come` is true, not for ever.
    pub async fn until<F: Future<Output = bool>>(&self, what: &str, mut come: impl FnMut() -> F) {
        let give_up = Instant::now() + LONGEST_WAIT;
        while !come().await {
            assert!(Instant::now() < give_up, "waited {LONGEST_WAIT:?} in vain until {what}");
            tokio::time::sleep(5 * MILLI).await;
        }
    }

    /// The table's name in this database.
    pub fn table(&self, name: &str) -> String {
        if self.is_sqlite() { format!("longshore_{name}") } else { format!("longshore.{name}") }
    }

    /// The id as it stands in a statement.
    pub fn literal(&self, id: Uuid) -> String {
        if self.is_sqlite() { format!("x'{}'", id.simple()) } else { format!("'{id}'::uuid") }
    }

    /// Does by hand what no call of the store would do.
    pub async fn execute(&self, sql: String) {
        match &*self.database {
            Database::Sqlite(_) => {
                let mut conn = self.sqlite_conn().await;
                sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut conn).await.expect("SQL by hand");
                conn.close().await.expect("the connection closes");
            }
            #[cfg(feature = "postgres")]
            Database::Postgres(database) => database.execute(sql).await,
        }
    }

    /// How many rows a table has.
    pub async fn count(&self, table: &str) -> i64 {
        self.number(format!("SELECT count(*) FROM {}", self.table(table))).await
    }

    /// The one number that a query answers.
    pub async fn number(&self, sql: String) -> i64 {
        match &*self.database {
            Database::Sqlite(_) => {
                let mut conn = self.sqlite_conn().await;
                let number = sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(&mut conn).await;
                conn.close().await.expect("the connection closes");
                number.expect("a number")
            }
            #[cfg(feature = "postgres")]
            Database::Postgres(database) => database.number(sql).await,
        }
    }

    /// A connection of somebody else to the same file.
    pub async fn sqlite_conn(&self) -> SqliteConnection {
        let options = self.database.url().parse::<sqlx::sqlite::SqliteConnectOptions>();
        let options = options.expect("our own address").busy_timeout(10 * SECOND);
        SqliteConnection::connect_with(&options).await.expect("a second connection")
    }

    /// A transaction of the application's own.
    pub async fn transaction(&self) -> CallersTx {
        match &*self.database {
            Database::Sqlite(_) => {
                let mut conn = self.sqlite_conn().await;
                sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut conn).await.expect("a transaction");
                CallersTx::Sqlite(Box::new(conn))
            }
            #[cfg(feature = "postgres")]
            Database::Postgres(database) => {
                CallersTx::Postgres(Box::new(database.transaction().await))
            }
        }
    }
}

/// The application's own transaction.
pub enum CallersTx {
    Sqlite(Box<SqliteConnection>),
    #[cfg(feature = "postgres")]
    Postgres(Box<sqlx::PgConnection>),
}

impl CallersTx {
    pub fn conn(&mut self) -> Conn<'_> {
        match self {
            CallersTx::Sqlite(conn) => conn.conn(),
            #[cfg(feature = "postgres")]
            CallersTx::Postgres(conn) => conn.conn(),
        }
    }

    /// A statement of the application's own.
    pub async fn execute(&mut self, sql: &'static str) {
        match self {
            CallersTx::Sqlite(conn) => sqlx::raw_sql(sql).execute(&mut **conn).await.map(|_| ()),
            #[cfg(feature = "postgres")]
            CallersTx::Postgres(conn) => sqlx::raw_sql(sql).execute(&mut **conn).await.map(|_| ()),
        }
        .expect("a statement");
    }

    pub async fn commit(self) {
        self.end("COMMIT").await;
    }

    pub async fn roll_back(self) {
        self.end("ROLLBACK").await;
    }

    async fn end(self, how: &'static str) {
        match self {
            CallersTx::Sqlite(mut conn) => {
                sqlx::raw_sql(how).execute(&mut *conn).await.expect("the transaction ends");
                conn.close().await.expect("the connection closes");
            }
            #[cfg(feature = "postgres")]
            CallersTx::Postgres(mut conn) => {
                sqlx::raw_sql(how).execute(&mut *conn).await.expect("the transaction ends");
                conn.close().await.expect("the connection closes");
            }
        }
    }
}

/// A node of a test: it has joined, and numbers its claims.
#[derive(Clone)]
pub struct Node {
    pub id: NodeId,
    pub store: Arc<dyn Store>,
    pub last_no: Arc<AtomicI64>,
}

/// A run that a node holds.
#[derive(Clone, Debug)]
pub struct Run {
    pub node: NodeId,
    pub job: ClaimedJob,
}

impl Deref for Run {
    type Target = ClaimedJob;

    fn deref(&self) -> &ClaimedJob {
        &self.job
    }
}

impl Run {
    pub fn held(&self) -> Held {
        Held { id: self.job.id, lease: self.job.lease }
    }
}

impl Node {
    /// The number of its next claim.
    pub fn next_no(&self) -> i64 {
        self.last_no.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Up to `limit` jobs of the default queue and kind.
    pub async fn claim(&self, limit: u32) -> Vec<Run> {
        self.claim_from(&[ask("default", limit)], &[KIND]).await
    }

    pub async fn claim_one(&self) -> Run {
        self.claim(1).await.pop().expect("a job is queued")
    }

    pub async fn claim_from(&self, queues: &[QueueAsk], kinds: &[&str]) -> Vec<Run> {
        let claimed = self.look(queues, kinds).await;
        claimed.jobs.into_iter().map(|job| Run { node: self.id, job }).collect()
    }

    /// A claim's whole answer.
    pub async fn look(&self, queues: &[QueueAsk], kinds: &[&str]) -> Claimed {
        let kinds: Vec<(&str, u32)> = kinds.iter().map(|kind| (*kind, ANY_VERSION)).collect();
        self.look_for(queues, &kinds).await
    }

    /// The same, for kinds with the greatest version of a payload.
    pub async fn look_for(&self, queues: &[QueueAsk], kinds: &[(&str, u32)]) -> Claimed {
        let ask =
            |(kind, version): &(&str, u32)| KindAsk { kind: (*kind).into(), version: *version };
        let kinds: Vec<KindAsk> = kinds.iter().map(ask).collect();
        let claim = Claim { node: self.id, no: self.next_no(), queues, kinds: &kinds, most: None };
        self.store.claim(&claim).await.expect("a claim")
    }

    pub async fn beat(&self) -> Pulse {
        let beat = Beat {
            node: self.id,
            lease_for: LEASE_FOR,
            over: Vec::new(),
            state: NodeState::Serving,
        };
        self.store.beat(&beat).await.expect("a heartbeat")
    }
}

/// What a test's node says of itself.
pub fn new_node(id: NodeId) -> NewNode {
    NewNode {
        id,
        name: "test".into(),
        version: "1.2.3".into(),
        queues: vec![("default".into(), 10)],
        kinds: vec![KIND.into()],
        lease_for: LEASE_FOR,
        wish: None,
        known: Vec::new(),
        remote: None,
    }
}

/// The kind of a job that says nothing else.
pub const KIND: &str = "k";

/// A job of which nothing matters.
pub fn job() -> NewJob {
    NewJob::new(KIND)
}

pub fn jobs(count: usize) -> Vec<NewJob> {
    std::iter::repeat_with(job).take(count).collect()
}

/// Up to `limit` jobs of `queue`, from the start.
pub fn ask(queue: &str, limit: u32) -> QueueAsk {
    QueueAsk { queue: queue.into(), limit, marks: [START; LANES] }
}

pub fn ask_from(queue: &str, limit: u32, mark: LaneMark) -> QueueAsk {
    QueueAsk { queue: queue.into(), limit, marks: [mark; LANES] }
}

pub fn done() -> Ending {
    Ending::Succeeded { output: None }
}

pub fn done_with(output: &str) -> Ending {
    Ending::Succeeded { output: Some(output.into()) }
}

pub fn failed(delay: Duration) -> Ending {
    Ending::Failed { error: fault("it broke"), delay }
}

pub fn dead() -> Ending {
    Ending::Dead { error: fault("it is hopeless") }
}

pub fn snoozed(delay: Duration) -> Ending {
    Ending::Snoozed { delay }
}

pub fn cancelled() -> Ending {
    Ending::Cancelled { why: "the handler said so".into() }
}

/// What went wrong, as a node reports it.
pub fn fault(message: &str) -> AttemptError {
    AttemptError {
        attempt: 1,
        at: Timestamp::from_micros(0),
        node: Uuid::nil(),
        kind: AttemptFault::Error,
        message: message.into(),
        chain: vec!["since something else did".into()],
    }
}

/// The ids of runs, in their order.
pub fn ids(runs: &[Run]) -> Vec<JobId> {
    runs.iter().map(|run| run.id).collect()
}

/// Every way a run can end, with the word for it in a message.
pub fn every_ending() -> [(&'static str, Ending); 6] {
    [
        ("succeeded", done_with("1")),
        ("failed", failed(SECOND)),
        ("dead", dead()),
        ("snoozed", snoozed(MINUTE)),
        ("given back", Ending::GivenBack),
        ("cancelled", cancelled()),
    ]
}
