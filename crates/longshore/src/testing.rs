//! Jobs in tests: a database for each test, a clock that stands until it is moved, handlers that run when
//! they are told to. Nothing sleeps. Behind the feature `testing`; see docs/guide/testing.md.
//!
//! ```
//! # use longshore::{Client, Job, JobError, Worker};
//! # use serde::{Deserialize, Serialize};
//! # #[derive(Serialize, Deserialize)] struct SendMail { to: String }
//! # impl Job for SendMail { const KIND: &'static str = "send_mail"; type Output = (); }
//! # async fn send(_: SendMail) -> Result<(), JobError> { Ok(()) }
//! # async fn sign_up(jobs: &Client, name: &str) {
//! #     jobs.enqueue(SendMail { to: name.to_owned() }).await.expect("it is enqueued");
//! # }
//! use longshore::testing::{self, TestStore};
//!
//! # fn main() {
//! testing::run(testing::On::Sqlite, |store: TestStore| async move {
//!     sign_up(&store, "ada@example.org").await;
//!     store.assert_enqueued::<SendMail>().with(|mail| mail.to == "ada@example.org").once().await;
//!
//!     let done = store.drain(Worker::new(store.client()).job(send)).await;
//!     assert_eq!((done.succeeded, done.failed), (1, 0));
//! });
//! # }
//! ```

mod app;
mod assert;
mod checked;
mod conditions;
mod database;
mod drain;
mod ended;
mod faults;
mod faulty;
mod inline;
mod look;
mod perform;
mod run;
mod step;
mod table;

use std::future::Future;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use crate::client::Client;
use crate::clock::Clock;
use crate::engine::Engine;
use crate::job::{Job, Limits};
use crate::store::{self, Durability, Result, Store, StoreOptions};
use crate::time::Timestamp;

pub use app::App;
pub use assert::{AssertEnqueued, RefuteEnqueued};
pub use checked::Checked;
use database::Database;
pub use drain::{Drain, Drained};
pub use ended::{Ended, Ran};
pub use faults::Faults;
use faulty::Faulty;
pub(crate) use inline::Inline;
pub use perform::{Perform, Performed};
pub use run::{On, run};

/// The variable that names a PostgreSQL server for tests.
pub const SERVER: &str = "LONGSHORE_TEST_DATABASE_URL";

/// Jobs of one test: a database of its own that goes with this value (also when the test panics), and a clock
/// that stands until the test moves it. It is a [`Client`] to whoever wants one.
///
/// What goes wrong in the kit itself panics, with words for a person; the place is the test's.
#[derive(Debug)]
pub struct TestStore {
    kit: Kit,
    // Last: the client lets go of it first.
    _database: Database,
}

/// What the parts of the kit work with.
#[derive(Clone)]
pub(crate) struct Kit {
    /// As the application sees the store.
    client: Client,
    clock: Clock,
    faults: Faults,
    /// The store past its faults, for the kit's own questions.
    inner: Arc<dyn Store>,
}

impl Kit {
    /// One call of the store that meets no faults.
    async fn call<T, F>(&self, call: impl FnOnce(Arc<dyn Store>) -> F) -> Result<T, String>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let call = call(Arc::clone(&self.inner));
        self.client.engine().run(call).await.map_err(|error| with_causes(&error))
    }
}

impl TestStore {
    /// On SQLite, in a file in a temporary folder.
    pub fn sqlite() -> Checked<'static, TestStore> {
        Checked::new(async {
            TestStore::on(Database::sqlite()?).await.map_err(|error| with_causes(&error))
        })
    }

    /// On PostgreSQL, in a database made for this test on the server of this URL, whose user must be allowed
    /// to make databases. It is cloned from a template, which the first test makes.
    #[cfg(feature = "postgres")]
    pub fn postgres(url: &str) -> Checked<'static, TestStore> {
        let url = url.to_owned();
        Checked::new(async move {
            let database = Database::postgres(&url).await.map_err(|error| with_causes(&error))?;
            TestStore::on(database).await.map_err(|error| with_causes(&error))
        })
    }

    /// The same on the server that `LONGSHORE_TEST_DATABASE_URL` names.
    #[cfg(feature = "postgres")]
    pub fn postgres_from_env() -> Checked<'static, TestStore> {
        match server() {
            Some(url) => TestStore::postgres(&url),
            None => Checked::new(async {
                Err(format!(
                    "{SERVER} is not set: it names a PostgreSQL server where tests may make databases, \
                     such as postgres://postgres@127.0.0.1/postgres"
                ))
            }),
        }
    }

    async fn on(database: Database) -> Result<TestStore> {
        let clock = Clock::manual(Timestamp::now());
        let options = StoreOptions {
            clock: clock.clone(),
            pool: 2,
            notify: false,
            // It needs to survive nothing.
            durability: Durability::Normal,
            ..StoreOptions::default()
        };
        let engine = Engine::start()?;
        let url = database.url();
        let inner = engine.run(async move { store::open(&url, options).await }).await?;
        let faults = Faults::default();
        let faulty = Faulty { inner: Arc::clone(&inner), faults: faults.clone() };
        let client = Client::on(Arc::new(faulty), engine, Limits::default());
        client.migrate().await?;
        let kit = Kit { client, clock, faults, inner };
        Ok(TestStore { kit, _database: database })
    }

    /// A client, to hand on.
    pub fn client(&self) -> Client {
        self.kit.client.clone()
    }

    /// Its clock. It starts at the real time and stands until it is moved ([`Clock::advance`]).
    pub fn clock(&self) -> &Clock {
        &self.kit.clock
    }

    /// Where its clock stands.
    pub fn now(&self) -> Timestamp {
        self.kit.clock.now()
    }

    /// What shall go wrong.
    pub fn faults(&self) -> &Faults {
        &self.kit.faults
    }

    /// Fails unless a job of this type waits. Say more with the methods of what it answers, then `.await`.
    #[track_caller]
    pub fn assert_enqueued<J: Job>(&self) -> AssertEnqueued<'_, J> {
        AssertEnqueued::new(self.kit.clone())
    }

    /// Fails if a job of this type waits. Say more with the methods of what it answers, then `.await`.
    #[track_caller]
    pub fn refute_enqueued<J: Job>(&self) -> RefuteEnqueued<'_, J> {
        RefuteEnqueued::new(self.kit.clone())
    }

    /// All jobs of this type that wait, oldest first.
    pub fn all_enqueued<J: Job>(&self) -> Checked<'static, Vec<J>> {
        let kit = self.kit.clone();
        Checked::new(async move { look::decoded(&kit).await })
    }

    /// Runs one job as in life: its payload goes through JSON, its row is added, claimed, and finished. It is
    /// not left in the queue, whatever comes of it, and others that wait there are left alone. Say which handler runs it, then
    /// `.await`.
    #[track_caller]
    pub fn perform<J: Job>(&self, job: J) -> Perform<J> {
        Perform::new(self.kit.clone(), job)
    }

    /// Runs all jobs that are due, one at a time, by priority, due time and id, until none is left; those that
    /// they enqueue too. What they repeat or enqueue for later waits until the clock is moved. It serves the
    /// queues that the worker names; all, if it names none.
    pub fn drain(&self, app: impl Into<App>) -> Drain {
        Drain::new(self.kit.clone(), app.into())
    }

    /// From now on each enqueue runs its job before it answers, if the job is due and this worker has a
    /// handler for it. The answer says that it was enqueued; how it went is in its row. What is enqueued in a
    /// caller's transaction runs when it is drained, since nobody else sees it before the commit.
    #[track_caller]
    pub fn inline(&self, app: impl Into<App>) {
        match Inline::new(self.kit.clone(), app.into()) {
            Ok(inline) => self.kit.client.set_inline(Some(inline)),
            Err(text) => panic!("{text}"),
        }
    }

    /// From now on jobs wait again.
    pub fn queued(&self) {
        self.kit.client.set_inline(None);
    }
}

impl Deref for TestStore {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.kit.client
    }
}

impl Drop for TestStore {
    fn drop(&mut self) {
        // It holds the client that holds it.
        self.kit.client.set_inline(None);
        let left = self.kit.faults.left();
        if !std::thread::panicking() && !left.is_empty() {
            panic!(
                "armed, but never came: {}; so the test has shown nothing of it",
                left.join(", ")
            );
        }
    }
}

impl std::fmt::Debug for Kit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kit").field("faults", &self.faults).finish_non_exhaustive()
    }
}

/// The server for tests, if one is named.
fn server() -> Option<String> {
    std::env::var(SERVER).ok().filter(|url| !url.is_empty())
}

/// A span as people say it: `5m`, `1h 30m`, `250ms`.
fn spoken(span: Duration) -> String {
    // Less than a millisecond is the database's rounding.
    let rounded = Duration::from_millis(span.as_millis() as u64);
    match jiff::SignedDuration::try_from(rounded) {
        Ok(span) => format!("{span:#}"),
        Err(_) => "for ever".to_owned(),
    }
}

/// An error with all that caused it.
fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
