//! Validates a value against a schema of the document.
//!
//! An unknown keyword panics, so that no schema passes unchecked. `cargo xtask test --api` checks patterns and formats,
//! because its tools have regular expressions.

use serde_json::Value;

/// All violations of a schema; empty for a valid value.
pub(super) fn faults(document: &Value, schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(document, schema, value, "", &mut found);
    found
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        other => panic!("unknown type {other}"),
    }
}

fn check(document: &Value, schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    let keywords = schema.as_object().unwrap_or_else(|| panic!("no schema: {schema}"));
    for (keyword, expected) in keywords {
        let number = || expected.as_f64().unwrap();
        let is_valid = match keyword.as_str() {
            "$ref" => {
                let target = document.pointer(&expected.as_str().unwrap()[1..]).unwrap();
                check(document, target, value, at, found);
                true
            }
            "type" => match expected.as_array() {
                Some(types) => types.iter().any(|it| is_of_type(value, it.as_str().unwrap())),
                None => is_of_type(value, expected.as_str().unwrap()),
            },
            "const" => value == expected,
            "enum" => expected.as_array().unwrap().contains(value),
            "anyOf" => {
                expected.as_array().unwrap().iter().any(|it| faults(document, it, value).is_empty())
            }
            "not" => !faults(document, expected, value).is_empty(),
            "minLength" => value.as_str().is_none_or(|it| it.chars().count() as f64 >= number()),
            "maxLength" => value.as_str().is_none_or(|it| it.chars().count() as f64 <= number()),
            "minimum" => value.as_f64().is_none_or(|it| it >= number()),
            "maximum" => value.as_f64().is_none_or(|it| it <= number()),
            "minItems" => value.as_array().is_none_or(|it| it.len() as f64 >= number()),
            "maxItems" => value.as_array().is_none_or(|it| it.len() as f64 <= number()),
            "minProperties" => value.as_object().is_none_or(|it| it.len() as f64 >= number()),
            "maxProperties" => value.as_object().is_none_or(|it| it.len() as f64 <= number()),
            "required" => value.as_object().is_none_or(|it| {
                expected
                    .as_array()
                    .unwrap()
                    .iter()
                    .all(|name| it.contains_key(name.as_str().unwrap()))
            }),
            "additionalProperties" => {
                let known = &schema["properties"];
                let fields = value.as_object().into_iter().flatten();
                let mut others = fields.filter(|(name, _)| known.get(name).is_none()).peekable();
                if *expected == Value::Bool(false) {
                    others.peek().is_none()
                } else {
                    others.for_each(|(name, value)| {
                        check(document, expected, value, &format!("{at}/{name}"), found);
                    });
                    true
                }
            }
            "propertyNames" => {
                for name in value.as_object().into_iter().flat_map(|it| it.keys()) {
                    check(
                        document,
                        expected,
                        &name.as_str().into(),
                        &format!("{at}/{name}"),
                        found,
                    );
                }
                true
            }
            "properties" => {
                for (name, schema) in expected.as_object().unwrap() {
                    if let Some(value) = value.get(name) {
                        check(document, schema, value, &format!("{at}/{name}"), found);
                    }
                }
                true
            }
            "items" => {
                for (n, value) in value.as_array().into_iter().flatten().enumerate() {
                    check(document, expected, value, &format!("{at}/{n}"), found);
                }
                true
            }
            "pattern" | "format" | "description" | "examples" | "default" => true,
            other => panic!("{at}: unknown keyword {other}"),
        };
        if !is_valid {
            found.push(format!("{at}: {value} is not {keyword} {expected}"));
        }
    }
}

#[test]
fn every_violation_of_a_schema_is_found() {
    let document = serde_json::json!({"a": {"type": "string", "maxLength": 2}});
    let schema = serde_json::json!({
        "type": "object", "required": ["x"], "additionalProperties": false,
        "properties": {
            "x": {"$ref": "#/a"}, "n": {"type": "integer", "minimum": 1},
            "l": {"type": "array", "items": {"enum": ["A"]}},
            "o": {
                "type": "object", "maxProperties": 1, "propertyNames": {"maxLength": 1},
                "additionalProperties": {"anyOf": [{"type": "number"}, {"type": "boolean"}]},
            },
        },
    });
    for (value, n_faults) in [
        (r#"{"x": "éé", "n": 1, "l": ["A"]}"#, 0),
        (r#"{"x": "ééé", "n": 0, "l": ["A", "B"]}"#, 3),
        (r#"{"x": 1, "n": 1.5, "y": 1}"#, 3),
        (r#"{"x": "", "o": {"é": 1.5}}"#, 0),
        (r#"{"x": "", "o": {"é": true, "éé": null}}"#, 3),
        ("{}", 1),
        ("[]", 1),
    ] {
        let found = faults(&document, &schema, &serde_json::from_str(value).unwrap());
        assert_eq!(found.len(), n_faults, "{value}: {found:?}");
    }
}
