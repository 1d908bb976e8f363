//! What is wrong with a query, and where.

use std::fmt;
use std::ops::Range;

use super::{Field, MAX_QUERY_BYTES, MAX_STARS, MAX_TERMS, MAX_VALUES};

/// Characters of the query shown before and after the fault.
const AROUND: usize = 60;

/// A query that cannot be read. Its text shows the query with the fault underlined, on two lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryError {
    pub(super) fault: QueryFault,
    pub(super) field: Option<Field>,
    pub(super) at: Range<usize>,
    pub(super) query: String,
}

/// What is wrong with a query.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QueryFault {
    /// Longer than it may be.
    #[error("a query has at most {MAX_QUERY_BYTES} bytes")]
    TooLong,
    /// More terms than it may have.
    #[error("a query has at most {MAX_TERMS} terms")]
    TooManyTerms,
    /// More values than it may have.
    #[error("a query has at most {MAX_VALUES} values")]
    TooManyValues,
    /// More stars than a value may have.
    #[error("a value has at most {MAX_STARS} stars; quote one that is meant as it stands")]
    TooManyStars,
    /// A word without a colon.
    #[error("a term is FIELD:VALUE, such as {hint}")]
    NoField {
        /// A term that may have been meant.
        hint: String,
    },
    /// There is no such field.
    #[error("no field is called `{given}`; {}", suggestion(*meant, &Field::ALL.map(Field::as_str)))]
    UnknownField {
        /// What stands there.
        given: String,
        /// A field that may have been meant.
        meant: Option<&'static str>,
    },
    /// There is no such state.
    #[error("no state is called `{given}`; {}", suggestion(*meant, &crate::job::State::ALL.map(crate::job::State::as_str)))]
    UnknownState {
        /// What stands there.
        given: String,
        /// A state that may have been meant.
        meant: Option<&'static str>,
    },
    /// Nothing stands where a value belongs.
    #[error("a value is missing here")]
    NoValue,
    /// A quote that nothing ends.
    #[error("this quote is never closed")]
    OpenQuote,
    /// A character that cannot be seen.
    #[error("the character U+{:04X} cannot stand in a query", u32::from(*.0))]
    Character(char),
    /// No whole number.
    #[error("`{0}` is no number; write 3, >3, >=3, <3, <=3 or 1..5")]
    NotANumber(String),
    /// No point in time.
    #[error(
        "`{0}` is no time; write -2h, +1d12h, now, 2026-03-01 or 2026-03-01T12:00:00Z, with >, >=, <, <= or A..B"
    )]
    NotATime(String),
    /// A relative time names one microsecond.
    #[error("`{0}` alone is one microsecond; write >{0} for later than that, <{0} for earlier")]
    TimeAlone(String),
    /// A range whose ends are the wrong way round.
    #[error("the range ends before it begins")]
    Backwards,
    /// No id.
    #[error("`{0}` is no id; an id is a UUID such as 019364bb-3f3c-7c6e-8f6a-3d2f1b7c9e10")]
    NotAnId(String),
}

fn suggestion(meant: Option<&str>, all: &[&str]) -> String {
    match meant {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("there are {}", all.join(", ")),
    }
}

/// The one of `all` that was most likely meant.
pub(super) fn nearest(given: &str, all: &[&'static str]) -> Option<&'static str> {
    let given = given.to_lowercase();
    let near = |word: &&'static str| strsim::normalized_damerau_levenshtein(&given, word);
    let best = all.iter().copied().max_by(|a, b| near(a).total_cmp(&near(b)))?;
    let begins = given.len() >= 2 && best.starts_with(&given);
    (near(&best) >= 0.5 || begins).then_some(best)
}

impl QueryError {
    /// What is wrong.
    pub fn fault(&self) -> &QueryFault {
        &self.fault
    }

    /// The field of the term that is wrong, as far as it was understood.
    pub fn field(&self) -> Option<Field> {
        self.field
    }

    /// Where, in bytes of the query.
    pub fn at(&self) -> Range<usize> {
        self.at.clone()
    }

    /// What is wrong, in one line without the query.
    pub fn sentence(&self) -> String {
        self.fault.to_string()
    }
}

impl std::error::Error for QueryError {}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start = self.query.floor_char_boundary(self.at.start);
        let end = self.query.floor_char_boundary(self.at.end.max(start));
        let clean = |text: &str| -> Vec<char> {
            text.chars()
                .map(|c| if c.is_control() || c.is_whitespace() { ' ' } else { c })
                .collect()
        };
        let (before, wrong, after) = (
            clean(&self.query[..start]),
            clean(&self.query[start..end]),
            clean(&self.query[end..]),
        );
        let cut = before.len().saturating_sub(AROUND);
        let mut line: String = if cut > 0 { "…".into() } else { String::new() };
        line.extend(&before[cut..]);
        let indent = line.chars().count();
        line.extend(wrong.iter().take(AROUND));
        line.extend(after.iter().take(AROUND.saturating_sub(wrong.len())));
        if wrong.len() > AROUND || after.len() > AROUND.saturating_sub(wrong.len()) {
            line.push('…');
        }
        let marks = "^".repeat(wrong.len().clamp(1, AROUND));
        write!(f, "  {}\n  {}{marks} {}", line.trim_end(), " ".repeat(indent), self.fault)
    }
}
