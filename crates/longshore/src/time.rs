//! Points in time: microseconds since 1970, UTC, as both databases keep them.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::SignedDuration;
use jiff::civil::DateTime;
use jiff::fmt::temporal::DateTimeParser;

const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);
const PARSER: DateTimeParser = DateTimeParser::new();

/// A point in time, in microseconds UTC. Written and read as RFC 3339.
///
/// Any `i64` is a value, so decoding a row never fails: what lies outside the years 0000 to 9999
/// (a hand-made `infinity`, say) shows as `out of range`, and cannot be parsed in or enqueued.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// The text is not a time that Longshore takes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{given}` is not an RFC 3339 time between 0000-01-01T00:00:00Z and 9999-12-31T23:59:59.999999Z"
)]
pub struct InvalidTimestamp {
    given: String,
}

impl Timestamp {
    /// 0000-01-01T00:00:00Z, the earliest time that can be enqueued.
    pub const MIN: Timestamp = Timestamp(-62_167_219_200_000_000);
    /// 9999-12-31T23:59:59.999999Z, the latest time that can be enqueued.
    pub const MAX: Timestamp = Timestamp(253_402_300_799_999_999);

    /// The system's clock, now.
    pub fn now() -> Timestamp {
        let micros = match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => since.as_micros() as i64,
            Err(before) => -(before.duration().as_micros() as i64),
        };
        Timestamp(micros)
    }

    /// The point `micros` microseconds after 1970-01-01T00:00:00Z.
    pub const fn from_micros(micros: i64) -> Timestamp {
        Timestamp(micros)
    }

    /// Microseconds after 1970-01-01T00:00:00Z.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// Whether it lies between [`Timestamp::MIN`] and [`Timestamp::MAX`].
    pub fn in_range(self) -> bool {
        (Self::MIN..=Self::MAX).contains(&self)
    }

    /// This much later, at most [`Timestamp::MAX`].
    pub fn plus(self, span: Duration) -> Timestamp {
        let micros = i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
        Timestamp(self.0.saturating_add(micros)).min(Self::MAX)
    }

    /// This much earlier, at least [`Timestamp::MIN`].
    pub fn minus(self, span: Duration) -> Timestamp {
        let micros = i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
        Timestamp(self.0.saturating_sub(micros)).max(Self::MIN)
    }

    /// How long after `earlier` this is; zero if it is not after it.
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0).max(0) as u64)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // By the calendar, not as jiff's own timestamp, whose last day ends 26 hours before ours.
        match EPOCH.checked_add(SignedDuration::from_micros(self.0)) {
            Ok(at) if self.in_range() => write!(f, "{at:.6}Z"),
            _ => f.write_str("out of range"),
        }
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Timestamp {
    type Err = InvalidTimestamp;

    fn from_str(text: &str) -> Result<Self, InvalidTimestamp> {
        parse(text)
            .filter(|t| t.in_range())
            .ok_or_else(|| InvalidTimestamp { given: text.chars().take(100).collect() })
    }
}

fn parse(text: &str) -> Option<Timestamp> {
    let pieces = PARSER.parse_pieces(text).ok()?;
    if pieces.time_zone_annotation().is_some() {
        return None;
    }
    let local = pieces.date().to_datetime(pieces.time()?);
    let offset = pieces.to_numeric_offset()?;
    let micros = i64::try_from(local.duration_since(EPOCH).as_micros()).ok()?;
    Some(Timestamp(micros - i64::from(offset.seconds()) * 1_000_000))
}

impl serde::Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_borders_are_what_they_say() {
        assert_eq!(Timestamp::MIN.to_string(), "0000-01-01T00:00:00.000000Z");
        assert_eq!(Timestamp::MAX.to_string(), "9999-12-31T23:59:59.999999Z");
        assert_eq!("0000-01-01T00:00:00Z".parse(), Ok(Timestamp::MIN));
        assert_eq!("9999-12-31T23:59:59.999999Z".parse(), Ok(Timestamp::MAX));
    }

    #[test]
    fn what_lies_outside_is_refused_with_the_range_and_shown_without_panic() {
        for bad in [
            "10000-01-01T00:00:00Z",
            "-000001-01-01T00:00:00Z",
            "294277-01-01T00:00:00Z",
            "infinity",
            "-infinity",
            "",
            "now",
            "+010000-01-01T00:00:00Z",
            "0000-01-01T00:00:00+01:00",
            "99999999999999999999999",
        ] {
            let error = bad.parse::<Timestamp>().expect_err(bad).to_string();
            assert!(error.contains("between 0000-01-01"), "{error}");
        }
        for hand_made in [i64::MAX, i64::MIN, 0x7fff_ffff_ffff_0000] {
            assert_eq!(Timestamp::from_micros(hand_made).to_string(), "out of range");
        }
    }

    #[test]
    fn offsets_are_understood_and_sums_stay_in_range() {
        let noon: Timestamp = "2026-03-01T12:00:00+05:30".parse().unwrap();
        assert_eq!(noon.to_string(), "2026-03-01T06:30:00.000000Z");
        assert_eq!(noon.plus(Duration::MAX), Timestamp::MAX);
        assert_eq!(noon.minus(Duration::MAX), Timestamp::MIN);
    }
}
