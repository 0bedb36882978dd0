//! Chance that falls the same way in every run, on every machine and with every compiler.
//!
//! Nothing here is secret, so a mixer will do. The standard library's hashes would not: they may change.

/// A number that seems to have nothing to do with these two, and is always the same for them.
pub(super) fn draw(seed: u64, what: u64) -> u64 {
    // SplitMix64.
    let mut mixed =
        seed ^ what.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// A number that seems to have nothing to do with a seed and a text, and is always the same for them.
pub(super) fn draw_for(seed: u64, text: &str) -> u64 {
    // FNV-1a, mixed once more.
    let hashed = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    draw(seed, hashed)
}
