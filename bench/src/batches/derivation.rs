//! Cost of a batch's secrets.

use std::hint::black_box;
use std::time::{Duration, Instant};

use gatehouse_vault::{MasterKey, MasterKeys, TaskKey, Vault};

/// Derives all values of a batch and hashes its passwords, as the server does. Returns the duration.
pub(crate) fn derive(n_accesses: u32) -> Duration {
    let vault = Vault::new(&MasterKeys::from(MasterKey::generate()));
    let key = TaskKey::draw();
    let begun = Instant::now();
    for ordinal in 0..n_accesses {
        black_box(key.access_id(1, ordinal));
        black_box(key.username(ordinal));
        black_box(vault.hash_generated(&key.password(ordinal)));
    }
    begun.elapsed()
}
