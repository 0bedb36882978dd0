use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn what_was_permuted_can_be_turned_back(
        base in 1_u64..2_000_000,
        key: u64,
        number: u64,
    ) {
        let permutation = Permutation::new(base, key);
        let number = number % (base * base);
        let permuted = permutation.apply(number);
        prop_assert!(permuted < base * base);
        prop_assert_eq!(permutation.invert(permuted), Some(number));
    }
}

#[test]
fn every_number_is_hit_once() {
    let permutation = Permutation::new(30, 5);
    let mut hit: Vec<u64> = (0..900).map(|number| permutation.apply(number)).collect();
    assert_ne!(hit, (0..900).collect::<Vec<_>>());
    hit.sort_unstable();
    assert_eq!(hit, (0..900).collect::<Vec<_>>());
}

#[test]
fn what_is_too_large_comes_from_nowhere() {
    let permutation = Permutation::new(30, 5);
    assert!(permutation.invert(899).is_some());
    assert_eq!(permutation.invert(900), None);
    assert_eq!(permutation.invert(u64::MAX), None);
}
