use super::*;
use proptest::prelude::*;

/// Finds a boundary; returns it, the number of look-ups, and the number of round trips of three look-ups each.
fn find(low: u64, high: u64, guess: u64, boundary: u64) -> (u64, usize, usize) {
    let mut bracket = Bracket::new(low, high, guess);
    let (mut n_look_ups, mut n_round_trips) = (0, 0);
    let mut seen = Vec::new();
    while bracket.is_open() {
        let position = bracket.position();
        if !seen.contains(&position) {
            seen = bracket.ahead(3);
            assert!(seen.contains(&position) && seen.len() <= 7);
            n_round_trips += 1;
        }
        n_look_ups += 1;
        if position <= boundary { bracket.include() } else { bracket.exclude() }
    }
    (bracket.position(), n_look_ups, n_round_trips)
}

proptest! {
    #[test]
    fn the_boundary_is_found_at_every_position(low in 0_u64..1000, length in 0_u64..10_000, guess: u64, part in 0.0..=1.0) {
        let high = low + length;
        let boundary = low + (length as f64 * part) as u64;
        for guess in [guess, guess % (high + 2), boundary] {
            let (found, n_look_ups, _) = find(low, high, guess, boundary);
            prop_assert_eq!(found, boundary);
            prop_assert!(n_look_ups <= 25, "{} look-ups", n_look_ups);
        }
    }
}

#[test]
fn a_good_guess_is_confirmed_soon_and_a_bad_one_costs_little() {
    let n = 10_000_000;
    #[rustfmt::skip]
    let cases = [
        // guess      // boundary   // look-ups, round trips at most
        (5_000_000,   5_000_000,    (2, 1)),
        (5_000_000,   5_000_003,    (6, 2)),
        (5_000_000,   4_999_500,    (14, 5)),
        (5_000_000,   1,            (32, 11)),
        (1,           n,            (32, 11)),
        (n,           7_654_321,    (32, 11)),
    ];
    for (guess, boundary, (look_ups_max, round_trips_max)) in cases {
        let (found, n_look_ups, n_round_trips) = find(0, n, guess, boundary);
        assert_eq!(found, boundary);
        assert!(
            n_look_ups <= look_ups_max && n_round_trips <= round_trips_max,
            "{boundary}: {n_look_ups}, {n_round_trips}"
        );
    }
}
