use super::*;
use crate::manifest::tests::{parse_error, read};

#[test]
fn a_pattern_matches_whole_texts() {
    #[rustfmt::skip]
    let cases = [
        ("[0-9]+",        "12",     true),
        ("[0-9]+",        "12a",    false),
        ("[0-9]+",        "a12",    false),
        ("[0-9]+",        "12\n",   false),
        ("[0-9]+",        "",       false),
        ("a|bc",          "bc",     true),
        ("a|bc",          "abc",    false),
        ("a|bc",          "ac",     false),
        ("^a$",           "a",      true),
        ("(?i)sim",       "SIM",    true),
        ("(?m)a",         "a\nb",   false),
        (".*SESSION.*",   "NO_SESSION_HERE", true),
        ("",              "",       true),
        ("",              "a",      false),
    ];
    for (pattern, text, expected) in cases {
        assert_eq!(
            read::<Pattern>(&format!("'{pattern}'")).matches(text),
            expected,
            "{pattern} {text}"
        );
    }
    assert_eq!(format!("{:?}", read::<Pattern>("'a+'")), "Pattern(a+)");
    assert_eq!(read::<Pattern>("'a+'"), read("'a+'"));
    assert_ne!(read::<Pattern>("'a+'"), read("'a*'"));
}

#[test]
fn an_invalid_pattern_is_rejected() {
    for text in ["[0-9", "a)|(b", "*", "(?<n", r"a\"] {
        let shown = parse_error::<Pattern>(&format!("'{text}'"));
        let expected = format!("must be a regular expression such as `[0-9]+`, not `{text}`: ");
        assert!(shown.starts_with(&expected), "{text}: {shown}");
    }
}
