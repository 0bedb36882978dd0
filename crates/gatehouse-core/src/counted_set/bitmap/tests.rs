use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

fn runs() -> impl Strategy<Value = Vec<Run>> {
    let last = GROUP_NUMBERS as u32;
    let run =
        (0..last, 0u32..500).prop_map(move |(start, n)| Run { start, end: (start + n).min(last) });
    prop::collection::vec(run, 0..20)
}

fn model(runs: &[Run]) -> BTreeSet<u32> {
    runs.iter().flat_map(|run| run.start..run.end).collect()
}

fn bitmap(runs: &[Run]) -> Bitmap {
    let mut bitmap = Bitmap::default();
    runs.iter().for_each(|run| bitmap.insert(*run));
    bitmap
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn bitmaps_are_combined_like_plain_sets(a in runs(), b in runs(), removed in runs()) {
        let (in_a, in_b) = (model(&a), model(&b));
        let [mut both, mut any, mut alone] = [(); 3].map(|()| bitmap(&a));
        both.intersect(&bitmap(&b));
        any.unite(&bitmap(&b));
        alone.subtract(&bitmap(&b));
        prop_assert!(alone.members(0, u64::MAX).iter().eq(in_a.difference(&in_b)));
        prop_assert!(both.members(0, u64::MAX).iter().eq(in_a.intersection(&in_b)));
        prop_assert!(any.members(0, u64::MAX).iter().eq(in_a.union(&in_b)));
        let mut left = any.clone();
        model(&removed).into_iter().for_each(|it| left.remove_one(it));
        let expected: BTreeSet<u32> = in_a.union(&in_b).copied().collect();
        let expected = &expected - &model(&removed);
        prop_assert_eq!(left.len() as usize, expected.len());
        prop_assert_eq!(left.is_empty(), expected.is_empty());
        prop_assert!(left.members(0, u64::MAX).into_iter().eq(expected));
    }

    #[test]
    fn any_page_of_members_is_found(a in runs(), n_skipped in 0u64..3000, n_max in 0u64..300) {
        let found = bitmap(&a).members(n_skipped, n_max);
        let expected = model(&a).into_iter().skip(n_skipped as usize).take(n_max as usize);
        prop_assert!(found.into_iter().eq(expected));
    }
}

#[test]
fn the_ends_of_a_group_are_members_like_all_others() {
    let last = GROUP_NUMBERS as u32 - 1;
    let bitmap = bitmap(&[Run { start: 0, end: 1 }, Run { start: last, end: last + 1 }]);
    assert_eq!(bitmap.members(0, 9), [0, last]);
    assert!(bitmap.contains(0) && bitmap.contains(last) && !bitmap.contains(1));
}

#[test]
fn short_runs_are_added_like_all_others() {
    let last_word = GROUP_NUMBERS as u32 - 64;
    for (word, shift, len) in [0, 64, last_word]
        .into_iter()
        .flat_map(|word| (0..64).flat_map(move |shift| (1..=64).map(move |len| (word, shift, len))))
    {
        let run = Run { start: word + shift, end: word + shift + len };
        let mut short = Bitmap::default();
        if u64::from(run.end) > GROUP_NUMBERS {
            assert_eq!(short.insert_short(run), None, "{run:?}");
            assert!(short.is_empty(), "{run:?}");
        } else {
            short.insert_short(run).unwrap();
            assert_eq!(short, bitmap(&[run]), "{run:?}");
        }
    }
}
