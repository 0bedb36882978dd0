use serde_json::json;

use super::*;
use crate::manifest::tests::{parse_error, read};

#[test]
fn a_condition_holds_when_all_that_it_names_does() {
    let document = json!({
        "ok": false, "n": 7, "code": "NO_SESSION", "none": null, "empty": "", "list": [],
        "errors": [{"code": 1}, {"code": 7}, {"code": null}],
    });
    #[rustfmt::skip]
    let cases = [
        ("{ path: $.ok }",                                      true),
        ("{ path: $.empty }",                                   true),
        ("{ path: $.list }",                                    true),
        ("{ path: $.none }",                                    false),
        ("{ path: $.nowhere }",                                 false),
        ("{ path: $.ok, exists: true }",                        true),
        ("{ path: $.none, exists: true }",                      false),
        ("{ path: $.ok, exists: false }",                       false),
        ("{ path: $.none, exists: false }",                     true),
        ("{ path: $.nowhere, exists: false }",                  true),
        ("{ path: '$.errors[*].code', exists: false }",         false),
        ("{ path: $.ok, equals: false }",                       true),
        ("{ path: $.ok, equals: 'false' }",                     false),
        ("{ path: $.n, equals: 7 }",                            true),
        ("{ path: $.n, equals: '7' }",                          false),
        ("{ path: $.list, equals: [] }",                        true),
        ("{ path: $.nowhere, equals: 7 }",                      false),
        ("{ path: $.n, one_of: [6, 7] }",                       true),
        ("{ path: $.n, one_of: [] }",                           false),
        ("{ path: $.n, one_of: ['7'] }",                        false),
        ("{ path: '$.errors[*].code', equals: 7 }",             true),
        ("{ path: '$.errors[*].code', equals: 8 }",             false),
        ("{ path: $.code, matches: '.*SESSION' }",              true),
        ("{ path: $.code, matches: SESSION }",                  false),
        ("{ path: $.n, matches: '[0-9]' }",                     true),
        ("{ path: $.list, matches: '.*' }",                     false),
        ("{ path: $.n, one_of: [7], matches: '8' }",            false),
        ("{ status: 404 }",                                     true),
        ("{ status: 410 }",                                     false),
        ("{ status: [410, 404] }",                              true),
        ("{ status: 4xx, path: $.n }",                          true),
        ("{ status: 4xx, path: $.nowhere }",                    false),
        ("{ status: 5xx, path: $.n }",                          false),
    ];
    for (yaml, expected) in cases {
        let condition: Condition = read(yaml);
        assert_eq!(condition.holds(Some(StatusCode::NOT_FOUND), &document), expected, "{yaml}");
        assert_eq!(condition.fault(), None, "{yaml}");
        let without = expected && condition.status.is_none();
        assert_eq!(condition.holds(None, &document), without, "{yaml} of no answer");
    }
}

#[test]
fn statuses_are_one_several_or_a_hundred() {
    #[rustfmt::skip]
    let cases = [
        ("404",              vec![404],           vec![403, 405]),
        ("'404'",            vec![404],           vec![403]),
        ("[404, 5xx]",       vec![404, 500, 599], vec![400, 499]),
        ("1xx",              vec![100, 199],      vec![200]),
        ("'2xx'",            vec![200, 299],      vec![199, 300]),
        ("[]",               vec![],              vec![200, 404]),
    ];
    for (yaml, inside, outside) in cases {
        let statuses: Statuses = read(yaml);
        let has = |it: &u16| statuses.contain(StatusCode::from_u16(*it).unwrap());
        assert!(inside.iter().all(has) && !outside.iter().any(has), "{yaml}");
    }
    for yaml in [
        "0xx", "6xx", "xx", "4XX", "40x", "99", "600", "true", "{}", "[404, x]", "[[404]]", "-404",
        "4.5",
    ] {
        let shown = parse_error::<Statuses>(yaml);
        assert!(
            shown.starts_with("must be a status such as `404`, a list of them, or `4xx`"),
            "{yaml}: {shown}"
        );
    }
}

#[test]
fn an_empty_condition_is_rejected() {
    const NEEDS: &str = "needs `path`, which says where to look";
    const BOTH: &str = "can't want nothing to be there and something of it as well";
    for (yaml, expected) in [
        ("{}", "must have `status` or `path`"),
        ("{ equals: 1 }", NEEDS),
        ("{ one_of: [1] }", NEEDS),
        ("{ matches: a }", NEEDS),
        ("{ exists: false }", NEEDS),
        ("{ status: 404, equals: 1 }", NEEDS),
        ("{ path: $.a, exists: false, equals: 1 }", BOTH),
        ("{ path: $.a, exists: false, matches: a }", BOTH),
    ] {
        assert_eq!(read::<Condition>(yaml).fault(), Some(expected), "{yaml}");
    }
    assert!(parse_error::<Condition>("{ equal: 1 }").contains("unknown field `equal`"));
}
