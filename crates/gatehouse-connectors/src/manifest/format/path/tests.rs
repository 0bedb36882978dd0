use serde_json::json;

use super::*;
use crate::manifest::tests::{parse_error, read};

#[test]
fn a_single_value_is_a_text_and_nothing_else_is() {
    #[rustfmt::skip]
    let cases = [
        (json!("a b"),                    Some("a b")),
        (json!(""),                       Some("")),
        (json!(true),                     Some("true")),
        (json!(false),                    Some("false")),
        (json!(0),                        Some("0")),
        (json!(-7),                       Some("-7")),
        (json!(18_446_744_073_709_551_615u64), Some("18446744073709551615")),
        (json!(i64::MIN),                 Some("-9223372036854775808")),
        (json!(12.0),                     Some("12")),
        (json!(1e15),                     Some("1000000000000000")),
        (json!(12.5),                     Some("12.5")),
        (json!(-0.25),                    Some("-0.25")),
        // The digits of these were rounded.
        (json!(9_007_199_254_740_992.0),  None),
        (json!(89_491_000_000_000_000_000.0), None),
        (json!(null),                     None),
        (json!([]),                       None),
        (json!(["a"]),                    None),
        (json!({"a": 1}),                 None),
    ];
    for (value, expected) in cases {
        assert_eq!(text_of(&value).as_deref(), expected, "{value}");
    }
    let read: Value = serde_json::from_str("89491000000000000019").unwrap();
    assert_eq!(text_of(&read), None, "a card's number that was sent as a number is not whole");
}

#[test]
fn a_path_finds_all_values_in_order() {
    let document = json!({"a": [{"n": 1}, {"n": null}, {"m": 2}, {"n": 3}]});
    let path: Path = read("'$.a[*].n'");
    assert_eq!(path.all(&document), [&json!(1), &json!(null), &json!(3)]);
    assert_eq!(path.first(&document), Some(&json!(1)));
    assert_eq!(read::<Path>("$.b").first(&document), None);
    assert_eq!(read::<Path>("$").first(&document), Some(&document));
    assert_eq!(format!("{path} {path:?}"), "$.a[*].n Path($.a[*].n)");
}

#[test]
fn a_path_is_printed_as_one_that_means_the_same() {
    for (written, printed) in [("$..*", "$..*"), ("'$[ 0 ].a'", "$[0].a"), ("$..n", "$..n")] {
        assert_eq!(read::<Path>(written).to_string(), printed);
    }
}

#[test]
fn an_invalid_path_is_rejected() {
    for text in ["data", "$.", "$.a[", "'$ .a b'", "''"] {
        let shown = parse_error::<Path>(text);
        assert!(shown.starts_with("must be a JSONPath such as `$.data`"), "{text}: {shown}");
    }
}

#[test]
fn a_path_that_is_expensive_to_parse_is_rejected() {
    let deep = format!("${}{}", "[?@".repeat(11), "]".repeat(11));
    let wide = format!("$[?{}@.a{}]", "(".repeat(50_000), ")".repeat(50_000));
    for text in [deep, wide, format!("$.{}", "a".repeat(1000))] {
        let refused = Path::try_from(text).unwrap_err();
        assert!(refused.starts_with("must have at most 1000 characters"), "{refused}");
    }
}

#[test]
fn a_path_of_plain_steps_leads_where_a_query_does() {
    let document = json!({
        "a": {"b c": [1, {"d": null}], "b": 2, "'": 3, "*": 5}, "é": "x", "l": [[4]], "☺": 6,
        "s": [
            {"k": "x", "v": 1, "l": []}, {"k": "a||b", "v": 2.0}, {"v": 3}, {"k": "a==b"}, {"l": []}, "x", {"k": "z"},
        ],
        "o": {"one": {"k": "x"}, "other": {"k": "y"}},
        "n": 2,
    });
    for (text, is_single) in [
        ("$", true),
        ("$.a", true),
        ("$.a.b", true),
        ("$.é", true),
        ("$['a']['b c'][1].d", true),
        ("$[\"a\"].b", true),
        ("$.l[0][0]", true),
        ("$.l[1]", true),
        ("$.a[0]", true),
        ("$.l.b", true),
        ("$.nowhere.b", true),
        ("$.a['*']", true),
        ("$.l[-1]", false),
        ("$.l[0:1]", false),
        ("$['a','l']", false),
        ("$.a['b','b c']", false),
        (r"$.a['\'']", false),
        ("$.a.*", false),
        ("$.l[*]", false),
        ("$.l[*][*]", false),
        ("$.*", false),
        ("$.a.*[1].d", false),
        ("$.a[*][*]", false),
        ("$[*].b", false),
        ("$..d", false),
        ("$.a[?@ == 2]", false),
        ("$.s[?@.k == 'x']", false),
        ("$.s[?@.k == 'x' || @.k == 'z'].v", false),
        ("$.s[?@['k'] == \"x\"].v", false),
        ("$.s[?@.v == $.n].k", false),
        ("$.s[?@.k == $.é]", false),
        ("$.s[?@.l[0] == $.nowhere].k", false),
        ("$.s[?@.l == $.s[0].l].k", false),
        ("$.s[?@.k == 'x' && @.v == 1].k", false),
        ("$.s[?@.k == 'a||b' || @.k == 'a==b'].v", false),
        ("$.s[?@.k == 'x', 0]", false),
        ("$.s[?@.v == 2].k", false),
        ("$.s[?@.v == 1.0].k", false),
        ("$.s[?@.l == null || @.k == true]", false),
        ("$.a[?@.d == null]", false),
        ("$.a['b c'][?@.d == null]", false),
        ("$.s[?@.k].k", false),
        ("$.s[0,0,1].k", false),
        ("$..k", false),
        ("$.o[?@.k == 'x']", false),
        ("$[?@.k == 'x'].k", false),
    ] {
        let path = Path::try_from(text.to_owned()).unwrap();
        assert_eq!(path.is_single(), is_single, "{text}");
        path.assert_steps_are_the_query(&document);
        let mut written = document.clone();
        path.write(&mut written, json!("here"));
        let expected = if is_single { vec![json!("here")] } else { Vec::new() };
        let found = path.all(&written).into_iter().filter(|it| **it == "here").cloned();
        assert_eq!(found.collect::<Vec<_>>(), expected, "{text}");
    }
}

#[test]
fn common_paths_need_no_query() {
    #[rustfmt::skip]
    let cases = [
        ("$.a.b[0]",  true),
        ("$.a[*].b",  true),
        ("$.*",       true),
        ("$['a b'].*", true),
        ("$['*']",    true),
        ("$..a",      false),
        ("$.a[1:]",   false),
        ("$.a[-1]",   false),
        ("$['a','b']", false),
        ("$.a[?@.b]", false),
        ("$.a[?@.b == 'x']", true),
        ("$.a[?@.b == 'x' || @['c'] == 'y'].d", true),
        ("$.a[?@.b == $.c.d].e", true),
        ("$.a[?@.b == 1]", true),
        ("$.a[?@.b == -1.5e3 || @.b == true || @.b == null]", true),
        ("$.a[?@.b == 1 || @.c]", false),
        ("$.a[?@.b == 'x' && @.c == 'y']", false),
        ("$.a[?@.b == 'x', 1]", false),
        ("$.a[?@.b != 'x']", false),
        ("$.a[?!(@.b == 'x')]", false),
        ("$.a[?@.b == 'x||y']", false),
    ];
    for (text, has_steps) in cases {
        let path = Path::try_from(text.to_owned()).unwrap();
        assert_eq!(path.steps.is_some(), has_steps, "{text}");
    }
    assert_eq!(
        Path::try_from("$['*']".to_owned()).unwrap().steps,
        Some(vec![Step::Name("*".into())])
    );
}
