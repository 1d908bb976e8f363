//! Payloads as people are shown them: with the names of all fields, and without the values of some.

/// What stands in place of a value, a JSON string.
const HIDDEN: &str = "\"[redacted]\"";

/// A field at any depth whose name ends like this holds a secret, in all likelihood. Compared without case, and
/// without what is no letter and no digit: `X-Api-Key` and `db_password` are meant, too.
const SECRETS: [&str; 9] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "privatekey",
    "authorization",
    "cookie",
];

/// The payload with the values of these top-level fields hidden, and of all fields that are called like a secret. It
/// may end anywhere, as a list's previews do. Where fields are named, one that has none is hidden as a whole, since
/// nobody can tell what is in it.
pub(crate) fn redact(payload: &str, fields: &[String]) -> Box<str> {
    let named = !fields.is_empty();
    if payload.trim_start().is_empty() || !(named || may_name_a_secret(payload)) {
        return payload.into();
    }
    if named && !payload.trim_start().starts_with('{') {
        return HIDDEN.into();
    }
    let shown = String::with_capacity(payload.len());
    let scanner = Scanner { text: payload, at: 0, shown, copied: 0, open: Vec::new() };
    // What is no JSON was put there by hand. It may hide anything.
    scanner.run(fields).unwrap_or_else(|| HIDDEN.into())
}

/// Most payloads do not, and are not looked at letter by letter. A name may be written with escapes.
fn may_name_a_secret(payload: &str) -> bool {
    payload.contains('\\') || is_like_a_secret(payload, |plain, secret| plain.contains(secret))
}

fn is_like_a_secret(text: &str, like: impl Fn(&str, &str) -> bool) -> bool {
    let letters = text.chars().filter(|c| c.is_ascii_alphanumeric());
    let plain: String = letters.map(|c| c.to_ascii_lowercase()).collect();
    SECRETS.iter().any(|secret| like(&plain, secret))
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    shown: String,
    /// Up to here `shown` has it.
    copied: usize,
    /// The brackets that are open.
    open: Vec<u8>,
}

impl<'a> Scanner<'a> {
    /// `None` if an object has something else where a field should be.
    fn run(mut self, fields: &[String]) -> Option<Box<str>> {
        // Whether the name of a field comes next.
        let mut named = false;
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' => self.at += 1,
                b'}' | b']' => {
                    self.open.pop();
                    named = false;
                    self.at += 1;
                }
                b'"' if named => {
                    self.field(fields)?;
                    named = false;
                }
                b',' => {
                    named = self.open.last() == Some(&b'{');
                    self.at += 1;
                }
                _ if named => return None,
                b'{' | b'[' => {
                    self.open.push(byte);
                    named = byte == b'{';
                    self.at += 1;
                }
                b'"' => drop(self.string()),
                _ => self.at += 1,
            }
        }
        self.show();
        Some(self.shown.into())
    }

    /// A name, its colon, and its value, if that is to be hidden.
    fn field(&mut self, fields: &[String]) -> Option<()> {
        let Some(name) = self.string() else { return Some(()) };
        self.skip_space();
        match self.peek() {
            Some(b':') => self.at += 1,
            Some(_) => return None,
            None => return Some(()),
        }
        self.skip_space();
        // A name that cannot be read may be any.
        let name: Option<String> = serde_json::from_str(name).ok();
        let hides = name.is_none_or(|name| {
            (self.open.len() == 1 && fields.contains(&name))
                || is_like_a_secret(&name, |plain, secret| plain.ends_with(secret))
        });
        if hides {
            self.show();
            self.skip_value();
            if self.at > self.copied {
                self.shown.push_str(HIDDEN);
            }
            self.copied = self.at;
        }
        Some(())
    }

    /// Takes over all that was passed.
    fn show(&mut self) {
        self.shown.push_str(&self.text[self.copied..self.at]);
        self.copied = self.at;
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// With its quotes; `None` if the text ends before it.
    fn string(&mut self) -> Option<&'a str> {
        let from = self.at;
        self.at += 1;
        while let Some(byte) = self.peek() {
            self.at += 1;
            match byte {
                b'"' => return Some(&self.text[from..self.at]),
                b'\\' => self.at = (self.at + 1).min(self.text.len()),
                _ => {}
            }
        }
        None
    }

    /// To the comma or the bracket that follows, or to the end of the text.
    fn skip_value(&mut self) {
        let mut depth = 0_usize;
        while let Some(byte) = self.peek() {
            match byte {
                b',' if depth == 0 => return,
                b'}' | b']' if depth == 0 => return,
                b'"' => {
                    self.string();
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            self.at += 1;
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
    fn fields_that_are_called_like_a_secret_are_hidden_wherever_they_are() {
        for (payload, expected) in [
            (r#"{"to":[{"password":"x","n":1}]}"#, r#"{"to":[{"password":"[redacted]","n":1}]}"#),
            (r#"[{"Token":[1,{"a":2}]},"token"]"#, r#"[{"Token":"[redacted]"},"token"]"#),
            (r#"{"a":{"X-Api-Key" : null }}"#, r#"{"a":{"X-Api-Key" : "[redacted]"}}"#),
            (
                r#"{"db_password":"p","authorization":{"b":1}}"#,
                r#"{"db_password":"[redacted]","authorization":"[redacted]"}"#,
            ),
            (r#"{"p\u0061ssword":1,"n":"\\"}"#, r#"{"p\u0061ssword":"[redacted]","n":"\\"}"#),
            // No secrets, by their names.
            (
                r#"{"tokens":3,"note":"password: 1","secretary":"Ann"}"#,
                r#"{"tokens":3,"note":"password: 1","secretary":"Ann"}"#,
            ),
            (r#""password""#, r#""password""#),
            // Written by hand.
            ("{password:1234}", HIDDEN),
        ] {
            assert_eq!(&*redact(payload, &[]), expected, "{payload}");
        }
        let deep = format!("{}{{\"token\":17}}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(!redact(&deep, &[]).contains("17"));
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
