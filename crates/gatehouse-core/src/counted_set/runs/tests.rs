use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::counted_set::bitmap::Bitmap;

/// Members of every density, also long runs.
fn sets() -> impl Strategy<Value = BTreeSet<u32>> {
    let last = GROUP_NUMBERS as u32 - 1;
    let run = (0..=last, 1u32..3000).prop_map(move |(start, n)| {
        (start..=start.saturating_add(n).min(last)).collect::<Vec<_>>()
    });
    let single = (0..=last).prop_map(|it| vec![it]);
    let near = (0u32..3000).prop_map(|it| vec![it]);
    let short = (0u32..9000, 1u32..70).prop_map(|(start, n)| (start..start + n).collect());
    prop::collection::vec(prop_oneof![1 => run, 20 => single, 20 => near, 20 => short], 0..300)
        .prop_map(|all| all.into_iter().flatten().collect())
}

/// Bytes that look like a part's, with small distances and a position near the group's end too.
fn part_bytes() -> impl Strategy<Value = Vec<u8>> {
    let end = (GROUP_NUMBERS as u32 - 400..GROUP_NUMBERS as u32 + 9).prop_map(|position| {
        let mut bytes = Vec::new();
        put_varint(&mut bytes, position);
        bytes
    });
    let begin = prop_oneof![Just(Vec::new()), end];
    let rest = prop::collection::vec(any::<u8>(), 0..60);
    (0u8..5, begin, rest).prop_map(|(encoding, begin, rest)| [vec![encoding], begin, rest].concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn stored_members_are_read_back(members in sets()) {
        let runs = Runs::of_sorted(members.iter().copied());
        prop_assert_eq!(runs.len() as usize, members.len());
        prop_assert!(runs.members().eq(members.iter().copied()));
        let bytes = runs.encode();
        prop_assert_eq!(bytes.len(), runs.n_bytes());
        prop_assert_eq!(&Runs::decode(&bytes), &Ok(runs));
        let mut bitmap = Bitmap::default();
        Runs::decode_into(&bytes, &mut bitmap).unwrap();
        prop_assert!(bitmap.members(0, u64::MAX).into_iter().eq(members));
    }

    #[test]
    fn changed_members_are_those_of_a_plain_set(
        members in sets(),
        changes in prop::collection::btree_map(0..GROUP_NUMBERS as u32, any::<bool>(), 0..200),
        near in prop::collection::btree_map(0..3000u32, any::<bool>(), 0..200),
    ) {
        let changes: std::collections::BTreeMap<u32, bool> = changes.into_iter().chain(near).collect();
        let mut runs = Runs::of_sorted(members.iter().copied());
        let list: Vec<MemberChange> =
            changes.iter().map(|(offset, is)| MemberChange { offset: *offset, is_member: *is }).collect();
        let count = runs.change(&list);
        let mut model = members;
        let mut expected = ChangeCount::default();
        for (offset, is_member) in changes {
            if is_member {
                expected.n_added += u32::from(model.insert(offset));
            } else {
                expected.n_removed += u32::from(model.remove(&offset));
            }
        }
        prop_assert_eq!(count, expected);
        prop_assert_eq!(&runs, &Runs::of_sorted(model));
    }

    #[test]
    fn pieces_fit_into_parts_and_have_all_members(members in sets(), is_growing_at_end: bool) {
        let runs = Runs::of_sorted(members);
        let pieces = runs.clone().pieces(is_growing_at_end);
        let mut joined = Runs::default();
        for piece in &pieces {
            prop_assert!(piece.n_bytes() <= PART_BYTES_MAX);
            joined.append(piece);
        }
        prop_assert_eq!(joined, runs);
    }

    #[test]
    fn damaged_bytes_are_refused_or_members_of_the_group(bytes in part_bytes()) {
        let mut bitmap = Bitmap::default();
        let is_read = Runs::decode_into(&bytes, &mut bitmap).is_ok();
        let runs = Runs::decode(&bytes);
        prop_assert_eq!(runs.is_ok(), is_read);
        if let Ok(runs) = runs {
            prop_assert!(runs.members().eq(bitmap.members(0, u64::MAX)));
            prop_assert!(runs.runs().iter().all(|run| u64::from(run.end) <= GROUP_NUMBERS));
            prop_assert!(runs.runs().windows(2).all(|it| it[0].end < it[1].start));
        }
    }
}

#[test]
fn each_kind_of_set_has_its_short_form() {
    let all = GROUP_NUMBERS as u32;
    #[rustfmt::skip]
    let cases = [
        (Runs::default(),                                 Encoding::Gaps,   1),
        (Runs(vec![Run { start: 0, end: all }]),          Encoding::Runs,   5),
        (Runs::of_sorted((0..all).step_by(1000)),         Encoding::Gaps,   526),
        (Runs::of_sorted((0..6000).filter(|it| it % 3 < 2)), Encoding::Bitmap, 752),
    ];
    for (runs, encoding, n_bytes) in cases {
        assert!(runs.bytes() == (encoding, n_bytes), "{n_bytes}: {:?}", runs.bytes().1);
    }
}

#[test]
fn a_set_that_grows_at_its_end_fills_its_parts() {
    let mut parts = vec![Runs::default()];
    for offset in (0..GROUP_NUMBERS as u32).step_by(20) {
        let mut last = parts.pop().unwrap();
        last.change(&[MemberChange { offset, is_member: true }]);
        parts.extend(last.pieces(true));
    }
    let n_full = parts.iter().filter(|it| it.n_bytes() > PART_BYTES_MAX * 9 / 10).count();
    assert!(n_full >= parts.len() - 1, "{n_full} of {}", parts.len());
}
