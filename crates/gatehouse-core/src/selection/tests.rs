use super::*;
use proptest::prelude::*;

/// Runs a selection over these runs; tells what it found and how often it had to look.
fn select(runs: &[Vec<u64>], n: u64) -> (Vec<u64>, usize) {
    let lengths: Vec<u64> = runs.iter().map(|run| run.len() as u64).collect();
    let mut selection = Selection::new(&lengths, n);
    let mut n_looks = 0;
    loop {
        let probes = selection.probes();
        if probes.is_empty() {
            return (selection.counts(), n_looks);
        }
        for probe in probes {
            n_looks += 1;
            selection.learn(probe, runs[probe.run][probe.position as usize - 1]);
        }
    }
}

/// How many of the first `n` lie in each run, by walking there.
fn walk(runs: &[Vec<u64>], n: u64) -> Vec<u64> {
    let mut all: Vec<(u64, usize)> = Vec::new();
    for (run, numbers) in runs.iter().enumerate() {
        all.extend(numbers.iter().map(|number| (*number, run)));
    }
    all.sort_unstable();
    let mut counts = vec![0; runs.len()];
    for (_, run) in all.into_iter().take(n as usize) {
        counts[run] += 1;
    }
    counts
}

fn split(owners: &[usize], n_runs: usize) -> Vec<Vec<u64>> {
    let mut runs = vec![Vec::new(); n_runs];
    for (number, owner) in owners.iter().enumerate() {
        if *owner < n_runs {
            runs[*owner].push(number as u64 + 1);
        }
    }
    runs
}

proptest! {
    #[test]
    fn the_first_n_are_found_wherever_they_lie(
        owners in prop::collection::vec(0_usize..6, 0..300),
        n_runs in 1_usize..6,
        part in 0.0..1.0,
    ) {
        let runs = split(&owners, n_runs);
        let total: usize = runs.iter().map(Vec::len).sum();
        let n = (total as f64 * part) as u64;
        for n in [0, n, total as u64] {
            prop_assert_eq!(select(&runs, n).0, walk(&runs, n));
        }
    }
}

/// Whose a number is.
type Owner = fn(usize) -> usize;

#[test]
fn few_looks_are_enough_however_the_runs_are_mixed() {
    let n_numbers = 40_000;
    #[rustfmt::skip]
    let mixtures: [(&str, Owner, usize); 4] = [
        // how they are mixed   // whose a number is             // looks at most
        ("in turn",             |number| number % 2,             12),
        ("in stretches",        |number| number / 1000 % 2,      30),
        ("one after the other", |number| number / 20_000,        30),
        ("one rarely",          |number| usize::from(number % 97 == 0), 12),
    ];
    for (mixture, owner, n_looks_max) in mixtures {
        let owners: Vec<usize> = (0..n_numbers).map(owner).collect();
        let runs = split(&owners, 2);
        for n in [0, 1, 1000, 15_777, 20_000, 30_001, 39_900, 40_000] {
            let (counts, n_looks) = select(&runs, n);
            assert_eq!(counts, walk(&runs, n), "{mixture} {n}");
            assert!(n_looks <= n_looks_max, "{mixture}, first {n}: {n_looks} looks");
        }
    }
}
