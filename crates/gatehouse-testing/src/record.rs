//! What the tests have tried to break, for docs/reliability.md.

use std::fs::File;
use std::io::Write;

/// Writes down that a fault was tried, how often, and what held each time. `cargo xtask test` says where to; without it
/// nothing is written.
///
/// # Panics
///
/// When it can't be written.
pub fn record(fault: &str, n_times: usize, held: &str) {
    let Some(path) = std::env::var_os("TEST_RECORD") else { return };
    let line = format!("{fault}\t{n_times}\t{held}\n");
    let file = File::options().append(true).create(true).open(path);
    // In one piece: others write beside.
    let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
    written.expect("what was tried can be written down");
}
