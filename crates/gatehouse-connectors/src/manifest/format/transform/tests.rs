use super::*;
use crate::manifest::tests::{parse_error, read};

#[test]
fn each_transform_does_one_thing() {
    #[rustfmt::skip]
    let cases = [
        ("trim",                    vec![" a b\t", ""],             vec!["a b", ""]),
        ("lower",                   vec!["AbÜ", "ΟΔΟΣ"],            vec!["abü", "οδος"]),
        ("upper",                   vec!["in-use"],                 vec!["IN-USE"]),
        ("digits",                  vec!["+49 (1) 7a", "٣"],        vec!["4917", ""]),
        ("luhn_add",                vec!["8988303000000614227", "898830300000061422", "898830300000061422x", "89883030000006142274"],
                                    vec!["89883030000006142274", "898830300000061422", "898830300000061422x", "89883030000006142274"]),
        ("luhn_strip",              vec!["89883030000006142274", "89883030000006142275", "8988303000000614227", "x"],
                                    vec!["8988303000000614227", "89883030000006142275", "8988303000000614227", "x"]),
        ("first",                   vec!["b", "a"],                 vec!["b"]),
        ("first",                   vec![],                         vec![]),
        ("{ split: ',' }",          vec!["a,b,,c", "d"],            vec!["a", "b", "", "c", "d"]),
        ("{ split: ', ' }",         vec!["a,b, c"],                 vec!["a,b", "c"]),
        ("{ prefix: '1' }",         vec!["2015550123"],             vec!["12015550123"]),
        ("{ strip_prefix: '+' }",   vec!["++49", "49+"],            vec!["+49", "49+"]),
        ("{ strip_suffix: F }",     vec!["89F", "F89"],             vec!["89", "F89"]),
        ("{ matching: '[0-9]+' }",  vec!["1", "a1", "22"],          vec!["1", "22"]),
    ];
    for (yaml, given, expected) in cases {
        assert_eq!(
            read::<Transform>(yaml).all(given.into_iter().map(SmolStr::new).collect()),
            expected,
            "{yaml}"
        );
    }
}

#[test]
fn templates_allow_transforms_of_single_values() {
    for name in Transform::NAMED.split(", ") {
        assert_eq!(Transform::named(name), Some(read(name)), "{name}");
    }
    for name in ["first", "split", "strip_prefix", "matching", "Trim", ""] {
        assert_eq!(Transform::named(name), None, "{name}");
    }
}

#[test]
fn the_set_is_closed() {
    for yaml in ["reverse", "{ replace: a }", "split", "{ matching: '[' }"] {
        assert!(!parse_error::<Transform>(yaml).is_empty(), "{yaml}");
    }
}
