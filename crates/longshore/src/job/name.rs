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

/// A text as a message shows it: what cannot be seen in it is written out, by the rule for names. (The
/// standard library's `escape_debug` goes by tables of its own, which SQL could not follow.)
pub(crate) fn shown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => shown.push_str(r"\\"),
            c if is_hidden(c) || (c != ' ' && c.is_whitespace()) => {
                shown.extend(c.escape_unicode())
            }
            c => shown.push(c),
        }
    }
    shown
}

/// `longshore.is_hidden` says the same in SQL.
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

    #[test]
    fn a_message_shows_what_hides() {
        assert_eq!(shown("a 'b' \\ ä\u{301}"), "a 'b' \\\\ ä\u{301}");
        assert_eq!(shown("\0\n\u{200b}\u{2028}"), r"\u{0}\u{a}\u{200b}\u{2028}");
    }

    /// A database cannot ask the library for a character's category, so a migration has them as a list.
    #[test]
    fn the_list_in_sql_is_the_librarys() {
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for c in (0..=0x10_ffff).filter_map(char::from_u32).filter(|c| is_hidden(*c)) {
            match ranges.last_mut() {
                Some((_, end)) if *end == c as u32 => *end += 1,
                _ => ranges.push((c as u32, c as u32 + 1)),
            }
        }
        let list: Vec<String> = ranges.iter().map(|(a, b)| format!("[{a},{b})")).collect();
        let sql = include_str!("../store/postgres/migrations/0004_door.sql");
        let (_, rest) = sql.split_once("code <@ '{").expect("the list");
        let (found, _) = rest.split_once('}').expect("its end");
        let found: String = found.split_whitespace().collect();
        assert_eq!(found, list.join(","), "the list of longshore.is_hidden");
    }
}
