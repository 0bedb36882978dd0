use proptest::prelude::*;

use super::*;
use crate::manifest::tests::{now, parse_error, read, scope, texts};

fn filled(text: &str) -> Option<String> {
    let values = texts(&["8949 1", "8949,2"]);
    let template = Template::try_from(text.to_owned()).unwrap_or_else(|bad| panic!("{bad}"));
    template.fill(&scope(&values)).map(|it| it.to_string())
}

#[test]
fn placeholders_are_filled_in() {
    #[rustfmt::skip]
    let cases = [
        ("",                                    ""),
        ("plain ü",                             "plain ü"),
        ("{credentials.apiKey}",                "s3cret/+=&"),
        ("a {settings.org} b",                  "a acme & co b"),
        ("Bearer {session.token}",              "Bearer tok-1"),
        ("{page.number}-{page.offset}",         "3-100"),
        ("{page.size}{page.cursor}",            "50c/3"),
        ("{value}",                             "8949 1"),
        ("{ value }",                           "8949 1"),
        ("[{values}]",                          "[8949 1,8949,2]"),
        ("{values|digits}",                     "89491,89492"),
        ("{value|digits|number}",               "89491"),
        ("{settings.org|upper|trim}",           "ACME & CO"),
        ("{{",                                  "{"),
        ("}}",                                  "}"),
        ("{{value}}",                           "{value}"),
        ("{{{value}}}",                         "{8949 1}"),
        ("{{}}{{",                              "{}{"),
        ("{now}",                               "2023-11-14T22:13:20Z"),
        ("{now|date}",                          "2023-11-14"),
        ("{now|epoch}",                         "1700000000"),
        ("{now|epoch_ms}",                      "1700000000123"),
        ("{now-1d}",                            "2023-11-13T22:13:20Z"),
        ("{now+2h|date}",                       "2023-11-15"),
        ("{now-90s|epoch}",                     "1699999910"),
        ("{now-0s}",                            "2023-11-14T22:13:20Z"),
        // A long time ago may be before 1970.
        ("{now-36525d}",                        "1923-11-14T22:13:20Z"),
        ("{now-36525d|epoch}",                  "-1455760000"),
        ("{now-36525d|epoch_ms}",               "-1455759999877"),
    ];
    for (text, expected) in cases {
        assert_eq!(filled(text).as_deref(), Some(expected), "{text}");
    }
}

#[test]
fn a_template_with_a_missing_value_gives_nothing() {
    for text in ["{credentials.other}", "a {settings.other}", "{session.other} {value}"] {
        assert_eq!(filled(text), None, "{text}");
    }
    let nowhere = Scope { session: None, page: None, ..scope(&[]) };
    for text in ["{session.token}", "{page.size}", "{page.cursor}", "{value}"] {
        let template: Template = read(&format!("'{text}'"));
        assert_eq!(template.fill(&nowhere), None, "{text}");
    }
}

#[test]
fn invalid_braces_and_placeholders_are_rejected() {
    for text in ["{", "}", "a{b", "{value", "{{value}", "{value}}", "{{{", "}}}"] {
        let error = Template::try_from(text.to_owned()).unwrap_err();
        assert!(error.starts_with("has a lone `"), "{text}: {error}");
        assert!(
            error.contains(&format!("in `{text}`: a placeholder is written `{{value}}`")),
            "{error}"
        );
    }
    let unknown = ["{}", "{ }", "{vaule}", "{page.numbre}", "{credentials.}", "{settings.a.b}"];
    let times =
        ["{now-}", "{now-1}", "{now-1w}", "{now*1d}", "{now -1d}", "{now-99999d}", "{nowx}"];
    for text in unknown.into_iter().chain(times) {
        let error = Template::try_from(text.to_owned()).unwrap_err();
        assert!(
            error.starts_with(&format!("has `{text}`, which is no placeholder: these are")),
            "{error}"
        );
    }
    for text in ["{value|}", "{value|date}", "{now|split}", "{value||trim}", "{value|Luhn_add}"] {
        let error = Template::try_from(text.to_owned()).unwrap_err();
        assert!(error.contains("which is no transform: these are trim, "), "{error}");
    }
    assert!(parse_error::<Template>("'{vaule}'").contains("has `{vaule}`"));
}

#[test]
fn only_a_single_numeric_placeholder_is_a_number() {
    #[rustfmt::skip]
    let cases = [
        ("{page.number}", true), ("{page.offset}", true), ("{page.size}", true),
        ("{page.cursor}", false), ("{page.cursor|number}", true), ("{value|number}", true),
        ("{now}", false), ("{now|date}", false), ("{now|epoch}", true), ("{now|epoch_ms}", true),
        ("a{page.size}", false), ("{page.size} ", false), ("5", false), ("", false),
    ];
    for (text, expected) in cases {
        assert_eq!(read::<Template>(&format!("'{text}'")).is_number(), expected, "{text}");
    }
}

#[test]
fn templates_know_whether_they_hold_secrets() {
    for (text, expected) in [
        ("{credentials.apiKey}", true),
        ("Bearer {session.token}", true),
        ("{settings.org}", false),
        ("{value}", false),
        ("{{credentials.apiKey}}", false),
    ] {
        assert_eq!(read::<Template>(&format!("'{text}'")).is_secret(), expected, "{text}");
    }
}

proptest! {
    #[test]
    fn any_text_is_a_template_or_rejected(text in r"[{}|a-z.\-+0-9ü \\]{0,40}") {
        let values = texts(&["1"]);
        if let Ok(template) = Template::try_from(text.clone()) {
            prop_assert_eq!(template.to_string(), text);
            let _ = template.fill(&scope(&values));
            let _ = template.fill(&Scope { now: now(), ..scope(&[]) });
        }
    }

    #[test]
    fn doubled_braces_are_literal(text in any::<String>()) {
        let template = Template::try_from(text.replace('{', "{{").replace('}', "}}")).unwrap();
        prop_assert_eq!(template.fill(&scope(&[])).unwrap().to_string(), text);
    }

    #[test]
    fn any_text_is_a_duration_or_none(text in any::<String>(), n: u64) {
        let _ = ShortDuration::parse(&text);
        for unit in ["s", "m", "h", "d", "w", "", "ü"] {
            let _ = ShortDuration::parse(&format!("{n}{unit}"));
        }
    }
}
