//! Notes of a job, with one more among them; all others keep their bytes.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

/// The notes with `key` set to `value`, if they are an object; what is none is left for the enqueue to refuse.
pub(crate) fn with(notes: Option<&str>, key: &str, value: &str) -> String {
    let notes = notes.unwrap_or("{}");
    let Ok(mut map) = serde_json::from_str::<BTreeMap<String, Box<RawValue>>>(notes) else {
        return notes.to_owned();
    };
    let value = serde_json::value::to_raw_value(value).expect("a text");
    map.insert(key.to_owned(), value);
    serde_json::to_string(&map).expect("keys that are texts")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_notes_keep_their_bytes() {
        let notes = r#"{"n": 1e400, "a":12345678901234567890123}"#;
        assert_eq!(
            with(Some(notes), "k", "v"),
            r#"{"a":12345678901234567890123,"k":"v","n":1e400}"#
        );
        assert_eq!(with(None, "k", "v"), r#"{"k":"v"}"#);
        assert_eq!(with(Some(r#"{"k":1}"#), "k", "v"), r#"{"k":"v"}"#);
        assert_eq!(with(Some("[1]"), "k", "v"), "[1]");
    }
}
