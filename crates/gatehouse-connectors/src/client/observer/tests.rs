use super::*;

#[test]
fn only_short_values_of_a_log_in_are_shown() {
    #[rustfmt::skip]
    let cases = [
        (r#"{"token":"123456789","expires_in":3600}"#,   r#"{"token":"***","expires_in":3600}"#),
        (r#"{ "a": [{"b": "123456789"}, true, null], "c": "12345678" }"#,
         r#"{"a":[{"b":"***"},true,null],"c":"12345678"}"#),
        (r#""123456789""#,                               r#""***""#),
        // Looks like a form, but is none.
        ("eyJhbGciOiJIUzI1NiJ9.e30.abcdef==",            "***"),
        ("<token>a=b</token>",                           "***"),
        ("one two three",                                "***"),
        ("short",                                        "short"),
        ("",                                             ""),
    ];
    for (body, expected) in cases {
        assert_eq!(log_in(false, body.as_bytes()), expected, "{body}");
    }
}

#[test]
fn only_the_values_of_a_form_are_hidden() {
    #[rustfmt::skip]
    let cases = [
        ("grant=password&user=ann&secret=x&jwt=eyJhbGciOi", "grant=password&user=ann&secret=***&jwt=***"),
        ("123456789&a=b",                                   "***&a=b"),
        ("",                                                ""),
    ];
    for (body, expected) in cases {
        assert_eq!(log_in(true, body.as_bytes()), expected, "{body}");
    }
    let types = [FORM, "Application/X-WWW-Form-Urlencoded; charset=utf-8", "application/json"];
    let are_forms = types.map(|it| {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(it));
        is_form(&headers)
    });
    assert_eq!((are_forms, is_form(&HeaderMap::new())), ([true, true, false], false));
}

#[test]
fn an_address_shows_no_secret_of_its_query() {
    let whole = "https://alpha.example/v1/keys?api_key=abc&after=a-long-mark&Session=1&size=2&x";
    let shown = "https://alpha.example/v1/keys?api_key=***&after=a-long-mark&Session=***&size=2&x";
    assert_eq!(address(CallKind::List, whole), shown);
    let shown = "https://alpha.example/v1/keys?api_key=***&after=***&Session=***&size=2&x";
    assert_eq!(address(CallKind::Session, whole), shown);
    assert_eq!(address(CallKind::List, "/v1/keys"), "/v1/keys");
}
