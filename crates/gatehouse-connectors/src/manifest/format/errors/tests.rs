use serde_json::json;

use super::*;
use crate::manifest::tests::{parse_error, read};

const RULES: &str = r#"
message: [$.message, "$.errors[*].title"]
rules:
  - { when: { status: 2xx, path: $.ok, equals: false }, means: failed }
  - { when: { status: 400, path: $.code, equals: NOT_FOUND }, means: not_found }
  - { when: { status: 400, path: $.code, matches: ".*SESSION.*" }, means: expired }
  - { when: { path: $.code, equals: SLOW }, means: throttled }
  - { when: { status: [403, 410] }, means: not_found }
  - { when: { status: 404, path: $.path }, means: failed }
  - { when: { status: 409 }, means: fine }
"#;

#[test]
fn without_rules_the_status_decides() {
    use Meaning::*;
    for (status, expected) in [
        (200, Fine),
        (201, Fine),
        (204, Fine),
        (304, Failed),
        (400, Failed),
        (401, Expired),
        (403, Failed),
        (404, NotFound),
        (410, Failed),
        (429, Throttled),
        (500, Failed),
        (503, Failed),
    ] {
        let status = StatusCode::from_u16(status).unwrap();
        assert_eq!(Errors::default().meaning(status, &json!({"ok": false})), expected, "{status}");
        assert!(!Errors::default().is_failure_by_rule(status, &json!({})), "{status}");
    }
}

#[test]
fn the_first_rule_that_holds_decides_under_any_status() {
    use Meaning::*;
    let errors: Errors = read(RULES);
    #[rustfmt::skip]
    let cases = [
        (200, json!({"ok": true}),                     Fine),
        (200, json!({"ok": false}),                    Failed),
        (200, json!({"ok": false, "code": "SLOW"}),    Failed),
        (200, json!({"code": "SLOW"}),                 Throttled),
        (400, json!({"code": "NOT_FOUND"}),            NotFound),
        (400, json!({"code": "NO_SESSION"}),           Expired),
        (400, json!({"code": "OTHER"}),                Failed),
        (400, json!(null),                             Failed),
        (403, json!(null),                             NotFound),
        (404, json!({"path": "/v1"}),                  Failed),
        (404, json!({}),                               NotFound),
        (409, json!({}),                               Fine),
        (429, json!({}),                               Throttled),
    ];
    for (status, body, expected) in cases {
        let code = StatusCode::from_u16(status).unwrap();
        assert_eq!(errors.meaning(code, &body), expected, "{status} {body}");
        let is_told = expected == Failed && body != json!(null) && body["code"] != "OTHER";
        assert_eq!(errors.is_failure_by_rule(code, &body), is_told, "{status} {body}");
    }
}

#[test]
fn an_error_message_is_the_first_value_of_its_paths() {
    let errors: Errors = read(RULES);
    for (body, expected) in [
        (json!({"message": "No such SIM", "errors": [{"title": "other"}]}), Some("No such SIM")),
        (json!({"message": null, "errors": [{}, {"title": "Gone"}]}), Some("Gone")),
        (json!({"message": ""}), None),
        (json!(null), None),
    ] {
        assert_eq!(errors.message(&body).as_deref(), expected, "{body}");
    }
    assert!(parse_error::<Meaning>("missing").contains("unknown variant `missing`"));
}
