use gatehouse_core::product::Property;
use serde_json::{Value, json};

use super::*;
use crate::manifest::tests::read;

const MAPPING: &str = r#"
id: [$.id, $.serial]
status: { word: $.state, words: { on: ACTIVE } }
identifiers: { iccid: $.iccid, imsi: $.imsis, msisdn: $.msisdn, serial_number: $.serial }
imei: $.imei
properties: [{ entries: $.labels }]
satellite_when: { path: $.dish, equals: true }
"#;

const ADDITIONS: &str = r#"
status: { word: $.state, words: { off: SUSPENDED } }
identifiers: { msisdn: $.numbers, imsi: $.imsi }
imei: $.imei
properties: [{ name: tag, value: $.tags }]
"#;

fn mapped(document: &Value) -> Result<Connection, Failure> {
    read::<Mapping>(MAPPING).connection(document, Connectivity::Cellular)
}

#[test]
fn only_mapped_fields_come_out() {
    let connection = mapped(&json!({
        "id": 7, "state": "on", "iccid": "8949", "imsis": ["1", "2", "1"], "msisdn": null, "serial": "",
        "imei": ["3", "3"], "labels": {"site": "Rome"}, "password": "s3cret",
    }));
    let expected = Connection {
        local_id: "7".into(),
        status: "ACTIVE".into(),
        platform_status: Some("on".into()),
        connectivity: Connectivity::Cellular,
        identifiers: vec![
            (IdentifierKind::Iccid, "8949".into()),
            (IdentifierKind::Imsi, "1".into()),
            (IdentifierKind::Imsi, "2".into()),
        ],
        imeis: vec!["3".into()],
        properties: vec![Property { name: "site".into(), value: "Rome".into() }],
    };
    assert_eq!(connection, Ok(expected));
    let dish = mapped(&json!({"serial": "KIT-1", "dish": true})).unwrap();
    assert_eq!((&*dish.local_id, dish.connectivity), ("KIT-1", Connectivity::Satellite));
    assert_eq!((&*dish.status, dish.platform_status), ("UNKNOWN", None));
}

#[test]
fn a_connection_without_a_usable_id_is_a_failure() {
    let long = "x".repeat(LOCAL_ID_CHARS_MAX + 1);
    for document in [
        json!({}),
        json!({"id": null}),
        json!({"id": ""}),
        json!({"id": "a\nb"}),
        json!({"id": long}),
        json!("text"),
        json!(null),
    ] {
        let failure = mapped(&document).unwrap_err();
        assert!(failure.detail.starts_with("the platform has a connection w"), "{document}");
    }
}

#[test]
fn additions_are_appended_without_duplicates() {
    let known =
        mapped(&json!({"id": "a", "state": "on", "imsis": ["1"], "msisdn": "49", "imei": "3"}))
            .unwrap();
    let documents = [
        json!({"state": "off", "numbers": ["49", "50"], "imsi": "1", "imei": ["4", "3"], "tags": ["x", "y"], "other": 1}),
        json!({"state": "gone", "numbers": ["50", "51"]}),
    ];
    let full = with_additions(&Arc::new(known.clone()), &read(ADDITIONS), &documents);
    let number = |kind, text: &str| (kind, SmolStr::from(text));
    assert_eq!(
        full.identifiers,
        [
            number(IdentifierKind::Imsi, "1"),
            number(IdentifierKind::Msisdn, "49"),
            number(IdentifierKind::Msisdn, "50"),
            number(IdentifierKind::Msisdn, "51")
        ]
    );
    assert_eq!((&*full.status, full.platform_status.as_deref()), ("GONE", Some("gone")));
    assert_eq!(full.imeis, ["3", "4"]);
    let tags: Vec<&str> = full.properties.iter().map(|it| it.value.as_str()).collect();
    assert_eq!(tags, ["x", "y"]);
    assert_eq!(
        *with_additions(&Arc::new(known.clone()), &read(ADDITIONS), &[Value::Null; 0]),
        known
    );
}

#[test]
fn additions_know_which_parts_they_are() {
    let none = ProductParts::default();
    for (yaml, expected) in [
        ("{}", none),
        ("{ imei: $.a }", ProductParts { characteristics: true, ..none }),
        ("{ identifiers: { msisdn: $.a } }", ProductParts { characteristics: true, ..none }),
        ("{ status: { word: $.a } }", ProductParts { status: true, characteristics: true, ..none }),
        ("{ properties: [{ entries: $.a }] }", ProductParts { properties: true, ..none }),
        (ADDITIONS, ProductParts::ALL),
    ] {
        assert_eq!(read::<Additions>(yaml).parts(), expected, "{yaml}");
    }
}

#[test]
fn a_number_whose_digits_are_lost_is_a_failure_and_not_left_out() {
    let document: Value =
        serde_json::from_str(r#"{"id": 7, "iccid": 89880000000000000018}"#).unwrap();
    let failure = mapped(&document).unwrap_err();
    assert!(failure.detail.starts_with("the platform writes an ICCID as a number"), "{failure:?}");
}
