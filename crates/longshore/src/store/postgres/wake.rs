//! Tells other processes that there may be work, and hears them.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sqlx::Executor;
use sqlx::PgPool;
use sqlx::postgres::PgListener;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::store::{Wake, WakeHub};

use super::PostgresStore;
use super::connect::Mode;
use super::error::Fault;
use super::session::{Session, within};

const CHANNEL: &str = "longshore";
const NOTIFY: &str = include_str!("notify.sql");

/// Hints of one kind are sent at most this often; the first goes out at once.
const PAUSE: Duration = Duration::from_millis(5);
/// A listening connection says nothing by itself; asked this often, a dead one is found out.
const PING_EVERY: Duration = Duration::from_secs(30);
const LONGEST_BACKOFF_MS: u64 = 10_000;

/// The word for a hint.
pub(super) fn word(wake: Wake) -> &'static str {
    let found = Wake::ALL.iter().find(|(known, _)| *known == wake);
    found.expect("ALL has all of them").1
}

/// Sends hints after commits, gathered, on a connection of its own.
pub(super) struct Notifier {
    inner: Arc<Inner>,
    task: Mutex<Option<JoinHandle<()>>>,
}

struct Inner {
    pool: PgPool,
    mode: Mode,
    stop: CancellationToken,
    /// One bit for each of [`Wake::ALL`].
    due: AtomicU8,
    more: Notify,
}

impl Notifier {
    pub(super) fn new(pool: PgPool, mode: Mode, stop: CancellationToken) -> Notifier {
        let due = AtomicU8::new(0);
        let inner = Arc::new(Inner { pool, mode, stop, due, more: Notify::new() });
        Notifier { inner, task: Mutex::new(None) }
    }

    /// Returns at once; the hint is on its way. Called on a runtime.
    pub(super) fn send(&self, wake: Wake) {
        let bit = Wake::ALL.iter().position(|(known, _)| *known == wake).unwrap_or_default();
        self.inner.due.fetch_or(1 << bit, Ordering::SeqCst);
        self.inner.more.notify_one();
        let mut task = self.task.lock().expect("nobody panics holding it");
        // The first call starts it; so does one after the runtime of an earlier call is gone.
        if task.as_ref().is_none_or(JoinHandle::is_finished) && !self.inner.stop.is_cancelled() {
            *task = Some(tokio::spawn(run(self.inner.clone())));
        }
    }
}

async fn run(inner: Arc<Inner>) {
    loop {
        tokio::select! {
            () = inner.more.notified() => {}
            () = inner.stop.cancelled() => return,
        }
        let due = inner.due.swap(0, Ordering::SeqCst);
        let said = Wake::ALL.iter().enumerate().filter(|(bit, _)| due & (1 << bit) != 0);
        let words: Vec<&str> = said.map(|(_, (_, word))| *word).collect();
        if words.is_empty() {
            continue;
        }
        // Only a hint: whoever misses it polls.
        if let Err(fault) = within(Duration::from_secs(5), notify(&inner, &words)).await {
            tracing::debug!(?fault, "could not tell other nodes of new work");
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn notify(inner: &Inner, words: &[&str]) -> Result<(), Fault> {
    let mut session = Session::single(&inner.pool, inner.mode).await?;
    session.query(NOTIFY).bind(words).execute(session.conn()).await?;
    session.done().await
}

impl PostgresStore {
    /// Wakes this process now and the others soon. After the commit only.
    pub(super) fn tell(&self, wake: Wake) {
        self.hub.wake(wake);
        if self.options.notify {
            self.notifier.send(wake);
        }
    }

    /// Passes on what other processes say, until the store is closed.
    pub(super) async fn hear(&self) {
        if self.mode == Mode::Pooled || !self.options.notify {
            // Nothing can be heard; polling does.
            self.stop.cancelled().await;
            return;
        }
        let mut backoff_ms = 100;
        let mut first = true;
        while !self.stop.is_cancelled() {
            let heard = tokio::select! {
                heard = self.listen_once(first) => heard,
                () = self.stop.cancelled() => return,
            };
            if heard.listened {
                backoff_ms = 100;
                first = false;
            }
            tracing::debug!(error = %heard.error, "does not hear other nodes; polls meanwhile");
            let pause = Duration::from_millis(fastrand::u64(backoff_ms / 2..=backoff_ms));
            backoff_ms = (backoff_ms * 2).min(LONGEST_BACKOFF_MS);
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.stop.cancelled() => return,
            }
        }
    }

    async fn listen_once(&self, first: bool) -> Heard {
        let mut listened = false;
        let error = match self.try_listen(first, &mut listened).await {
            Ok(()) => sqlx::Error::PoolClosed,
            Err(error) => error,
        };
        Heard { listened, error }
    }

    async fn try_listen(&self, first: bool, listened: &mut bool) -> Result<(), sqlx::Error> {
        let mut listener = PgListener::connect_with(&self.pools.listen).await?;
        listener.eager_reconnect(false);
        listener.listen(CHANNEL).await?;
        *listened = true;
        if !first {
            missed(&self.hub);
        }
        loop {
            match tokio::time::timeout(PING_EVERY, listener.try_recv()).await {
                Ok(Ok(Some(said))) => pass_on(&self.hub, said.payload()),
                Ok(Ok(None)) => return Err(sqlx::Error::PoolTimedOut),
                Ok(Err(error)) => return Err(error),
                Err(_quiet) => {
                    // An empty statement: the shortest question that has an answer.
                    let asked = tokio::time::timeout(self.options.busy_for, listener.execute(""));
                    match asked.await {
                        Ok(answer) => answer.map(|_| ())?,
                        Err(_) => return Err(sqlx::Error::PoolTimedOut),
                    }
                }
            }
        }
    }
}

struct Heard {
    listened: bool,
    error: sqlx::Error,
}

fn pass_on(hub: &WakeHub, said: &str) {
    if let Some((wake, _)) = Wake::ALL.iter().find(|(_, word)| *word == said) {
        hub.wake(*wake);
    }
}

/// Whatever was said while nobody listened.
fn missed(hub: &WakeHub) {
    hub.wake(Wake::LookFromStart);
    hub.wake(Wake::Cancels);
    hub.wake(Wake::Wishes);
}
