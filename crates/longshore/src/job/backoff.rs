//! How long a failed job waits: attempt in, delay out. Pure; the chance is handed in.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// When a failed attempt is repeated. Stored with the job, so any node can apply it without
/// knowing the kind's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Backoff {
    /// Uniform between `base_ms` and `base_ms * factor^attempt`, never above `max_ms`: the spread
    /// keeps jobs that failed together from coming back together.
    Exponential {
        /// The shortest wait, in milliseconds.
        base_ms: u64,
        /// What the upper end is multiplied with at each attempt.
        factor: u32,
        /// The longest wait, in milliseconds.
        max_ms: u64,
    },
    /// The same wait each time.
    Fixed {
        /// The wait, in milliseconds.
        delay_ms: u64,
    },
}

impl Default for Backoff {
    /// Uniform in [1 s, min(1 h, 1 s · 3^attempt)].
    fn default() -> Self {
        Backoff::Exponential { base_ms: 1_000, factor: 3, max_ms: 3_600_000 }
    }
}

/// No wait is shorter: a failed job never comes back in the same instant.
const SHORTEST: Duration = Duration::from_millis(1);
/// A power above this is far beyond any cap; so the power itself cannot overflow.
const LARGEST_EXPONENT: u32 = 40;

impl Backoff {
    /// A fixed wait; under a millisecond counts as one.
    pub fn fixed(delay: Duration) -> Backoff {
        Backoff::Fixed { delay_ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX) }
    }

    /// The wait after attempt number `attempt` failed. `chance` picks a number in [0, 1).
    pub fn delay(&self, attempt: u32, chance: impl FnOnce() -> f64) -> Duration {
        let wait_ms = match *self {
            Backoff::Fixed { delay_ms } => delay_ms,
            Backoff::Exponential { base_ms, factor, max_ms } => {
                let power = f64::from(factor).powi(attempt.min(LARGEST_EXPONENT) as i32);
                let highest = ((base_ms as f64) * power).min(max_ms as f64);
                let lowest = (base_ms as f64).min(highest);
                (lowest + chance() * (highest - lowest)) as u64
            }
        };
        Duration::from_millis(wait_ms).max(SHORTEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_lies_between_a_second_and_its_cap_at_any_attempt() {
        let backoff = Backoff::default();
        for (attempt, highest) in [
            (1, 3_000),
            (2, 9_000),
            (3, 27_000),
            (7, 2_187_000),
            (8, 3_600_000),
            (50, 3_600_000),
            (1_000, 3_600_000),
            (2_000_000_000, 3_600_000),
            (u32::MAX, 3_600_000),
        ] {
            assert_eq!(backoff.delay(attempt, || 0.0), Duration::from_secs(1), "{attempt}");
            let top = backoff.delay(attempt, || 1.0);
            assert_eq!(top, Duration::from_millis(highest), "{attempt}");
        }
    }

    #[test]
    fn a_fixed_wait_is_fixed_and_never_nothing() {
        assert_eq!(Backoff::fixed(Duration::from_secs(5)).delay(9, || 0.5), Duration::from_secs(5));
        assert_eq!(Backoff::fixed(Duration::ZERO).delay(1, || 0.5), SHORTEST);
        assert_eq!(Backoff::fixed(Duration::MAX).delay(1, || 0.5), Duration::from_millis(u64::MAX));
    }

    #[test]
    fn extreme_numbers_do_not_overflow() {
        let wild = Backoff::Exponential { base_ms: u64::MAX, factor: u32::MAX, max_ms: u64::MAX };
        assert!(wild.delay(u32::MAX, || 0.999) >= SHORTEST);
        let none = Backoff::Exponential { base_ms: 0, factor: 0, max_ms: 0 };
        assert_eq!(none.delay(3, || 0.9), SHORTEST);
    }

    #[test]
    fn it_reads_back_from_its_row() {
        for backoff in [Backoff::default(), Backoff::fixed(Duration::from_secs(3))] {
            let text = serde_json::to_string(&backoff).unwrap();
            assert_eq!(serde_json::from_str::<Backoff>(&text).unwrap(), backoff);
        }
    }
}
