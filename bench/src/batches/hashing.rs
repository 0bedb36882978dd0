//! The machine's full speed: slow hashes on every core, and nothing else.

use std::thread;
use std::time::{Duration, Instant};

use argon2::{Algorithm, Argon2, Block, Params, Version};

pub(crate) const FOR: Duration = Duration::from_secs(3);

/// Parameters of the server's hashes of chosen passwords.
const MEMORY_KIB: u32 = 19_456;
const PASSES: u32 = 2;

/// Hashes per second, with every core hashing for this long.
pub(crate) fn hashes_per_second(time: Duration) -> f64 {
    let n_cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let cores: Vec<_> = (0..n_cores).map(|_| scope.spawn(move || hash_for(time))).collect();
        cores.into_iter().filter_map(|core| core.join().ok()).sum()
    })
}

fn hash_for(time: Duration) -> f64 {
    const FITTING: &str = "the parameters are within Argon2's bounds";
    let params = Params::new(MEMORY_KIB, PASSES, 1, Some(32)).expect(FITTING);
    // Every hash reuses the memory: nothing is faster.
    let mut memory = vec![Block::default(); params.block_count()];
    let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    let (begun, mut n_hashes, mut hash) = (Instant::now(), 0_u32, [0; 32]);
    while begun.elapsed() < time {
        let password = n_hashes.to_be_bytes();
        let hashed =
            argon2.hash_password_into_with_memory(&password, &[7; 16], &mut hash, &mut memory);
        hashed.expect(FITTING);
        n_hashes += 1;
    }
    f64::from(n_hashes) / begun.elapsed().as_secs_f64()
}
