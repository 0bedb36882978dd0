//! Runs the fuzzer's seeds through its targets without a fuzzer, so that no seed is forgotten and every target stays
//! current.

use std::fs;
use std::path::{Path, PathBuf};

/// A fuzz target: its name, and its function of any bytes, which panics when a property is broken.
pub type FuzzTarget = (&'static str, fn(&[u8]));

/// Runs every target with each of its seeds, which are in `fuzz/seeds`, in a directory of its name.
///
/// # Panics
///
/// When a target has no seeds, or a seed breaks a property.
pub fn hold_seeds(targets: &[FuzzTarget]) {
    for (name, check) in targets {
        let seeds = seeds_of(name);
        assert!(!seeds.is_empty(), "the target {name} has no seeds in fuzz/seeds/{name}");
        for seed in seeds {
            let bytes = fs::read(&seed).expect("a seed can be read");
            // The last printed name is that of the failing seed.
            println!("{}", seed.display());
            check(&bytes);
        }
    }
}

fn seeds_of(target: &str) -> Vec<PathBuf> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let seeds = package.join("../../fuzz/seeds").join(target);
    let entries = fs::read_dir(seeds).into_iter().flatten();
    entries.map(|it| it.expect("a directory of seeds can be read").path()).collect()
}
