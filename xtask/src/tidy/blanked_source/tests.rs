use super::*;

/// Blanks a text, and puts a dot for each run of blanks.
fn blanked(text: &str, language: Language) -> String {
    let blanked = blank(text, language);
    assert_eq!(blanked.len(), text.len());
    assert_eq!(blanked.matches('\n').count(), text.matches('\n').count());
    blanked.split(' ').filter(|it| !it.is_empty()).collect::<Vec<_>>().join(".")
}

#[test]
fn comments_and_strings_of_rust_are_blanked() {
    for (text, expected) in [
        ("a// b\nc", "a.\nc"),
        ("a/* b /* c */ d */e", "a.e"),
        (r#"a"b // \" c"d"#, "a\".\"d"),
        (r##"(r#"b"c"#)d"##, "(r#\".\"#)d"),
        (r##"(br"b\")d"##, "(br\".\")d"),
        ("r#type::a", "r#type::a"),
        ("f::<'a>('\"', '\\'', 'é')b", "f::<'a>('.',.'.',.'.')b"),
        ("\"é\"", "\".\""),
        ("\"open", "\""),
    ] {
        assert_eq!(blanked(text, Language::Rust), expected, "{text}");
    }
}

#[test]
fn comments_strings_and_expressions_of_javascript_are_blanked() {
    for (text, expected) in [
        ("a /* b /* c */ d", "a.d"),
        ("'it\\'s' + \"*/*\"", "'.'.+.\".\""),
        ("`a ${b + `c ${'d'}`} '` + e", "`.${b.+.`.${'.'}`}.`.+.e"),
        ("x.split(/[/'\"]/) + 'a'", "x.split(/./).+.'.'"),
        ("a / b / 'c'", "a./.b./.'.'"),
        ("return /'/;", "return././;"),
    ] {
        assert_eq!(blanked(text, Language::JavaScript), expected, "{text}");
    }
}
