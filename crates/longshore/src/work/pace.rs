//! How often a worker that waits looks for jobs.
//!
//! A hint says that somebody added jobs somewhere. With many who wait, for queues or kinds of their own, most looks
//! find nothing, so one who has found nothing several times in a row looks seldomer; whoever gets a job is answered,
//! and begins anew. Polling alone is correct.

use std::time::{Duration, Instant};

/// Without any hint.
const POLL_EVERY: Duration = Duration::from_secs(1);
/// A commit that shared its wake-up with an earlier one is found this long after it.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(60);
/// So many looks in vain cost nothing; each further one this much more.
const FREE: u32 = 2;
const STEP: Duration = Duration::from_millis(20);
/// No hint waits longer: five looks a second, and as many second ones.
const LONGEST: Duration = Duration::from_millis(200);

/// Of one call.
pub(super) struct Pace {
    /// Looks in a row that a hint asked for and that found nothing.
    in_vain: u32,
    woken: bool,
    /// When a job falls due, which then counts as a hint.
    due_at: Option<Instant>,
    not_before: Instant,
    again_at: Option<Instant>,
    poll_at: Instant,
}

/// Why it is time to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    Hint,
    Again,
    Poll,
}

impl Pace {
    /// A first look has found nothing by now.
    pub fn new(now: Instant) -> Pace {
        let poll_at = now + POLL_EVERY;
        Pace { in_vain: 0, woken: false, due_at: None, not_before: now, again_at: None, poll_at }
    }

    pub fn woken(&mut self) {
        self.woken = true;
    }

    /// The next job falls due then, as far as the last look saw.
    pub fn falls_due(&mut self, at: Option<Instant>) {
        self.due_at = at;
    }

    /// When the next look is due.
    pub fn next(&self) -> Instant {
        let hint = self.woken.then_some(self.not_before);
        let due = self.due_at.map(|at| at.max(self.not_before));
        [hint, due, self.again_at].into_iter().flatten().fold(self.poll_at, Instant::min)
    }

    /// Why it is, if it is.
    pub fn due(&self, now: Instant) -> Option<Why> {
        if now >= self.poll_at {
            Some(Why::Poll)
        } else if self.is_hinted(now) && now >= self.not_before {
            Some(Why::Hint)
        } else {
            self.again_at.filter(|at| now >= *at).map(|_| Why::Again)
        }
    }

    fn is_hinted(&self, now: Instant) -> bool {
        self.woken || self.due_at.is_some_and(|at| now >= at)
    }

    /// Such a look begins. Hints that come from now on ask for another one.
    pub fn looks(&mut self, why: Why) {
        if why != Why::Again {
            self.woken = false;
        }
        if why != Why::Hint {
            self.again_at = None;
        }
    }

    /// It has found nothing.
    pub fn in_vain(&mut self, why: Why, now: Instant) {
        self.poll_at = now + POLL_EVERY;
        match why {
            Why::Poll => self.in_vain = 0,
            Why::Again => {}
            Why::Hint => {
                self.in_vain += 1;
                let pause = STEP * self.in_vain.saturating_sub(FREE);
                self.not_before = now + pause.min(LONGEST);
                self.again_at.get_or_insert(now + LOOK_AGAIN_AFTER);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// How many looks there are in so many seconds when a hint comes at each millisecond.
    fn looks(seconds: u32) -> u32 {
        let began = Instant::now();
        let mut pace = Pace::new(began);
        let mut looks = 0;
        for ms in 0..seconds * 1_000 {
            let now = began + MS * ms;
            pace.woken();
            if let Some(why) = pace.due(now) {
                pace.looks(why);
                pace.in_vain(why, now);
                looks += 1;
            }
        }
        looks
    }

    #[test]
    fn hints_without_end_cost_few_looks() {
        assert!(looks(1) <= 25, "{}", looks(1));
        let later = looks(11) - looks(1);
        assert!((50..=120).contains(&later), "{later} in ten seconds");
    }

    #[test]
    fn the_first_hint_is_followed_at_once_and_once_more() {
        let now = Instant::now();
        let mut pace = Pace::new(now);
        assert_eq!((pace.due(now), pace.next()), (None, now + POLL_EVERY));
        pace.woken();
        assert_eq!(pace.due(now), Some(Why::Hint));
        pace.looks(Why::Hint);
        pace.in_vain(Why::Hint, now);
        assert_eq!(pace.next(), now + LOOK_AGAIN_AFTER);
        assert_eq!(pace.due(now + LOOK_AGAIN_AFTER), Some(Why::Again));
        pace.looks(Why::Again);
        pace.in_vain(Why::Again, now + LOOK_AGAIN_AFTER);
        assert_eq!(pace.next(), now + LOOK_AGAIN_AFTER + POLL_EVERY);
    }
}
