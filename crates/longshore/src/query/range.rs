//! Numbers or times between two ends.

use std::fmt;

/// The values that a comparison lets through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Range<T> {
    /// `3`: this one.
    Is(T),
    /// `>3`
    Above(T),
    /// `>=3`
    From(T),
    /// `<3`
    Below(T),
    /// `<=3`
    UpTo(T),
    /// `1..5`: both ends belong to it.
    Between(T, T),
}

impl<T> Range<T> {
    /// The least and the greatest value, where one end of the range covers what `ends` says. The first
    /// may be above the second: then nothing is let through.
    pub(super) fn bounds(&self, ends: impl Fn(&T) -> (i64, i64)) -> (i64, i64) {
        // The greatest value stands for "absent", which no comparison lets through.
        const LAST: i64 = i64::MAX - 1;
        match self {
            Range::Is(value) => ends(value),
            Range::Above(value) => (ends(value).1.saturating_add(1), LAST),
            Range::From(value) => (ends(value).0, LAST),
            Range::Below(value) => (i64::MIN, ends(value).0.saturating_sub(1)),
            Range::UpTo(value) => (i64::MIN, ends(value).1),
            Range::Between(from, to) => (ends(from).0, ends(to).1),
        }
    }
}

impl<T: fmt::Display> fmt::Display for Range<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Range::Is(value) => write!(f, "{value}"),
            Range::Above(value) => write!(f, ">{value}"),
            Range::From(value) => write!(f, ">={value}"),
            Range::Below(value) => write!(f, "<{value}"),
            Range::UpTo(value) => write!(f, "<={value}"),
            Range::Between(from, to) => write!(f, "{from}..{to}"),
        }
    }
}
