//! Opening a file: one connection that writes, a few that read.

use std::path::Path;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use sqlx::pool::PoolConnection;
use sqlx::query::Query;
use sqlx::sqlite::{
    SqliteArguments, SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteQueryResult,
    SqliteRow, SqliteSynchronous,
};
use sqlx::{Sqlite, SqlitePool, Transaction};

use super::checkpoint::Checkpoints;
use super::error::{failed, is_busy, is_read_only};
use super::{SqliteStore, host, mount};
use crate::store::{Durability, PoolUse, Result, StoreError, StoreOptions, Traffic, WakeHub};

const OPENING: &str = "open the database";

/// Transactions and reads that this process has begun, in any store.
static BEGUN: AtomicU64 = AtomicU64::new(0);

impl SqliteStore {
    /// Opens `sqlite:PATH`, creating the file if there is none and it may, or `sqlite::memory:`, which is one
    /// connection for everything. Refused where it is not this host's alone.
    pub(crate) async fn open(url: &str, options: StoreOptions) -> Result<SqliteStore> {
        let path = url.strip_prefix("sqlite:").unwrap_or(url);
        let path = path.strip_prefix("//").unwrap_or(path);
        if path.is_empty() {
            return Err(StoreError::config("`sqlite:` names no file; use sqlite:PATH"));
        }
        let in_memory = path == ":memory:";
        let connect = if in_memory {
            SqliteConnectOptions::from_str("sqlite::memory:").map_err(failed(OPENING))?
        } else {
            mount::check(Path::new(path), options.allow_shared_mount)?;
            if options.create {
                create_private(Path::new(path))?;
            } else if !Path::new(path).exists() {
                return Err(StoreError::NoDatabase { path: path.to_owned() });
            }
            SqliteConnectOptions::new().filename(path).journal_mode(SqliteJournalMode::Wal)
        };
        let connect = connect
            .foreign_keys(false)
            // A whole claim at once; the driver's 50 cost a change of threads per 50 rows.
            .row_buffer_size(1_024)
            .synchronous(match options.durability {
                Durability::Full => SqliteSynchronous::Full,
                Durability::Normal => SqliteSynchronous::Normal,
            })
            .pragma("journal_size_limit", "16777216");
        // Waiting for the write lock is ours (`begin`): with SQLite's own, four writing processes
        // made 7,367, 500, 1 and 1 commits in 3 s.
        let writing = connect.clone().busy_timeout(Duration::ZERO);
        // Its commits move nothing into the file: `checkpoint.rs` does.
        let writing = writing.pragma("wal_autocheckpoint", "0");
        let writer = open_writer(&options, writing).await.map_err(failed(OPENING))?;
        let readers = if in_memory {
            writer.clone()
        } else {
            pool(options.pool, &options)
                .connect_with(connect.busy_timeout(options.busy_for))
                .await
                .map_err(failed(OPENING))?
        };
        let checkpoints = (!in_memory).then(|| Checkpoints::start(writer.clone(), readers.clone()));
        let store = SqliteStore {
            writer,
            readers,
            checkpoints,
            file: (!in_memory).then(|| path.into()),
            durability: options.durability,
            clock: options.clock.clone(),
            busy_for: options.busy_for,
            hub: WakeHub::default(),
            walks: Default::default(),
            host: options.host.clone().unwrap_or_else(host::this_host),
            allow_other_host: options.allow_other_host,
        };
        store.must_be_ours().await?;
        Ok(store)
    }

    /// A writing transaction. It takes the write lock at its start, so nothing in it can fail with
    /// "locked".
    pub(super) async fn begin(&self, doing: &'static str) -> Result<Transaction<'static, Sqlite>> {
        self.will_write();
        let give_up = Instant::now() + self.busy_for;
        loop {
            match self.writer.begin_with("BEGIN IMMEDIATE").await {
                Ok(tx) => return Ok(tx),
                Err(error) if is_busy(&error) && Instant::now() < give_up => {
                    pause().await;
                }
                // A full disk rolled SQLite's transaction back; the driver believes it to be open, for good.
                Err(sqlx::Error::InvalidSavePointStatement) if Instant::now() < give_up => {
                    self.reopen().await;
                    pause().await;
                }
                Err(error) => {
                    if is_read_only(&error) {
                        self.reopen().await;
                    }
                    return Err(failed(doing)(error));
                }
            }
        }
    }

    /// Somebody is about to write.
    pub(super) fn will_write(&self) {
        BEGUN.fetch_add(1, Ordering::Relaxed);
        if let Some(checkpoints) = &self.checkpoints {
            checkpoints.wrote();
        }
    }

    /// Closes the writer's connection and every reader's that is idle; the next calls open others. A
    /// file that was opened on a read-only disk stays read-only for the process until the last of its
    /// connections is closed.
    pub(super) async fn reopen(&self) {
        if self.file.is_none() {
            return;
        }
        if let Ok(conn) = self.writer.acquire().await {
            let _ = conn.close().await;
        }
        while let Some(conn) = self.readers.try_acquire() {
            let _ = conn.close().await;
        }
    }

    pub(super) fn seen_traffic(&self) -> Traffic {
        let of = |name, pool: &Pool| PoolUse {
            name,
            open: pool.size(),
            idle: u32::try_from(pool.num_idle()).unwrap_or(u32::MAX),
            most: pool.options().get_max_connections(),
        };
        // In memory they are one.
        let readers = self.file.as_ref().map(|_| of("readers", &self.readers));
        let pools = std::iter::once(of("writer", &self.writer)).chain(readers).collect();
        Traffic { pools, round_trips: BEGUN.load(Ordering::Relaxed) }
    }

    /// A connection to read with.
    pub(super) async fn read(&self, doing: &'static str) -> Result<PoolConnection<Sqlite>> {
        BEGUN.fetch_add(1, Ordering::Relaxed);
        self.readers.acquire().await.map_err(failed(doing))
    }

    /// One statement that writes, in a transaction of its own.
    pub(super) async fn write<'q>(
        &self,
        doing: &'static str,
        statement: impl Fn() -> Statement<'q>,
    ) -> Result<SqliteQueryResult> {
        self.write_alone(statement).await.map_err(failed(doing))
    }

    /// The same with the driver's own error. SQLite makes a transaction of a statement that stands alone: one way to
    /// the connection's thread and back, where `BEGIN` and `COMMIT` would be two more. It may be asked for several
    /// times.
    pub(super) async fn write_alone<'q>(
        &self,
        statement: impl Fn() -> Statement<'q>,
    ) -> sqlx::Result<SqliteQueryResult> {
        self.will_write();
        let give_up = Instant::now() + self.busy_for;
        loop {
            match statement().execute(&self.writer).await {
                Err(error) if is_busy(&error) && Instant::now() < give_up => pause().await,
                Err(error) => {
                    if is_read_only(&error) {
                        self.reopen().await;
                    }
                    return Err(error);
                }
                done => return done,
            }
        }
    }

    /// What one statement finds that only reads.
    pub(super) async fn rows<T>(
        &self,
        doing: &'static str,
        statement: Statement<'_>,
        row: impl Fn(&SqliteRow) -> sqlx::Result<T>,
    ) -> Result<Vec<T>> {
        let mut conn = self.read(doing).await?;
        let rows = statement.fetch_all(&mut *conn).await.map_err(failed(doing))?;
        rows.iter().map(row).collect::<sqlx::Result<_>>().map_err(failed(doing))
    }

    /// Like [`SqliteStore::rows`], where there is one or none.
    pub(super) async fn row<T>(
        &self,
        doing: &'static str,
        statement: Statement<'_>,
        row: impl Fn(&SqliteRow) -> sqlx::Result<T>,
    ) -> Result<Option<T>> {
        let mut conn = self.read(doing).await?;
        let found = statement.fetch_optional(&mut *conn).await.map_err(failed(doing))?;
        found.as_ref().map(row).transpose().map_err(failed(doing))
    }
}

/// Between two tries for the write lock.
pub(super) async fn pause() {
    tokio::time::sleep(Duration::from_micros(fastrand::u64(200..1_000))).await;
}

/// Somebody else may be at the side file of a process that died, and this connection does not wait by itself.
async fn open_writer(options: &StoreOptions, connect: SqliteConnectOptions) -> sqlx::Result<Pool> {
    let give_up = Instant::now() + options.busy_for;
    loop {
        match pool(1, options).connect_with(connect.clone()).await {
            Err(error) if is_busy(&error) && Instant::now() < give_up => pause().await,
            opened => return opened,
        }
    }
}

fn pool(size: u32, options: &StoreOptions) -> SqlitePoolOptions {
    SqlitePoolOptions::new()
        .max_connections(size)
        // Or the pool opens one by itself while `reopen` closes them.
        .min_connections(0)
        .acquire_timeout(options.busy_for)
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(false)
}

/// Payloads are nobody else's business: a new file is its owner's only. SQLite gives its side files
/// the same rights.
fn create_private(path: &Path) -> Result<()> {
    let mut open = std::fs::OpenOptions::new();
    open.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut open, 0o600);
    match open.open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(StoreError::Unavailable {
            doing: OPENING,
            source: format!("{}: {error}", path.display()).into(),
        }),
    }
}

/// So that the pool's type is named once.
pub(super) type Pool = SqlitePool;
type Statement<'q> = Query<'q, Sqlite, SqliteArguments>;
