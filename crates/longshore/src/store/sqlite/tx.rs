//! The caller's own connection or transaction.

use sqlx::pool::PoolConnection;
use sqlx::{Sqlite, SqliteConnection, Transaction};

use crate::store::sealed::Sealed;
use crate::store::tx::Inner;
use crate::store::{Conn, Tx};

/// A borrowed connection.
pub(crate) struct SqliteConn<'a>(pub &'a mut SqliteConnection);

impl Sealed for SqliteConnection {}
impl Tx for SqliteConnection {
    fn conn(&mut self) -> Conn<'_> {
        Conn(Inner::Sqlite(SqliteConn(self)))
    }
}

impl Sealed for Transaction<'_, Sqlite> {}
impl Tx for Transaction<'_, Sqlite> {
    fn conn(&mut self) -> Conn<'_> {
        Conn(Inner::Sqlite(SqliteConn(self)))
    }
}

impl Sealed for PoolConnection<Sqlite> {}
impl Tx for PoolConnection<Sqlite> {
    fn conn(&mut self) -> Conn<'_> {
        Conn(Inner::Sqlite(SqliteConn(self)))
    }
}
