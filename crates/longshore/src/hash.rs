//! A short hash that is the same on every machine and in every build, to tell texts apart.

/// FNV-1a, 64 bits (Fowler, Noll and Vo). Tells mistakes apart, not attacks.
pub(crate) fn fnv1a(bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
