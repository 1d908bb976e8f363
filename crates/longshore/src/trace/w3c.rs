//! The texts of W3C Trace Context: <https://www.w3.org/TR/trace-context/>.

use std::fmt;

/// The most bytes of a `tracestate` that everybody must hand on.
const MAX_STATE_BYTES: usize = 512;

/// A `traceparent`.
pub(super) struct Parent<'a> {
    pub trace: &'a str,
    pub span: &'a str,
    pub flags: u8,
}

impl<'a> Parent<'a> {
    /// `None` for what the standard calls invalid. Of a version to come the parts that we know are taken.
    pub fn read(text: &'a str) -> Option<Parent<'a>> {
        let mut parts = text.splitn(5, '-');
        let mut part = |length: usize| {
            let part = parts.next()?;
            let hex = part.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
            (part.len() == length && hex).then_some(part)
        };
        let (version, trace, span, flags) = (part(2)?, part(32)?, part(16)?, part(2)?);
        let more = parts.next().is_some();
        let zero = |id: &str| id.bytes().all(|b| b == b'0');
        if version == "ff" || version == "00" && more || zero(trace) || zero(span) {
            return None;
        }
        let flags = u8::from_str_radix(flags, 16).expect("two hexadecimal digits");
        // Only the first bit has a meaning that every version keeps.
        Some(Parent { trace, span, flags: if version == "00" { flags } else { flags & 1 } })
    }
}

/// As our version writes it.
impl fmt::Display for Parent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{}-{}-{:02x}", self.trace, self.span, self.flags)
    }
}

/// Whether it may be a `tracestate`: keys and values of the vendors, whose business the rest is.
pub(super) fn is_state(text: &str) -> bool {
    let plain = |b: u8| matches!(b, b' '..=b'~' | b'\t');
    let pair = |part: &str| part.trim().is_empty() || part.contains('=');
    !text.trim().is_empty()
        && text.len() <= MAX_STATE_BYTES
        && text.bytes().all(plain)
        && text.split(',').all(pair)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<String> {
        Parent::read(text).map(|parent| parent.to_string())
    }

    #[test]
    fn a_parent_is_what_the_standard_says() {
        const GOOD: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        assert_eq!(read(GOOD).as_deref(), Some(GOOD));
        let later = GOOD.replacen("00", "cc", 1);
        assert_eq!(read(&later).as_deref(), Some(GOOD), "a version to come");
        assert_eq!(read(&format!("{later}-what-may-come")).as_deref(), Some(GOOD));
        for bad in [
            "",
            "nonsense",
            &GOOD.replacen("00", "ff", 1),
            &format!("{GOOD}-more"),
            &format!("{GOOD}-"),
            &GOOD.to_uppercase(),
            &GOOD[..54],
            &GOOD.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32)),
            &GOOD.replace("00f067aa0ba902b7", &"0".repeat(16)),
            &GOOD.replace("4bf9", "4bg9"),
            &format!(" {GOOD}"),
            &format!("{later}.more"),
        ] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_state_is_pairs_of_printable_ascii() {
        assert!(is_state("a=1, b@c=x y,") && is_state("a="));
        for bad in ["", " ", "a", "a=\u{e9}", "a=1\n", &format!("a={}", "1".repeat(511))] {
            assert!(!is_state(bad), "{bad:?}");
        }
    }
}
