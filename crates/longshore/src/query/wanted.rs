//! A filter resolved against the time: sets that a statement can compare with, and what follows from
//! them about where to look.

use uuid::Uuid;

pub(crate) use super::spans::Spans;
use super::{Filter, Moment, Pattern, Range, Test};
use crate::job::State;
use crate::time::Timestamp;

/// What a job must be to pass.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub now: Timestamp,
    /// In one of these states.
    pub states: Vec<State>,
    pub ids: Only,
    pub nodes: Only,
    pub kind: Names,
    pub queue: Names,
    pub tag: Names,
    pub key: Names,
    pub priority: Spans,
    pub attempt: Spans,
    pub created: Spans,
    pub due: Spans,
    pub finished: Spans,
}

/// Which of many ids.
#[derive(Clone, Debug, Default)]
pub(crate) struct Only {
    /// One of these; any if `None`.
    pub these: Option<Vec<Uuid>>,
    /// None of these.
    pub not: Vec<Uuid>,
}

/// Which names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    /// One of these; any if `None`. Taken out of the terms that have no star.
    pub these: Option<Vec<String>>,
    /// Of each group one must fit.
    pub like: Vec<Vec<Pattern>>,
    /// None may fit.
    pub unlike: Vec<Pattern>,
}

impl Filter {
    /// What it wants if it is `now`.
    pub(crate) fn wanted(&self, now: Timestamp) -> Wanted {
        let mut wanted = Wanted {
            now,
            states: State::ALL.to_vec(),
            ids: Only::default(),
            nodes: Only::default(),
            kind: Names::default(),
            queue: Names::default(),
            tag: Names::default(),
            key: Names::default(),
            priority: Spans::all(),
            attempt: Spans::all(),
            created: Spans::all(),
            due: Spans::all(),
            finished: Spans::all(),
        };
        for term in self.terms() {
            let not = term.negated;
            match &term.test {
                Test::State(states) => wanted.states.retain(|state| states.contains(state) != not),
                Test::Id(ids) => wanted.ids.narrow(ids.iter().map(|id| id.as_uuid()), not),
                Test::Node(nodes) => wanted.nodes.narrow(nodes.iter().copied(), not),
                Test::Kind(names) => wanted.kind.narrow(names, not),
                Test::Queue(names) => wanted.queue.narrow(names, not),
                // A job has many tags, so "one of a" and "one of b" is more than "one of both".
                Test::Tag(names) => wanted.tag.narrow_many(names, not),
                Test::Key(names) => wanted.key.narrow(names, not),
                Test::Priority(ranges) => narrow_number(&mut wanted.priority, ranges, not),
                Test::Attempt(ranges) => narrow_number(&mut wanted.attempt, ranges, not),
                Test::Created(ranges) => narrow_time(&mut wanted.created, ranges, not, now),
                Test::Due(ranges) => narrow_time(&mut wanted.due, ranges, not, now),
                Test::Finished(ranges) => narrow_time(&mut wanted.finished, ranges, not, now),
            }
        }
        wanted
    }
}

fn narrow_number(spans: &mut Spans, ranges: &[Range<u32>], not: bool) {
    narrow(spans, ranges.iter().map(|range| range.bounds(|n| (i64::from(*n), i64::from(*n)))), not);
}

fn narrow_time(spans: &mut Spans, ranges: &[Range<Moment>], not: bool, now: Timestamp) {
    narrow(spans, ranges.iter().map(|range| range.bounds(|moment| moment.ends(now))), not);
}

fn narrow(spans: &mut Spans, bounds: impl Iterator<Item = (i64, i64)>, not: bool) {
    let these = Spans::any_of(bounds.collect());
    *spans = spans.intersect(&if not { these.complement() } else { these });
}

impl Only {
    fn narrow(&mut self, ids: impl Iterator<Item = Uuid>, not: bool) {
        let ids: Vec<Uuid> = ids.collect();
        match &mut self.these {
            _ if not => self.not.extend(ids),
            Some(these) => these.retain(|id| ids.contains(id)),
            None => self.these = Some(ids),
        }
    }
}

impl Names {
    fn narrow(&mut self, patterns: &[Pattern], not: bool) {
        let names = patterns.iter().map(|pattern| pattern.name().map(str::to_owned));
        match names.collect::<Option<Vec<String>>>() {
            Some(mut names) if !not => {
                names.retain(|name| !name.contains('\0'));
                match &mut self.these {
                    Some(these) => these.retain(|name| names.contains(name)),
                    None => self.these = Some(names),
                }
            }
            _ => self.narrow_many(patterns, not),
        }
    }

    fn narrow_many(&mut self, patterns: &[Pattern], not: bool) {
        let possible = patterns.iter().filter(|pattern| pattern.is_possible()).cloned();
        if not {
            self.unlike.extend(possible);
        } else {
            self.like.push(possible.collect());
        }
    }

    fn is_impossible(&self) -> bool {
        self.these.as_ref().is_some_and(Vec::is_empty) || self.like.iter().any(Vec::is_empty)
    }
}

#[cfg(feature = "postgres")]
const DAY: i64 = 86_400_000_000;

impl Wanted {
    /// No job can pass.
    pub fn is_impossible(&self) -> bool {
        let spans = [&self.priority, &self.attempt, &self.created, &self.due, &self.finished];
        let names = [&self.kind, &self.queue, &self.tag, &self.key];
        let only = [&self.ids, &self.nodes];
        self.states.is_empty()
            || spans.iter().any(|spans| spans.is_empty())
            || names.iter().any(|names| names.is_impossible())
            || only.iter().any(|only| only.these.as_ref().is_some_and(Vec::is_empty))
    }

    /// The states asked for of jobs that can still move. Of those only dead ones have an end.
    pub fn hot_states(&self) -> Vec<State> {
        let ended_only = !self.finished.has(i64::MAX);
        let fits = |state: &State| !is_cold(*state) && (!ended_only || *state == State::Dead);
        self.states.iter().copied().filter(fits).collect()
    }

    /// The states asked for of jobs in history.
    pub fn cold_states(&self) -> Vec<State> {
        self.states.iter().copied().filter(|state| is_cold(*state)).collect()
    }

    /// The days (UTC) in which a job of history must have ended: from the first, before the second.
    #[cfg(feature = "postgres")]
    pub fn ended_between(&self) -> (Option<Timestamp>, Option<Timestamp>) {
        let (from, to) = self.finished.hull();
        let inside = |micros: &i64| {
            (Timestamp::MIN.as_micros()..=Timestamp::MAX.as_micros()).contains(micros)
        };
        let from = Some(from).filter(inside).map(|from| from.div_euclid(DAY) * DAY);
        let to = Some(to).filter(inside).map(|to| (to.div_euclid(DAY) + 1) * DAY);
        (from.map(Timestamp::from_micros), to.map(Timestamp::from_micros))
    }
}

pub(crate) fn is_cold(state: State) -> bool {
    matches!(state, State::Succeeded | State::Cancelled)
}
