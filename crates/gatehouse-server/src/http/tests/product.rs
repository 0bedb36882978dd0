//! Products without platforms: faults of requests, and tenants without accounts.

use super::*;
use crate::app::requester::testing::audited;
use gatehouse_core::account::AddressSource;
use gatehouse_store::AccountChange;
use insta::assert_snapshot;

#[tokio::test]
async fn a_tenant_without_accounts_gets_empty_pages() {
    let gate = Gatehouse::new().await;
    let response = gate.get("/acme/product?pageNumber=2&pageSize=10&platform=ALPHA").await;
    assert_snapshot!(response.snapshot(), @r#"
    206
    content-type: application/json
    link: <http://gate.example/acme/product?platform=ALPHA&pageNumber=2&pageSize=10>;rel="self", <http://gate.example/acme/product?platform=ALPHA&pageNumber=1&pageSize=10>;rel="first", <http://gate.example/acme/product?platform=ALPHA&pageNumber=3&pageSize=10>;rel="next", <http://gate.example/acme/product?platform=ALPHA&pageNumber=1&pageSize=10>;rel="prev"
    x-correlation-id: <correlation>
    content-length: 82

    {
      "entities": [],
      "errors": [],
      "correlationId": "<correlation>"
    }
    "#);
}

/// Stores an account whose credentials can't be opened.
async fn put_unreadable(gate: &Gatehouse, name: &str) {
    let account = gatehouse_core::Account {
        platform: "ALPHA".parse().unwrap(),
        name: name.parse().unwrap(),
        connector: "simulator".parse().unwrap(),
        platform_account: "100234".parse().unwrap(),
    };
    let (tenant, store) = ("acme".parse().unwrap(), &gate.gate.server.app.store);
    let change = AccountChange {
        account,
        settings: "{}".into(),
        credentials: Some(b"not sealed".to_vec()),
        address_source: AddressSource::Operator,
        seen_version: None,
    };
    store.put_account(&tenant, change, &audited()).await.unwrap().unwrap();
}

#[tokio::test]
async fn an_account_with_unreadable_credentials_fails_like_its_platform() {
    for gate in Gatehouse::on_each("an_account_that_cannot_be_read").await {
        for name in ["two", "one"] {
            put_unreadable(&gate, name).await;
        }
        let list = gate.get("/acme/product?pageSize=1&pageNumber=1").await;
        let json = list.json();
        let statuses: Vec<_> =
            json["errors"].as_array().unwrap().iter().map(|it| &it["status"]).collect();
        assert_eq!(
            (list.status, statuses),
            (206, vec![&400.into(), &502.into(), &502.into()]),
            "{}",
            gate.kind
        );
        assert_eq!(json["errors"][0]["title"], "Small page size");
        assert_eq!(json["errors"][1]["relatedParty"][0]["name"], "one", "in the order of accounts");
        assert_eq!(json["errors"][2]["relatedParty"][0]["name"], "two");
        let one =
            gate.get("/acme/product?pageSize=1&pageNumber=1&relatedParty.name=two").await.json();
        assert_eq!(one["errors"].as_array().map(Vec::len), Some(1), "{one}");
        let none = gate.get("/acme/product?pageSize=1&pageNumber=1&platform=BETA").await.json();
        assert_eq!(none["errors"].as_array().map(Vec::len), Some(0), "{none}");

        // The accounts may have the first two; no account can have the last one.
        let body = r#"{"iccidList": ["8944500102000000012"],
                       "iotConnectionProductIdList": ["ALPHA-1", "BETA-1"]}"#;
        let json = gate.post("/acme/product/find", body).await.json();
        let statuses: Vec<_> =
            json["errors"].as_array().unwrap().iter().map(|it| &it["status"]).collect();
        assert_eq!(statuses, [&502.into(), &502.into(), &Value::from(404)], "{}", gate.kind);

        let response = gate.get("/acme/product/ALPHA-1").await;
        assert_eq!(response.problem(), (502, "Platform error".into()));
        assert_eq!(gate.get("/acme/product/BETA-1").await.status, 404, "{}", gate.kind);
    }
}

#[tokio::test]
async fn missing_iccids_and_product_ids_are_reported_but_not_imsis() {
    let gate = Gatehouse::new().await;
    let body = r#"{"iccidList": ["8944500102000000012"], "imsiList": ["234500000000001"],
                   "iotConnectionProductIdList": ["ALPHA-1"]}"#;
    let response = gate.post("/acme/product/find?colour=red", body).await;
    assert_snapshot!(response.snapshot(), @r#"
    200
    content-type: application/json
    x-correlation-id: <correlation>
    x-ignored-params: colour
    content-length: 552

    {
      "entities": [],
      "errors": [
        {
          "type": "Product not found",
          "status": 404,
          "title": "Product not found",
          "detail": "there is no product with the ICCID `8944500102000000012`",
          "externalErrors": [],
          "relatedParty": [],
          "correlationId": "<correlation>",
          "@type": "problem"
        },
        {
          "type": "Product not found",
          "status": 404,
          "title": "Product not found",
          "detail": "there is no product `ALPHA-1`",
          "externalErrors": [],
          "relatedParty": [],
          "correlationId": "<correlation>",
          "@type": "problem"
        }
      ],
      "correlationId": "<correlation>"
    }
    "#);
}

#[tokio::test]
async fn all_faults_of_a_product_list_are_reported_at_once() {
    let gate = Gatehouse::new().await;
    for (query, names) in [
        ("", &["pageSize", "pageNumber"][..]),
        ("?pageSize=0&pageNumber=10000001", &["pageSize", "pageNumber"]),
        ("?pageSize=1001&pageNumber=1", &["pageSize"]),
        ("?pageSize=1.5&pageNumber=1", &["pageSize"]),
        ("?pageSize=1&pageNumber=-1", &["pageNumber"]),
        ("?pageSize=1&pageSize=1&pageNumber=1", &["pageSize"]),
        ("?pageSize=1&pageNumber=1&fields=id&fields=id", &["fields"]),
        ("?pageNumber=1&iccid=1,8944500102000000012,x", &["ICCID", "ICCID", "pageSize"]),
        ("?pageSize=1&pageNumber=1;serialNumber=1;imsi=", &["serialNumber", "IMSI"]),
    ] {
        let response = gate.get(&format!("/acme/product{query}")).await;
        assert_eq!(response.faults(), (400, names.join(" ")), "{query}");
    }
    let many: Vec<String> = (0..1001).map(|n| (1_000_000 + n).to_string()).collect();
    let path = format!("/acme/product?pageSize=1&pageNumber=1&imsi={}", many.join(","));
    assert_eq!(gate.get(&path).await.invalid(), ["filter"]);
}

#[tokio::test]
async fn unknown_parameters_are_ignored_unless_handling_is_strict() {
    let gate = Gatehouse::new().await;
    let path = "/acme/product?pageSize=1&pageNumber=1&status=ACTIVE&id=1&Platform=ALPHA";
    let response = gate.get(path).await;
    assert_eq!(response.status_and("x-ignored-params"), (206, Some("status, id, Platform")));
    let strict = gate.call("GET", path, &[("prefer", "handling=strict")], "").await;
    assert_eq!(strict.faults(), (400, "status id Platform".into()));
}

#[tokio::test]
async fn unknown_field_names_are_ignored_unless_handling_is_strict() {
    let gate = Gatehouse::new().await;
    for (fields, ignored) in [
        (
            "id,href,status,connectivityType,productCharacteristic,relatedParty,customProperty,@type",
            None,
        ),
        ("none", None),
        ("+none,", None),
        ("", None),
        ("colour", Some("colour")),
        ("id,colour,Status,,a%26b", Some("colour, Status, a&b")),
        ("none,status", Some("none")),
    ] {
        let path = format!("/acme/product?pageSize=1&pageNumber=1&fields={fields}");
        let response = gate.get(&path).await;
        assert_eq!(response.status_and("x-ignored-params"), (206, ignored), "{fields}");
        let strict = gate.call("GET", &path, &[("prefer", "handling=strict")], "").await;
        assert_eq!(strict.status == 400, ignored.is_some(), "{fields}: {}", strict.body);
    }
}

#[tokio::test]
async fn an_msisdn_is_accepted_with_its_plus() {
    let gate = Gatehouse::new().await;
    let list = |number: &str| format!("/acme/product?pageSize=1&pageNumber=1&msisdn={number}");
    for number in
        ["+4915112345678", "%2B4915112345678", "%204915112345678", "1234567,+4915112345678"]
    {
        assert_eq!(gate.get(&list(number)).await.status, 206, "{number}");
    }
    for number in ["++4915112345678", "+%2B4915112345678", "4915112345678+", "+"] {
        assert_eq!(gate.get(&list(number)).await.invalid(), ["MSISDN"], "{number}");
    }
    assert_eq!(gate.get(&list("1234567").replace("msisdn=", "imsi=+")).await.invalid(), ["IMSI"]);
    let body = r#"{"msisdnList": ["+4915112345678"]}"#;
    let found = gate.post("/acme/product/find", body).await;
    assert_eq!((found.status, &found.json()["errors"]), (200, &serde_json::json!([])));
}

#[tokio::test]
async fn a_tenant_can_have_its_own_highest_page_number() {
    for gate in Gatehouse::on_each("the_last_page_is_the_tenants").await {
        gate.put("/-/admin/tenants/acme", r#"{"pageNumberMax": 2}"#).await;
        let rels = async |number: u64| {
            let response = gate.get(&format!("/acme/product?pageSize=1&pageNumber={number}")).await;
            let link = response.header("link").map(str::to_owned).unwrap_or_default();
            let rel =
                |link: &str| link.split_once(";rel=").map_or("", |(_, rel)| rel).replace('"', "");
            (response.status, link.split(", ").map(rel).collect::<Vec<_>>().join(" "))
        };
        assert_eq!(rels(1).await, (206, "self first next".into()), "{}", gate.kind);
        assert_eq!(rels(2).await, (206, "self first prev".into()), "{}", gate.kind);
        assert_eq!(rels(3).await, (400, String::new()), "{}", gate.kind);
    }
}

#[tokio::test]
async fn head_returns_the_headers_of_the_list() {
    let gate = Gatehouse::new().await;
    let path = "/acme/product?pageSize=1&pageNumber=1";
    let (get, head) = (gate.get(path).await, gate.call("HEAD", path, &[], "").await);
    assert_eq!((head.status, head.body.as_str()), (206, ""));
    assert_eq!(head.header("link"), get.header("link"));
    assert_eq!(head.header("content-length"), get.header("content-length"));
    assert_eq!(get.header("x-total-count"), None);
}

#[tokio::test]
async fn an_envelope_has_the_correlation_id_of_its_request() {
    let gate = Gatehouse::new().await;
    let path = "/acme/product?pageSize=1&pageNumber=1";
    let response = gate.call("GET", path, &[("x-correlation-id", "mine")], "").await;
    assert_eq!(
        (&response.json()["correlationId"], response.header("x-correlation-id")),
        (&"mine".into(), Some("mine"))
    );
}

#[tokio::test]
async fn the_body_of_a_search_has_at_most_a_mebibyte() {
    let gate = Gatehouse::new().await;
    let body = |n_bytes: usize| {
        let body = r#"{"imsiList": ["234500000000001"]}"#;
        format!("{body}{}", " ".repeat(n_bytes - body.len()))
    };
    assert_eq!(gate.post("/acme/product/find", &body(1_048_576)).await.status, 200);
    assert_eq!(gate.post("/acme/product/find", &body(1_048_577)).await.status, 413);
}

#[tokio::test]
async fn a_search_for_too_many_items_returns_one_problem() {
    let gate = Gatehouse::new().await;
    let numbers: Vec<String> = (0..1001).map(|n| (1_000_000 + n).to_string()).collect();
    let body = serde_json::json!({"imsiList": numbers}).to_string();
    let response = gate.post("/acme/product/find", &body).await;
    let json = response.json();
    assert_eq!((response.status, json["entities"].as_array().map(Vec::len)), (200, Some(0)));
    assert_eq!(json["errors"].as_array().map(Vec::len), Some(1));
    assert_eq!(
        (&json["errors"][0]["status"], &json["errors"][0]["type"]),
        (&400.into(), &"Bad Request".into())
    );
    let detail = json["errors"][0]["detail"].as_str().unwrap();
    assert!(detail.contains("1000 items or fewer"), "{detail}");
    assert_eq!(gate.post("/nobody/product/find", &body).await.status, 404, "no such tenant");
}

#[tokio::test]
async fn an_invalid_product_id_is_a_404() {
    let gate = Gatehouse::new().await;
    for id in ["x", "ALPHA-", "-1", "alpha-1", "ALPHA", "ALPHA-%00", "ALPHA-a%2Fb"] {
        let response = gate.get(&format!("/acme/product/{id}")).await;
        assert_eq!(response.problem(), (404, "Not found".into()), "{id}");
    }
    let response = gate.get("/acme/product/ALPHA-a%2Fb").await;
    assert_eq!(response.json()["detail"], "there is no product `ALPHA-a/b`");
    assert_eq!(gate.get("/nobody/product/ALPHA-1").await.json()["title"], "Unknown tenant");
    // The path of a search is no product.
    assert_eq!(gate.get("/acme/product/find").await.header("allow"), Some("OPTIONS, POST"));
}
