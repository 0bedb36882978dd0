use super::*;
use proptest::prelude::*;

/// Runs a selection; returns its counts, and the number of round trips with `n_look_ups` look-ups each.
fn select(runs: &[Vec<u64>], bounds: &[Interval], n: u64, n_look_ups: u32) -> (Vec<u64>, usize) {
    let mut selection = RunSelection::new(bounds, n);
    let mut n_round_trips = 0;
    loop {
        let look_ups = selection.look_ups(n_look_ups);
        if look_ups.is_empty() {
            return (selection.counts(), n_round_trips);
        }
        for PositionLookUp { run, positions } in look_ups {
            n_round_trips += 1;
            let number = |position: u64| (position, runs[run][position as usize - 1]);
            selection.learn(run, positions.into_iter().map(number));
        }
    }
}

fn whole(runs: &[Vec<u64>]) -> Vec<Interval> {
    runs.iter().map(|run| Interval { after: 0, to: run.len() as u64 }).collect()
}

/// How many of the first `n` numbers each run has, by a merge.
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
    fn the_first_n_numbers_are_found_in_every_mixture(
        owners in prop::collection::vec(0_usize..6, 0..300),
        n_runs in 1_usize..6,
        part in 0.0..1.0,
        size in 0_u64..50,
        n_look_ups in 1_u32..4,
    ) {
        let runs = split(&owners, n_runs);
        let total = runs.iter().map(Vec::len).sum::<usize>() as u64;
        let n = (total as f64 * part) as u64;
        for n in [0, n, total] {
            let begin = select(&runs, &whole(&runs), n, n_look_ups).0;
            prop_assert_eq!(&begin, &walk(&runs, n));
            // From there on, the end of a page.
            let bounds: Vec<Interval> = runs.iter().zip(&begin).map(|(run, after)| {
                Interval { after: *after, to: (after + size).min(run.len() as u64) }
            }).collect();
            let end = (n + size).min(total);
            prop_assert_eq!(select(&runs, &bounds, end, n_look_ups).0, walk(&runs, end));
        }
    }
}

/// The run that a number belongs to.
type Owner = fn(usize) -> usize;

#[test]
fn few_round_trips_are_enough_for_every_mixture() {
    let n_numbers = 40_000;
    #[rustfmt::skip]
    let mixtures: [(&str, Owner, usize, usize); 4] = [
        // mixture              // run of a number                      // look-ups, round trips of three, at most
        ("in turn",             |number| number % 2,                    12, 6),
        ("in stretches",        |number| number / 1000 % 2,             30, 14),
        ("one after the other", |number| number / 20_000,               30, 14),
        ("one rarely",          |number| usize::from(number % 97 == 0), 12, 6),
    ];
    for (mixture, owner, look_ups_max, round_trips_max) in mixtures {
        let owners: Vec<usize> = (0..n_numbers).map(owner).collect();
        let runs = split(&owners, 2);
        for n in [0, 1, 1000, 15_777, 20_000, 30_001, 39_900, 40_000] {
            for (n_look_ups, max) in [(1, look_ups_max), (3, round_trips_max)] {
                let (counts, n_round_trips) = select(&runs, &whole(&runs), n, n_look_ups);
                assert_eq!(counts, walk(&runs, n), "{mixture} {n}");
                assert!(
                    n_round_trips <= max,
                    "{mixture}, first {n} by {n_look_ups}: {n_round_trips}"
                );
            }
        }
    }
}
