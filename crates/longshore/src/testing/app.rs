//! A worker that runs when it is told to.

use std::sync::Arc;

use crate::client::Client;
use crate::worker::Worker;
use crate::worker::once::Hands;

/// A [`Worker`] whose handlers run when a test says so. Made of one by `into()`, where it is wanted; keep it to
/// use the same one again, layers and all. Cheap to clone.
#[derive(Clone)]
pub struct App(Result<Arc<Hands>, String>);

impl From<Worker> for App {
    fn from(worker: Worker) -> App {
        let hands = worker.into_hands();
        App(hands.map(Arc::new).map_err(|error| format!("this worker cannot start: {error}")))
    }
}

impl From<&App> for App {
    fn from(app: &App) -> App {
        app.clone()
    }
}

impl App {
    /// What it can do on this database.
    pub(super) fn hands(&self, client: &Client) -> Result<Arc<Hands>, String> {
        let hands = self.0.clone()?;
        if !hands.client.is(client) {
            return Err("the worker is on another client than this test's store; build it with \
                        `Worker::new(store.client())`"
                .to_owned());
        }
        Ok(hands)
    }
}
