//! What both backends' migration runners share.

/// One step of the schema. Its text never changes once it was released.
pub(crate) struct Migration {
    pub version: u32,
    pub name: &'static str,
    pub sql: &'static str,
}

impl Migration {
    /// FNV-1a of the text, 64 bits: tells an edit, is the same in every build, needs no crate.
    pub(crate) fn checksum(&self) -> String {
        let hash = self.sql.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        format!("{hash:016x}")
    }
}

#[cfg(test)]
mod tests {
    use super::Migration;

    #[test]
    fn the_checksum_is_fnv_1a() {
        let of = |sql| Migration { version: 1, name: "", sql }.checksum();
        assert_eq!(of(""), "cbf29ce484222325");
        assert_eq!(of("a"), "af63dc4c8601ec8c");
    }
}
