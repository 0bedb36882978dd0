//! Pseudo-random numbers: the same in every run, on every machine and with every compiler.
//!
//! Nothing here is secret, so a fast mixer suffices. The standard library's hashes don't: they may change.

/// The pseudo-random number for a seed and a number.
pub(super) fn pseudo_random(seed: u64, number: u64) -> u64 {
    // SplitMix64.
    let mut mixed =
        seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// The pseudo-random number for a seed and a text.
pub(super) fn pseudo_random_from_text(seed: u64, text: &str) -> u64 {
    // FNV-1a, mixed once more.
    let hashed = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    pseudo_random(seed, hashed)
}
