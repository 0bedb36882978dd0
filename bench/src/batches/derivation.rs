//! What the secrets of a batch cost by themselves.

use std::hint::black_box;
use std::time::{Duration, Instant};

use gatehouse_vault::{MasterKey, MasterKeys, TaskKey, Vault};

/// Derives all that a batch of so many accesses needs, and hashes their passwords, as the server does. Tells how
/// long that took.
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
