//! Any text is a manifest or none: it is read without panicking, and what is wrong with it is told by lines that it has.
//! `gatehouse-connectors` holds changed manifests against the same checks in its tests; the seeds are the shipped ones.

#![no_main]

use gatehouse_connectors::Manifest;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Err(faults) = Manifest::parse("m.yaml", text) else { return };
    assert!(!faults.each().is_empty());
    let n_lines = text.split('\n').count() as u64;
    assert!(faults.each().iter().all(|it| (1..=n_lines + 1).contains(&it.line)), "{faults}");
});
