//! A name, or the names that a `*` stands for.

use std::fmt;

/// A name, with `*` for any run of characters, none included.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pattern(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Piece {
    Text(String),
    Any,
}

impl Pattern {
    /// Exactly this name; `*` in it is a star.
    pub fn exact(name: &str) -> Pattern {
        let mut pattern = Pattern(Vec::new());
        pattern.push_text(name);
        pattern
    }

    /// The names that fit; `*` in it stands for any run of characters.
    pub fn glob(text: &str) -> Pattern {
        let mut pattern = Pattern(Vec::new());
        for (n, part) in text.split('*').enumerate() {
            if n > 0 {
                pattern.push_any();
            }
            pattern.push_text(part);
        }
        pattern
    }

    pub(super) fn empty() -> Pattern {
        Pattern(Vec::new())
    }

    pub(super) fn push_text(&mut self, text: &str) {
        match self.0.last_mut() {
            _ if text.is_empty() => {}
            Some(Piece::Text(last)) => last.push_str(text),
            _ => self.0.push(Piece::Text(text.to_owned())),
        }
    }

    pub(super) fn push_any(&mut self) {
        if self.0.last() != Some(&Piece::Any) {
            self.0.push(Piece::Any);
        }
    }

    pub(super) fn stars(&self) -> usize {
        self.0.iter().filter(|piece| **piece == Piece::Any).count()
    }

    /// The one name that fits, if there is only one.
    pub fn name(&self) -> Option<&str> {
        match self.0.as_slice() {
            [] => Some(""),
            [Piece::Text(name)] => Some(name),
            _ => None,
        }
    }

    /// Whether `name` fits, byte by byte.
    pub fn fits(&self, name: &str) -> bool {
        let (mut rest, mut floats) = (name, false);
        for (n, piece) in self.0.iter().enumerate() {
            match piece {
                Piece::Any => floats = true,
                Piece::Text(text) if floats && n + 1 == self.0.len() => {
                    return rest.ends_with(text.as_str());
                }
                Piece::Text(text) if floats => match rest.find(text.as_str()) {
                    Some(at) => (rest, floats) = (&rest[at + text.len()..], false),
                    None => return false,
                },
                Piece::Text(text) => match rest.strip_prefix(text.as_str()) {
                    Some(after) => rest = after,
                    None => return false,
                },
            }
        }
        floats || rest.is_empty()
    }

    /// Whether it can fit a stored text at all: no database keeps a NUL in one.
    pub(crate) fn is_possible(&self) -> bool {
        !self.0.iter().any(|piece| matches!(piece, Piece::Text(text) if text.contains('\0')))
    }

    /// As SQLite's GLOB has it.
    #[cfg(feature = "sqlite")]
    pub(crate) fn to_glob(&self) -> String {
        let mut glob = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Any => glob.push('*'),
                Piece::Text(text) => text.chars().for_each(|c| match c {
                    '*' | '?' | '[' => glob.extend(['[', c, ']']),
                    c => glob.push(c),
                }),
            }
        }
        glob
    }

    /// As a regular expression, without its ends; `any` is what a `*` stands for.
    #[cfg(feature = "postgres")]
    pub(crate) fn to_regex(&self, any: &str) -> String {
        let mut regex = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Any => regex.push_str(any),
                Piece::Text(text) => text.chars().for_each(|c| {
                    if c.is_ascii() && !c.is_ascii_alphanumeric() {
                        regex.push('\\');
                    }
                    regex.push(c);
                }),
            }
        }
        regex
    }
}

/// Whether a character means itself outside quotes.
fn is_plain(c: char) -> bool {
    !c.is_whitespace() && !c.is_control() && !matches!(c, ',' | '"' | '*')
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write;
        if self.0.is_empty() {
            return f.write_str("\"\"");
        }
        for piece in &self.0 {
            match piece {
                Piece::Any => f.write_char('*')?,
                Piece::Text(text) if text.chars().all(is_plain) => f.write_str(text)?,
                Piece::Text(text) => {
                    f.write_char('"')?;
                    for c in text.chars() {
                        if matches!(c, '"' | '\\') {
                            f.write_char('\\')?;
                        }
                        f.write_char(c)?;
                    }
                    f.write_char('"')?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_run() {
        let cases = [
            ("email.*", "email.send", true),
            ("email.*", "email.", true),
            ("email.*", "email", false),
            ("*.send", "email.send", true),
            ("*", "", true),
            ("a*b*c", "a1b2c", true),
            ("a*b*c", "acb", false),
            ("a*a", "a", false),
            ("a*a", "aa", true),
            ("*b", "abab", true),
            ("*ä*", "xäy", true),
        ];
        for (pattern, name, fits) in cases {
            assert_eq!(Pattern::glob(pattern).fits(name), fits, "{pattern} {name}");
        }
        assert!(Pattern::exact("a*").fits("a*") && !Pattern::exact("a*").fits("ab"));
    }
}
