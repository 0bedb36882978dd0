//! A thread on which the vault is simulated, for tests alone: what is drawn follows from a seed, and slow hashes are made at once
//! where they are asked for, cheaply.
//!
//! Behind a feature, which only tests of other crates ask for: no program that people run can have its chance foretold.

use std::cell::Cell;

/// SuccessCache in KiB and passes of a slow hash: the least that Argon2 allows.
pub(crate) const SLOW_COST: (u32, u32) = (8, 1);

thread_local! {
    static STATE: Cell<Option<u64>> = const { Cell::new(None) };
}

/// This thread is simulated as long as this is held.
pub struct Simulation(());

impl Simulation {
    /// Simulates the vault on this thread from now on, with what follows from this seed.
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

/// Fills a buffer with bytes that follow from the seed; false where nothing is simulated.
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
