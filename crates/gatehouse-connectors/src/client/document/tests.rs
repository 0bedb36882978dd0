use proptest::prelude::*;
use serde_json::json;

use super::*;

fn parse(text: &str) -> Document {
    serde_json::from_str(text).unwrap()
}

/// Any JSON whose objects have a few names.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e9..1e9f64).prop_map(Value::from),
        ".{0,30}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec(("[abc\"é]{0,2}", inner), 0..20)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// A value whose objects have their members in reverse order.
fn reversed(value: &Value) -> Value {
    match value {
        Value::Array(members) => members.iter().map(reversed).collect(),
        Value::Object(members) => {
            members.iter().rev().map(|(name, value)| (name.clone(), reversed(value))).collect()
        }
        other => other.clone(),
    }
}

proptest! {
    #[test]
    fn a_document_is_what_was_sent(sent in any_json()) {
        let document = parse(&sent.to_string());
        let value: Value = serde_json::from_str(&sent.to_string()).unwrap();
        prop_assert!(document == value);
        prop_assert_eq!(document.to_value().to_string(), value.to_string());
    }

    #[test]
    fn documents_are_equal_where_values_are(one in any_json(), other in any_json(), is_same: bool) {
        let other = if is_same { reversed(&one) } else { other };
        let [first, second] = [&one, &other].map(|it| parse(&it.to_string()));
        let [one, other]: [Value; 2] = [&one, &other].map(|it| it.to_string().parse().unwrap());
        prop_assert!(!is_same || one == other);
        prop_assert_eq!(first == second, one == other);
        prop_assert_eq!(first == other, one == other);
    }
}

#[test]
fn the_order_of_members_makes_no_difference_between_documents() {
    let (one, other) = (parse(r#"{"a": 1, "b": [2]}"#), parse(r#"{"b": [2], "a": 1}"#));
    assert_eq!(one, other);
    assert!(one == json!({"b": [2], "a": 1}));
    assert_ne!(one, parse(r#"{"a": 1, "c": [2]}"#));
    assert_ne!(one, parse(r#"{"a": 1}"#));
}

#[test]
fn of_a_repeated_name_the_last_value_counts_at_the_place_of_the_first() {
    let few = r#"{"a": 1, "b": 2, "a": 3}"#;
    assert_eq!(parse(few).to_value().to_string(), r#"{"a":3,"b":2}"#);
    for n_names in [FEW - 1, FEW, FEW + 1, 2 * FEW] {
        let members = (0..n_names + 2).map(|n| format!(r#""n{}": {n}"#, n % n_names));
        let text = format!("{{{}}}", members.collect::<Vec<_>>().join(","));
        let value: Value = serde_json::from_str(&text).unwrap();
        let document = parse(&text);
        assert_eq!(document.to_value().to_string(), value.to_string());
        let Document::Object(members) = document else { panic!("{document:?}") };
        assert_eq!(matches!(members, Members::Few(_)), n_names <= FEW);
        assert!(members.get("n0").unwrap() == &value["n0"] && members.get("n").is_none());
    }
}
