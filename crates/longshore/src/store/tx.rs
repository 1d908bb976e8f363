//! The caller's own transaction, on either database.

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
