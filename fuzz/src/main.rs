//! The fuzzer: libFuzzer around every target of every crate, one at a time.
//!
//! The variable `FUZZ_TARGET` says which; `cargo xtask fuzz` sets it. One program has them all, because linking the server
//! once for each of them would take longer than to run them. A target's code is in its crate's module `fuzzing`.

#![no_main]

use std::process;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;

/// A target's code: takes any bytes, and panics when a promise is broken.
type Check = fn(&[u8]);

static CHOSEN: OnceLock<Check> = OnceLock::new();

fuzz_target!(
    init: {
        let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
        let known = targets().find(|(known, _)| *known == name);
        let Some((_, check)) = known else {
            let names: Vec<&str> = targets().map(|(name, _)| name).collect();
            eprintln!("FUZZ_TARGET must be one of {}, not `{name}`", names.join(", "));
            process::exit(2);
        };
        CHOSEN.get_or_init(|| check);
    },
    |bytes: &[u8]| {
        if let Some(check) = CHOSEN.get() {
            check(bytes);
        }
    }
);

fn targets() -> impl Iterator<Item = (&'static str, Check)> {
    let crates = [
        gatehouse_core::fuzzing::TARGETS,
        gatehouse_vault::fuzzing::TARGETS,
        gatehouse_store::fuzzing::TARGETS,
        gatehouse_connectors::fuzzing::TARGETS,
        gatehouse_server::fuzzing::TARGETS,
        gatehouse::fuzzing::TARGETS,
    ];
    crates.into_iter().flatten().copied()
}
