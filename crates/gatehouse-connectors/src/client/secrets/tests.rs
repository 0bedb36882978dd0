use super::*;

fn secrets(texts: &[&str]) -> Secrets {
    Secrets::new(texts.iter().map(|it| Zeroizing::new((*it).to_owned())).collect())
}

#[test]
fn secrets_are_hidden_in_every_encoding() {
    #[rustfmt::skip]
    let cases = [
        ("no such thing",                     "no such thing"),
        ("hunter22",                          "***"),
        ("bad token 'hunter22', hunter22!",   "bad token '***', ***!"),
        ("hunter2hunter22",                   "hunter2***"),
        ("?t=p%2Fq%20r%22s&x=1",              "?t=***&x=1"),
        (r#"{"token":"p/q r\"s"}"#,           r#"{"token":"***"}"#),
        ("?t=p/q%20r%22s&x=1",                "?t=***&x=1"),
        ("<p>p/q r&quot;s</p>",               "<p>***</p>"),
        ("https://HUNTER22.example",          "https://***.example"),
        ("Basic aHVudGVyMjI=",                "Basic ***="),
        ("abcdefgh",                          "***gh"),
        ("pin 123",                           "pin 123"),
    ];
    let secrets = secrets(&["hunter22", "p/q r\"s", "abcd", "cdef", "123", ""]);
    for (text, expected) in cases {
        assert_eq!(secrets.clean(text.as_bytes(), 100), expected, "{text}");
    }
}

#[test]
fn a_secret_at_the_end_is_hidden_before_cutting() {
    let secrets = secrets(&["hunter22"]);
    for n_before in 90..110 {
        let text = format!("{}hunter22", "a".repeat(n_before));
        assert!(!secrets.clean(text.as_bytes(), 100).contains('h'), "{n_before}");
    }
    let many = "hunter22".repeat(50) + "hunter2";
    assert_eq!(secrets.clean(many.as_bytes(), 100), "***".repeat(34)[..100]);
}

#[test]
fn secrets_in_headers_are_hidden_too() {
    let mut headers = HeaderMap::new();
    headers.insert("authorization", "Bearer hunter22".parse().unwrap());
    headers.insert("x-api-key", "key-of-ann".parse().unwrap());
    headers.insert("accept", "application/json".parse().unwrap());
    let mut other = HeaderValue::from_static("whoever");
    other.set_sensitive(true);
    headers.insert("x-customer", other);
    let secrets = secrets(&["abcd"]).with_header_secrets(&headers);
    let text = "abcd hunter22 key-of-ann whoever application/json";
    assert_eq!(secrets.clean(text.as_bytes(), 100), "*** *** *** *** application/json");
}

#[test]
fn cleaned_text_is_readable_and_cut_at_a_character() {
    let none = Secrets::default();
    let cases: [(&[u8], usize, &str); 6] = [
        (b"one\r\n\ttwo", 100, "one   two"),
        (b"\x1b[31mred\x00", 100, "\u{fffd}[31mred\u{fffd}"),
        (b"\xff\xfe!", 100, "\u{fffd}\u{fffd}!"),
        ("äöü".as_bytes(), 5, "äö"),
        ("äöü".as_bytes(), 6, "äöü"),
        ("\u{1f600}".as_bytes(), 3, ""),
    ];
    for (text, bytes_max, expected) in cases {
        assert_eq!(none.clean(text, bytes_max), expected, "{text:?}");
    }
}

#[test]
fn secrets_are_not_shown() {
    assert_eq!(format!("{:?}", secrets(&["hunter22"])), "Secrets(…)");
}

proptest::proptest! {
    #[test]
    fn cleaned_text_never_contains_a_secret(
        bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200),
        at in 0usize..200,
        bytes_max in 0usize..250,
    ) {
        let mut text = bytes;
        let at = at.min(text.len());
        text.splice(at..at, b"hunter22".iter().copied());
        let cleaned = secrets(&["hunter22"]).clean(&text, bytes_max);
        proptest::prop_assert!(!cleaned.contains("hunter22"));
        proptest::prop_assert!(cleaned.len() <= bytes_max);
        proptest::prop_assert!(!cleaned.chars().any(char::is_control));
    }
}
