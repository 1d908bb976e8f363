//! Numbered migrations: forward only, each applied once, in one transaction under a lock.

use super::{Result, StoreError};
use crate::hash::fnv1a;

/// One numbered step of the schema.
#[derive(Debug)]
#[non_exhaustive]
pub struct Migration {
    /// Its number, from 1 without gaps.
    pub version: u32,
    /// What it is about.
    pub name: &'static str,
    /// What it does.
    pub sql: &'static str,
}

impl Migration {
    /// FNV-1a over the text, 64 bits: tells an edited file from the applied one. It guards against
    /// mistakes, not against malice.
    pub fn checksum(&self) -> String {
        format!("{:016x}", fnv1a(self.sql.bytes()))
    }
}

/// Which of `known` still have to be applied, given what is applied already.
pub(crate) fn pending<'a>(
    known: &'a [Migration],
    applied: &[(u32, String)],
) -> Result<&'a [Migration]> {
    let needed = known.len() as u32;
    for (version, checksum) in applied {
        let Some(ours) = known.iter().find(|migration| migration.version == *version) else {
            return Err(StoreError::Schema { found: *version, needed });
        };
        if ours.checksum() != *checksum {
            return Err(StoreError::Checksum { version: *version });
        }
    }
    Ok(&known[applied.len().min(known.len())..])
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [Migration; 2] = [
        Migration { version: 1, name: "one", sql: "a" },
        Migration { version: 2, name: "two", sql: "b" },
    ];

    #[test]
    fn the_checksum_is_fnv_1a() {
        let of = |sql| Migration { version: 1, name: "", sql }.checksum();
        assert_eq!(of(""), "cbf29ce484222325");
        assert_eq!(of("a"), "af63dc4c8601ec8c");
    }

    #[test]
    fn only_what_is_missing_is_applied() {
        let one = (1, KNOWN[0].checksum());
        assert_eq!(pending(&KNOWN, &[]).unwrap().len(), 2);
        assert_eq!(pending(&KNOWN, std::slice::from_ref(&one)).unwrap()[0].version, 2);
        assert!(matches!(
            pending(&KNOWN, &[(1, "other".into())]),
            Err(StoreError::Checksum { version: 1 })
        ));
        assert!(matches!(
            pending(&KNOWN, &[one, (3, "?".into())]),
            Err(StoreError::Schema { found: 3, needed: 2 })
        ));
    }
}
