//! Hears what other processes say while somebody waits, and a little longer: those who wait ask again.

use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use tokio::task::JoinHandle;

use crate::client::Client;
use crate::store::Store;

/// Nobody has waited for so long.
const LINGER: Duration = Duration::from_secs(60);

/// One for each way to a database.
#[derive(Clone)]
pub(super) struct Ear(Arc<Inner>);

struct Inner {
    store: Arc<dyn Store>,
    heard: Mutex<Heard>,
}

#[derive(Default)]
struct Heard {
    waiting: usize,
    /// Another one whenever somebody begins to wait.
    turn: u64,
    task: Option<JoinHandle<()>>,
}

/// Somebody waits.
pub(super) struct Hearing {
    inner: Weak<Inner>,
    client: Client,
}

impl Ear {
    pub fn new(client: &Client) -> Ear {
        let (store, heard) = (Arc::clone(client.store()), Mutex::default());
        Ear(Arc::new(Inner { store, heard }))
    }

    /// Hears until this is dropped, and for [`LINGER`] after the last of them.
    pub fn open(&self, client: &Client) -> Hearing {
        let mut heard = self.0.heard.lock().expect("nothing here panics");
        heard.waiting += 1;
        heard.turn += 1;
        if heard.task.as_ref().is_none_or(JoinHandle::is_finished) {
            let store = Arc::clone(&self.0.store);
            heard.task = Some(client.engine().spawn(async move { store.listen().await }));
        }
        Hearing { inner: Arc::downgrade(&self.0), client: client.clone() }
    }
}

impl Drop for Hearing {
    fn drop(&mut self) {
        let Some(inner) = self.inner.upgrade() else { return };
        let mut heard = inner.heard.lock().expect("nothing here panics");
        heard.waiting -= 1;
        if heard.waiting > 0 {
            return;
        }
        let (turn, inner) = (heard.turn, Weak::clone(&self.inner));
        self.client.engine().spawn(async move {
            tokio::time::sleep(LINGER).await;
            let Some(inner) = inner.upgrade() else { return };
            let mut heard = inner.heard.lock().expect("nothing here panics");
            if heard.turn == turn && heard.waiting == 0 {
                heard.task.take().inspect(JoinHandle::abort);
            }
        });
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Ok(heard) = self.heard.get_mut() {
            heard.task.take().inspect(JoinHandle::abort);
        }
    }
}
