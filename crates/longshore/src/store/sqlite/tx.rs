//! The caller's own connection or transaction.

use sqlx::pool::PoolConnection;
use sqlx::{Sqlite, SqliteConnection, Transaction};

use super::SqliteStore;
use super::error::failed;
use super::finish::{At, Done, finish_done};
use crate::job::State;
use crate::store::sealed::Sealed;
use crate::store::tx::{Driver, Inner, Open, OpenTx};
use crate::store::{Ack, Conn, DoneInTx, Ending, NodeId, Result, Tx};

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

impl Sealed for Sqlite {}
impl Driver for Sqlite {
    type Connection = SqliteConnection;
    const BACKEND: &'static str = "sqlite";

    fn of(conn: Conn<'_>) -> Option<&mut SqliteConnection> {
        match conn.0 {
            Inner::Sqlite(conn) => Some(conn.0),
            #[cfg(feature = "postgres")]
            Inner::Postgres(_) => None,
        }
    }
}

/// A handler's transaction, on the connection that writes.
pub(crate) struct HandlerTx(Transaction<'static, Sqlite>);

impl HandlerTx {
    pub fn conn(&mut self) -> Conn<'_> {
        Conn(Inner::Sqlite(SqliteConn(&mut self.0)))
    }
}

impl SqliteStore {
    pub(super) async fn open_tx(&self) -> Result<OpenTx> {
        let tx = self.begin("begin a handler's transaction").await?;
        Ok(OpenTx(Open::Sqlite(HandlerTx(tx))))
    }

    pub(super) async fn close_tx(
        &self,
        tx: OpenTx,
        node: NodeId,
        done: DoneInTx<'_>,
    ) -> Result<Ack> {
        const DOING: &str = "commit a handler's transaction";
        let mut tx = match tx.0 {
            Open::Sqlite(tx) => tx.0,
            #[cfg(feature = "postgres")]
            Open::Postgres(_) => {
                return Err(crate::StoreError::config("the transaction is on PostgreSQL"));
            }
        };
        let DoneInTx { held, output, said } = done;
        for one in said {
            // Nobody else can write before this transaction ends, and the job is gone then.
            self.keep_one(&mut tx, node, one).await.map_err(failed(DOING))?;
        }
        let at = At { node, now: self.clock.now() };
        let ended = [(held, Ending::Succeeded { output: output.map(Into::into) })];
        let states = finish_done(&mut tx, &at, &Done::of(&ended)).await.map_err(failed(DOING))?;
        let state = states.get(&held.id).copied();
        match state {
            Some(State::Succeeded) => tx.commit().await,
            _ => tx.rollback().await,
        }
        .map_err(failed(DOING))?;
        Ok(state.map_or(Ack::LeaseLost, Ack::Recorded))
    }
}
