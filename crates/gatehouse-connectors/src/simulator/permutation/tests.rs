use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn invert_undoes_apply(
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
fn each_number_is_the_image_of_one_number() {
    let permutation = Permutation::new(30, 5);
    let mut permuted: Vec<u64> = (0..900).map(|number| permutation.apply(number)).collect();
    assert_ne!(permuted, (0..900).collect::<Vec<_>>());
    permuted.sort_unstable();
    assert_eq!(permuted, (0..900).collect::<Vec<_>>());
}

#[test]
fn a_number_that_is_too_large_has_no_inverse() {
    let permutation = Permutation::new(30, 5);
    assert!(permutation.invert(899).is_some());
    assert_eq!(permutation.invert(900), None);
    assert_eq!(permutation.invert(u64::MAX), None);
}
