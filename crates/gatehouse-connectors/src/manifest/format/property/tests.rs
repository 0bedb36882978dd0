use serde_json::json;

use super::*;
use crate::manifest::tests::read;

#[test]
fn properties_are_found_in_every_structure() {
    let document = json!({
        "label": "Pump 3", "tags": "a, b", "n": 5, "none": null, "empty": "",
        "labels": {"x-site": "Rome", "x-n": 2, "y": "other", "x-none": null, "x-empty": "", "x-list": [1]},
        "attributes": [{"key": "site", "value": "Rome"}, {"key": "", "value": "?"}, {"value": "nobody"}, {"key": "n", "value": 7}, {"key": "none"}],
        "groups": [{"kind": "A", "meta": {"k": "1"}}, {"kind": "B", "meta": {"k": "2"}}],
    });
    #[rustfmt::skip]
    let cases = [
        ("{ name: label, value: $.label }",              vec!["label=Pump 3"]),
        ("{ name: n, value: $.n }",                      vec!["n=5"]),
        ("{ name: tag, value: { path: $.tags, transforms: [{ split: ',' }, trim] } }", vec!["tag=a", "tag=b"]),
        ("{ name: none, value: [$.none, $.empty, $.nowhere] }", vec![]),
        ("{ entries: $.labels }",                        vec!["x-site=Rome", "x-n=2", "y=other"]),
        ("{ entries: $.labels, keys: 'x-.+' }",          vec!["x-site=Rome", "x-n=2"]),
        ("{ entries: $.label }",                         vec![]),
        ("{ entries: '$.groups[*].meta' }",              vec!["k=1", "k=2"]),
        ("{ each: '$.attributes[*]', name_from: $.key, value: $.value }", vec!["site=Rome", "n=7"]),
        ("{ each: '$.groups[*]', entries: $.meta }",     vec!["k=1", "k=2"]),
        ("{ each: '$.groups[*]', properties: [{ name: kind, value: $.kind }, { entries: $.meta }] }",
                                                         vec!["kind=A", "k=1", "kind=B", "k=2"]),
        ("{ each: $.nowhere, name: a, value: $.b }",     vec![]),
    ];
    for (yaml, expected) in cases {
        let rule: PropertyRule = read(yaml);
        let mut found = Vec::new();
        rule.collect(&document, &mut found);
        let mut found: Vec<String> =
            found.iter().map(|it| format!("{}={}", it.name, it.value)).collect();
        let mut expected = expected;
        if rule.entries.is_some() && rule.each.is_none() {
            // Members of an object have no order.
            found.sort();
            expected.sort();
        }
        assert_eq!(
            (found, rule.fault()),
            (expected.iter().map(ToString::to_string).collect(), None),
            "{yaml}"
        );
    }
}

#[test]
fn an_incomplete_or_ambiguous_rule_is_rejected() {
    const SHAPE: &str = "must have `name` and `value`, or `entries`, or `each` with `properties`";
    const PAIR: &str = "must have both a name (`name` or `name_from`) and `value`";
    for (yaml, expected) in [
        ("{}", SHAPE),
        ("{ each: $.a }", SHAPE),
        ("{ name: a, value: $.a, entries: $.b }", SHAPE),
        ("{ entries: $.b, properties: [{ entries: $.c }] }", SHAPE),
        ("{ name: a }", PAIR),
        ("{ value: $.a }", PAIR),
        ("{ name_from: $.a }", PAIR),
        ("{ name: a, name_from: $.a, value: $.b }", "must have `name` or `name_from`, not both"),
        ("{ name: a, value: $.a, keys: b }", "has `keys`, which are those of `entries`"),
        ("{ each: $.a, properties: [{ entries: $.b }, { name: a }] }", PAIR),
    ] {
        assert_eq!(read::<PropertyRule>(yaml).fault(), Some(expected), "{yaml}");
    }
}
