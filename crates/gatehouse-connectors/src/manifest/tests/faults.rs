//! What is wrong with a manifest, and where.

use proptest::prelude::*;

use super::GOOD;
use crate::manifest::Manifest;
use crate::manifests::Manifests;

/// What is wrong once one text is another.
fn told(from: &str, to: &str) -> String {
    assert_eq!(GOOD.matches(from).count(), 1, "{from}");
    Manifest::parse("m.yaml", &GOOD.replace(from, to))
        .map_or_else(|it| it.to_string(), |_| String::new())
}

#[test]
fn the_good_manifest_is_good() {
    Manifest::parse("m.yaml", GOOD).unwrap_or_else(|faults| panic!("{faults}"));
}

#[test]
fn what_can_not_be_is_told_with_its_line() {
    #[rustfmt::skip]
    let cases = [
        ("title: Alpha",            "title: ' '",              3,  "`title` must say"),
        ("refusals_max: 3",         "refusals_max: 0",         20, "`session.refusals_max` must be at least 1"),
        ("lifetime: 1h",            "lifetime: 0s",            19, "`session.lifetime` must be longer than nothing"),
        ("X-Next }",                "'no header' }",           26, "`paging.next.header` must be the name of a header"),
        ("items: $.data\nlook_up",  "items: $.data[*]\nlook_up", 30, "`list.items` must lead to the list itself"),
        ("get: \"/sims/{value}\"",  "get: \"/{settings.org}/{value}\"", 32, "`look_up.id.call.get` mentions settings.org, which is optional"),
        ("get: \"/sims/{value}\"",  "get: \"/{credentials.pin}/{value}\"", 32, "`look_up.id.call.get` mentions credentials.pin, which is optional"),
        ("limit: \"{page.size}\"",  "limit: \"{settings.baseUrl}{page.size}\"", 29, "`list.call.query.limit` mentions settings.baseUrl"),
        ("serial_number: never_carried", "serial_number: not_searchable", 36, "`look_up.serial_number` must be never_carried"),
        ("imsi: not_searchable",    "imsi: never_carried",     34, "`look_up.imsi` can't be never_carried"),
        ("  belongs_to: $.sim\n",   "",                        38, "`detail` must say whose each answer is"),
        ("{ path: $.satellite, equals: true }", "{ status: 200 }", 58, "`product.satellite_when.status` is the status of an answer"),
        ("per: 1s",                 "per: 0s",                 66, "`limits.buckets[0].per` must be longer"),
        ("calls_at_once: 16",       "calls_at_once: 0",        64, "`limits.calls_at_once` must be 1 to 1000"),
    ];
    for (from, to, line, expected) in cases {
        let told = told(from, to);
        let (place, what) = told.split_once(": ").unwrap_or_else(|| panic!("nothing for {to}"));
        assert!(
            place.starts_with(&format!("m.yaml:{line}:")) && what.starts_with(expected),
            "{to}: {told}"
        );
    }
}

#[test]
fn all_faults_are_told_at_once() {
    let text = GOOD.replace("title: Alpha", "title: ''").replace("per: 1s", "per: 0s");
    let faults = Manifest::parse("m.yaml", &text).unwrap_err();
    assert_eq!(faults.each().iter().map(|it| it.line).collect::<Vec<_>>(), [3, 66]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn whatever_becomes_of_a_shipped_manifest_is_read_or_told_by_a_line_of_it(
        which in 0usize..8, at: prop::sample::Index, n in 0usize..12, with in r#"[{}\[\]$:,'" \n#&*!a-z0-9-]{0,8}"#,
    ) {
        let shipped = Manifests::shipped();
        let name = shipped.all().nth(which).unwrap().name().to_string();
        let mut text: Vec<char> = shipped.text(&name).unwrap().chars().collect();
        let from = at.index(text.len());
        let to = (from + n).min(text.len());
        text.splice(from..to, with.chars());
        let text: String = text.into_iter().collect();
        if let Err(faults) = Manifest::parse("m.yaml", &text) {
            let n_lines = text.split('\n').count() as u64;
            prop_assert!(!faults.each().is_empty());
            for fault in faults.each() {
                prop_assert!((1..=n_lines + 1).contains(&fault.line), "{faults}");
            }
        }
    }
}
