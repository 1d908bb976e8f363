//! Numbers that many threads add to: one atomic addition each, and no lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds of the buckets, in microseconds; above the last is one more.
pub(super) const BOUNDS: [u64; 18] = [
    5_000,
    10_000,
    25_000,
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    30_000_000,
    60_000_000,
    120_000_000,
    300_000_000,
    600_000_000,
    1_800_000_000,
    3_600_000_000,
];

/// Something counted.
#[derive(Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// How many took how long.
#[derive(Default)]
pub(super) struct Histogram {
    /// Each beside its bound, not cumulative: one addition for each observation.
    buckets: [Counter; BOUNDS.len() + 1],
    micros: Counter,
}

/// A histogram at one moment.
pub(super) struct Snapshot {
    /// Cumulative; the last is all.
    pub buckets: [u64; BOUNDS.len() + 1],
    pub seconds: f64,
}

impl Histogram {
    pub fn observe(&self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.buckets[BOUNDS.partition_point(|bound| *bound < micros)].add(1);
        self.micros.add(micros);
    }

    /// Its count is that of its last bucket, so the two never differ.
    pub fn snapshot(&self) -> Snapshot {
        let mut sum = 0;
        let buckets = std::array::from_fn(|n| {
            sum += self.buckets[n].get();
            sum
        });
        Snapshot { buckets, seconds: self.micros.get() as f64 / 1e6 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_cumulative_and_a_bound_belongs_to_its_own() {
        let histogram = Histogram::default();
        for ms in [0, 5, 6, 1_000, 4_000_000] {
            histogram.observe(Duration::from_millis(ms));
        }
        let Snapshot { buckets, seconds } = histogram.snapshot();
        assert_eq!(buckets[..2], [2, 3], "5 ms is within the first, 6 ms within the second");
        assert_eq!(buckets[6..8], [3, 4], "a second is within the bucket of a second");
        assert_eq!(buckets[17..], [4, 5], "what is longer than an hour is within the last");
        assert_eq!(seconds, 4_001.011);
        assert!(buckets.is_sorted());
    }
}
