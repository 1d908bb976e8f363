//! Spans of time as people write them, `30s`, `1h 30m`: those of the command line, in their short form.
//!
//! A span that is read here is read on the command line to the same length; a test there says so. That
//! one knows some more spellings (`5 minutes`), which would cost this crate a library of calendars.

/// In the order they are written in, each with its milliseconds.
const UNITS: [(&str, u64); 5] =
    [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// A hundred years: the library refuses longer ones.
const MAX_DAYS: u64 = 36_600;

/// What is wrong with a span.
pub(crate) enum Fault {
    /// It is none.
    NoSpan,
    /// It is longer than any may be.
    TooLong,
    /// It is nothing, where something is needed.
    TooShort,
}

impl Fault {
    /// In words, about this text.
    pub fn words(&self, text: &str) -> String {
        let text = crate::name::shown(text);
        match self {
            Fault::NoSpan => {
                format!("`{text}` is no span of time; write it as 500ms, 30s, 5m, 1h 30m or 7d")
            }
            Fault::TooLong => format!("`{text}` is too long; a span has {MAX_DAYS} days at most"),
            Fault::TooShort => format!("`{text}` is too short; it takes at least 1ms here"),
        }
    }
}

/// The milliseconds of a span that has at least so many of them.
pub(crate) fn millis(text: &str, least: u64) -> Result<u64, Fault> {
    let millis = read(text).ok_or(Fault::NoSpan)?;
    match u64::try_from(millis) {
        Ok(millis) if millis < least => Err(Fault::TooShort),
        Ok(millis) if millis <= MAX_DAYS * UNITS[0].1 => Ok(millis),
        _ => Err(Fault::TooLong),
    }
}

/// Numbers with their units, the largest unit first, spaces between them or not.
fn read(text: &str) -> Option<u128> {
    let mut rest = text.trim_matches(' ');
    let mut units = UNITS.iter();
    let mut sum: u128 = 0;
    while !rest.is_empty() {
        let (number, after) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit())?);
        let letters = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(letters);
        // `find` goes on where it stopped, so no unit comes twice or after a smaller one.
        let (_, millis) = units.find(|(name, _)| *name == unit)?;
        // No overflow: what does not fit into 64 bits is no span.
        sum += u128::from(number.parse::<u64>().ok()?) * u128::from(*millis);
        rest = after.trim_start_matches(' ');
    }
    (!text.trim_matches(' ').is_empty()).then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_numbers_with_units_from_large_to_small() {
        for (text, expected) in [
            ("500ms", 500),
            ("30s", 30_000),
            ("5m", 300_000),
            ("1h 30m", 5_400_000),
            ("1h30m", 5_400_000),
            ("7d", 604_800_000),
            ("1d 12h", 129_600_000),
            ("1m 5ms", 60_005),
            ("0s", 0),
            ("36600d", 3_162_240_000_000),
        ] {
            assert_eq!(millis(text, 0).ok(), Some(expected), "{text}");
        }
        for bad in [
            "",
            " ",
            "5",
            "s",
            "-5m",
            "soon",
            "10x",
            "5 parsecs",
            "30m 1h",
            "1s 1s",
            "1.5h",
            "1h,",
            "99999999999999999999h",
            "5 m",
            "1\u{a0}h",
            "٣s",
        ] {
            assert!(matches!(millis(bad, 0), Err(Fault::NoSpan)), "{bad}");
        }
    }

    #[test]
    fn a_span_has_a_longest_and_sometimes_a_shortest() {
        assert!(matches!(millis("36601d", 0), Err(Fault::TooLong)));
        assert!(matches!(millis("18446744073709551615d", 0), Err(Fault::TooLong)));
        assert!(matches!(millis("0s", 1), Err(Fault::TooShort)));
    }
}
