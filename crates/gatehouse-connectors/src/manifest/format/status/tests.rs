use serde_json::json;

use super::*;
use crate::manifest::tests::read;

#[test]
fn rules_come_before_translations_and_those_before_the_platforms_own() {
    let status: Status = read(
        "{ word: [$.state, $.old], words: { in-use: ACTIVE, Odd: CREATED }, otherwise: SUSPENDED, \
         rules: [{ when: { path: $.gone, equals: true }, is: TERMINATED }, { when: { path: $.gone }, is: LEAVING }] }",
    );
    #[rustfmt::skip]
    let cases = [
        (json!({"state": "in-use"}),                "ACTIVE",      Some("in-use")),
        (json!({"state": "In-Use"}),                "IN-USE",      Some("In-Use")),
        (json!({"state": "Odd"}),                   "CREATED",     Some("Odd")),
        (json!({"state": "on hold"}),               "ON HOLD",     Some("on hold")),
        (json!({"state": 3}),                       "3",           Some("3")),
        (json!({"state": null, "old": "in-use"}),   "ACTIVE",      Some("in-use")),
        (json!({"state": "in-use", "gone": true}),  "TERMINATED",  Some("in-use")),
        (json!({"state": "in-use", "gone": false}), "LEAVING",     Some("in-use")),
        (json!({"gone": true}),                     "TERMINATED",  None),
        (json!({"state": ""}),                      "SUSPENDED",   None),
        (json!({}),                                 "SUSPENDED",   None),
    ];
    for (document, ours, theirs) in cases {
        let (status, word) = status.of(&document);
        assert_eq!((status.as_str(), word.as_deref()), (ours, theirs), "{document}");
    }
}

#[test]
fn without_any_status_it_is_unknown() {
    let status: Status = read("{ word: $.state }");
    assert_eq!(status.of(&json!({})), ("UNKNOWN".into(), None));
}
