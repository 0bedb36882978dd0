use serde_json::json;

use super::*;
use crate::manifest::tests::{parse_error, read};

#[test]
fn texts_are_selected_in_order_each_once_and_none_of_them_empty() {
    let document = json!({
        "id": 7, "a": "x", "b": "x", "c": "y", "none": null, "empty": "", "object": {"k": "v"},
        "list": ["x", 1, null, "", ["deep"], {"k": "v"}, true, "x"],
        "tags": "red, green,,red",
        "active": 2, "cards": [{"n": 1, "imsi": "one"}, {"n": 2, "imsi": "two"}],
        "groups": [{"want": "b", "members": [{"k": "a", "v": 1}, {"k": "b", "v": 2}]}, {"want": "a", "members": [{"k": "a", "v": 3}]}],
    });
    #[rustfmt::skip]
    let cases = [
        ("$.id",                                                  vec!["7"]),
        ("[$.a, $.b, $.c]",                                       vec!["x", "y"]),
        ("[$.c, $.a]",                                            vec!["y", "x"]),
        ("[$.none, $.empty, $.nowhere, $.object]",                vec![]),
        ("$.list",                                                vec!["x", "1", "true"]),
        ("'$.list[*]'",                                           vec!["x", "1", "deep", "true"]),
        ("'$.cards[*].imsi'",                                     vec!["one", "two"]),
        ("'$.cards[?@.n == $.active].imsi'",                      vec!["two"]),
        ("{ path: $.tags, transforms: [{ split: ',' }, trim] }",  vec!["red", "green"]),
        ("{ path: $.tags, transforms: [{ split: ',' }, first] }", vec!["red"]),
        ("[{ path: $.c, transforms: [upper] }, $.a]",             vec!["Y", "x"]),
        ("{ within: '$.groups[*]', path: '$.members[?@.k == $.want].v' }", vec!["2", "3"]),
        ("{ within: $.nowhere, path: $.a }",                      vec![]),
        ("[]",                                                    vec![]),
    ];
    for (yaml, expected) in cases {
        let selection: Selection = read(yaml);
        assert_eq!(selection.texts(&document), expected, "{yaml}");
        assert_eq!(selection.first(&document).as_deref(), expected.first().copied(), "{yaml}");
    }
    assert_eq!(Selection::default().texts(&document), Vec::<SmolStr>::new());
}

#[test]
fn an_invalid_selection_is_rejected() {
    for (yaml, expected) in [
        ("a", "must be a JSONPath"),
        ("7", "a JSONPath, a list of them, or `path` with `transforms`"),
        ("{ transforms: [trim] }", "missing field `path`"),
        ("{ path: $.a, transform: trim }", "unknown field `transform`"),
        ("[$.a, b]", "must be a JSONPath"),
    ] {
        let shown = parse_error::<Selection>(yaml);
        assert!(shown.contains(expected), "{yaml}: {shown}");
    }
}
