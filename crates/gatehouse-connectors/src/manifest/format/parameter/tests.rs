use super::*;
use crate::manifest::tests::{parse_error, read, scope, texts};

fn written(yaml: &str, values: &[&str]) -> String {
    let (parameter, values) = (read::<Parameter>(yaml), texts(values));
    let mut pairs = Vec::new();
    parameter.write("p", &scope(&values), &mut pairs);
    pairs.join("&")
}

#[test]
fn parameters_are_encoded_for_urls() {
    const ODD: &str = "a/?#%+&,= ü~";
    const WRITTEN: &str = "a%2F%3F%23%25%2B%26%2C%3D%20%C3%BC~";
    #[rustfmt::skip]
    let cases = [
        ("x",                                      vec![],         "p=x".to_owned()),
        ("5",                                      vec![],         "p=5".to_owned()),
        ("true",                                   vec![],         "p=true".to_owned()),
        ("''",                                     vec![],         "p=".to_owned()),
        ("'{value}'",                              vec![ODD],      format!("p={WRITTEN}")),
        ("'{values}'",                             vec!["a", ODD], format!("p=a,{WRITTEN}")),
        ("'{values}'",                             vec![],         "p=".to_owned()),
        // The manifest's own text keeps its characters; inserted values are encoded.
        ("'a:b,c/d@e*$ &={value}'",                vec!["x:y"],    "p=a:b,c/d@e*$%20%26%3Dx%3Ay".to_owned()),
        ("'{credentials.apiKey}'",                 vec![],         "p=s3cret%2F%2B%3D%26".to_owned()),
        ("'{now}'",                                vec![],         "p=2023-11-14T22%3A13%3A20Z".to_owned()),
        ("'{settings.none}'",                      vec![],         String::new()),
        ("'{value}'",                              vec![],         String::new()),
        ("['{value}']",                            vec!["a", "b"], "p=a&p=b".to_owned()),
        ("[x, '{value}', 5]",                      vec!["a", "b"], "p=x&p=a&p=b&p=5".to_owned()),
        ("['{value}']",                            vec![],         String::new()),
        ("[]",                                     vec!["a"],      String::new()),
        ("{ size: '{page.size}', at: { n: 1 } }",  vec![],         "p%5Bsize%5D=50&p%5Bat%5D%5Bn%5D=1".to_owned()),
        ("{ ids: ['{value}'] }",                   vec!["a", "b"], "p%5Bids%5D=a&p%5Bids%5D=b".to_owned()),
        ("{ none: '{settings.none}' }",            vec![],         String::new()),
        ("{ each: 'iccid:{value}', join: ' OR ' }", vec!["a", "b:"], "p=iccid:a%20OR%20iccid:b%3A".to_owned()),
        ("{ each: '{value}', join: ';' }",         vec!["a"],      "p=a".to_owned()),
        ("{ each: '{value}', join: ';' }",         vec![],         String::new()),
    ];
    for (yaml, values, expected) in cases {
        assert_eq!(written(yaml, &values), expected, "{yaml} {values:?}");
    }
}

#[test]
fn only_parameters_with_certain_variables_are_written() {
    let parameter: Parameter =
        read("{ a: '{page.size}', b: 1, c: { d: ['{page.size}'], e: '{now}' } }");
    let mut pairs = Vec::new();
    parameter.write_those_with(&|it| *it == Variable::PageSize, "p", &scope(&[]), &mut pairs);
    assert_eq!(pairs, ["p%5Ba%5D=50", "p%5Bc%5D%5Bd%5D=50"]);
    assert_eq!(parameter.templates().len(), 4);
}

#[test]
fn an_invalid_parameter_is_rejected() {
    for (yaml, expected) in [
        ("null", "must be a text, a number or a truth value, not null"),
        ("[[1]]", "must be a text, a number or a truth value, not [1]"),
        ("{ each: '{value}' }", "must have `each` and `join`, both of them texts"),
        ("{ each: '{value}', join: 1 }", "must have `each` and `join`"),
        ("{ each: '{value}', join: a, more: 1 }", "must have `each` and `join`"),
        ("{ deep: '{vaule}' }", "has `{vaule}`"),
    ] {
        let error = parse_error::<Parameter>(yaml);
        assert!(error.contains(expected), "{yaml}: {error}");
    }
}
