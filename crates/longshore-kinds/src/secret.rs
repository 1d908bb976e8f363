//! Secrets, and texts in which they are masked.
//!
//! Programs and servers repeat what they were told, and not always as they were told it: percent-encoded in an address,
//! escaped in JSON, as a part of something in base64. All these are looked for.

mod forms; // how a secret may be written

use std::fmt;

use serde_json::Value;
use serde_json::value::RawValue;

use forms::Form;

/// What stands in place of a secret.
pub const MASK: &str = "***";
/// Shorter secrets, in bytes, are not looked for: they stand in every other word.
pub const SHORTEST: usize = 6;
/// Longer ones are looked for by so many of their first bytes.
const LONGEST: usize = 1_024;
/// Words in the name of a variable whose value is a secret.
const TELLING: [&str; 11] = [
    "SECRET",
    "TOKEN",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "APIKEY",
    "PRIVATE",
    "_KEY",
    "KEY_",
    "AUTH",
];

/// A text that nobody is shown: `Debug` hides it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_empty() { "Secret(none)" } else { "Secret(hidden)" })
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Secret {
        Secret(text.to_owned())
    }
}

impl Secret {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

/// Finds secrets in texts, in every [form](forms).
#[derive(Clone, Default)]
pub(crate) struct Masker {
    forms: Vec<Form>,
    /// The most bytes that one of them takes.
    longest: usize,
}

impl Masker {
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Masker {
        let mut masker = Masker::default();
        for secret in secrets {
            masker.add(secret);
        }
        masker
    }

    /// With those among these variables whose names say that they are secret, and the passwords of addresses.
    pub fn with_variables<'a>(
        mut self,
        variables: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Masker {
        for (name, value) in variables {
            if is_telling(name) {
                self.add(value);
            }
            password_of(value).into_iter().for_each(|password| self.add(password));
        }
        self
    }

    fn add(&mut self, secret: &str) {
        let secret = secret.trim();
        if secret.len() < SHORTEST {
            return;
        }
        for form in Form::all(&secret[..secret.floor_char_boundary(LONGEST)]) {
            self.longest = self.longest.max(form.longest());
            self.forms.push(form);
        }
    }

    /// How many bytes a text that is cut must have more, so that a secret that lies over the cut is whole.
    pub fn margin(&self) -> usize {
        self.longest
    }

    /// The text with [`MASK`] for each secret.
    pub fn text(&self, text: &str) -> String {
        let found = self.found(text.as_bytes());
        let mut masked = String::with_capacity(text.len());
        let mut from = 0;
        for (start, end) in found {
            // A match begins and ends with whole characters; one within another adds nothing.
            if start >= from {
                masked.push_str(&text[from..start]);
                masked.push_str(MASK);
            }
            from = from.max(end);
        }
        masked.push_str(&text[from..]);
        masked
    }

    /// The same of JSON, which stays byte for byte what it is if there is none in it.
    pub fn raw(&self, json: Box<RawValue>) -> Box<RawValue> {
        if self.forms.is_empty() {
            return json;
        }
        let Ok(value) = serde_json::from_str::<Value>(json.get()) else { return json };
        let masked = self.json(value.clone());
        if masked == value {
            return json;
        }
        serde_json::value::to_raw_value(&masked).expect("JSON")
    }

    /// Every text in it, and every number that is a secret.
    fn json(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(&text)),
            Value::Array(all) => all.into_iter().map(|value| self.json(value)).collect(),
            Value::Object(all) => all
                .into_iter()
                .map(|(name, value)| (self.text(&name), self.json(value)))
                .collect::<serde_json::Map<_, _>>()
                .into(),
            Value::Number(number) if self.hides(&number.to_string()) => MASK.into(),
            other @ (Value::Number(_) | Value::Bool(_) | Value::Null) => other,
        }
    }

    fn hides(&self, text: &str) -> bool {
        !self.found(text.as_bytes()).is_empty()
    }

    /// Where they stand, from the first on.
    fn found(&self, text: &[u8]) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        for form in &self.forms {
            let mut at = 0;
            while at < text.len() {
                match form.at(text, at) {
                    Some((start, end)) => {
                        found.push((start, end));
                        at = end.max(at + 1);
                    }
                    None => at += 1,
                }
            }
        }
        found.sort_unstable();
        found
    }
}

/// Whether a variable of this name holds a secret.
fn is_telling(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    name == "KEY" || TELLING.iter().any(|word| name.contains(word))
}

/// The password in an address: `geheim` of `postgres://app:geheim@db/shop`.
pub fn password_of(value: &str) -> Option<&str> {
    let (_, rest) = value.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let (user, _) = authority.rsplit_once('@')?;
    Some(user.split_once(':')?.1)
}

#[cfg(test)]
mod tests;
