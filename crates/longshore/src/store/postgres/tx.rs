//! The caller's own connection.

use sqlx::pool::PoolConnection;
use sqlx::{PgConnection, Postgres, Transaction};

use crate::store::sealed::Sealed;
use crate::store::tx::{Conn, Inner, Tx};

/// A connection to PostgreSQL that belongs to the caller.
pub(crate) struct PgConn<'a>(pub(super) &'a mut PgConnection);

impl Sealed for PgConnection {}
impl Tx for PgConnection {
    fn conn(&mut self) -> Conn<'_> {
        Conn(Inner::Postgres(PgConn(self)))
    }
}

impl Sealed for Transaction<'_, Postgres> {}
impl Tx for Transaction<'_, Postgres> {
    fn conn(&mut self) -> Conn<'_> {
        Conn(Inner::Postgres(PgConn(self)))
    }
}

impl Sealed for PoolConnection<Postgres> {}
impl Tx for PoolConnection<Postgres> {
    fn conn(&mut self) -> Conn<'_> {
        Conn(Inner::Postgres(PgConn(self)))
    }
}
