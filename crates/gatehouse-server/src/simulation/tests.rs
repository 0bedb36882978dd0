//! Every seed holds, and repeats itself exactly.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::*;

/// The only seed to run, with all events printed.
const SEED_VARIABLE: &str = "GATEHOUSE_SIM_SEED";

/// Number of seeds to run.
const N_SEEDS_VARIABLE: &str = "GATEHOUSE_SIM_SEEDS";

/// Number of seeds of an ordinary run, which are always the same, and of a long one.
const N_SEEDS: u64 = 20;
const N_SEEDS_LONG: u64 = 1000;

/// Events that some seeds must reach, or they show nothing.
const REACHED: [&str; 10] = [
    "calls that failed",
    "commits lost",
    "deaths",
    "expiries stored",
    "leases taken over",
    "requests while calm",
    "stops",
    "chunks",
    "Tasks deleted",
    "tenants deleted",
];

/// Failed seeds after which the rest is skipped.
const N_FAILED_MAX: usize = 3;

/// Runs one seed; returns its faults if it fails.
fn hold(seed: u64, is_verbose: bool) -> Result<Figures, String> {
    let ran = catch_unwind(AssertUnwindSafe(|| run(seed, is_verbose)));
    let again = format!("run it again with {SEED_VARIABLE}={seed}");
    match ran {
        Ok(ran) if ran.faults.is_empty() => Ok(ran.figures),
        Ok(ran) => Err(format!("{again}; {} faults:\n{}", ran.faults.len(), ran.faults.join("\n"))),
        Err(_) => Err(format!("{again}; it panics")),
    }
}

#[test]
fn disturbed_servers_do_all_work_exactly_once() {
    if let Ok(seed) = std::env::var(SEED_VARIABLE) {
        let seed = seed.parse().expect("GATEHOUSE_SIM_SEED is a number");
        hold(seed, true).unwrap_or_else(|why| panic!("{why}"));
        return;
    }
    let n_wanted = std::env::var(N_SEEDS_VARIABLE).ok();
    let n_wanted = n_wanted.map(|it| it.parse().expect("GATEHOUSE_SIM_SEEDS is a number"));
    let (first, n_seeds) = match std::env::var_os("TEST_LONG") {
        Some(_) => (
            SeededRandom::from_entropy("simulation").roll(1 << 31) << 20,
            n_wanted.unwrap_or(N_SEEDS_LONG),
        ),
        None => (0, n_wanted.unwrap_or(N_SEEDS)),
    };
    let (mut figures, mut failed) = (Figures::new(), Vec::new());
    for seed in first..first + n_seeds {
        match hold(seed, false) {
            Ok(more) => {
                for (what, n) in more {
                    *figures.entry(what).or_default() += n;
                }
            }
            Err(why) => failed.push(why),
        }
        if failed.len() == N_FAILED_MAX {
            break;
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
    eprintln!("{n_seeds} seeds from {first}: {figures:?}");
    for what in REACHED {
        assert!(figures.contains_key(what), "no seed reaches this: {what}");
    }
}

#[test]
fn a_seed_repeats_itself_exactly() {
    for seed in 0..3 {
        assert_eq!(run(seed, false).log_digest, run(seed, false).log_digest, "{seed}");
    }
    assert_ne!(run(0, false).log_digest, run(1, false).log_digest);
}
