use serde_json::json;

use super::*;
use crate::manifest::tests::{parse_error, read};

#[test]
fn a_value_is_in_the_body_or_in_a_header() {
    let mut headers = HeaderMap::new();
    headers.insert("x-total-count", "12".parse().unwrap());
    headers.insert("x-empty", "".parse().unwrap());
    headers.insert("x-odd", http::HeaderValue::from_bytes(b"\xff").unwrap());
    let body = json!({"token": "t", "n": 7, "none": null, "empty": "", "list": [1], "many": [{"a": 1}, {"a": 2}]});
    #[rustfmt::skip]
    let cases = [
        ("$.token",                    Some("t")),
        ("{ body: $.token }",          Some("t")),
        ("$.n",                        Some("7")),
        ("'$.many[*].a'",              Some("1")),
        ("$.none",                     None),
        ("$.empty",                    None),
        ("$.list",                     None),
        ("$.nowhere",                  None),
        ("{ header: X-Total-Count }",  Some("12")),
        ("{ header: x-empty }",        None),
        ("{ header: x-odd }",          None),
        ("{ header: x-none }",         None),
    ];
    for (text, expected) in cases {
        assert_eq!(read::<Source>(text).text(&headers, &body).as_deref(), expected, "{text}");
    }
}

#[test]
fn an_invalid_source_is_rejected() {
    for (text, expected) in [
        ("token", "must be a JSONPath"),
        ("{ header: 'X Y' }", "must be the name of a header such as `X-Total-Count`, not `X Y`"),
        ("{ header: '' }", "must be the name of a header"),
        ("{ cookie: a }", "unknown variant `cookie`"),
        ("7", "a JSONPath, `body: $.path` or `header: X-Name`"),
        ("[]", "a JSONPath, `body: $.path` or `header: X-Name`"),
    ] {
        let shown = parse_error::<Source>(text);
        assert!(shown.contains(expected), "{text}: {shown}");
    }
}
