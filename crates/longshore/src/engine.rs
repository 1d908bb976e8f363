//! A runtime of our own, so that nothing a handler does can hold up a heartbeat or a result.
//!
//! Every call of a store runs here as a task of its own and is never dropped half way: a claim
//! whose caller went away would be a claim whose reply is lost.

use std::future::Future;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

use crate::store::{Result, StoreError};

/// One thread, beside the application's own runtime.
#[derive(Debug)]
pub(crate) struct Engine(Option<Runtime>);

impl Engine {
    pub fn start() -> Result<Engine> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("longshore")
            .enable_all()
            .build()
            .map_err(|error| StoreError::config(format!("no thread to run on: {error}")))?;
        Ok(Engine(Some(runtime)))
    }

    pub fn spawn<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.0.as_ref().expect("only taken when dropped").spawn(work)
    }

    /// Runs to the end even if the caller stops waiting.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> T {
        match self.spawn(work).await {
            Ok(value) => value,
            // Nobody aborts these tasks, so it is a panic, and it belongs to the caller.
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // Not a plain drop: that waits, and panics inside another runtime.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Gives up on a call that does not come back: its connection is dropped with it.
pub(crate) async fn within<T>(
    limit: Duration,
    doing: &'static str,
    call: impl Future<Output = Result<T>>,
) -> Result<T> {
    match tokio::time::timeout(limit, call).await {
        Ok(answer) => answer,
        Err(_) => Err(StoreError::Unavailable {
            doing,
            source: format!("no answer within {limit:?}").into(),
        }),
    }
}
