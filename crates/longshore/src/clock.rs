//! Whose clock counts. See docs/adr/0003-whose-clock.md.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use crate::time::Timestamp;

/// What a store calls "now". By default the database's clock on PostgreSQL and the system's on
/// SQLite; a test sets a manual one and moves it.
#[derive(Clone, Debug, Default)]
pub struct Clock(Option<Arc<AtomicI64>>);

impl Clock {
    /// The real clock.
    pub fn real() -> Clock {
        Clock(None)
    }

    /// A clock that stands at `start` until it is moved. Clones move together.
    pub fn manual(start: Timestamp) -> Clock {
        Clock(Some(Arc::new(AtomicI64::new(start.as_micros()))))
    }

    /// Moves a manual clock on; a real one does not listen.
    pub fn advance(&self, span: Duration) {
        if let Some(micros) = &self.0 {
            micros.fetch_add(span.as_micros() as i64, Ordering::SeqCst);
        }
    }

    /// Where a manual clock stands; `None` for the real one, which is the database's own to read.
    pub(crate) fn fixed(&self) -> Option<Timestamp> {
        self.0.as_ref().map(|micros| Timestamp::from_micros(micros.load(Ordering::SeqCst)))
    }

    /// Now, by this process.
    pub(crate) fn now(&self) -> Timestamp {
        self.fixed().unwrap_or_else(Timestamp::now)
    }
}
