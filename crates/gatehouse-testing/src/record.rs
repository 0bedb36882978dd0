//! Record of the faults that tests have tried, for docs/reliability.md.

use std::fs::File;
use std::io::Write;

/// Records a fault, how often a test tried it, and what held each time. `cargo xtask test` sets the file; without one
/// nothing is written.
///
/// # Panics
///
/// When the file can't be written.
pub fn record(fault: &str, n_times: usize, held: &str) {
    let Some(path) = std::env::var_os("TEST_RECORD") else { return };
    let line = format!("{fault}\t{n_times}\t{held}\n");
    let file = File::options().append(true).create(true).open(path);
    // In one write: other tests write at the same time.
    let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
    written.expect("what was tried can be written down");
}
