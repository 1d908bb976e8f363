//! How a secret may be written.

use base64::Engine as _;
use base64::alphabet::{self, Alphabet};
use base64::engine::{GeneralPurpose, general_purpose::NO_PAD};

/// One way to write a secret.
#[derive(Clone)]
pub(super) enum Form {
    /// Character by character: as it is, percent-encoded, or escaped in JSON; all in one text, if need be.
    Plain(Vec<char>),
    /// What a text in base64 has where the secret stands in it, whatever stands around it.
    Base64 {
        digits: Vec<char>,
        /// Whether the digit before holds bits of it, too.
        more_before: bool,
        /// And the one behind it.
        more_behind: bool,
    },
}

impl Form {
    pub fn all(secret: &str) -> Vec<Form> {
        let mut all = vec![Form::Plain(secret.chars().collect())];
        for alphabet in [alphabet::STANDARD, alphabet::URL_SAFE] {
            for before in 0..3 {
                let form = Form::base64(secret.as_bytes(), before, &alphabet);
                if !all.iter().any(|known| known.chars() == form.chars()) {
                    all.push(form);
                }
            }
        }
        all
    }

    /// `before`: how many bytes stand between the last multiple of three and it.
    fn base64(secret: &[u8], before: usize, alphabet: &Alphabet) -> Form {
        let whole = [&vec![0; before], secret].concat();
        let digits: Vec<char> =
            GeneralPurpose::new(alphabet, NO_PAD).encode(&whole).chars().collect();
        // Digits of six bits that are all of the secret.
        let (first, last) = ((before * 8).div_ceil(6), whole.len() * 8 / 6);
        Form::Base64 {
            digits: digits[first..last].to_vec(),
            more_before: before > 0,
            more_behind: last < digits.len(),
        }
    }

    fn chars(&self) -> &[char] {
        match self {
            Form::Plain(chars) | Form::Base64 { digits: chars, .. } => chars,
        }
    }

    /// The most bytes it takes in a text.
    pub fn longest(&self) -> usize {
        // `\uD83D\uDE00` for one character; a digit may come as `%2B` behind the end of a line.
        self.chars().len() * 12 + 8
    }

    /// Where it starts and ends, if it stands `at` this place.
    pub fn at(&self, text: &[u8], at: usize) -> Option<(usize, usize)> {
        // Most places are done with here.
        if !may_begin(text[at], *self.chars().first()?) {
            return None;
        }
        let end = end_of(text, at, self.chars(), matches!(self, Form::Base64 { .. }))?;
        let Form::Base64 { more_before, more_behind, .. } = self else { return Some((at, end)) };
        let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(byte);
        let mut end = end;
        if *more_behind && text.get(end).is_some_and(is_digit) {
            end += 1;
        }
        while let Some(taken) = takes(&text[end..], '=').into_iter().flatten().next() {
            end += taken;
        }
        let before = *more_before && at > 0 && is_digit(&text[at - 1]);
        Some((at - usize::from(before), end))
    }
}

/// Whether a byte may be the first of this character, however it is written.
fn may_begin(byte: u8, char: char) -> bool {
    let raw = char.encode_utf8(&mut [0; 4]).as_bytes()[0];
    byte == raw || matches!(byte, b'%' | b'\\' | b'+')
}

/// The end of what stands at `from`, if it says `chars`. `lines`: lines may end within it.
fn end_of(text: &[u8], from: usize, chars: &[char], lines: bool) -> Option<usize> {
    // Every place it may have come to: a backslash is one of its own, or half of an escape.
    let mut places = vec![from];
    for (nth, &char) in chars.iter().enumerate() {
        let mut next: Vec<usize> = Vec::with_capacity(1);
        for &place in &places {
            let place = if lines && nth > 0 { place + line_end(&text[place..]) } else { place };
            for taken in takes(&text[place..], char).into_iter().flatten() {
                if !next.contains(&(place + taken)) {
                    next.push(place + taken);
                }
            }
        }
        if next.is_empty() {
            return None;
        }
        places = next;
    }
    places.into_iter().max()
}

fn line_end(text: &[u8]) -> usize {
    // As such, and as JSON has it.
    [&b"\r\n"[..], b"\n", b"\\r\\n", b"\\n"]
        .iter()
        .find(|end| text.starts_with(end))
        .map_or(0, |end| end.len())
}

/// How many bytes at the start of a text are this character, in each way to write it.
fn takes(text: &[u8], char: char) -> [Option<usize>; 4] {
    let mut buffer = [0; 4];
    let raw = char.encode_utf8(&mut buffer).as_bytes();
    let plain = text.starts_with(raw).then_some(raw.len());
    match text.first() {
        None => [None; 4],
        Some(b'%') => [plain, percent(text, raw), None, None],
        Some(b'+') if char == ' ' => [plain, Some(1), None, None],
        Some(b'\\') => [plain, short_escape(text, char), long_escape(text, char), None],
        Some(_) => [plain, None, None, None],
    }
}

/// `%2F`, and as many as the character has bytes.
fn percent(text: &[u8], raw: &[u8]) -> Option<usize> {
    for (nth, byte) in raw.iter().enumerate() {
        let code = text.get(nth * 3..nth * 3 + 3)?;
        let hex = std::str::from_utf8(code).ok()?.strip_prefix('%')?;
        if u8::from_str_radix(hex, 16) != Ok(*byte) {
            return None;
        }
    }
    Some(raw.len() * 3)
}

/// `\"`, `\/`, `\n` and their like; with more backslashes where JSON stands in JSON.
fn short_escape(text: &[u8], char: char) -> Option<usize> {
    let letter = match char {
        '\\' => return text.starts_with(b"\\\\").then_some(2),
        '"' | '/' => char as u8,
        '\n' => b'n',
        '\r' => b'r',
        '\t' => b't',
        '\u{8}' => b'b',
        '\u{c}' => b'f',
        _ => return None,
    };
    let slashes = text.iter().take_while(|byte| **byte == b'\\').count();
    (text.get(slashes) == Some(&letter)).then_some(slashes + 1)
}

/// `\u002f`, or a pair of them.
fn long_escape(text: &[u8], char: char) -> Option<usize> {
    let mut units = [0; 2];
    let units = char.encode_utf16(&mut units);
    for (nth, unit) in units.iter().enumerate() {
        let code = text.get(nth * 6..nth * 6 + 6)?;
        let hex = std::str::from_utf8(code).ok()?.strip_prefix("\\u")?;
        if u16::from_str_radix(hex, 16) != Ok(*unit) {
            return None;
        }
    }
    Some(units.len() * 6)
}
