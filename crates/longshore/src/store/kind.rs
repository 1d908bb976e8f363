//! Kinds, as the nodes that can run them describe them.

use crate::time::Timestamp;

/// Kinds that one node may describe, the first by name; and that are listed.
pub const MAX_KNOWN: usize = 1_000;
/// A JSON Schema of more bytes is left out.
pub const MAX_SCHEMA_BYTES: usize = 64 << 10;

/// What a node can tell of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownKind {
    /// Its name.
    pub name: String,
    /// The greatest version of a payload that the node decodes; `None`: it takes any.
    pub version: Option<u32>,
    /// What payloads look like, as a JSON Schema.
    pub schema: Option<String>,
}

/// A kind as it is stored: of all that nodes have said, what the greatest version says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredKind {
    /// What is known.
    pub known: KnownKind,
    /// When a node said so last.
    pub seen_at: Timestamp,
}

impl KnownKind {
    /// What fits, in the order of names.
    pub(crate) fn bounded(mut known: Vec<KnownKind>) -> Vec<KnownKind> {
        known.sort_by(|a, b| a.name.cmp(&b.name));
        known.truncate(MAX_KNOWN);
        for kind in &mut known {
            let Some(schema) = &kind.schema else { continue };
            let fault = if schema.len() > MAX_SCHEMA_BYTES {
                "has over 64 KiB"
            } else if serde_json::from_str::<serde::de::IgnoredAny>(schema).is_err() {
                "is not JSON"
            } else {
                continue;
            };
            tracing::warn!(kind = kind.name, "its JSON Schema {fault}, and is not shown");
            kind.schema = None;
        }
        known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_left_out() {
        let kind = |name: &str, schema: &str| KnownKind {
            name: name.into(),
            version: None,
            schema: Some(schema.into()),
        };
        let long = format!("\"{}\"", "x".repeat(MAX_SCHEMA_BYTES));
        let known = vec![kind("c", "{}"), kind("b", &long), kind("a", "{")];
        let kept: Vec<_> =
            KnownKind::bounded(known).into_iter().map(|kind| (kind.name, kind.schema)).collect();
        let expected = [("a", None), ("b", None), ("c", Some("{}"))];
        assert_eq!(
            kept,
            expected.map(|(name, schema)| (name.to_owned(), schema.map(str::to_owned)))
        );
        let many = (0..MAX_KNOWN + 1).map(|n| kind(&format!("{n}"), "1")).collect();
        assert_eq!(KnownKind::bounded(many).len(), MAX_KNOWN);
    }
}
