//! The benchmark's jobs, each with its number in it, and how often each ran.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use super::KIND;
use crate::job::NewJob;
use crate::worker::Run;

/// Numbers of one part of [`Seen`], which is made when the first of them comes.
const PART: usize = 1 << 16;
/// A number has eight digits.
const MOST: usize = 100_000_000;

type Part = OnceLock<Box<[AtomicU8]>>;

/// Counts how often each job ran, by the number in its payload.
pub(super) struct Seen {
    parts: Box<[Part]>,
    started: AtomicU64,
    quarter: u64,
    /// When the first, and each quarter, started; microseconds after `from`.
    marks: [AtomicU64; 5],
    pub from: Instant,
}

impl Seen {
    /// For so many jobs; with more, the marks say nothing but when the first started.
    pub fn new(jobs: u32) -> Arc<Seen> {
        Arc::new(Seen {
            parts: (0..MOST.div_ceil(PART)).map(|_| Part::new()).collect(),
            started: AtomicU64::new(0),
            quarter: u64::from(jobs / 4).max(1),
            marks: Default::default(),
            from: Instant::now(),
        })
    }

    pub fn ran(&self, run: &Run) {
        self.saw(number_in(run.payload()), 1);
        let before = self.started.fetch_add(1, Ordering::Relaxed);
        if before.is_multiple_of(self.quarter)
            && let Some(mark) = self.marks.get((before / self.quarter) as usize)
        {
            // Zero is for none.
            mark.store(self.now_us().max(1), Ordering::Relaxed);
        }
    }

    /// A job ran so often.
    pub fn saw(&self, number: usize, times: u8) {
        let Some(part) = self.parts.get(number / PART) else { return };
        let part = part.get_or_init(|| (0..PART).map(|_| AtomicU8::new(0)).collect());
        part[number % PART].fetch_add(times, Ordering::Relaxed);
    }

    pub fn times(&self, number: usize) -> u8 {
        let part = self.parts.get(number / PART).and_then(Part::get);
        part.map_or(0, |part| part[number % PART].load(Ordering::Relaxed))
    }

    /// Of the first `jobs`, how many never ran, and how many ran twice.
    pub fn missed(&self, jobs: u32) -> (u64, u64) {
        let (mut lost, mut twice) = (0, 0);
        for number in 0..jobs as usize {
            match self.times(number) {
                0 => lost += 1,
                1 => {}
                _ => twice += 1,
            }
        }
        (lost, twice)
    }

    pub fn now_us(&self) -> u64 {
        self.from.elapsed().as_micros() as u64
    }

    pub fn mark_s(&self, at: usize) -> f64 {
        self.marks[at].load(Ordering::Relaxed) as f64 / 1e6
    }

    /// Whether any started.
    pub fn any(&self) -> bool {
        self.marks[0].load(Ordering::Relaxed) > 0
    }
}

/// A job of about 100 bytes of payload, with its number in it.
pub(super) fn job(n: u32) -> NewJob {
    NewJob::new(KIND).payload(format!("{{\"n\":\"{n:08}\",\"text\":\"{:x<74}\"}}", ""))
}

/// The same, with a time in it, in microseconds.
pub(super) fn stamped(n: u32, at_us: u64) -> NewJob {
    NewJob::new(KIND)
        .payload(format!("{{\"n\":\"{n:08}\",\"at\":\"{at_us:016}\",\"text\":\"{:x<50}\"}}", ""))
}

pub(super) fn number_in(payload: &str) -> usize {
    digits(payload, 6..14).map_or(usize::MAX, |number| number as usize)
}

/// When the job was stamped.
pub(super) fn stamp_in(payload: &str) -> Option<u64> {
    digits(payload, 22..38)
}

fn digits(payload: &str, at: std::ops::Range<usize>) -> Option<u64> {
    payload.get(at)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_and_a_time_are_found_again() {
        assert_eq!(number_in(&job(12_345).payload), 12_345);
        assert_eq!(stamp_in(&job(12_345).payload), None);
        let stamped = stamped(7, 1_234_567_890).payload;
        assert_eq!((number_in(&stamped), stamp_in(&stamped)), (7, Some(1_234_567_890)));
    }

    #[test]
    fn what_never_ran_and_what_ran_twice_is_counted() {
        let seen = Seen::new(4);
        seen.saw(0, 1);
        seen.saw(70_000, 1);
        seen.saw(70_000, 1);
        seen.saw(usize::MAX, 1);
        assert_eq!(seen.missed(70_001), (69_999, 1));
    }
}
