//! Spans of time as people write them: `30s`, `5m`, `1h 30m`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use jiff::SignedDuration;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A span of time that is written with its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span(pub Duration);

/// The text is no span.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidSpan(String);

impl fmt::Display for InvalidSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is no span of time; write it as 500ms, 30s, 5m, 1h 30m or 7d", self.0)
    }
}

impl std::error::Error for InvalidSpan {}

impl FromStr for Span {
    type Err = InvalidSpan;

    fn from_str(text: &str) -> Result<Span, InvalidSpan> {
        read(text).map(Span).ok_or_else(|| InvalidSpan(text.chars().take(64).collect()))
    }
}

const DAY: Duration = Duration::from_secs(86_400);

/// Days in front are ours: always 24 hours, whatever clocks do in some zone.
fn read(text: &str) -> Option<Duration> {
    let (days, rest) = match text.trim().split_once('d') {
        Some((days, rest)) if days.bytes().all(|b| b.is_ascii_digit()) => {
            (days.parse().ok()?, rest)
        }
        _ => (0, text),
    };
    let days = DAY.checked_mul(days)?;
    if days > Duration::ZERO && rest.trim().is_empty() {
        return Some(days);
    }
    let rest = Duration::try_from(rest.trim().parse::<SignedDuration>().ok()?).ok()?;
    days.checked_add(rest)
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, rest) = (self.0.as_secs() / DAY.as_secs(), self.0.as_secs() % DAY.as_secs());
        if days > 0 && rest == 0 && self.0.subsec_nanos() == 0 {
            return write!(f, "{days}d");
        }
        match SignedDuration::try_from(self.0) {
            Ok(span) => write!(f, "{span:#}"),
            Err(_) => write!(f, "{:?}", self.0),
        }
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Span, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A span, or no limit: `none`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timeout {
    /// So long.
    After(Span),
    /// For ever.
    Never,
}

impl FromStr for Timeout {
    type Err = InvalidSpan;

    fn from_str(text: &str) -> Result<Timeout, InvalidSpan> {
        if text == "none" { Ok(Timeout::Never) } else { text.parse().map(Timeout::After) }
    }
}

impl Serialize for Timeout {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Timeout::After(span) => span.serialize(to),
            Timeout::Never => to.serialize_str("none"),
        }
    }
}

impl<'de> Deserialize<'de> for Timeout {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Timeout, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

/// How long something is kept: a span, or for ever: `forever`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// So long.
    For(Span),
    /// Until somebody removes it.
    Forever,
}

impl FromStr for Kept {
    type Err = InvalidSpan;

    fn from_str(text: &str) -> Result<Kept, InvalidSpan> {
        if text == "forever" { Ok(Kept::Forever) } else { text.parse().map(Kept::For) }
    }
}

impl fmt::Display for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kept::For(span) => span.fmt(f),
            Kept::Forever => f.write_str("forever"),
        }
    }
}

impl Serialize for Kept {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Kept {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Kept, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_needs_a_unit_and_is_not_negative() {
        let read = |text: &str| text.parse::<Span>().map(|span| span.0.as_millis());
        assert_eq!(read("5m"), Ok(300_000));
        assert_eq!(read("1h 30m"), Ok(5_400_000));
        assert_eq!(read("500ms"), Ok(500));
        assert_eq!(read("7d"), Ok(604_800_000));
        assert_eq!(read("1d 12h"), Ok(129_600_000));
        for bad in [
            "",
            "5",
            "-5m",
            "soon",
            "5 parsecs",
            "99999999999999999999h",
            "d",
            "-1d",
            "9999999999d",
            "1d x",
        ] {
            let error = bad.parse::<Span>().expect_err(bad).to_string();
            assert!(error.contains("write it as"), "{error}");
        }
    }

    /// The derive of `Job` has a parser of its own; what it reads is the same span here.
    #[test]
    fn the_derive_reads_spans_in_the_same_way() {
        macro_rules! same {
            ($($text:literal),*) => {$({
                #[derive(serde::Serialize, serde::Deserialize, longshore::Job)]
                #[job(kind = "k", backoff = fixed($text))]
                struct K;
                let derived = format!("{:?}", longshore::NewJob::from(K));
                let here = $text.parse::<Span>().expect($text).0.as_millis();
                assert!(derived.contains(&format!("delay_ms: {here} }}")), "{derived}: {}", $text);
            })*};
        }
        same!("500ms", "30s", "5m", "2h", "7d", "1h 30m", "1h30m", "1d 12h", "1d12h", "0s");
        same!("1m 5ms", " 30s ", "2h  30s", "007s", "36600d", "90m", "1d 0h 2m 3s 4ms");
    }

    #[test]
    fn it_reads_back() {
        for text in ["30s", "1h 30m", "250ms", "7d", "36h"] {
            let span: Span = text.parse().unwrap();
            assert_eq!(span.to_string().parse(), Ok(span));
        }
    }
}
