use std::sync::Arc;

use gatehouse_core::Account;
use gatehouse_core::product::Connectivity;
use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::Value;

use super::*;
use gatehouse_core::product::Property;

/// An account at platform ALPHA.
pub(crate) fn account(name: &str) -> Arc<Account> {
    Arc::new(Account {
        platform: "ALPHA".parse().unwrap(),
        name: name.parse().unwrap(),
        connector: "simulator".parse().unwrap(),
        platform_account: "100234".parse().unwrap(),
    })
}

/// A connection of the account `acme-eu` without identifiers and properties.
pub(crate) fn bare(local_id: &str) -> Product {
    let connection = Connection {
        local_id: local_id.into(),
        status: "ACTIVE".into(),
        platform_status: None,
        connectivity: Connectivity::Cellular,
        identifiers: Vec::new(),
        imeis: Vec::new(),
        properties: Vec::new(),
    };
    Product { account: account("acme-eu"), connection: Arc::new(connection) }
}

fn full() -> Product {
    let mut product = bare("47/11");
    let property = |name: &str, value: &str| Property { name: name.into(), value: value.into() };
    // Unordered, as a platform may send them.
    let connection = Arc::make_mut(&mut product.connection);
    connection.identifiers = vec![
        (IdentifierKind::SerialNumber, "SL-DF-7".into()),
        (IdentifierKind::Msisdn, "447700900001".into()),
        (IdentifierKind::Imsi, "234500000000001".into()),
        (IdentifierKind::Iccid, "8944500102000000012".into()),
        (IdentifierKind::Msisdn, "447700900002".into()),
    ];
    connection.imeis = vec!["490154203237518".into()];
    connection.platform_status = Some("in \"use\"".into());
    connection.properties = vec![property("site", "Hamburg"), property("site", "")];
    product
}

fn viewed(fields: Fields, show: impl FnOnce(View<'_>) -> Bytes) -> Value {
    let address = Address::at("https://gate.example/base", "/acme/product");
    let tenant = "acme".parse().unwrap();
    let view = View { address: &address, tenant: &tenant, correlation_id: "c-1", fields };
    serde_json::from_slice(&show(view)).unwrap()
}

fn shown(product: &Product, fields: Fields) -> Value {
    viewed(fields, |view| view.product(product))
}

#[test]
fn a_product_shows_its_characteristics_and_its_account() {
    let body = shown(&full(), Fields::All);
    assert_snapshot!(serde_json::to_string_pretty(&body).unwrap(), @r#"
    {
      "id": "ALPHA-47/11",
      "href": "https://gate.example/base/acme/product/ALPHA-47%2F11",
      "status": "ACTIVE",
      "connectivityType": "CELLULAR",
      "productCharacteristic": [
        {
          "name": "PLATFORM",
          "value": "ALPHA"
        },
        {
          "name": "ICCID",
          "value": "8944500102000000012"
        },
        {
          "name": "IMSI",
          "value": "234500000000001"
        },
        {
          "name": "MSISDN",
          "value": "447700900001"
        },
        {
          "name": "MSISDN",
          "value": "447700900002"
        },
        {
          "name": "IMEI",
          "value": "490154203237518"
        },
        {
          "name": "SERIAL_NUMBER",
          "value": "SL-DF-7"
        },
        {
          "name": "PLATFORM_STATUS",
          "value": "in \"use\""
        }
      ],
      "relatedParty": [
        {
          "name": "acme-eu",
          "characteristic": [
            {
              "name": "PLATFORM_ACCOUNT",
              "value": "100234"
            }
          ],
          "role": "customer"
        }
      ],
      "customProperty": [
        {
          "name": "site",
          "value": "Hamburg"
        },
        {
          "name": "site",
          "value": ""
        }
      ],
      "@type": "IoTConnection"
    }
    "#);
}

#[test]
fn empty_fields_of_a_product_are_left_out() {
    let body = shown(&bare("1"), Fields::All);
    let names: Vec<&String> = body.as_object().unwrap().keys().collect();
    assert_eq!(
        names,
        [
            "id",
            "href",
            "status",
            "connectivityType",
            "productCharacteristic",
            "relatedParty",
            "@type"
        ]
    );
    assert_eq!(
        body["productCharacteristic"],
        serde_json::json!([{"name": "PLATFORM", "value": "ALPHA"}])
    );
}

#[test]
fn the_address_encodes_the_product_identifier() {
    for (local_id, segment) in [
        ("1", "ALPHA-1"),
        ("a-b", "ALPHA-a-b"),
        ("a/b?c#d", "ALPHA-a%2Fb%3Fc%23d"),
        ("../é %", "ALPHA-..%2F%C3%A9%20%25"),
    ] {
        let body = shown(&bare(local_id), Fields::None);
        let href = format!("https://gate.example/base/acme/product/{segment}");
        assert_eq!(body["href"], href.as_str());
        assert_eq!(body["id"], format!("ALPHA-{local_id}"));
    }
}

#[test]
fn only_named_fields_are_shown() {
    let everything =
        "id href status connectivityType productCharacteristic relatedParty customProperty @type";
    #[rustfmt::skip]
    let cases = [
        // fields                       // fields shown, in order
        ("",                            everything),
        (" , ,",                        everything),
        ("none",                        "id href correlationId"),
        (" none ,",                     "id href correlationId"),
        ("none,status",                 "id status"),
        ("none,none",                   "id"),
        ("id",                          "id"),
        ("@type,status,id",             "id status @type"),
        ("href, customProperty",        "id href customProperty"),
        ("relatedParty,relatedParty",   "id relatedParty"),
        ("Status,colour",               "id"),
        ("correlationId",               "id"),
        ("relatedParty.name",           "id"),
    ];
    for (fields, expected) in cases {
        let body = shown(&full(), Fields::read(fields));
        let names: Vec<&str> = body.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(names.join(" "), expected, "{fields:?}");
    }
    assert_eq!(shown(&full(), Fields::None)["correlationId"], "c-1");
}

#[test]
fn an_envelope_shows_each_product_as_it_is_shown_alone() {
    let elsewhere = |local_id: &str| Product { account: account("acme-us"), ..bare(local_id) };
    let products = [full(), bare("1"), elsewhere("2"), elsewhere("3"), bare("4")];
    let problems = [Problem::unknown_path(), Problem::internal()];
    for fields in [Fields::All, Fields::None, Fields::read("relatedParty")] {
        let body = viewed(fields, |view| view.envelope(&products, &problems));
        let names: Vec<&String> = body.as_object().unwrap().keys().collect();
        assert_eq!(names, ["entities", "errors", "correlationId"]);
        let alone: Vec<Value> = products.iter().map(|it| shown(it, fields)).collect();
        assert_eq!(body["entities"], Value::from(alone));
        assert_eq!(body["errors"].as_array().unwrap().len(), 2);
    }
    let empty = viewed(Fields::All, |view| view.envelope(&[], &[]));
    assert_eq!(empty, serde_json::json!({"entities": [], "errors": [], "correlationId": "c-1"}));
}

proptest! {
    #[test]
    fn values_of_platforms_are_shown_unchanged(texts: [String; 6]) {
        let [local_id, status, platform_status, iccid, imei, name] = texts;
        let mut product = bare(&local_id);
        let connection = Arc::make_mut(&mut product.connection);
        connection.status = status.as_str().into();
        connection.platform_status = Some(platform_status.as_str().into());
        connection.identifiers = vec![(IdentifierKind::Iccid, iccid.as_str().into())];
        connection.imeis = vec![imei.as_str().into()];
        connection.properties = vec![Property { name: name.as_str().into(), value: "\"".into() }];
        let body = shown(&product, Fields::All);
        prop_assert_eq!(&body["id"], &format!("ALPHA-{local_id}"));
        prop_assert_eq!(&body["status"], &status);
        let characteristics = serde_json::json!([
            {"name": "PLATFORM", "value": "ALPHA"},
            {"name": "ICCID", "value": iccid},
            {"name": "IMEI", "value": imei},
            {"name": "PLATFORM_STATUS", "value": platform_status},
        ]);
        prop_assert_eq!(&body["productCharacteristic"], &characteristics);
        let properties = serde_json::json!([{"name": name, "value": "\""}]);
        prop_assert_eq!(&body["customProperty"], &properties);
    }
}
