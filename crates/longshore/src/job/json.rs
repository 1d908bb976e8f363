//! Is this text JSON that both databases keep byte for byte? One pass, no recursion.
//!
//! Own code, because PostgreSQL's `json` and serde's `RawValue` both accept what the other side
//! cannot read back (a lone surrogate), and neither says where a fault lies.
//! Grammar: RFC 8259; two rules are ours: depth at most 128, surrogates in pairs.

/// How deeply arrays and objects may nest.
pub const MAX_DEPTH: usize = 128;

/// Why a text is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonFault {
    /// Nothing but white space.
    #[error("is empty, which is not JSON")]
    Empty,
    /// Something else was expected.
    #[error("is not JSON: {expected} expected at byte {at}")]
    Expected {
        /// What would have been right.
        expected: &'static str,
        /// Where, in bytes.
        at: usize,
    },
    /// A control character inside a string must be written `\u00XX`.
    #[error("is not JSON: a raw control character (byte value {byte}) in a string at byte {at}")]
    Control {
        /// Its value.
        byte: u8,
        /// Where, in bytes.
        at: usize,
    },
    /// `\uD800` to `\uDFFF` without its other half.
    #[error("has an unpaired surrogate at byte {at}")]
    LoneSurrogate {
        /// Where, in bytes.
        at: usize,
    },
    /// Too many brackets inside one another.
    #[error("nests deeper than {MAX_DEPTH} at byte {at}")]
    TooDeep {
        /// Where, in bytes.
        at: usize,
    },
}

type Scan<T = ()> = Result<T, JsonFault>;

/// Checks that `text` is one JSON value, nested at most [`MAX_DEPTH`] deep, with all surrogates in
/// pairs.
pub fn check(text: &str) -> Result<(), JsonFault> {
    let mut scan = Scanner { bytes: text.as_bytes(), at: 0 };
    scan.skip_space();
    if scan.peek().is_none() {
        return Err(JsonFault::Empty);
    }
    scan.document()?;
    scan.skip_space();
    if scan.peek().is_some() { scan.expected("the end") } else { Ok(()) }
}

#[derive(Clone, Copy, PartialEq)]
enum Inside {
    Array,
    Object,
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Scanner<'_> {
    fn document(&mut self) -> Scan {
        let mut open: Vec<Inside> = Vec::new();
        loop {
            // A value starts here.
            self.skip_space();
            let opened = match self.peek() {
                Some(b'[') => Some(Inside::Array),
                Some(b'{') => Some(Inside::Object),
                _ => {
                    self.scalar()?;
                    None
                }
            };
            if let Some(inside) = opened {
                if open.len() == MAX_DEPTH {
                    return Err(JsonFault::TooDeep { at: self.at });
                }
                self.at += 1;
                self.skip_space();
                let close = if inside == Inside::Array { b']' } else { b'}' };
                if self.peek() == Some(close) {
                    self.at += 1;
                } else {
                    open.push(inside);
                    if inside == Inside::Object {
                        self.key()?;
                    }
                    continue;
                }
            }
            // A value ended here: go on in its container, or close as many as end with it.
            loop {
                let Some(&inside) = open.last() else { return Ok(()) };
                self.skip_space();
                match (inside, self.peek()) {
                    (_, Some(b',')) => {
                        self.at += 1;
                        if inside == Inside::Object {
                            self.skip_space();
                            self.key()?;
                        }
                        break;
                    }
                    (Inside::Array, Some(b']')) | (Inside::Object, Some(b'}')) => {
                        self.at += 1;
                        open.pop();
                    }
                    (Inside::Array, _) => return self.expected("`,` or `]`"),
                    (Inside::Object, _) => return self.expected("`,` or `}`"),
                }
            }
        }
    }

    fn key(&mut self) -> Scan {
        if self.peek() != Some(b'"') {
            return self.expected("a key in quotes");
        }
        self.string()?;
        self.skip_space();
        if self.peek() != Some(b':') {
            return self.expected("`:`");
        }
        self.at += 1;
        Ok(())
    }

    fn scalar(&mut self) -> Scan {
        match self.peek() {
            Some(b'"') => self.string(),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true"),
            Some(b'f') => self.word("false"),
            Some(b'n') => self.word("null"),
            _ => self.expected("a value"),
        }
    }

    fn word(&mut self, word: &'static str) -> Scan {
        if !self.bytes[self.at..].starts_with(word.as_bytes()) {
            return self.expected("a value");
        }
        self.at += word.len();
        Ok(())
    }

    fn number(&mut self) -> Scan {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Scan {
        let from = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at == from { self.expected("a digit") } else { Ok(()) }
    }

    fn string(&mut self) -> Scan {
        self.at += 1;
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => self.escape()?,
                Some(byte @ 0..=0x1f) => return Err(JsonFault::Control { byte, at: self.at }),
                Some(_) => self.at += 1,
                None => return self.expected("a closing quote"),
            }
        }
    }

    fn escape(&mut self) -> Scan {
        let start = self.at;
        self.at += 1;
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
            Some(b'u') => match self.code_unit()? {
                0xd800..=0xdbff => self.low_half(start)?,
                0xdc00..=0xdfff => return Err(JsonFault::LoneSurrogate { at: start }),
                _ => {}
            },
            _ => return self.expected("an escape"),
        }
        Ok(())
    }

    fn low_half(&mut self, start: usize) -> Scan {
        if !self.bytes[self.at..].starts_with(b"\\u") {
            return Err(JsonFault::LoneSurrogate { at: start });
        }
        self.at += 1;
        match self.code_unit()? {
            0xdc00..=0xdfff => Ok(()),
            _ => Err(JsonFault::LoneSurrogate { at: start }),
        }
    }

    /// Reads `uXXXX`.
    fn code_unit(&mut self) -> Scan<u32> {
        self.at += 1;
        let mut unit = 0;
        for _ in 0..4 {
            let Some(digit) = self.peek().and_then(|byte| char::from(byte).to_digit(16)) else {
                return self.expected("a hexadecimal digit");
            };
            unit = unit * 16 + digit;
            self.at += 1;
        }
        Ok(unit)
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn expected<T>(&self, expected: &'static str) -> Scan<T> {
        Err(JsonFault::Expected { expected, at: self.at })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_json_is_taken() {
        let deepest = format!("{}{}", "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH));
        for good in [
            "null",
            " true ",
            "false",
            "0",
            "-0",
            "-0.5e-10",
            "1e400",
            "12345678901234567890",
            r#""""#,
            r#""\u0000""#,
            r#"{"\u0000":1}"#,
            r#"{"a":1,"a":2}"#,
            r#""\ud83d\ude00""#,
            r#""\uD83D\uDE00 \" \\ \/ \b\f\n\r\t""#,
            "[]",
            "{}",
            "[ ]",
            "{ }",
            "[1,[2,{\"a\":[]}]]",
            "\t\n\r [1 , 2]\n",
            r#"{"a" : {"b" : [true, null]}, "c":"😀"}"#,
            "\"\u{7f}\u{2028}\"",
            deepest.as_str(),
        ] {
            assert_eq!(check(good), Ok(()), "{good}");
            assert!(
                serde_json::from_str::<&serde_json::value::RawValue>(good).is_ok()
                    || good.len() > 200
            );
        }
    }

    #[test]
    fn what_is_not_is_refused_with_its_place() {
        let expected = |expected, at| Err(JsonFault::Expected { expected, at });
        for (bad, fault) in [
            ("", Err(JsonFault::Empty)),
            (" \n", Err(JsonFault::Empty)),
            ("nul", expected("a value", 0)),
            ("NaN", expected("a value", 0)),
            ("-", expected("a digit", 1)),
            ("01", expected("the end", 1)),
            ("1.", expected("a digit", 2)),
            ("1e+", expected("a digit", 3)),
            ("[1,]", expected("a value", 3)),
            ("[1 2]", expected("`,` or `]`", 3)),
            ("[1}", expected("`,` or `]`", 2)),
            ("[", expected("a value", 1)),
            ("{a:1}", expected("a key in quotes", 1)),
            (r#"{"a" 1}"#, expected("`:`", 5)),
            (r#"{"a":1,}"#, expected("a key in quotes", 7)),
            (r#"{"a":1]"#, expected("`,` or `}`", 6)),
            ("\"a", expected("a closing quote", 2)),
            (r#""\x""#, expected("an escape", 2)),
            (r#""\u12g4""#, expected("a hexadecimal digit", 5)),
            ("1 1", expected("the end", 2)),
            ("\u{feff}1", expected("a value", 0)),
            ("\"\0\"", Err(JsonFault::Control { byte: 0, at: 1 })),
            ("\"\n\"", Err(JsonFault::Control { byte: 10, at: 1 })),
            ("\0", expected("a value", 0)),
            (r#""\ud800""#, Err(JsonFault::LoneSurrogate { at: 1 })),
            (r#""x\udc00""#, Err(JsonFault::LoneSurrogate { at: 2 })),
            (r#""\ud800\u0041""#, Err(JsonFault::LoneSurrogate { at: 1 })),
            (r#""\ud800\n""#, Err(JsonFault::LoneSurrogate { at: 1 })),
        ] {
            assert_eq!(check(bad), fault, "{bad}");
        }
    }

    #[test]
    fn depth_is_bounded_without_recursion() {
        let deep = "[".repeat(10_000);
        assert_eq!(check(&deep), Err(JsonFault::TooDeep { at: MAX_DEPTH }));
        let wide = format!("[{}1]", "[[]],".repeat(10_000));
        assert_eq!(check(&wide), Ok(()));
    }

    /// Every cut and every changed byte of a sample: we agree with serde wherever our own two rules
    /// are not in play.
    #[test]
    fn it_agrees_with_another_parser() {
        let sample = r#" {"a":[1,-2.5e+3,true,null,{"b":"x\n\u00e9\\"}],"":""} "#;
        let mut variants: Vec<Vec<u8>> =
            (0..sample.len()).map(|n| sample.as_bytes()[..n].to_vec()).collect();
        for at in 0..sample.len() {
            for byte in b" \"\\{}[],:-0e.tx\n\x00" {
                let mut changed = sample.as_bytes().to_vec();
                changed[at] = *byte;
                variants.push(changed);
            }
        }
        for bytes in variants {
            let Ok(text) = String::from_utf8(bytes) else { continue };
            let theirs = serde_json::from_str::<Box<serde_json::value::RawValue>>(&text).is_ok();
            assert_eq!(check(&text).is_ok(), theirs, "{text:?}");
        }
    }
}
