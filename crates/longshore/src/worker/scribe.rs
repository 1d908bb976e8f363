//! Writes what runs say: all of a node's runs together, at most once a second, and once more at a run's end.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::book::{Book, Desk};
use super::patience::Patience;
use crate::engine::within;
use crate::job::JobId;
use crate::store::{Held, Level, NodeId, Result, Saying, Store};

/// A run is written of no more often, but for one that says very much.
const APART: Duration = Duration::from_secs(1);
/// So long the first word waits for others. A short job is over by then, and all of it goes at its end.
const GATHER: Duration = Duration::from_millis(100);
/// Log lines are not worth more than this to a run that wants to end.
const CALL_LIMIT: Duration = Duration::from_secs(10);
/// Of one call.
const MOST_RUNS: usize = 500;
const MOST_BYTES: usize = 4 << 20;

/// Of one node.
pub(crate) struct Scribe {
    node: NodeId,
    store: Arc<dyn Store>,
    level: Level,
    bytes: AtomicUsize,
    /// Books that something was ever written in, until their run ends.
    open: Mutex<HashMap<JobId, Arc<Book>>>,
    opened: AtomicUsize,
    wake: Notify,
    haste: Notify,
    /// One call at a time, so that a run's lines keep their order and its end waits for them.
    writing: tokio::sync::Mutex<()>,
}

impl Desk for Scribe {
    fn bytes(&self) -> &AtomicUsize {
        &self.bytes
    }

    fn dirty(&self, book: Arc<Book>, haste: bool) {
        let mut open = self.open.lock().expect("nothing here panics");
        open.insert(book.id(), book);
        self.opened.store(open.len(), Ordering::SeqCst);
        drop(open);
        self.wake.notify_one();
        if haste {
            self.haste.notify_one();
        }
    }

    fn now(&self) -> crate::Timestamp {
        self.store.clock().now()
    }
}

impl Scribe {
    pub fn new(store: Arc<dyn Store>, node: NodeId, level: Level) -> Arc<Scribe> {
        Arc::new(Scribe {
            node,
            store,
            level,
            bytes: AtomicUsize::new(0),
            open: Mutex::default(),
            opened: AtomicUsize::new(0),
            wake: Notify::new(),
            haste: Notify::new(),
            writing: tokio::sync::Mutex::default(),
        })
    }

    /// A book for a run.
    pub fn book(self: &Arc<Self>, held: Held, kind: &str) -> Book {
        let desk: Weak<Scribe> = Arc::downgrade(self);
        Book::new(held, kind, self.level, desk)
    }

    /// Writes what comes, until it is dropped.
    pub async fn run(self: Arc<Self>) {
        let mut patience = Patience::new("keep what runs said");
        let mut last = Instant::now();
        loop {
            self.wake.notified().await;
            let at = (last + APART).max(Instant::now() + GATHER);
            tokio::select! {
                () = sleep_until(at) => {}
                () = self.haste.notified() => {}
            }
            last = Instant::now();
            let books: Vec<Arc<Book>> = {
                let open = self.open.lock().expect("nothing here panics");
                open.values().filter(|book| book.is_dirty()).cloned().collect()
            };
            match self.write(&books).await {
                Ok(()) => {
                    patience.worked();
                    // What came meanwhile waits for the next round.
                    if books.iter().any(|book| book.is_dirty()) {
                        self.wake.notify_one();
                    }
                }
                Err(error) => {
                    let again_at = patience.failed(&error);
                    sleep_until(again_at.into()).await;
                    self.wake.notify_one();
                }
            }
        }
    }

    /// Writes what is left of runs that end now; nothing is added to them any more. What cannot be written
    /// stays until [`Scribe::closed`].
    pub async fn flush(&self, ids: impl Iterator<Item = JobId>) {
        if self.opened.load(Ordering::SeqCst) == 0 {
            return;
        }
        let books: Vec<Arc<Book>> = {
            let open = self.open.lock().expect("nothing here panics");
            ids.filter_map(|id| open.get(&id).cloned()).collect()
        };
        if books.is_empty() {
            return;
        }
        // After a call that is under way: what it carries is this run's too.
        let writing =
            within(CALL_LIMIT, "keep what runs said", async { Ok(self.writing.lock().await) });
        let Ok(_writing) = writing.await else { return };
        let mut last: Vec<(Arc<Book>, Saying)> = books
            .iter()
            .flat_map(|book| book.take_last().into_iter().map(|saying| (Arc::clone(book), saying)))
            .collect();
        // A run comes once in a call.
        while !last.is_empty() {
            let (mut call, mut later, mut bytes) = (Vec::new(), Vec::new(), 0);
            let mut ids = std::collections::HashSet::new();
            for (book, saying) in last {
                if call.len() < MOST_RUNS && bytes < MOST_BYTES && ids.insert(book.id()) {
                    bytes += size_bytes(&saying);
                    call.push((book, saying));
                } else {
                    later.push((book, saying));
                }
            }
            if self.send(call).await.is_err() {
                later.into_iter().rev().for_each(|(book, saying)| book.put_back(saying));
                return;
            }
            last = later;
        }
    }

    /// These runs are over, and that is written: what could not be kept before is lost.
    pub fn closed(&self, ids: impl Iterator<Item = JobId>) {
        if self.opened.load(Ordering::SeqCst) == 0 {
            return;
        }
        let mut open = self.open.lock().expect("nothing here panics");
        let books: Vec<Arc<Book>> = ids.filter_map(|id| open.remove(&id)).collect();
        self.opened.store(open.len(), Ordering::SeqCst);
        drop(open);
        for book in books {
            let lost = book.drop_all();
            if lost > 0 {
                tracing::warn!(job = %book.id(), lost, "the last lines of a run's log could not be kept");
            }
        }
    }

    /// What a run said last, for its own transaction to keep. It is written nowhere else meanwhile.
    pub async fn take_last(&self, book: &Book) -> Vec<Saying> {
        // On SQLite a call may be waiting for that very transaction; but none that carries this run's words.
        if self.store.backend() == "sqlite" {
            return book.take_last();
        }
        let _writing = self.writing.lock().await;
        book.take_last()
    }

    async fn write(&self, books: &[Arc<Book>]) -> Result<()> {
        let _writing = self.writing.lock().await;
        let mut round: Vec<&Arc<Book>> = books.iter().collect();
        let mut again = false;
        while !round.is_empty() {
            let mut left = round.into_iter();
            let mut spoke = Vec::new();
            loop {
                let (mut call, mut bytes) = (Vec::new(), 0);
                while call.len() < MOST_RUNS && bytes < MOST_BYTES {
                    let Some(book) = left.next() else { break };
                    if let Some(saying) = book.take(again) {
                        bytes += size_bytes(&saying);
                        spoke.push(book);
                        call.push((Arc::clone(book), saying));
                    }
                }
                if call.is_empty() {
                    break;
                }
                self.send(call).await?;
            }
            round = spoke;
            again = true;
        }
        Ok(())
    }

    async fn send(&self, call: Vec<(Arc<Book>, Saying)>) -> Result<()> {
        let (books, said): (Vec<_>, Vec<_>) = call.into_iter().unzip();
        let answer = self.store.say(self.node, &said);
        let answer = within(CALL_LIMIT, "keep what runs said", answer).await;
        let kept = answer.as_ref().ok().cloned().unwrap_or_default();
        let answers = kept.into_iter().map(Some).chain(std::iter::repeat(None));
        for ((book, saying), said) in books.iter().zip(said).zip(answers) {
            book.answered(saying, said);
        }
        answer.map(|_| ())
    }
}

fn size_bytes(saying: &Saying) -> usize {
    200 + saying.log.as_ref().map_or(0, |part| part.size_bytes())
}
