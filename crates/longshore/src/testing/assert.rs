//! Whether a job was enqueued, and if not, what was.

use std::fmt::Write as _;
use std::future::IntoFuture;
use std::panic::Location;
use std::time::Duration;

use super::conditions::{Conditions, Fit};
use super::look::{self, WAITING, is_kind};
use super::table::table;
use super::{Checked, Kit};
use crate::job::name::shown;
use crate::job::{Job, JobRow, State};
use crate::time::Timestamp;

/// Fails unless a job waits that is as its methods say. It looks when it is awaited.
#[must_use = "an assertion checks nothing until it is awaited"]
pub struct AssertEnqueued<'a, J> {
    ask: Ask<'a, J>,
    times: Option<usize>,
}

/// Fails if a job waits that is as its methods say. It looks when it is awaited.
#[must_use = "an assertion checks nothing until it is awaited"]
pub struct RefuteEnqueued<'a, J> {
    ask: Ask<'a, J>,
}

/// What is asked, of which jobs.
struct Ask<'a, J> {
    kit: Kit,
    conditions: Conditions<'a, J>,
    states: &'static [State],
}

/// What both can be told.
macro_rules! conditions {
    ($this:ident) => {
        impl<'a, J: Job> $this<'a, J> {
            /// Whose payload passes. Said several times, all must pass.
            #[track_caller]
            pub fn with(mut self, passes: impl Fn(&J) -> bool + Send + 'a) -> Self {
                self.ask.conditions.with(Location::caller(), passes);
                self
            }

            /// In this queue.
            pub fn queue(mut self, queue: impl Into<String>) -> Self {
                self.ask.conditions.queue(queue.into());
                self
            }

            /// With this priority.
            pub fn priority(mut self, priority: u8) -> Self {
                self.ask.conditions.priority(priority);
                self
            }

            /// With this tag, among others perhaps.
            pub fn tag(mut self, tag: impl Into<String>) -> Self {
                self.ask.conditions.tag(tag.into());
                self
            }

            /// Due by so long from now, by the test's clock; zero: now.
            pub fn within(mut self, span: Duration) -> Self {
                self.ask.conditions.within(span);
                self
            }

            /// Not only jobs that wait: those that run or have ended too, as far as they are kept.
            pub fn ever(mut self) -> Self {
                self.ask.states = &State::ALL;
                self
            }
        }
    };
}

conditions!(AssertEnqueued);
conditions!(RefuteEnqueued);

impl<J: Job> AssertEnqueued<'_, J> {
    pub(super) fn new(kit: Kit) -> Self {
        AssertEnqueued { ask: Ask::new(kit), times: None }
    }

    /// Exactly so many. Default: one or more.
    pub fn times(mut self, times: usize) -> Self {
        self.times = Some(times);
        self
    }

    /// Exactly one.
    pub fn once(self) -> Self {
        self.times(1)
    }
}

impl<J: Job> RefuteEnqueued<'_, J> {
    pub(super) fn new(kit: Kit) -> Self {
        RefuteEnqueued { ask: Ask::new(kit) }
    }
}

impl<'a, J: Job> IntoFuture for AssertEnqueued<'a, J> {
    type Output = ();
    type IntoFuture = Checked<'a, ()>;

    fn into_future(self) -> Checked<'a, ()> {
        Checked::new(async move {
            let kit = self.ask.kit.clone();
            let jobs = look::jobs(&kit, &State::ALL).await?;
            let found = self.ask.judge(jobs);
            let fitting = found.fitting();
            let holds = self.times.map_or(fitting > 0, |times| fitting == times);
            if holds { Ok(()) } else { Err(self.ask.missing(&found, self.times)) }
        })
    }
}

impl<'a, J: Job> IntoFuture for RefuteEnqueued<'a, J> {
    type Output = ();
    type IntoFuture = Checked<'a, ()>;

    fn into_future(self) -> Checked<'a, ()> {
        Checked::new(async move {
            let kit = self.ask.kit.clone();
            let jobs = look::jobs(&kit, &State::ALL).await?;
            let found = self.ask.judge(jobs);
            if found.fitting() == 0 { Ok(()) } else { Err(self.ask.unwanted(&found)) }
        })
    }
}

/// The jobs that were looked at, each with how it fits.
struct Found {
    jobs: Vec<JobRow>,
    fits: Vec<Fit>,
    now: Timestamp,
}

impl Found {
    fn fitting(&self) -> usize {
        self.fits.iter().filter(|fit| fit.is_whole()).count()
    }

    /// Of those that do not fit, the one that misses least; of several the oldest.
    fn nearest(&self) -> Option<usize> {
        let misfits = (0..self.fits.len()).rev().filter(|n| !self.fits[*n].is_whole());
        misfits.max_by_key(|n| self.fits[*n].nearness())
    }
}

impl<J: Job> Ask<'_, J> {
    fn new(kit: Kit) -> Self {
        Ask { kit, conditions: Conditions::new(), states: &WAITING }
    }

    fn judge(&self, mut jobs: Vec<JobRow>) -> Found {
        let now = self.kit.clock.now();
        // Those in other states are kept for a hint, and counted nowhere.
        jobs.sort_by_key(|job| !self.states.contains(&job.state));
        let counted = jobs.iter().take_while(|job| self.states.contains(&job.state));
        let fits = counted.map(|job| self.conditions.fit(job, now)).collect();
        Found { jobs, fits, now }
    }

    fn asks_for_all(&self) -> bool {
        self.states.len() == State::ALL.len()
    }

    fn verb(&self) -> &'static str {
        if self.asks_for_all() { "are there" } else { "wait" }
    }

    fn verb_of_one(&self) -> &'static str {
        if self.asks_for_all() { "is there" } else { "waits" }
    }

    fn so_many(&self, count: usize) -> String {
        match count {
            0 => format!("none {}", self.verb_of_one()),
            1 => format!("1 {}", self.verb_of_one()),
            _ => format!("{count} {}", self.verb()),
        }
    }

    fn missing(&self, found: &Found, times: Option<usize>) -> String {
        let fitting = found.fitting();
        let wanted = match times {
            None => "such a job".to_owned(),
            Some(1) => "1 such job".to_owned(),
            Some(times) => format!("{times} such jobs"),
        };
        let mut text = format!("expected {wanted}, but {}\n", self.so_many(fitting));
        let _ = writeln!(text, "  wanted: {}", self.conditions.words());
        // Too many is no matter of a nearest one.
        let nearest = found.nearest().filter(|_| times.is_none_or(|times| fitting < times));
        self.show(&mut text, found, nearest);
        if let Some(nearest) = nearest {
            let _ = writeln!(text, "\n  the nearest, marked ~:");
            for one in &found.fits[nearest].0 {
                let _ = match &one.instead {
                    Ok(()) => writeln!(text, "    ✓ {}", one.wanted),
                    Err(instead) => writeln!(text, "    ✗ {}: {instead}", one.wanted),
                };
            }
        }
        self.hint(&mut text, found);
        text
    }

    fn unwanted(&self, found: &Found) -> String {
        let fitting = found.fitting();
        let mut text = format!("expected no such job, but {}\n", self.so_many(fitting));
        let _ = writeln!(text, "  unwanted: {}", self.conditions.words());
        self.show(&mut text, found, None);
        text
    }

    fn show(&self, text: &mut String, found: &Found, nearest: Option<usize>) {
        let shown = &found.jobs[..found.fits.len()];
        if shown.is_empty() {
            let _ = writeln!(text, "  nothing {} at all", self.verb_of_one());
            return;
        }
        let _ = writeln!(text, "\n  all that {}:", self.verb());
        *text += &table(shown, found.now, |n| match () {
            () if found.fits[n].is_whole() => "✓",
            () if nearest == Some(n) => "~",
            () => "",
        });
    }

    /// Jobs of the kind that were not looked at: perhaps they ran before.
    fn hint(&self, text: &mut String, found: &Found) {
        let others = found.jobs[found.fits.len()..].iter().filter(|job| is_kind::<J>(job));
        let states: Vec<State> = others.map(|job| job.state).collect();
        let counts = State::ALL.into_iter().filter_map(|state| {
            let count = states.iter().filter(|other| **other == state).count();
            (count > 0).then(|| format!("{count} {state}"))
        });
        let counts: Vec<String> = counts.collect();
        if !counts.is_empty() {
            let _ = writeln!(
                text,
                "\n  of kind `{}` are also there: {}; `.ever()` looks at those too",
                shown(J::KIND),
                counts.join(", ")
            );
        }
    }
}
