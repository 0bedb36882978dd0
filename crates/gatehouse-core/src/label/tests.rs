use super::*;
use proptest::prelude::*;

fn labels(pairs: &[(&str, &str)]) -> Labels {
    let parsed = pairs.iter().map(|(key, value)| (key.parse().unwrap(), value.parse().unwrap()));
    Labels::new(&parsed.collect()).unwrap()
}

fn required(key: &str, value: Option<&str>) -> RequiredLabels {
    [(key.parse().unwrap(), value.map(|value| value.parse().unwrap()))].into()
}

fn shown(labels: &Labels) -> Vec<(String, String)> {
    labels.shown().iter().map(|(key, value)| (key.to_owned(), value.into_owned())).collect()
}

#[test]
fn labels_are_one_text() {
    assert_eq!(
        labels(&[("team", "pumps"), ("site", "a=b")]).stored(),
        Some("\nsite=a=b\nteam=pumps\n")
    );
    assert_eq!(labels(&[("a", "x\ny\\n")]).stored(), Some("\na=x\\ny\\\\n\n"));
    assert_eq!(Labels::NONE.stored(), None);
    assert_eq!(Labels::from_stored("site=a"), None);
    assert_eq!(Labels::from_stored("\n"), None);
}

#[test]
fn a_required_label_is_found_by_key_and_value() {
    let it = labels(&[("site", "hamburg"), ("team", "x\nold=1\n")]);
    for (key, value, expected) in [
        ("site", Some("hamburg"), true),
        ("site", None, true),
        ("site", Some("hamb"), false),
        ("ite", None, false),
        ("old", None, false),
        ("old", Some("1"), false),
        ("team", Some("x\nold=1\n"), true),
    ] {
        assert_eq!(it.have(&required(key, value)), expected, "{key} {value:?}");
    }
}

#[test]
fn a_patch_sets_and_removes() {
    let patch = |pairs: &[(&str, Option<&str>)]| {
        let parse = |it: &&str| it.parse().unwrap();
        let pairs = pairs
            .iter()
            .map(|(key, value)| (parse(key), value.as_ref().map(|it| it.parse().unwrap())));
        LabelPatch(pairs.collect())
    };
    let before = labels(&[("site", "hamburg"), ("old", "1")]);
    let after = before.patched(&patch(&[("site", Some("berlin")), ("old", None), ("never", None)]));
    assert_eq!(after.unwrap(), labels(&[("site", "berlin")]));
    let many: Vec<String> = (0..=LABELS_MAX).map(|n| format!("k{n}")).collect();
    let many: Vec<(&str, Option<&str>)> =
        many.iter().map(|key| (key.as_str(), Some("v"))).collect();
    assert_eq!(Labels::NONE.patched(&patch(&many)), Err(TooManyLabels(33)));
    assert!(Labels::NONE.patched(&patch(&many[1..])).is_ok());
}

proptest! {
    #[test]
    fn a_patch_survives_its_text(pairs in prop::collection::btree_map("[a-z0-9._-]{1,9}", prop::option::of("[^\0]{1,32}"), 1..9)) {
        let parse = |(key, value): (&String, &Option<String>)| {
            (key.parse().unwrap(), value.as_ref().map(|it| it.parse().unwrap()))
        };
        let patch = LabelPatch(pairs.iter().map(parse).collect());
        prop_assert_eq!(LabelPatch::from_stored(&patch.stored().unwrap()), Some(patch));
    }

    #[test]
    fn labels_survive_their_text(pairs in prop::collection::btree_map("[a-z0-9._-]{1,9}", "[^\0]{1,32}", 0..9)) {
        let pairs: Vec<(String, String)> = pairs.into_iter().collect();
        let borrowed: Vec<(&str, &str)> = pairs.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        let made = labels(&borrowed);
        prop_assert_eq!(&shown(&made), &pairs);
        prop_assert_eq!(Labels::from_stored(made.stored().unwrap_or_default()), Some(made.clone()));
        for (key, value) in borrowed {
            prop_assert!(made.have(&required(key, Some(value))) && made.have(&required(key, None)));
        }
    }
}
