//! Which jobs are meant: a filter, as a value and as text (`state:dead kind:email.* created:>-2h`).
//!
//! One language for the command line, the HTTP API and the dashboard. Text becomes a [`Filter`]
//! (`parse`), which prints back in one canonical form and is resolved against the store's time
//! (`wanted`); each store turns that into parameters of its statements.

mod error;
mod moment;
mod parse;
mod pattern;
mod range;
mod spans;
mod term;
pub(crate) mod wanted;

use std::fmt;
use std::str::FromStr;

pub use error::{QueryError, QueryFault};
pub use moment::Moment;
pub use pattern::Pattern;
pub use range::Range;
pub use term::{Field, Term, Test};

use crate::hash::fnv1a;
use crate::job::State;

/// The longest query text, in bytes.
pub const MAX_QUERY_BYTES: usize = 4_096;
/// The most terms of a query text.
pub const MAX_TERMS: usize = 32;
/// The most values of a query text, over all its terms.
pub const MAX_VALUES: usize = 200;
/// The most `*` of one value: each makes the search for a match longer.
pub const MAX_STARS: usize = 4;

/// Which jobs are meant: those that pass every term. Without a term, all jobs.
///
/// Terms are kept sorted and each once, so two filters that mean the same in other words are mostly
/// equal, and print alike.
///
/// ```
/// use longshore::{State, query::{Filter, Moment, Range, Test}};
/// let filter = Filter::all()
///     .state(State::Dead)
///     .kind("send_receipt")
///     .and(Test::Created(vec![Range::Above(Moment::ago(std::time::Duration::from_secs(7_200)))]));
/// assert_eq!(filter.to_string(), "state:dead kind:send_receipt created:>-2h");
/// assert_eq!("created:>-2h  kind:send_receipt state:dead".parse(), Ok(filter));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Filter {
    terms: Vec<Term>,
}

impl Filter {
    /// Every job.
    pub fn all() -> Filter {
        Filter::default()
    }

    /// Reads a query. The same as `text.parse()`.
    pub fn parse(text: &str) -> Result<Filter, QueryError> {
        parse::filter(text)
    }

    /// Only jobs that also pass `test`.
    pub fn and(self, test: Test) -> Filter {
        self.with(Term { negated: false, test })
    }

    /// Only jobs that do not pass `test`.
    pub fn and_not(self, test: Test) -> Filter {
        self.with(Term { negated: true, test })
    }

    /// Only jobs that also pass `term`.
    pub fn with(mut self, mut term: Term) -> Filter {
        term.test.sort();
        if let Err(place) = self.terms.binary_search(&term) {
            self.terms.insert(place, term);
        }
        self
    }

    /// Only jobs that pass both.
    pub fn and_all(self, other: Filter) -> Filter {
        other.terms.into_iter().fold(self, Filter::with)
    }

    /// Only jobs in this state.
    pub fn state(self, state: State) -> Filter {
        self.and(Test::State(vec![state]))
    }

    /// Only jobs of exactly this kind.
    pub fn kind(self, kind: &str) -> Filter {
        self.and(Test::Kind(vec![Pattern::exact(kind)]))
    }

    /// Only jobs of exactly this queue.
    pub fn queue(self, queue: &str) -> Filter {
        self.and(Test::Queue(vec![Pattern::exact(queue)]))
    }

    /// Only jobs with exactly this tag.
    pub fn tag(self, tag: &str) -> Filter {
        self.and(Test::Tag(vec![Pattern::exact(tag)]))
    }

    /// Its terms, sorted.
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// Tells filters apart that differ in meaning, in few bytes: FNV-1a over the canonical text.
    pub(crate) fn hash(&self) -> u64 {
        fnv1a(self.to_string().bytes())
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, term) in self.terms.iter().enumerate() {
            write!(f, "{}{term}", if n == 0 { "" } else { " " })?;
        }
        Ok(())
    }
}

impl FromStr for Filter {
    type Err = QueryError;

    fn from_str(text: &str) -> Result<Filter, QueryError> {
        parse::filter(text)
    }
}

#[cfg(test)]
mod tests;
