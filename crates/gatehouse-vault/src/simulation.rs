//! Simulates the vault on one thread, for tests alone: random bytes follow from a seed, and slow hashes run at once and
//! cheaply on the calling thread.
//!
//! Behind a feature that only tests of other crates enable: no released program can have predictable random bytes.

use std::cell::Cell;

/// Memory in KiB and passes of a slow hash: the least that Argon2 allows.
pub(crate) const SLOW_COST: (u32, u32) = (8, 1);

thread_local! {
    static STATE: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Simulates the vault on this thread while it is held.
pub struct Simulation(());

impl Simulation {
    /// Simulates the vault on this thread from now on, with this seed.
    pub fn begin(seed: u64) -> Self {
        STATE.set(Some(seed));
        Self(())
    }
}

impl Drop for Simulation {
    fn drop(&mut self) {
        STATE.set(None);
    }
}

/// Whether this thread is simulated.
pub fn is_on() -> bool {
    STATE.get().is_some()
}

/// Fills a buffer with seeded bytes; returns whether this thread is simulated.
pub(crate) fn fill(buffer: &mut [u8]) -> bool {
    let Some(mut state) = STATE.get() else { return false };
    for part in buffer.chunks_mut(8) {
        // SplitMix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        part.copy_from_slice(&bits.to_le_bytes()[..part.len()]);
    }
    STATE.set(Some(state));
    true
}
