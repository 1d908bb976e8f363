//! Low-water marks: where the next look into each lane may start.
//!
//! A claim then walks neither over rows that are running nor over dead row versions that a long
//! transaction keeps alive. Only hints: whatever they hide, a look from the start finds.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::store::{Claimed, LANES, LaneMark, QueueAsk, START};

/// A commit may come this long after its rows' `run_at` and still be seen without a look from the
/// start.
const STRAGGLERS: Duration = Duration::from_secs(5);
/// The shortest pause between looks from the start; a costly one makes it longer, so that they take a hundredth of the
/// time at most.
const START_PAUSE: Duration = Duration::from_secs(1);
const START_PAUSE_FACTOR: u32 = 100;
/// So long there is none after one that failed twice: the way may be too long for a call.
const FAILED_PAUSE: Duration = Duration::from_secs(600);

/// The marks of one node.
pub(crate) struct Marks {
    lanes: HashMap<String, [LaneMark; LANES]>,
    /// Those that a look from the start is made without, until it has come to an end.
    aside: HashMap<String, [LaneMark; LANES]>,
    /// The last look from the start failed.
    failing: bool,
    start_due: Instant,
}

impl Marks {
    pub fn new() -> Marks {
        let (lanes, aside) = (HashMap::new(), HashMap::new());
        Marks { lanes, aside, failing: false, start_due: Instant::now() }
    }

    /// Where a look into this queue starts.
    pub fn of(&self, queue: &str) -> [LaneMark; LANES] {
        self.lanes.get(queue).copied().unwrap_or([START; LANES])
    }

    /// Puts them all aside: there may be rows below them.
    pub fn reset(&mut self) {
        self.aside = std::mem::take(&mut self.lanes);
    }

    /// Whether it is time to look for stragglers from the start.
    pub fn start_is_due(&self, now: Instant) -> bool {
        now >= self.start_due
    }

    /// A look from the start took this long.
    pub fn looked_from_start(&mut self, now: Instant, took: Duration) {
        self.aside.clear();
        self.failing = false;
        self.start_due = now + START_PAUSE.max(took * START_PAUSE_FACTOR);
    }

    /// A look from the start came to nothing, and the marks are as before. True: try it again at once. If that fails,
    /// too, it is not for an outage: then looks go on from the marks, or none would succeed any more.
    pub fn failed_from_start(&mut self, now: Instant) -> bool {
        self.lanes.extend(std::mem::take(&mut self.aside));
        self.start_due = now + FAILED_PAUSE;
        !std::mem::replace(&mut self.failing, true)
    }

    /// Learns from an answer. Not from one where rows were found but not got: those would be hidden.
    pub fn learn(&mut self, asks: &[QueueAsk], claimed: &Claimed) {
        if claimed.picked > claimed.jobs.len() {
            return;
        }
        let horizon = (claimed.now.minus(STRAGGLERS), uuid::Uuid::nil());
        for ask in asks {
            let got: Vec<_> = claimed.jobs.iter().filter(|job| job.queue == ask.queue).collect();
            let mut marks = ask.marks;
            // Lanes are walked in order until the limit is reached: those before were seen to their
            // ends, those after not at all.
            let reached = (got.len() >= ask.limit as usize)
                .then(|| got.last().map(|last| (usize::from(last.priority), last)))
                .flatten();
            for (lane, mark) in marks.iter_mut().enumerate() {
                match reached {
                    Some((last_lane, _)) if lane > last_lane => {}
                    Some((last_lane, last)) if lane == last_lane => {
                        *mark = (last.run_at, last.id.as_uuid());
                    }
                    _ => *mark = horizon,
                }
            }
            self.lanes.insert(ask.queue.clone(), marks);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::JobId;
    use crate::store::ClaimedJob;
    use crate::time::Timestamp;

    fn job(priority: u8, run_at: i64) -> ClaimedJob {
        ClaimedJob {
            id: JobId::new(),
            kind: "k".into(),
            queue: "q".into(),
            priority,
            run_at: Timestamp::from_micros(run_at),
            attempt: 1,
            max_attempts: 1,
            backoff: None,
            timeout_ms: None,
            meta: None,
            payload: "1".into(),
            payload_version: 1,
            redacted: Vec::new(),
            lease: 1,
        }
    }

    fn after(limit: u32, jobs: Vec<ClaimedJob>, picked: usize) -> [LaneMark; LANES] {
        let mut marks = Marks::new();
        let asks = [QueueAsk { queue: "q".into(), limit, marks: marks.of("q") }];
        let now = Timestamp::from_micros(60_000_000);
        marks.learn(
            &asks,
            &Claimed { jobs, now, live: true, picked, pauses: Default::default(), next_due: None },
        );
        marks.of("q")
    }

    #[test]
    fn a_short_look_moves_every_lane_to_five_seconds_ago() {
        let marks = after(10, vec![job(5, 1)], 1);
        assert!(marks.iter().all(|mark| mark.0 == Timestamp::from_micros(55_000_000)));
    }

    #[test]
    fn a_full_look_moves_its_last_lane_to_the_last_job_and_leaves_those_after() {
        let jobs = vec![job(2, 7), job(5, 8)];
        let last = jobs[1].id.as_uuid();
        let marks = after(2, jobs, 2);
        assert_eq!(marks[4].0, Timestamp::from_micros(55_000_000));
        assert_eq!(marks[5], (Timestamp::from_micros(8), last));
        assert_eq!(marks[6], START);
    }

    #[test]
    fn nothing_is_learnt_where_rows_were_found_but_not_got() {
        assert_eq!(after(2, vec![job(5, 8)], 2), [START; LANES]);
    }

    #[test]
    fn a_costly_look_from_the_start_is_repeated_seldom() {
        let mut marks = Marks::new();
        let now = Instant::now();
        assert!(marks.start_is_due(now));
        marks.looked_from_start(now, Duration::from_millis(1));
        assert!(!marks.start_is_due(now) && marks.start_is_due(now + START_PAUSE));
        marks.looked_from_start(now, Duration::from_millis(500));
        assert!(!marks.start_is_due(now + Duration::from_secs(49)));
    }

    #[test]
    fn a_look_from_the_start_that_failed_forgets_nothing() {
        let mut marks = Marks::new();
        let at = [(Timestamp::from_micros(8), uuid::Uuid::nil()); LANES];
        marks.lanes.insert("q".into(), at);
        let now = Instant::now();
        for again in [true, false, false] {
            marks.reset();
            assert_eq!(marks.of("q"), [START; LANES]);
            assert_eq!(marks.failed_from_start(now), again);
            assert_eq!(marks.of("q"), at);
            assert!(!marks.start_is_due(now + Duration::from_secs(599)));
            assert!(marks.start_is_due(now + FAILED_PAUSE));
        }
        marks.looked_from_start(now, Duration::ZERO);
        assert!(marks.failed_from_start(now), "what worked meanwhile counts");
    }
}
