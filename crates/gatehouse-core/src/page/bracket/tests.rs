use super::*;
use proptest::prelude::*;

/// Finds an end; returns it, the number of looks, and the number of round trips of three looks each.
fn find(low: u64, high: u64, guess: u64, end: u64) -> (u64, usize, usize) {
    let mut bracket = Bracket::new(low, high, guess);
    let (mut n_looks, mut n_journeys) = (0, 0);
    let mut seen = Vec::new();
    while bracket.is_open() {
        let position = bracket.position();
        if !seen.contains(&position) {
            seen = bracket.ahead(3);
            assert!(seen.contains(&position) && seen.len() <= 7);
            n_journeys += 1;
        }
        n_looks += 1;
        if position <= end { bracket.include() } else { bracket.exclude() }
    }
    (bracket.position(), n_looks, n_journeys)
}

proptest! {
    #[test]
    fn the_end_is_found_at_every_position(low in 0_u64..1000, length in 0_u64..10_000, guess: u64, part in 0.0..=1.0) {
        let high = low + length;
        let end = low + (length as f64 * part) as u64;
        for guess in [guess, guess % (high + 2), end] {
            let (found, n_looks, _) = find(low, high, guess, end);
            prop_assert_eq!(found, end);
            prop_assert!(n_looks <= 25, "{} looks", n_looks);
        }
    }
}

#[test]
fn a_good_guess_is_confirmed_soon_and_a_bad_one_costs_little() {
    let n = 10_000_000;
    #[rustfmt::skip]
    let cases = [
        // guess      // end        // looks, round trips at most
        (5_000_000,   5_000_000,    (2, 1)),
        (5_000_000,   5_000_003,    (6, 2)),
        (5_000_000,   4_999_500,    (14, 5)),
        (5_000_000,   1,            (32, 11)),
        (1,           n,            (32, 11)),
        (n,           7_654_321,    (32, 11)),
    ];
    for (guess, end, (looks_max, journeys_max)) in cases {
        let (found, n_looks, n_journeys) = find(0, n, guess, end);
        assert_eq!(found, end);
        assert!(
            n_looks <= looks_max && n_journeys <= journeys_max,
            "{end}: {n_looks}, {n_journeys}"
        );
    }
}
