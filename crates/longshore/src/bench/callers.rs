//! Many callers that enqueue one job a call: through the client, and bare.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use tokio::task::JoinHandle;

use super::seen::job;
use super::{Desk, OwnTx};
use crate::client::Client;
use crate::store::{Conn, Repeat, Result, Store, Tx, sealed};

/// The numbers of the jobs, each given to one caller.
#[derive(Clone)]
struct Numbers {
    next: Arc<AtomicU32>,
    end: u32,
}

impl Numbers {
    fn next(&self) -> Option<u32> {
        Some(self.next.fetch_add(1, Ordering::Relaxed)).filter(|number| *number < self.end)
    }
}

/// Starts the callers, and waits for all of them; jobs a second.
async fn all<F>(
    callers: u32,
    jobs: u32,
    start: impl Fn(F) -> JoinHandle<Result<()>>,
    caller: impl Fn(Numbers) -> F,
) -> Result<f64>
where
    F: Future<Output = Result<()>>,
{
    let numbers = Numbers { next: Arc::default(), end: jobs };
    let from = Instant::now();
    let running: Vec<_> = (0..callers).map(|_| start(caller(numbers.clone()))).collect();
    for caller in running {
        caller.await.expect("it does not panic")?;
    }
    Ok(f64::from(jobs) / from.elapsed().as_secs_f64())
}

/// Through the client, as an application's own tasks do.
pub(super) async fn by_client(client: &Client, callers: u32, jobs: u32) -> Result<f64> {
    let caller = |numbers: Numbers| {
        let client = client.clone();
        async move {
            while let Some(n) = numbers.next() {
                client.enqueue(job(n)).await?;
            }
            Ok(())
        }
    };
    all(callers, jobs, tokio::spawn, caller).await
}

/// Each call a statement of its own: no funnel.
pub(super) async fn bare(client: &Client, callers: u32, jobs: u32) -> Result<f64> {
    let caller = |numbers: Numbers| {
        let store = Arc::clone(client.store());
        async move {
            while let Some(n) = numbers.next() {
                store.enqueue(&[job(n)], Repeat::No).await?;
            }
            Ok(())
        }
    };
    all(callers, jobs, |caller| client.engine().spawn(caller), caller).await
}

/// Each in a transaction of the caller's, through the client.
pub(super) async fn in_tx(
    client: &Client,
    desk: &Arc<dyn Desk>,
    callers: u32,
    jobs: u32,
) -> Result<f64> {
    let caller = |numbers: Numbers| {
        let (client, desk) = (client.clone(), Arc::clone(desk));
        async move {
            while let Some(n) = numbers.next() {
                let mut tx = Own(desk.begin().await?);
                client.enqueue_in(&mut tx, job(n)).await?;
                tx.0.commit().await?;
            }
            Ok(())
        }
    };
    all(callers, jobs, tokio::spawn, caller).await
}

/// The same by the store's own call.
pub(super) async fn in_tx_bare(
    store: &Arc<dyn Store>,
    desk: &Arc<dyn Desk>,
    callers: u32,
    jobs: u32,
) -> Result<f64> {
    let caller = |numbers: Numbers| {
        let (store, desk) = (Arc::clone(store), Arc::clone(desk));
        async move {
            while let Some(n) = numbers.next() {
                let mut tx = desk.begin().await?;
                store.enqueue_in(tx.conn(), &[job(n)]).await?;
                tx.commit().await?;
            }
            Ok(())
        }
    };
    // Beside the callers of the figure, on the same threads as they.
    all(callers, jobs, tokio::spawn, caller).await
}

/// An application's transaction, as the client takes one.
struct Own(Box<dyn OwnTx>);

impl sealed::Sealed for Own {}
impl Tx for Own {
    fn conn(&mut self) -> Conn<'_> {
        self.0.conn()
    }
}
