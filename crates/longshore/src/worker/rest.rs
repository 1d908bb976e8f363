//! How long hints are left alone after looks that found nothing.
//!
//! A hint says that somebody added jobs somewhere. Where most are for other nodes, or for queues that nobody here
//! serves, a look at each would take most of the time of whoever adds them. One look in vain costs nothing: only
//! several in a row make the next wait, and a job found ends it.

use std::time::{Duration, Instant};

use crate::store::QueueAsk;

/// Such looks take a twentieth of the time in the end.
const MOST: u32 = 20;
/// No job waits longer because of it.
const LONGEST: Duration = Duration::from_millis(20);

#[derive(Default)]
pub(super) struct Rest {
    /// Looks in a row that found nothing.
    in_vain: u32,
    until: Option<Instant>,
    /// Where the last of them looked.
    queues: Vec<String>,
}

impl Rest {
    /// A look at these queues began and ended then.
    pub fn looked(&mut self, asks: &[QueueAsk], (began, ended): (Instant, Instant), found: bool) {
        if found {
            *self = Rest::default();
            return;
        }
        let pause = (ended - began) * self.in_vain.min(MOST);
        self.in_vain += 1;
        self.until = Some(ended + pause.min(LONGEST));
        self.queues = asks.iter().map(|ask| ask.queue.clone()).collect();
    }

    /// Whether a hint is to be left alone: nothing was found there a moment ago.
    pub fn covers(&self, asks: &[(String, u32)], now: Instant) -> bool {
        self.until(now).is_some() && asks.iter().all(|(queue, _)| self.queues.contains(queue))
    }

    /// Until when, if that is still to come.
    pub fn until(&self, now: Instant) -> Option<Instant> {
        self.until.filter(|until| now < *until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{LANES, START};

    const MS: Duration = Duration::from_millis(1);

    fn asks(queue: &str) -> Vec<QueueAsk> {
        vec![QueueAsk { queue: queue.to_owned(), limit: 1, marks: [START; LANES] }]
    }

    #[test]
    fn looks_in_vain_come_seldomer_and_a_job_ends_that() {
        let mut rest = Rest::default();
        let mut now = Instant::now();
        let here = [("here".to_owned(), 1)];
        let mut pauses = Vec::new();
        for _ in 0..40 {
            rest.looked(&asks("here"), (now, now + MS), false);
            now += MS;
            pauses.push(rest.until(now).map_or(Duration::ZERO, |until| until - now));
            assert_eq!(rest.covers(&here, now), pauses.last() != Some(&Duration::ZERO));
        }
        assert_eq!(pauses[..3], [Duration::ZERO, MS, 2 * MS], "the first costs nothing");
        assert_eq!(pauses[39], LONGEST);
        assert!(!rest.covers(&[("there".to_owned(), 1)], now), "nobody looked there");
        assert!(!rest.covers(&here, now + LONGEST), "and it ends");
        rest.looked(&asks("here"), (now, now + MS), true);
        assert!(!rest.covers(&here, now));
        rest.looked(&asks("here"), (now, now + 60_000 * MS), false);
        rest.looked(&asks("here"), (now, now + 60_000 * MS), false);
        assert_eq!(rest.until(now + 60_000 * MS), Some(now + 60_000 * MS + LONGEST));
    }
}
