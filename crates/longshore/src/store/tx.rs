//! Transactions that the application works in: its own, and those of handlers.

use super::sealed;

/// A connection with a transaction open on it. Implemented for sqlx's connection and transaction
/// types of both databases; on SQLite begin it with `BEGIN IMMEDIATE` (`begin_with`), or the
/// database may answer "locked" in the middle.
pub trait Tx: sealed::Sealed + Send {
    /// The connection.
    fn conn(&mut self) -> Conn<'_>;
}

/// A connection to one of the two databases. What is inside is the store's.
pub struct Conn<'a>(pub(crate) Inner<'a>);

pub(crate) enum Inner<'a> {
    #[cfg(feature = "postgres")]
    Postgres(super::postgres::PgConn<'a>),
    #[cfg(feature = "sqlite")]
    Sqlite(super::sqlite::SqliteConn<'a>),
    /// So that the type has its lifetime without any backend.
    #[cfg(not(any(feature = "postgres", feature = "sqlite")))]
    None(std::marker::PhantomData<&'a ()>),
}

/// A database's driver, by the type that sqlx names it with.
pub trait Driver: sealed::Sealed + Send + 'static {
    /// sqlx's connection.
    type Connection: Send;

    /// Its connection, if it is this database's.
    #[doc(hidden)]
    fn of(conn: Conn<'_>) -> Option<&mut Self::Connection>;

    /// `sqlite` or `postgres`.
    const BACKEND: &'static str;
}

/// A transaction of a handler, not yet ended. Dropped, it is rolled back.
pub struct OpenTx(pub(crate) Open);

pub(crate) enum Open {
    #[cfg(feature = "postgres")]
    Postgres(super::postgres::HandlerTx),
    #[cfg(feature = "sqlite")]
    Sqlite(super::sqlite::HandlerTx),
}

impl OpenTx {
    /// Its connection.
    pub fn conn(&mut self) -> Conn<'_> {
        match self.0 {
            #[cfg(feature = "postgres")]
            Open::Postgres(ref mut tx) => tx.conn(),
            #[cfg(feature = "sqlite")]
            Open::Sqlite(ref mut tx) => tx.conn(),
        }
    }
}
