//! One call's connection, with a transaction around it where one is needed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, Executor, PgConnection, PgPool, Postgres};

use super::PostgresStore;
use super::connect::{BY_INDEX, Mode, NO_JIT};
use super::error::{Fault, Tries};
use crate::store::StoreError;

const WAIT_FOR: &str = include_str!("wait_for.sql");

/// Statements that this process has sent, on any connection of any store.
static SENT: AtomicU64 = AtomicU64::new(0);

/// Counts one more.
pub(super) fn sent() {
    SENT.fetch_add(1, Ordering::Relaxed);
}

pub(super) fn round_trips() -> u64 {
    SENT.load(Ordering::Relaxed)
}

/// A connection for one call. Ended with [`Session::done`] or [`Session::undo`] it goes back to its
/// pool; dropped before that (an error, a time-out) it is closed, so that no half-done transaction
/// and no half-read answer is ever met by the next call.
pub(super) struct Session {
    conn: PoolConnection<Postgres>,
    mode: Mode,
    in_transaction: bool,
    ended: bool,
}

impl Session {
    /// For a single statement: its own transaction, except behind a pooler.
    pub(super) async fn single(pool: &PgPool, mode: Mode) -> Result<Session, Fault> {
        Session::open(pool, mode, (mode == Mode::Pooled).then(|| begin(&[NO_JIT]))).await
    }

    /// For several statements, all or none.
    pub(super) async fn transaction(pool: &PgPool, mode: Mode) -> Result<Session, Fault> {
        let begin = match mode {
            Mode::Direct => "BEGIN".to_owned(),
            Mode::Pooled => begin(&[NO_JIT]),
        };
        Session::open(pool, mode, Some(begin)).await
    }

    /// For a single statement of which there are very many: a claim, a batch of results, an enqueue.
    pub(super) async fn often(pool: &PgPool, mode: Mode) -> Result<Session, Fault> {
        let begin = (mode == Mode::Pooled).then(|| begin(&BY_INDEX_WITHOUT_JIT));
        Session::open(pool, mode, begin).await
    }

    /// The same for several.
    pub(super) async fn often_in_transaction(pool: &PgPool, mode: Mode) -> Result<Session, Fault> {
        let begin = match mode {
            Mode::Direct => "BEGIN".to_owned(),
            Mode::Pooled => begin(&BY_INDEX_WITHOUT_JIT),
        };
        Session::open(pool, mode, Some(begin)).await
    }

    /// For several reading statements that see the database as it was at the first.
    pub(super) async fn snapshot(pool: &PgPool, mode: Mode) -> Result<Session, Fault> {
        let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY".to_owned();
        Session::open(pool, mode, Some(begin)).await
    }

    async fn open(pool: &PgPool, mode: Mode, begin: Option<String>) -> Result<Session, Fault> {
        let conn = pool.acquire().await?;
        let mut session = Session { conn, mode, in_transaction: begin.is_some(), ended: false };
        if let Some(begin) = begin {
            sent();
            sqlx::raw_sql(AssertSqlSafe(begin)).execute(session.conn()).await?;
        }
        Ok(session)
    }

    pub(super) fn conn(&mut self) -> &mut PgConnection {
        &mut self.conn
    }

    /// A statement, prepared by name where the connection keeps it.
    pub(super) fn query<'q>(&self, sql: &'static str) -> Query<'q, Postgres, PgArguments> {
        sent();
        sqlx::query(sql).persistent(self.mode == Mode::Direct)
    }

    /// Commits.
    pub(super) async fn done(mut self) -> Result<(), Fault> {
        if self.in_transaction {
            sent();
            self.conn.execute("COMMIT").await?;
        }
        self.ended = true;
        Ok(())
    }

    /// Commits what was done. After a refusal of ours, whose connection is sound, rolls back; after an
    /// error of the database the connection is closed.
    pub(super) async fn end<T>(self, done: Result<T, Fault>) -> Result<T, Fault> {
        match done {
            Ok(answer) => self.done().await.map(|()| answer),
            Err(Fault::Known(refused)) => {
                self.undo().await?;
                Err(refused.into())
            }
            Err(fault) => Err(fault),
        }
    }

    /// From here on, until the transaction ends, a row or table that somebody else has is waited for
    /// so long at most.
    pub(super) async fn wait_for_rows(&mut self, span: Duration) -> Result<(), Fault> {
        let millis = span.as_millis().max(1).to_string();
        let query = self.query(WAIT_FOR).bind(millis);
        query.execute(self.conn()).await?;
        Ok(())
    }

    /// Rolls back a transaction whose connection is sound.
    pub(super) async fn undo(mut self) -> Result<(), Fault> {
        if self.in_transaction {
            sent();
            self.conn.execute("ROLLBACK").await?;
        }
        self.ended = true;
        Ok(())
    }
}

const BY_INDEX_WITHOUT_JIT: [(&str, &str); 3] = [NO_JIT, BY_INDEX[0], BY_INDEX[1]];

/// Begins a transaction with these settings, in one round trip.
fn begin(settings: &[(&str, &str)]) -> String {
    let set = settings.iter().map(|(name, value)| format!("; SET LOCAL {name} = {value}"));
    std::iter::once("BEGIN".to_owned()).chain(set).collect()
}

impl Drop for Session {
    fn drop(&mut self) {
        if !self.ended {
            self.conn.close_on_drop();
        }
    }
}

impl PostgresStore {
    /// Carries out a call that only reads, or whose repeat changes nothing: again as long as that may help.
    pub(super) async fn repeated<T, F: Future<Output = Result<T, Fault>>>(
        &self,
        doing: &'static str,
        call: impl Fn() -> F,
    ) -> Result<T, StoreError> {
        let mut tries = Tries::repeatable(doing);
        loop {
            match within(self.patience(), call()).await {
                Ok(done) => return Ok(done),
                Err(fault) => tries.after(self, fault).await?,
            }
        }
    }
}

/// Bounds a call: behind a network that swallows packets, a driver without time-outs would wait for
/// a quarter of an hour, and its connection with it.
pub(super) async fn within<T>(
    span: Duration,
    call: impl Future<Output = Result<T, Fault>>,
) -> Result<T, Fault> {
    match tokio::time::timeout(span, call).await {
        Ok(answer) => answer,
        Err(_) => {
            let late = std::io::Error::new(std::io::ErrorKind::TimedOut, "no answer in time");
            Err(Fault::Db(sqlx::Error::Io(late)))
        }
    }
}
