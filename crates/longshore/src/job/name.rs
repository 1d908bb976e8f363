//! The one rule for names of queues, kinds and tags.

use unicode_general_category::{GeneralCategory, get_general_category};

/// The longest name, in bytes of UTF-8.
pub const MAX_NAME_BYTES: usize = 255;

/// Why a text is no name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameFault {
    /// It has no character.
    #[error("is empty; a name has 1 to {MAX_NAME_BYTES} bytes")]
    Empty,
    /// It is too long.
    #[error("has {0} bytes; a name has 1 to {MAX_NAME_BYTES}")]
    TooLong(usize),
    /// A character that cannot be seen or is not assigned.
    #[error("has the character U+{code:04X} at byte {at}; control, format and unassigned characters are not allowed", code = *.found as u32)]
    Character {
        /// The character.
        found: char,
        /// Where it starts, in bytes.
        at: usize,
    },
    /// White space at an end.
    #[error("starts or ends with white space")]
    WhiteSpace,
    /// `.` or `..`, which no path may hold.
    #[error("is `.` or `..`")]
    Dots,
}

/// Checks a name: 1–255 bytes, no control, format or unassigned characters, no white space at the
/// ends, not `.` or `..`. Everything else is allowed, `/` and `%` too; names compare byte by byte.
pub fn check(name: &str) -> Result<(), NameFault> {
    if name.is_empty() {
        return Err(NameFault::Empty);
    }
    if name.len() > MAX_NAME_BYTES {
        return Err(NameFault::TooLong(name.len()));
    }
    if let Some((at, found)) = name.char_indices().find(|(_, c)| is_hidden(*c)) {
        return Err(NameFault::Character { found, at });
    }
    if name.trim() != name {
        return Err(NameFault::WhiteSpace);
    }
    if matches!(name, "." | "..") {
        return Err(NameFault::Dots);
    }
    Ok(())
}

fn is_hidden(c: char) -> bool {
    use GeneralCategory::*;
    // ASCII first: nearly every name is.
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    matches!(get_general_category(c), Control | Format | Unassigned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_but_visible_names_are_names() {
        let longest = "x".repeat(255);
        for name in ["a/b", "a#b?c", "a b", "ä/😀", "%2F", "...", "mail", longest.as_str()] {
            assert_eq!(check(name), Ok(()), "{name}");
        }
    }

    #[test]
    fn what_cannot_be_seen_or_told_apart_is_refused() {
        assert_eq!(check(""), Err(NameFault::Empty));
        assert_eq!(check(&"ä".repeat(128)), Err(NameFault::TooLong(256)));
        assert_eq!(check("a\0b"), Err(NameFault::Character { found: '\0', at: 1 }));
        assert_eq!(check("a\u{200b}"), Err(NameFault::Character { found: '\u{200b}', at: 1 }));
        assert_eq!(check("a\u{202e}b"), Err(NameFault::Character { found: '\u{202e}', at: 1 }));
        assert_eq!(check("a\u{378}"), Err(NameFault::Character { found: '\u{378}', at: 1 }));
        assert_eq!(check(" a"), Err(NameFault::WhiteSpace));
        assert_eq!(check("a\u{3000}"), Err(NameFault::WhiteSpace));
        assert_eq!(check("."), Err(NameFault::Dots));
        assert_eq!(check(".."), Err(NameFault::Dots));
    }
}
