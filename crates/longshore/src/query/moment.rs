//! Points in time as a query names them.

use std::fmt;
use std::time::Duration;

use crate::time::Timestamp;

const DAY: i64 = 86_400_000_000;
/// The units of a relative time, in microseconds, largest first; days are of 24 hours.
const UNITS: [(&str, i64); 7] = [
    ("w", 7 * DAY),
    ("d", DAY),
    ("h", 3_600_000_000),
    ("m", 60_000_000),
    ("s", 1_000_000),
    ("ms", 1_000),
    ("us", 1),
];

/// A point in time, fixed or as far away as it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Moment {
    /// This instant.
    At(Timestamp),
    /// The day (UTC) that this instant belongs to.
    Day(Timestamp),
    /// So many microseconds after now, by the store's clock; before it if negative.
    Away(i64),
}

impl Moment {
    /// This long before now.
    pub fn ago(span: Duration) -> Moment {
        Moment::Away(-micros(span))
    }

    /// This long after now.
    pub fn ahead(span: Duration) -> Moment {
        Moment::Away(micros(span))
    }

    /// The first and the last microsecond that it covers.
    pub(super) fn ends(&self, now: Timestamp) -> (i64, i64) {
        match self {
            Moment::At(at) => (at.as_micros(), at.as_micros()),
            Moment::Day(at) => {
                let start = at.as_micros().div_euclid(DAY) * DAY;
                (start, start + (DAY - 1))
            }
            Moment::Away(span) => {
                let at = now.as_micros().saturating_add(*span);
                (at, at)
            }
        }
    }

    /// Reads `-2h`, `+1d12h`, `now`, `2026-03-01` or an RFC 3339 instant.
    pub(super) fn read(text: &str) -> Option<Moment> {
        if text == "now" {
            return Some(Moment::Away(0));
        }
        if let Some(span) = text.strip_prefix('-') {
            return Some(Moment::Away(-span_of(span)?));
        }
        if let Some(span) = text.strip_prefix('+') {
            return Some(Moment::Away(span_of(span)?));
        }
        if text.len() == "2026-03-01".len() {
            return format!("{text}T00:00:00Z").parse().ok().map(Moment::Day);
        }
        text.parse().ok().map(Moment::At)
    }
}

fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX).min(LONGEST)
}

/// Ten thousand years: further away than any time there is.
const LONGEST: i64 = 10_000 * 366 * DAY;

fn span_of(text: &str) -> Option<i64> {
    let (mut rest, mut sum) = (text, 0_i64);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let number: i64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let (_, unit) = UNITS.iter().find(|(name, _)| *name == &rest[..end])?;
        rest = &rest[end..];
        sum = sum.checked_add(number.checked_mul(*unit)?)?;
    }
    (!text.is_empty() && sum <= LONGEST).then_some(sum)
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |at: &Timestamp| (*at).clamp(Timestamp::MIN, Timestamp::MAX).to_string();
        match self {
            Moment::At(at) => f.write_str(&shown(at)),
            Moment::Day(at) => f.write_str(&shown(at)[.."2026-03-01".len()]),
            Moment::Away(0) => f.write_str("now"),
            Moment::Away(span) => {
                f.write_str(if *span < 0 { "-" } else { "+" })?;
                let mut left = span.unsigned_abs();
                for (name, unit) in UNITS {
                    let unit = unit.unsigned_abs();
                    if left >= unit {
                        write!(f, "{}{name}", left / unit)?;
                        left %= unit;
                    }
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_printed() {
        for (text, canonical) in [
            ("-2h", "-2h"),
            ("+90m", "+1h30m"),
            ("-36h", "-1d12h"),
            ("-0s", "now"),
            ("now", "now"),
            ("+1500ms", "+1s500ms"),
            ("2026-03-01", "2026-03-01"),
            ("2026-03-01T12:00:00+01:00", "2026-03-01T11:00:00.000000Z"),
        ] {
            let read = Moment::read(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(read.to_string(), canonical);
            assert_eq!(Moment::read(canonical), Some(read));
        }
        for bad in
            ["", "-", "-2", "2h", "-h", "-2x", "-99999999999w", "2026-3-1", "2026-02-30", "ä"]
        {
            assert_eq!(Moment::read(bad), None, "{bad}");
        }
    }
}
