//! What to do when the database does not answer: wait longer each time, and say so seldom.

use std::time::{Duration, Instant};

use crate::store::StoreError;

const FIRST: Duration = Duration::from_millis(100);
/// Work resumes at most this long after the database does.
const LONGEST: Duration = Duration::from_secs(5);
const SAY_EVERY: Duration = Duration::from_secs(30);

/// Counts failures in a row of one kind of call.
#[derive(Debug)]
pub(crate) struct Patience {
    doing: &'static str,
    failures: u32,
    since: Option<Instant>,
    said: Option<Instant>,
}

impl Patience {
    pub fn new(doing: &'static str) -> Patience {
        Patience { doing, failures: 0, since: None, said: None }
    }

    /// Notes a failure, logs it if it is time to, and answers when to try again. Jittered, so that
    /// many nodes do not come back at once.
    pub fn failed(&mut self, error: &StoreError) -> Instant {
        let now = Instant::now();
        let since = *self.since.get_or_insert(now);
        if self.said.is_none_or(|said| now - said >= SAY_EVERY) {
            self.said = Some(now);
            let cause = std::error::Error::source(error).map(ToString::to_string);
            let (doing, failures) = (self.doing, self.failures + 1);
            tracing::warn!(
                doing,
                failures,
                down_ms = (now - since).as_millis() as u64,
                cause,
                "{error}; trying again"
            );
        }
        let longest = (FIRST * 2_u32.pow(self.failures.min(10))).min(LONGEST);
        self.failures = self.failures.saturating_add(1);
        now + longest.mul_f64(0.5 + fastrand::f64() / 2.0)
    }

    /// Notes that it worked.
    pub fn worked(&mut self) {
        if let Some(since) = self.since.take() {
            let (doing, failures) = (self.doing, self.failures);
            tracing::info!(
                doing,
                failures,
                down_ms = since.elapsed().as_millis() as u64,
                "the database answers again"
            );
        }
        self.failures = 0;
        self.said = None;
    }

    /// Since when it fails; `None` while it works.
    pub fn down_since(&self) -> Option<Instant> {
        self.since
    }
}
