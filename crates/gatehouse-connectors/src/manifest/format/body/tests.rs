use serde_json::json;

use super::*;
use crate::manifest::tests::{parse_error, read, scope, texts};

#[test]
fn every_string_of_a_body_is_a_template() {
    #[rustfmt::skip]
    let cases = [
        ("{ n: 1, t: true, none: null, f: 1.5 }",         vec!["a"],      json!({"n": 1, "t": true, "none": null, "f": 1.5})),
        ("{ key: '{credentials.apiKey}' }",               vec![],         json!({"key": "s3cret/+=&"})),
        ("{ size: '{page.size}', text: 'n{page.size}' }", vec![],         json!({"size": 50, "text": "n50"})),
        ("{ since: '{now|epoch}' }",                      vec![],         json!({"since": 1_700_000_000})),
        ("{ since: '{now-36525d|epoch}' }",               vec![],         json!({"since": -1_455_760_000})),
        ("{ id: '{value|number}' }",                      vec!["12"],     json!({"id": 12})),
        ("{ id: '{value|number}' }",                      vec!["x12"],    json!({"id": "x12"})),
        ("{ id: '{value|number}' }",                      vec!["89491000000000000019"], json!({"id": "89491000000000000019"})),
        ("{ id: '{value}' }",                             vec!["12"],     json!({"id": "12"})),
        ("{ ids: ['{value}'] }",                          vec!["a", "b"], json!({"ids": ["a", "b"]})),
        ("{ ids: ['{value|number}'] }",                   vec!["1", "2"], json!({"ids": [1, 2]})),
        ("{ ids: ['{value}'] }",                          vec!["a"],      json!({"ids": ["a"]})),
        ("{ ids: ['{value}'] }",                          vec![],         json!({"ids": []})),
        ("{ any: [{ sim: '{value}', of: x }] }",          vec!["a", "b"], json!({"any": [{"sim": "a", "of": "x"}, {"sim": "b", "of": "x"}]})),
        ("['{values}', x]",                               vec!["a", "b"], json!(["a,b", "x"])),
        // Members without a value are left out.
        ("{ a: '{settings.none}', b: 1 }",                vec![],         json!({"b": 1})),
        ("['{settings.none}', 1]",                        vec![],         json!([1])),
        ("{ a: { b: '{settings.none}' } }",               vec![],         json!({"a": {}})),
    ];
    for (yaml, values, expected) in cases {
        let values = texts(&values);
        assert_eq!(read::<Body>(yaml).fill(&scope(&values)), Some(expected), "{yaml} {values:?}");
    }
    assert_eq!(read::<Body>("'{settings.none}'").fill(&scope(&[])), None);
}

#[test]
fn an_invalid_template_is_rejected() {
    assert!(parse_error::<Body>("{ a: [{ b: '{vaule}' }] }").contains("has `{vaule}`"));
    assert_eq!(read::<Body>("{ a: ['{value}', { b: '{now}' }], c: 1 }").templates().len(), 2);
}
