//! Payloads as people are shown them: with the names of all fields, and without the values of some.

/// What stands in place of a value, a JSON string.
const HIDDEN: &str = "\"[redacted]\"";

/// The payload with the values of these top-level fields hidden. It may end anywhere, as a list's previews do.
/// One that has no fields is hidden as a whole, since nobody can tell what is in it.
pub(crate) fn redact(payload: &str, fields: &[String]) -> Box<str> {
    if fields.is_empty() || payload.trim_start().is_empty() {
        return payload.into();
    }
    let shown = Scanner { text: payload, at: 0, shown: String::with_capacity(payload.len()) };
    // What is no JSON was put there by hand. It may hide anything.
    shown.object(fields).unwrap_or_else(|| HIDDEN.into())
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    shown: String,
}

impl Scanner<'_> {
    /// `None` if it is no object.
    fn object(mut self, fields: &[String]) -> Option<Box<str>> {
        let from = self.at;
        self.skip_space();
        if self.next()? != b'{' {
            return None;
        }
        self.show(from);
        loop {
            let from = self.at;
            self.skip_space();
            let key_at = self.at;
            match self.next() {
                Some(b'"') => {}
                Some(b',') => {
                    self.show(from);
                    continue;
                }
                Some(b'}') | None => {
                    self.at = self.text.len();
                    self.show(from);
                    return Some(self.shown.into());
                }
                Some(_) => return None,
            }
            if !self.end_of_string() {
                self.show(from);
                return Some(self.shown.into());
            }
            // A key that cannot be read may be any.
            let key: Option<String> = serde_json::from_str(&self.text[key_at..self.at]).ok();
            let hides = key.is_none_or(|key| fields.contains(&key));
            self.skip_space();
            match self.next() {
                Some(b':') => self.skip_space(),
                Some(_) => return None,
                None => {}
            }
            self.show(from);
            let value_at = self.at;
            self.end_of_value();
            if !hides {
                self.show(value_at);
            } else if self.at > value_at {
                self.shown.push_str(HIDDEN);
            }
        }
    }

    /// Takes over all from there to here.
    fn show(&mut self, from: usize) {
        self.shown.push_str(&self.text[from..self.at]);
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Behind the closing quote; false if the text ends before it.
    fn end_of_string(&mut self) -> bool {
        while let Some(byte) = self.next() {
            match byte {
                b'"' => return true,
                b'\\' => self.at = (self.at + 1).min(self.text.len()),
                _ => {}
            }
        }
        false
    }

    /// Before the comma or the bracket that follows, or at the end of the text.
    fn end_of_value(&mut self) {
        let mut depth = 0_usize;
        while let Some(byte) = self.peek() {
            match byte {
                b',' if depth == 0 => return,
                b'}' | b']' if depth == 0 => return,
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if byte == b'"' {
                self.end_of_string();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(payload: &str) -> String {
        redact(payload, &["pin".to_owned(), "a\"b".to_owned()]).into()
    }

    #[test]
    fn the_values_of_named_fields_are_hidden_and_all_else_stays() {
        for (payload, expected) in [
            (r#"{"pin":1234,"n":1}"#, r#"{"pin":"[redacted]","n":1}"#),
            (r#" { "n" : 1 , "pin" : "a,}\"" }"#, r#" { "n" : 1 , "pin" : "[redacted]"}"#),
            (r#"{"pin":{"pin":[1,{"x":"]"}]},"n":[{}]}"#, r#"{"pin":"[redacted]","n":[{}]}"#),
            // Twice, and written in another way.
            (r#"{"pin":1,"p\u0069n":2}"#, r#"{"pin":"[redacted]","p\u0069n":"[redacted]"}"#),
            (r#"{"a\"b":1,"ä":"pin"}"#, r#"{"a\"b":"[redacted]","ä":"pin"}"#),
            // Only top-level fields are meant.
            (r#"{"n":{"pin":1}}"#, r#"{"n":{"pin":1}}"#),
            ("{}", "{}"),
            ("", ""),
            // No field can be named in these.
            ("[1234]", HIDDEN),
            ("1234", HIDDEN),
            ("null", HIDDEN),
            // Nor in what somebody wrote by hand.
            ("{pin:1234}", HIDDEN),
            (r#"{"pin" 1234}"#, HIDDEN),
        ] {
            assert_eq!(shown(payload), expected, "{payload}");
        }
        assert_eq!(&*redact("[1]", &[]), "[1]");
    }

    #[test]
    fn a_payload_that_was_cut_shows_no_more() {
        let whole = r#"{"n":[1,{"x":"\"y\""}],"pin":["17{","2938\\"],"m":"end"}"#;
        for end in (0..=whole.len()).filter(|end| whole.is_char_boundary(*end)) {
            let shown = shown(&whole[..end]);
            for secret in ["17", "2938"] {
                assert!(!shown.contains(secret), "{shown} of {}", &whole[..end]);
            }
        }
    }
}
