use super::*;
use gatehouse_core::{ContractId, ContractStatus};
use proptest::prelude::*;
use serde_json::Value;

const ID: Field<Text<ContractId>> = Field::new("id", Text::new(|| Value::Null), "");
const SECRET: Field<Secret> = Field::new("secret", Secret, "");
const COUNT: Field<Integer> = Field::new("count", Integer { min: 1, max: 9 }, "");

/// Reads a body with one field of each kind; returns one line per fault.
fn faults(body: &[u8]) -> String {
    let json = match Json::parse(body) {
        Ok(json) => json,
        Err(reason) => return reason,
    };
    let mut faults = Faults::default();
    let mut reader = Reader::new(json, "", &mut faults);
    reader.required(ID);
    reader.optional(SECRET);
    reader.optional(Field::new("at", Instant, ""));
    let status = OneOf { all: &ContractStatus::ALL, as_str: ContractStatus::as_str };
    reader.optional(Field::new("status", status, ""));
    reader.optional(COUNT);
    reader.optional(Field::new("items", Array(|| Value::Null), ""));
    reader.forbid("fixed", "can't be changed");
    reader.finish();
    let lines = faults.check().err().unwrap_or_default();
    lines.iter().map(|it| format!("{} {}", it.name, it.reason)).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_good_body_has_no_faults() {
    let body = br#"{"id": "c", "secret": "s", "at": "2026-11-01", "status": "ACTIVE", "count": 9,
        "items": [1, {"a": []}]}"#;
    assert_eq!(faults(body), "");
}

#[test]
fn all_faults_are_reported_at_once() {
    let body = br#"{"secret": "", "at": "soon", "status": "active", "count": 10, "items": {},
        "fixed": 1, "colour": null, "count": 3}"#;
    insta::assert_snapshot!(faults(body), @r"
    id is missing
    secret must have 1 to 72 bytes of UTF-8, not 0
    at must be an RFC 3339 time such as `2026-11-01T12:30:00Z` or a date such as `2026-11-01`, not `soon`
    status must be one of ACTIVE, SUSPENDED, TERMINATED, not `active`
    count must be a whole number from 1 to 9, not 10
    items must be a list, not an object
    fixed can't be changed
    colour is not a field of this object; it may have id, secret, at, status, count, items
    count is there more than once
    ");
}

#[test]
fn null_is_a_wrong_type() {
    let body = br#"{"id": null, "secret": null, "at": null, "status": null, "count": null,
        "items": null}"#;
    insta::assert_snapshot!(faults(body), @r"
    id must be a string, not null
    secret must be a string, not null
    at must be a string, not null
    status must be a string, not null
    count must be a whole number, not null
    items must be a list, not null
    ");
}

#[test]
fn in_a_post_an_optional_field_that_is_null_is_absent() {
    let json =
        Json::parse(br#"{"id": null, "secret": null, "count": null, "count": 3, "x": null}"#);
    let mut faults = Faults::default();
    let mut reader = Reader::new(json.unwrap(), "", &mut faults).of_post();
    assert!(reader.holds("count") && !reader.holds("secret"));
    reader.required(ID);
    assert!(reader.optional(SECRET).is_none());
    assert_eq!(reader.optional(COUNT), None);
    reader.finish();
    insta::assert_snapshot!(joined(&faults.check().unwrap_err()), @"id must be a string, not null; count is there more than once; x is not a field of this object; it may have id, secret, count");
}

#[test]
fn type_names_in_a_creation_are_ignored() {
    let json = br#"{"id": "c", "@type": "x", "@type": 1, "@baseType": null, "@schemaLocation": {}, "@x": 1, "": 2}"#;
    let mut faults = Faults::default();
    let mut reader = Reader::new(Json::parse(json).unwrap(), "", &mut faults).of_creation();
    reader.required(ID);
    reader.finish();
    insta::assert_snapshot!(joined(&faults.check().unwrap_err()), @r#"@x is not a field of this object; it may have id; "" is not a field of this object; it may have id"#);
}

#[test]
fn an_integer_is_whole_and_within_its_bounds() {
    for bad in
        ["0", "10", "-1", "1.5", "-1.0", "10.0", "0.0", "1e1", "1e30", "18446744073709551616"]
    {
        let body = format!(r#"{{"id": "c", "count": {bad}}}"#);
        let expected = "count must be a whole number from 1 to 9, not ";
        assert!(faults(body.as_bytes()).starts_with(expected), "{bad}");
    }
    for good in ["1", "9", "9.0", "5e0", "0.1e1"] {
        assert_eq!(faults(format!(r#"{{"id": "c", "count": {good}}}"#).as_bytes()), "", "{good}");
    }
    let any = Integer { min: 0, max: u64::MAX };
    assert_eq!(any.read(Json::parse(b"1e12").unwrap()), Ok(1_000_000_000_000));
    assert_eq!(any.read(Json::parse(b"-0.0").unwrap()), Ok(0));
    assert_eq!(
        faults(br#"{"id": "c", "count": "5"}"#),
        "count must be a whole number, not a string"
    );
}

#[test]
fn a_syntax_error_names_its_position() {
    for (body, reason) in [
        (&b""[..], "the body is empty, and should be a JSON object"),
        (b" \n", "the body is empty, and should be a JSON object"),
        (
            b"{\"id\": \"c\"",
            "the body can't be read as JSON: EOF while parsing an object at line 1 column 10",
        ),
        (b"{} x", "the body can't be read as JSON: trailing characters at line 1 column 4"),
        (b"\xff", "the body can't be read as JSON: expected value at line 1 column 1"),
        (
            b"{\"id\": \"\xff\"}",
            "the body can't be read as JSON: invalid unicode code point at line 1 column 9",
        ),
        (b"[]", "body must be an object, not a list"),
    ] {
        assert_eq!(faults(body), reason, "{body:?}");
    }
    let deep = "[".repeat(10_000);
    assert_eq!(faults(deep.as_bytes()), "the body is nested too deeply; 127 levels are allowed");
}

#[test]
fn a_body_of_faults_reports_the_first_hundred() {
    let fields: Vec<String> = (0..500).map(|n| format!(r#""x{n}": 1"#)).collect();
    assert_eq!(faults(format!("{{{}}}", fields.join(",")).as_bytes()).lines().count(), FAULTS_MAX);
}

#[test]
fn debug_output_hides_values() {
    let json = Json::parse(br#"{"password": "hunter2"}"#).unwrap();
    assert!(!format!("{json:?}").contains("hunter2"));
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(body in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = faults(&body);
    }
}

#[test]
fn a_long_list_is_streamed_and_not_kept() {
    let body = br#"{"id": "c", "items": [{"a": [1], "b": "x", "c": {"d": 1}, "a": 2}, [3], "y"],
        "other": {"a": [{}], "z": 1}, "items": [4], "list": [[5]]}"#;
    let mut elements = Vec::new();
    let read = LongList {
        known: &["id", "items", "other"],
        name: "items",
        element: Keep::Fields(&["a"]),
        others: Keep::Outline,
        each: &mut |element| elements.push(element),
    };
    let (list, object) = (|| Json::List(Vec::new()), || Json::Object(Vec::new()));
    let text = |it: &str| Json::Text(it.into());
    let field = |name: &str, value| (name.to_owned(), value);
    let kept = vec![
        field("id", text("c")),
        field("items", list()),
        field("other", object()),
        field("items", list()),
        field("list", list()),
    ];
    assert!(read.parse(body).unwrap() == Json::Object(kept));
    let first = vec![
        field("a", list()),
        field("b", text("x")),
        field("c", object()),
        field("a", Json::Number(2.into())),
    ];
    assert!(elements == [Json::Object(first), list(), text("y")]);
}
