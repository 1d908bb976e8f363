//! At most one job for a key: what the key is, how long it is held, what a second enqueue does.

use std::time::Duration;

use serde::ser::{Error as _, SerializeMap};
use serde::{Serialize, Serializer};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::invalid::Invalid;
use super::name;
use super::new::{check_name, check_span_ms};
use crate::time::Timestamp;

/// Stands between a key and what is added to it; no name may hold it.
const MARK: char = '\u{1f}';
const FOR_GOOD: &str = "good";

/// Makes a job the only one of its kind for a key.
///
/// By default the key is held while the job is active: waiting, running or retrying. A job that
/// ended gives it back; so does a dead one, and a retry takes it again or is refused.
///
/// ```
/// use std::time::Duration;
/// use longshore::{NewJob, OnConflict, Unique};
/// let sync = Unique::key("account-7").on_conflict(OnConflict::Replace);
/// let job = NewJob::new("sync_account").unique(sync);
/// let daily = NewJob::new("report").unique(Unique::key("sales").within(Duration::from_secs(86_400)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unique {
    key: Key,
    hold: Hold,
    pub(crate) on_conflict: OnConflict,
    pub(crate) same_payload: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Key {
    Text(String),
    Payload,
}

/// How long a key is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    /// Until the job ends.
    Active,
    /// Until the window that the job's `run_at` lies in is over.
    Window(Duration),
    /// Once it succeeded, never again.
    ForGood,
}

/// What an enqueue does when another job holds its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum OnConflict {
    /// Leaves the holder as it is and answers with its id. The default.
    #[default]
    Keep,
    /// Gives the holder this payload, `run_at` and priority while it waits. While it runs, adds one
    /// waiting job, which takes the key; if the runner then does not end well, it is dead as
    /// "superseded". A holder that ended in its window stays as it is.
    Replace,
    /// Fails with [`crate::StoreError::KeyHeld`]; nothing of the call is written.
    Refuse,
}

impl Unique {
    /// Unique by this key among jobs of the same kind: 1 to 255 bytes, by the rule for names.
    pub fn key(key: impl Into<String>) -> Unique {
        Unique::new(Key::Text(key.into()))
    }

    /// Unique by the payload's bytes.
    pub fn payload() -> Unique {
        Unique::new(Key::Payload)
    }

    /// Unique by a value's JSON, with all its keys sorted: equal values are one key, however they are
    /// spelled and in whatever order they are written. [`Fields`] takes some of a job's:
    ///
    /// ```
    /// use longshore::{Unique, job::Fields};
    /// let (to, template) = ("ada@example.org", "welcome");
    /// let key = Unique::value(&Fields::new().and("to", &to).and("template", &template));
    /// assert_eq!(key, Unique::key(r#"{"template":"welcome","to":"ada@example.org"}"#));
    /// ```
    ///
    /// JSON that is no name, being longer than 255 bytes for example, is a key by its SHA-256. What cannot
    /// be written as JSON becomes an empty key, which the enqueue refuses.
    pub fn value(value: &impl Serialize) -> Unique {
        let text = serde_json::to_value(value).map(|value| sorted(value).to_string());
        let text = text.unwrap_or_default();
        let fits = text.is_empty() || name::check(&text).is_ok();
        Unique::key(if fits { text } else { hashed(&text) })
    }

    /// Keeps the key's SHA-256 instead of its text, so that nobody reads in it what is hidden elsewhere.
    /// What is easily guessed is still found by trying.
    pub fn hashed(mut self) -> Unique {
        if let Key::Text(key) = &self.key {
            self.key = Key::Text(if key.is_empty() { String::new() } else { hashed(key) });
        }
        self
    }

    fn new(key: Key) -> Unique {
        Unique { key, hold: Hold::Active, on_conflict: OnConflict::Keep, same_payload: false }
    }

    /// Holds the key for a fixed window instead: time since 1970 UTC is cut into windows of this
    /// length, and the job's `run_at` says which one it falls in. So with an hour, two jobs due at
    /// 10:00 and 10:30 are one, while 10:59 and 11:00 are two. A job that ended well holds its
    /// window; one that is cancelled or dead gives it back. At least a millisecond.
    pub fn within(mut self, span: Duration) -> Unique {
        self.hold = Hold::Window(span);
        self
    }

    /// Holds the key for good, once the job succeeded; cancelled or dead it gives it back.
    pub fn for_good(mut self) -> Unique {
        self.hold = Hold::ForGood;
        self
    }

    /// What to do when another job holds the key. Default [`OnConflict::Keep`].
    pub fn on_conflict(mut self, rule: OnConflict) -> Unique {
        self.on_conflict = rule;
        self
    }

    /// Refuses ([`crate::StoreError::KeyReused`]) an enqueue with the key of a job that has another
    /// payload, as an idempotency key should. Both enqueues must ask for it.
    pub fn same_payload(mut self) -> Unique {
        self.same_payload = true;
        self
    }

    pub(crate) fn hold(&self) -> Hold {
        self.hold
    }

    /// The window's length.
    pub(crate) fn span_ms(&self) -> Option<i64> {
        match self.hold {
            Hold::Window(span) => Some(span.as_millis() as i64),
            Hold::Active | Hold::ForGood => None,
        }
    }

    pub(crate) fn is_for_good(&self) -> bool {
        self.hold == Hold::ForGood
    }

    /// The caller's key; of a payload its hash.
    pub(crate) fn text(&self, payload: &str) -> String {
        match &self.key {
            Key::Text(key) => key.clone(),
            Key::Payload => hashed(payload),
        }
    }

    /// What must be equal for two payloads to count as the same: half a SHA-256.
    pub(crate) fn fingerprint(&self, payload: &str) -> Option<Vec<u8>> {
        self.same_payload.then(|| Sha256::digest(payload.as_bytes())[..16].to_vec())
    }

    pub(crate) fn check(&self) -> Result<(), Invalid> {
        if let Key::Text(key) = &self.key {
            check_name("unique_key", key)?;
        }
        match self.hold {
            Hold::Window(span) => check_span_ms("unique_within", span, 1),
            Hold::Active | Hold::ForGood => Ok(()),
        }
    }

    /// The key as it is stored for a job due at `due`. `longshore.unique_text` says the same in SQL.
    pub(crate) fn stored(&self, payload: &str, due: Timestamp) -> String {
        let key = self.text(payload);
        match self.span_ms() {
            Some(span_ms) => {
                let number = due.as_micros().div_euclid(span_ms.saturating_mul(1_000));
                format!("{key}{MARK}{span_ms}{MARK}{number}")
            }
            None if self.is_for_good() => format!("{key}{MARK}{FOR_GOOD}"),
            None => key,
        }
    }
}

/// Until when a stored key that is taken now is held; `None`: until its job ends.
/// `longshore.unique_until` says the same in SQL, and why.
pub(crate) fn until(stored: &str, now: Timestamp) -> Option<Timestamp> {
    let mut parts = stored.split(MARK).skip(1);
    let span = parts.next()?;
    if span == FOR_GOOD {
        return Some(Timestamp::from_micros(i64::MAX));
    }
    let span_us = span.parse::<i64>().ok()?.saturating_mul(1_000);
    let number: i64 = parts.next()?.parse().ok()?;
    let end = number.saturating_add(1).saturating_mul(span_us);
    Some(Timestamp::from_micros(end.max(now.as_micros().saturating_add(span_us))))
}

/// The caller's part of a stored key.
pub(crate) fn callers(stored: &str) -> &str {
    stored.split(MARK).next().unwrap_or_default()
}

/// Whose keys these are: those of one kind.
pub(crate) fn scope(kind: &str) -> String {
    format!("kind:{kind}")
}

fn hashed(text: &str) -> String {
    let hex = |byte: &u8| format!("{byte:02x}");
    format!("sha256:{}", Sha256::digest(text.as_bytes()).iter().map(hex).collect::<String>())
}

/// With the keys of all objects in it in order. (Whether a map keeps them so is a feature of `serde_json` that
/// any other crate may switch.)
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.into_iter().map(|(key, v)| (key, sorted(v))).collect();
            entries.sort_by(|(a, _), (b, _)| a.cmp(b));
            Value::Object(entries.into_iter().collect())
        }
        Value::Array(values) => Value::Array(values.into_iter().map(sorted).collect()),
        plain => plain,
    }
}

/// Some fields of a job, for [`Unique::value`]. In JSON an object.
#[derive(Clone, Debug, Default)]
pub struct Fields(Vec<(&'static str, Option<Value>)>);

impl Fields {
    /// None yet.
    pub fn new() -> Fields {
        Fields::default()
    }

    /// One more.
    pub fn and(mut self, name: &'static str, value: &impl Serialize) -> Fields {
        self.0.push((name, serde_json::to_value(value).ok()));
        self
    }
}

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            let value = value.as_ref();
            let value = value.ok_or_else(|| S::Error::custom(format!("`{name}` is no JSON")))?;
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a time")
    }

    #[test]
    fn a_window_starts_at_its_border_and_ends_before_the_next() {
        let hourly = Unique::key("k").within(HOUR);
        let stored = |text| hourly.stored("", at(text));
        assert_eq!(stored("2026-01-02T10:00:00Z"), stored("2026-01-02T10:59:59.999999Z"));
        assert_ne!(stored("2026-01-02T10:59:59.999999Z"), stored("2026-01-02T11:00:00Z"));
        let now = at("2026-01-02T09:00:00Z");
        assert_eq!(until(&stored("2026-01-02T10:30:00Z"), now), Some(at("2026-01-02T11:00:00Z")));
        // One that is over is still held for its length; before 1970 as well.
        assert_eq!(until(&stored("2026-01-01T10:30:00Z"), now), Some(at("2026-01-02T10:00:00Z")));
        assert_ne!(stored("1969-12-31T23:59:59Z"), stored("1970-01-01T00:00:00Z"));
    }

    #[test]
    fn keys_of_different_holds_never_meet() {
        let key = || Unique::key("k");
        let stored = |unique: Unique| unique.stored("", at("2026-01-02T10:00:00Z"));
        let all = [
            stored(key()),
            stored(key().for_good()),
            stored(key().within(HOUR)),
            stored(key().within(2 * HOUR)),
        ];
        let different: std::collections::HashSet<_> = all.iter().collect();
        assert_eq!(different.len(), 4);
        assert!(all.iter().all(|stored| callers(stored) == "k"));
        let now = at("2026-01-02T10:00:00Z");
        assert_eq!(until(&all[0], now), None);
        assert_eq!(until(&all[1], now), Some(Timestamp::from_micros(i64::MAX)));
    }

    #[test]
    fn a_key_of_a_value_does_not_depend_on_order() {
        let text = |value: Value| Unique::value(&value).text("");
        let unsorted: Value = serde_json::from_str(r#"{"b":[{"d":1,"c":2}],"a":"x"}"#).unwrap();
        assert_eq!(text(unsorted), r#"{"a":"x","b":[{"c":2,"d":1}]}"#);
        let fields = Fields::new().and("to", &"ada").and("by", &7);
        assert_eq!(Unique::value(&fields).text(""), r#"{"by":7,"to":"ada"}"#);
        let turned = Fields::new().and("by", &7).and("to", &"ada");
        assert_eq!(Unique::value(&fields), Unique::value(&turned));
    }

    #[test]
    fn a_value_that_is_no_name_is_hashed_and_one_that_is_no_json_is_refused() {
        let key = |value: &str| Unique::value(&value).text("");
        assert_eq!(key(&"x".repeat(253)).len(), 255);
        for odd in ["x".repeat(254), "a\u{200b}b".to_owned()] {
            assert!(key(&odd).starts_with("sha256:"), "{odd}");
            assert_eq!(Unique::value(&odd).check(), Ok(()));
        }
        assert_eq!(Unique::value(&7).hashed().text(""), hashed("7"));
        // Read back as a float, two of these would be one key.
        for too_large in [u128::MAX, u128::MAX - 1] {
            let fields = Fields::new().and("n", &too_large);
            assert!(Unique::value(&fields).check().is_err(), "{too_large}");
            assert!(Unique::value(&fields).hashed().check().is_err(), "{too_large}");
        }
    }

    #[test]
    fn a_key_of_a_payload_is_its_hash() {
        let unique = Unique::payload();
        // SHA-256 of the empty text, FIPS 180-4.
        assert!(unique.text("").starts_with("sha256:e3b0c44298fc1c149afbf4c8996fb924"));
        assert_ne!(unique.text("[1]"), unique.text("[ 1]"));
    }
}
