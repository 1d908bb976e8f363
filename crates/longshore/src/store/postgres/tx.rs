//! The caller's own connection.

use sqlx::pool::PoolConnection;
use sqlx::{PgConnection, Postgres, Transaction};

use super::PostgresStore;
use super::error::Fault;
use super::session::{Session, within};
use crate::job::State;
use crate::store::sealed::Sealed;
use crate::store::tx::{Conn, Driver, Inner, Open, OpenTx, Tx};
use crate::store::{Ack, DoneInTx, NodeId, Result, StoreError};

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

impl Sealed for Postgres {}
impl Driver for Postgres {
    type Connection = PgConnection;
    const BACKEND: &'static str = "postgres";

    fn of(conn: Conn<'_>) -> Option<&mut PgConnection> {
        match conn.0 {
            Inner::Postgres(conn) => Some(conn.0),
            #[cfg(feature = "sqlite")]
            Inner::Sqlite(_) => None,
        }
    }
}

/// A handler's transaction.
pub(crate) struct HandlerTx(Session);

impl HandlerTx {
    pub fn conn(&mut self) -> Conn<'_> {
        Conn(Inner::Postgres(PgConn(self.0.conn())))
    }
}

impl PostgresStore {
    pub(super) async fn open_tx(&self) -> Result<OpenTx> {
        match Session::transaction(&self.pools.handlers, self.mode).await {
            Ok(session) => Ok(OpenTx(Open::Postgres(HandlerTx(session)))),
            Err(fault) => Err(self.told("begin a handler's transaction", fault).await),
        }
    }

    pub(super) async fn close_tx(
        &self,
        tx: OpenTx,
        node: NodeId,
        done: DoneInTx<'_>,
    ) -> Result<Ack> {
        const DOING: &str = "commit a handler's transaction";
        let mut session = match tx.0 {
            Open::Postgres(tx) => tx.0,
            #[cfg(feature = "sqlite")]
            Open::Sqlite(_) => return Err(StoreError::config("the transaction is on SQLite")),
        };
        let DoneInTx { held, output, said } = done;
        for one in said {
            // On another connection, before the job is gone: this transaction has to survive a crash, and must not
            // fail for a log.
            if let Err(error) = self.keep_said(node, std::slice::from_ref(one)).await {
                tracing::warn!(job = %held.id, "the last of what a run said could not be kept: {error}");
            }
        }
        let ended = async {
            let state = self.finish_one(&mut session, node, held, output).await?;
            match state {
                Some(State::Succeeded) => session.done().await?,
                _ => session.undo().await?,
            }
            Ok(state.map_or(Ack::LeaseLost, Ack::Recorded))
        };
        match within(self.patience(), ended).await {
            Ok(ack) => Ok(ack),
            Err(fault) => Err(self.told(DOING, fault).await),
        }
    }

    async fn told(&self, doing: &'static str, fault: Fault) -> StoreError {
        match fault {
            Fault::Known(error) => error,
            Fault::Db(error) => self.explain(doing, error).await,
        }
    }
}
