//! How long a failed job waits: attempt in, delay out. Pure; the chance is handed in.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// When a failed attempt is repeated. Stored with the job, so any node can apply it without
/// knowing the kind's code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Uniform between `base_ms` and `base_ms * attempt^exponent`, never above `max_ms`: grows slower
    /// than `Exponential`.
    Polynomial {
        /// The shortest wait, in milliseconds.
        base_ms: u64,
        /// The power of the attempt's number, 1 to 20. Default 4.
        #[serde(default = "default_exponent")]
        exponent: u32,
        /// The longest wait, in milliseconds.
        max_ms: u64,
    },
    /// One wait for each attempt, just as it says; the last one repeats.
    List {
        /// The waits, in milliseconds; 1 to 100 of them.
        delays_ms: Vec<u64>,
    },
}

fn default_exponent() -> u32 {
    4
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
        let spread = |base_ms: u64, power: f64, max_ms: u64| {
            let highest = ((base_ms as f64) * power).min(max_ms as f64);
            let lowest = (base_ms as f64).min(highest);
            (lowest + chance() * (highest - lowest)) as u64
        };
        let wait_ms = match self {
            Backoff::Fixed { delay_ms } => *delay_ms,
            Backoff::Exponential { base_ms, factor, max_ms } => {
                let power = f64::from(*factor).powi(attempt.min(LARGEST_EXPONENT) as i32);
                spread(*base_ms, power, *max_ms)
            }
            Backoff::Polynomial { base_ms, exponent, max_ms } => {
                let power = f64::from(attempt).powi((*exponent).min(LARGEST_EXPONENT) as i32);
                spread(*base_ms, power, *max_ms)
            }
            Backoff::List { delays_ms } => {
                let nth = (attempt.max(1) - 1) as usize;
                delays_ms.get(nth).or(delays_ms.last()).copied().unwrap_or_default()
            }
        };
        Duration::from_millis(wait_ms).max(SHORTEST)
    }

    /// What the store keeps.
    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).expect("an enum of numbers")
    }

    /// What the store has kept. A policy that this program does not know, of a newer one perhaps, is
    /// no reason to leave a job lying: then the default holds.
    pub(crate) fn from_json(text: &str) -> Option<Backoff> {
        serde_json::from_str(text).ok()
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
    fn a_polynomial_grows_with_the_attempt_up_to_its_cap() {
        let backoff = Backoff::Polynomial { base_ms: 1_000, exponent: 2, max_ms: 60_000 };
        for (attempt, highest) in
            [(1, 1_000), (2, 4_000), (5, 25_000), (8, 60_000), (u32::MAX, 60_000)]
        {
            assert_eq!(backoff.delay(attempt, || 0.0), Duration::from_secs(1), "{attempt}");
            assert_eq!(backoff.delay(attempt, || 1.0), Duration::from_millis(highest), "{attempt}");
        }
        let text = r#"{"polynomial":{"base_ms":1,"max_ms":100}}"#;
        let Some(Backoff::Polynomial { exponent, .. }) = Backoff::from_json(text) else {
            panic!("{text}");
        };
        assert_eq!(exponent, 4);
    }

    #[test]
    fn a_list_says_each_wait_and_its_last_repeats() {
        let backoff = Backoff::List { delays_ms: vec![1_000, 10_000, 60_000] };
        let waits: Vec<u128> =
            (0..6).map(|attempt| backoff.delay(attempt, || 0.5).as_millis()).collect();
        assert_eq!(waits, [1_000, 1_000, 10_000, 60_000, 60_000, 60_000]);
        assert_eq!(Backoff::List { delays_ms: vec![] }.delay(3, || 0.5), SHORTEST);
    }

    #[test]
    fn a_policy_of_a_newer_program_is_read_as_none() {
        for unknown in
            [r#"{"moon_phase":{"base_ms":5}}"#, r#"{"fixed":{"delay_ms":1,"more":2}}"#, "7"]
        {
            assert_eq!(Backoff::from_json(unknown), None, "{unknown}");
        }
        for known in [Backoff::default(), Backoff::List { delays_ms: vec![1, 2] }] {
            assert_eq!(Backoff::from_json(&known.to_json()), Some(known));
        }
    }

    #[test]
    fn extreme_numbers_do_not_overflow() {
        let steep = Backoff::Polynomial { base_ms: u64::MAX, exponent: u32::MAX, max_ms: u64::MAX };
        assert!(steep.delay(u32::MAX, || 0.999) >= SHORTEST);
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
