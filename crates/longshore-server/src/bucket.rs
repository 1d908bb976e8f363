//! How much of something may still be done at once, while more comes with time.

use std::time::{Duration, Instant};

use crate::config::Rate;

/// How fast a bucket fills, and how much it holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    pub per_second: f64,
    pub burst: f64,
}

impl From<Rate> for Pace {
    fn from(rate: Rate) -> Pace {
        Pace { per_second: rate.per_second.into(), burst: rate.burst.into() }
    }
}

/// What is left of it.
pub(crate) struct Bucket {
    left: f64,
    at: Instant,
}

impl Bucket {
    pub fn full(pace: Pace) -> Bucket {
        Bucket { left: pace.burst, at: Instant::now() }
    }

    /// How long to wait for the next one, if there is none.
    pub fn take(&mut self, pace: Pace, now: Instant) -> Result<(), Duration> {
        self.fill(pace, now);
        if self.left < 1.0 {
            let wait = (1.0 - self.left) / pace.per_second.max(f64::MIN_POSITIVE);
            return Err(Duration::from_secs_f64(wait.min(3_600.0)));
        }
        self.left -= 1.0;
        Ok(())
    }

    /// As if that had not been taken.
    pub fn give_back(&mut self, pace: Pace) {
        self.left = (self.left + 1.0).min(pace.burst);
    }

    /// Whether it is as one that was never touched.
    pub fn is_full(&mut self, pace: Pace, now: Instant) -> bool {
        self.fill(pace, now);
        self.left >= pace.burst
    }

    fn fill(&mut self, pace: Pace, now: Instant) {
        let came = now.saturating_duration_since(self.at).as_secs_f64() * pace.per_second;
        self.left = (self.left + came).min(pace.burst);
        self.at = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_gives_its_burst_and_then_its_rate() {
        let pace = Pace { per_second: 10.0, burst: 3.0 };
        let (mut bucket, now) = (Bucket::full(pace), Instant::now());
        let mut given = |ms| {
            (0..10).filter(|_| bucket.take(pace, now + Duration::from_millis(ms)).is_ok()).count()
        };
        assert_eq!([given(1), given(1), given(110), given(10_000)], [3, 0, 1, 3]);
        assert!(bucket.take(pace, now).unwrap_err() <= Duration::from_millis(100));
        bucket.give_back(pace);
        assert!(bucket.take(pace, now).is_ok());
        assert!(bucket.is_full(pace, now + Duration::from_secs(60)));
    }

    #[test]
    fn a_rate_of_nothing_waits_an_hour() {
        let pace = Pace { per_second: 0.0, burst: 0.0 };
        let wait = Bucket::full(pace).take(pace, Instant::now());
        assert_eq!(wait, Err(Duration::from_secs(3_600)));
    }
}
