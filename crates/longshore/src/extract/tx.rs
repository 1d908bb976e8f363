//! A transaction that is committed together with the job's completion.

use std::sync::{Arc, OnceLock};

use tokio::sync::{Mutex, OwnedMutexGuard};

use super::{FromRun, Given};
use crate::job::JobError;
use crate::store::{Driver, OpenTx, Store, StoreError};
use crate::worker::Run;

/// A transaction on the job's own database. What the handler does in it is committed together with the job's
/// completion, or not at all: an effect in the database happens exactly once, whenever a process dies. It is
/// rolled back if the handler answers an error, or panics, or is cut off; if the node lost its lease; or if the
/// job was cancelled meanwhile.
///
/// It begins with the first [`Tx::conn`]. `DB` is [`sqlx::Postgres`] or [`sqlx::Sqlite`]; on SQLite nobody else
/// can write from there to the handler's end, so begin late, and enqueue in it
/// ([`crate::Client::enqueue_in`]), not beside it.
///
/// ```
/// # use longshore::{Client, Job, JobError, Worker, extract::Tx};
/// # use serde::{Deserialize, Serialize};
/// # #[derive(Serialize, Deserialize)] struct Charge { order: i64 }
/// # impl Job for Charge { const KIND: &'static str = "charge"; type Output = (); }
/// async fn charge(job: Charge, mut tx: Tx<sqlx::Sqlite>) -> Result<(), JobError> {
///     sqlx::query("UPDATE orders SET paid = 1 WHERE id = $1")
///         .bind(job.order)
///         .execute(tx.conn().await?)
///         .await?;
///     Ok(())
/// }
/// # fn example(client: Client) { let worker = Worker::new(client).job(charge); }
/// ```
pub struct Tx<DB: Driver> {
    open: OwnedMutexGuard<Option<OpenTx>>,
    store: Arc<dyn Store>,
    run: Run,
    driver: std::marker::PhantomData<fn(DB)>,
}

impl<DB: Driver> Tx<DB> {
    /// The connection, in the transaction; begins it if need be.
    pub async fn conn(&mut self) -> Result<&mut DB::Connection, StoreError> {
        if self.open.is_none() {
            *self.open = Some(self.store.begin_tx().await?);
            if self.store.backend() == "sqlite" {
                // Nobody else can write before it ends, and it keeps what the run said.
                self.run.book().keep_back();
            }
        }
        let open = self.open.as_mut().expect("it was begun");
        DB::of(open.conn()).ok_or_else(|| StoreError::config(wrong::<DB>(self.store.backend())))
    }
}

impl<DB: Driver> FromRun for Tx<DB> {
    async fn from_run(run: &Run) -> Result<Tx<DB>, JobError> {
        let open = Arc::clone(run.tx().0.get_or_init(Arc::default)).try_lock_owned();
        let open = open.map_err(|_| JobError::dead("a handler can take `Tx` once only"))?;
        let store = Arc::clone(run.client().store());
        Ok(Tx { open, store, run: run.clone(), driver: std::marker::PhantomData })
    }

    fn check(given: &Given<'_>) -> Result<(), String> {
        if given.backend() == DB::BACKEND { Ok(()) } else { Err(wrong::<DB>(given.backend())) }
    }
}

fn wrong<DB: Driver>(backend: &str) -> String {
    format!("its transaction (`Tx`) is for {}, but the jobs are in {backend}", DB::BACKEND)
}

/// A run's transaction, if its handler began one.
#[derive(Default)]
pub(crate) struct TxCell(OnceLock<Arc<Mutex<Option<OpenTx>>>>);

impl TxCell {
    /// Takes it once the handler is over; an error if something else still has it.
    pub fn take(&self) -> Result<Option<OpenTx>, JobError> {
        let Some(cell) = self.0.get() else { return Ok(None) };
        match cell.try_lock() {
            Ok(mut open) => Ok(open.take()),
            Err(_) => Err(JobError::new("the handler ended, but something still holds its `Tx`")),
        }
    }
}
