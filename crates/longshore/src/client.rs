//! Puts jobs in and answers questions about them. The only way in, for the CLI and for handlers too.

mod access;
mod audit;
mod bulk;
mod each;
mod export;
mod funnel;
mod once;
mod metrics;
mod operation;
mod output;
mod queues;
mod retention;
mod stats;
#[cfg(feature = "postgres")]
mod sql_call;

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::engine::Engine;
use crate::job::{Invalid, JobId, JobRow, Limits, NewJob, State};
use crate::observe::Metrics;
use crate::query::Filter;
use crate::store::{
    self, AskCancel, Check, Count, Depth, Detail, Edit, Effort, Enqueued, ListQuery, LogPage,
    LogQuery, NodeRow, Page, ProgressRow, Result, Store, StoreError, StoreOptions, Tx,
};
use crate::trace::Sending;
pub use each::Acted;
pub use export::Export;
use funnel::Funnel;
pub use operation::Helper;
pub use output::OutputError;
pub use queues::{KindRow, QueueRow};
pub use retention::{PruneOptions, PruneReport};
#[cfg(feature = "postgres")]
pub use sql_call::SqlCall;
pub use stats::Stats;

/// A handle on the jobs of one database. Cheap to clone; all clones share its connections.
///
/// ```no_run
/// # async fn example() -> Result<(), longshore::StoreError> {
/// use longshore::{Client, NewJob};
/// let client = Client::open("sqlite:jobs.db").await?;
/// client.migrate().await?;
/// let job = client.enqueue(NewJob::new("send_receipt").payload(r#"{"order": 7}"#)).await?;
/// println!("{}", client.wait(job.id, None).await?.state);
/// # Ok(()) }
/// ```
///
/// Any call may fail with [`StoreError::Unavailable`] (the database is away, or busy for over
/// [`StoreOptions::busy_for`]) and, before a migration or after that of a newer program, with
/// [`StoreError::Schema`]; the docs of each name what else. Its calls run on a thread of the library's own, so a
/// call that was begun is carried out even if its future is dropped; those that take a `tx` run on the caller's.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
    before: Option<Before>,
}

/// Called for each job before it is checked.
type Before = Arc<dyn Fn(NewJob) -> NewJob + Send + Sync>;

struct Inner {
    store: Arc<dyn Store>,
    engine: Engine,
    funnel: Funnel,
    /// Jobs with a unique key may have to wait for each other; all others must not.
    unique_funnel: Funnel,
    limits: Limits,
    metrics: Metrics,
    /// Prunes by hand go one after the other: they share what the store remembers of one.
    by_hand: Arc<tokio::sync::Mutex<()>>,
    /// A test's: runs what was enqueued before the enqueue answers.
    #[cfg(feature = "testing")]
    inline: std::sync::Mutex<Option<crate::testing::Inline>>,
}

/// How long `wait` sleeps between two looks at most.
const LONGEST_POLL: Duration = Duration::from_millis(250);

impl Client {
    /// Opens the database that `url` names (`sqlite:PATH`, `sqlite::memory:`, `postgres://…`), with
    /// the default settings. Makes a missing SQLite file; migrates nothing.
    ///
    /// Fails with [`StoreError::Config`] for an address that cannot work (unknown scheme, wrong
    /// password, no such database), with [`StoreError::Unavailable`] when nobody answers.
    pub async fn open(url: &str) -> Result<Client> {
        Client::open_with(url, StoreOptions::default(), Limits::default()).await
    }

    /// The same, with settings. A setting that cannot work is a [`StoreError::Config`].
    pub async fn open_with(url: &str, options: StoreOptions, limits: Limits) -> Result<Client> {
        let engine = Engine::start()?;
        let url = url.to_owned();
        let store = engine.run(async move { store::open(&url, options).await }).await?;
        Ok(Client::on(store, engine, limits))
    }

    pub(crate) fn on(store: Arc<dyn Store>, engine: Engine, limits: Limits) -> Client {
        let funnel = Funnel::start(&engine, Arc::clone(&store));
        let unique_funnel = Funnel::start(&engine, Arc::clone(&store));
        let inner = Inner {
            store,
            engine,
            funnel,
            unique_funnel,
            limits,
            metrics: Metrics::default(),
            by_hand: Arc::default(),
            #[cfg(feature = "testing")]
            inline: Default::default(),
        };
        Client { inner: Arc::new(inner), before: None }
    }

    /// Brings the schema up to this program's version; answers the versions it applied, none if it was up to date.
    /// Safe to call from many nodes at once. Fails with [`StoreError::Schema`] if the database has a newer one, with
    /// [`StoreError::Checksum`] if a step was applied that this program knows otherwise.
    pub async fn migrate(&self) -> Result<Vec<u32>> {
        self.call(|store| async move { store.migrate().await }).await
    }

    /// Adds one job: a [`NewJob`], or a value of a type that is a [`crate::Job`]. Many calls at once share
    /// one statement and one commit; each gets its answer after the commit.
    ///
    /// Fails with [`StoreError::Invalid`] for a job that cannot be enqueued; nothing was written. After
    /// [`StoreError::Unavailable`] it may be there all the same: a repeat adds nothing if the job has
    /// the caller's own id ([`NewJob::with_id`]). A job whose unique key another one holds is
    /// answered by its rule ([`crate::OnConflict`]), and only once that other one is committed.
    pub async fn enqueue(&self, job: impl Into<NewJob>) -> Result<Enqueued> {
        let (job, sending) = self.sending(job);
        sending
            .around(async {
                job.check(&self.inner.limits)?;
                let unique = job.unique.is_some();
                let funnel = if unique { &self.inner.unique_funnel } else { &self.inner.funnel };
                let pair = self.inner.metrics.pair(&job.kind, &job.queue);
                let added = funnel.enqueue(job).await?;
                pair.enqueued(u64::from(added.is_added()));
                #[cfg(feature = "testing")]
                self.run_inline(&[added]).await?;
                Ok(added)
            })
            .await
    }

    /// Adds one job inside the caller's transaction: it is there if that commits, and was never
    /// there if it rolls back. Runs on the caller's task. Refused ([`StoreError::Config`]) if the
    /// transaction is on the other kind of database; on SQLite begin it with `BEGIN IMMEDIATE`.
    pub async fn enqueue_in(&self, tx: &mut impl Tx, job: impl Into<NewJob>) -> Result<Enqueued> {
        let (job, sending) = self.sending(job);
        sending
            .around(async {
                job.check(&self.inner.limits)?;
                Ok(self.enqueue_all_in(tx, std::slice::from_ref(&job)).await?[0])
            })
            .await
    }

    /// Adds all of `jobs` inside the caller's transaction, or none; answers in order. A job that cannot be enqueued
    /// is named by its place ([`StoreError::Invalid`]).
    pub async fn enqueue_many_in(
        &self,
        tx: &mut impl Tx,
        jobs: Vec<impl Into<NewJob>>,
    ) -> Result<Vec<Enqueued>> {
        self.sending_all(jobs, async |jobs| {
            self.check_all(&jobs)?;
            self.enqueue_all_in(tx, &jobs).await
        })
        .await
    }

    async fn enqueue_all_in(&self, tx: &mut impl Tx, jobs: &[NewJob]) -> Result<Vec<Enqueued>> {
        let added = self.inner.store.enqueue_in(tx.conn(), jobs).await?;
        self.tally(jobs).count(&added);
        Ok(added)
    }

    /// The same client with a hook: each job that is enqueued through it (and through its clones) goes
    /// through the function first, before it is checked. With more of them, the one added last is first.
    ///
    /// ```
    /// # fn example(client: longshore::Client) {
    /// let client = client.before_enqueue(|job| job.tag("from:web"));
    /// # }
    /// ```
    pub fn before_enqueue<F>(&self, hook: F) -> Client
    where
        F: Fn(NewJob) -> NewJob + Send + Sync + 'static,
    {
        let before: Before = match self.before.clone() {
            Some(earlier) => Arc::new(move |job| earlier(hook(job))),
            None => Arc::new(hook),
        };
        Client { inner: Arc::clone(&self.inner), before: Some(before) }
    }

    fn prepare(&self, job: impl Into<NewJob>) -> NewJob {
        match &self.before {
            Some(before) => before(job.into()),
            None => job.into(),
        }
    }

    /// The job as it will be added, and the span of its enqueue.
    fn sending(&self, job: impl Into<NewJob>) -> (NewJob, Sending) {
        let mut job = self.prepare(job);
        let sending = Sending::of(&job);
        sending.alone(&job);
        sending.stamp(&mut job);
        (job, sending)
    }

    /// Sends jobs of one call, as they will be added, within the span of their enqueue.
    async fn sending_all<T>(
        &self,
        jobs: Vec<impl Into<NewJob>>,
        send: impl AsyncFnOnce(Vec<NewJob>) -> Result<T>,
    ) -> Result<T> {
        let mut jobs: Vec<NewJob> = jobs.into_iter().map(|job| self.prepare(job)).collect();
        let Some(first) = jobs.first() else { return send(jobs).await };
        let sending = Sending::of(first);
        sending.counted(jobs.len());
        jobs.iter_mut().for_each(|job| sending.stamp(job));
        sending.around(send(jobs)).await
    }

    fn check_all(&self, jobs: &[NewJob]) -> Result<(), Invalid> {
        for (index, job) in jobs.iter().enumerate() {
            job.check(&self.inner.limits).map_err(|invalid| invalid.at(index))?;
        }
        Ok(())
    }

    /// A job, whole but for the redacted fields of its payload; [`StoreError::NotFound`] if there is none with that
    /// id (any more).
    pub async fn get(&self, id: JobId) -> Result<JobRow> {
        Ok(self.reveal(id).await?.for_people())
    }

    /// A job with the redacted fields of its payload: for programs, and for people who may see them.
    /// [`StoreError::NotFound`] as above.
    pub async fn reveal(&self, id: JobId) -> Result<JobRow> {
        let found = self.call(move |store| async move { store.get(id).await }).await?;
        found.ok_or(StoreError::NotFound(id))
    }

    /// One page of jobs, newest first. A page may be short, even empty, and still have a cursor to go
    /// on from: it looks at a bounded number of rows. [`StoreError::Cursor`] for a cursor of another
    /// filter.
    pub async fn list(&self, query: ListQuery) -> Result<Page> {
        let detail = query.detail;
        let mut page = self.call(|store| async move { store.list(&query).await }).await?;
        if detail != Detail::Revealed {
            page.jobs = page.jobs.into_iter().map(JobRow::for_people).collect();
        }
        Ok(page)
    }

    /// How many jobs pass the filter. [`Effort::Bounded`] takes milliseconds and stops at 10,000, or when it looked
    /// far enough, and says so in [`Count::relation`]; [`Effort::Unbounded`] looks at every row, however many.
    pub async fn count(&self, filter: Filter, effort: Effort) -> Result<Count> {
        self.call(move |store| async move { store.count(&filter, effort).await }).await
    }

    /// All jobs that pass, newest first, whole, page by page in bounded memory. Each page is as the
    /// jobs were at one moment; a job that is there all the while comes once.
    pub fn export(&self, filter: Filter) -> Export {
        Export::new(self.clone(), filter)
    }

    /// Ends a waiting job as cancelled, or asks the node of a running one to stop it, which hears of it within half
    /// a second; the state, cancelled or running, says which. [`StoreError::Refused`] for a job that ended,
    /// [`StoreError::NotFound`] if there is none.
    pub async fn cancel(&self, id: JobId, ask: AskCancel) -> Result<State> {
        use crate::job::{name::MAX_NAME_BYTES, text};
        let ask = AskCancel {
            by: ask.by.map(|by| text::fit(&by, MAX_NAME_BYTES)),
            why: ask.why.map(|why| text::fit(&why, text::MAX_ERROR_BYTES)),
        };
        self.call(move |store| async move { store.cancel(id, &ask).await }).await
    }

    /// Makes a scheduled, retrying, dead or cancelled job queued, with at least `attempts` (1 to
    /// 1,000,000; beyond is cut) attempts left. [`StoreError::Refused`] in any other state,
    /// [`StoreError::KeyHeld`] if its unique key is another job's by now, [`StoreError::NotFound`] if there is none.
    pub async fn retry(&self, id: JobId, attempts: u32) -> Result<()> {
        self.retry_with(id, attempts, Edit::new()).await
    }

    /// The same with a change, both or neither: a dead job with its payload mended, say. It runs at once unless
    /// the edit says when.
    pub async fn retry_with(&self, id: JobId, attempts: u32, edit: Edit) -> Result<()> {
        edit.check(&self.inner.limits)?;
        let attempts = attempts.clamp(1, 1_000_000);
        self.call(move |store| async move { store.retry(id, attempts, &edit).await }).await
    }

    /// Changes a waiting job; answers its version after that. [`StoreError::Refused`] if it does not
    /// wait, [`StoreError::VersionChanged`] if the edit names another version than it has,
    /// [`StoreError::Invalid`] for a change that no job may have, [`StoreError::NotFound`] if there is none.
    pub async fn edit(&self, id: JobId, edit: Edit) -> Result<u32> {
        edit.check(&self.inner.limits)?;
        self.call(move |store| async move { store.edit(id, &edit).await }).await
    }

    /// Removes a job, with its payload, history and log, and frees its unique key.
    /// [`StoreError::Refused`] while it runs: cancel it first. [`StoreError::NotFound`] if there is none.
    pub async fn delete(&self, id: JobId) -> Result<()> {
        self.call(move |store| async move { store.delete(id).await }).await
    }

    /// Lines of a job's log, oldest first, page by page: [`LogPage::next`] says where the next one goes on. A page
    /// without lines of a job that runs is no end: ask again later. None of a job that is not there (any more).
    pub async fn logs(&self, id: JobId, query: LogQuery) -> Result<LogPage> {
        self.call(move |store| async move { store.log(id, &query).await }).await
    }

    /// What a job said last of how far it is, and in which attempt; `None` if it said nothing, or is not there.
    pub async fn progress(&self, id: JobId) -> Result<Option<ProgressRow>> {
        self.call(move |store| async move { store.progress(id).await }).await
    }

    /// All nodes, live ones first; those that were lost stay for an hour or so, those that stopped are gone.
    pub async fn nodes(&self) -> Result<Vec<NodeRow>> {
        self.call(|store| async move { store.nodes().await }).await
    }

    /// Looks at the database and at what it needs: schema, settings, place, damage, jobs without a node.
    /// Writes nothing. [`Depth::Full`] may take minutes over a large SQLite file.
    pub async fn doctor(&self, depth: Depth) -> Result<Vec<Check>> {
        self.call(move |store| async move { store.checkup(depth).await }).await
    }

    /// The schema's version; 0 for an empty database.
    pub async fn schema_version(&self) -> Result<u32> {
        self.call(|store| async move { store.schema_version().await }).await
    }

    /// Whether the database answers and has the schema that this program needs ([`StoreError::Schema`] else).
    pub async fn ready(&self) -> Result<()> {
        let found = self.schema_version().await?;
        let needed = store::needed(self.inner.store.backend());
        if found == needed { Ok(()) } else { Err(StoreError::Schema { found, needed }) }
    }

    /// Waits until the job ended (succeeded, cancelled or dead) or `limit` is over, and answers it
    /// as it is then: look at its state. Without a limit it waits for ever. Looks every 5 ms at first, every 250 ms
    /// later; the first look that fails ends it ([`StoreError::NotFound`] for a job that is not, or no longer, kept).
    /// [`Client::output`] answers what a typed job's handler did.
    pub async fn wait(&self, id: JobId, limit: Option<Duration>) -> Result<JobRow> {
        let give_up = limit.map(|limit| Instant::now() + limit);
        let mut pause = Duration::from_millis(5);
        loop {
            let job = self.get(id).await?;
            let over = give_up.is_some_and(|at| Instant::now() + pause > at);
            if job.state.is_end() || over {
                return Ok(job);
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 3 / 2).min(LONGEST_POLL);
        }
    }

    /// Closes every connection. Workers are stopped first.
    pub async fn close(&self) {
        let store = Arc::clone(&self.inner.store);
        self.inner.engine.run(async move { store.close().await }).await;
    }

    #[cfg(feature = "testing")]
    async fn run_inline(&self, added: &[Enqueued]) -> Result<()> {
        let inline = self.inner.inline.lock().expect("nothing here panics").clone();
        let Some(inline) = inline else { return Ok(()) };
        for added in added.iter().filter(|added| added.is_added()) {
            inline.run(added.id).await?;
        }
        Ok(())
    }

    /// From now on enqueues run their jobs; `None`: no longer.
    #[cfg(feature = "testing")]
    pub(crate) fn set_inline(&self, inline: Option<crate::testing::Inline>) {
        *self.inner.inline.lock().expect("nothing here panics") = inline;
    }

    /// Whether both are handles on the same database.
    #[cfg(feature = "testing")]
    pub(crate) fn is(&self, other: &Client) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        &self.inner.store
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.inner.engine
    }

    /// Runs one call of the store on the engine.
    async fn call<T, F>(&self, call: impl FnOnce(Arc<dyn Store>) -> F) -> Result<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        self.inner.engine.run(call(Arc::clone(&self.inner.store))).await
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Client").field(&self.inner.store.backend()).finish()
    }
}
