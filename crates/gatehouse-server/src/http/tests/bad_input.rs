//! Every wrong value of every field of every body: a 400 that names the field, and nothing written.

use super::*;

/// Values of types that no string field accepts. (In a POST, `null` stands for an absent optional field.)
const WRONG_TYPES: [&str; 6] = ["null", "7", "true", "[]", "{}", "1.5"];

async fn assert_refused(gate: &Gatehouse, method: &str, path: &str, body: &str, field: &str) {
    let media = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    let response = gate.call(method, path, &[("content-type", media)], body).await;
    let shown: String = body.chars().take(200).collect();
    assert_eq!(response.status, 400, "{method} {path} {shown}: {}", response.body);
    assert!(response.invalid().iter().any(|it| it == field), "{shown}: {}", response.body);
}

#[tokio::test]
async fn every_wrong_field_of_a_creation_is_a_400() {
    let gate = Gatehouse::new().await;
    let text = |n: usize| format!("\"{}\"", "x".repeat(n));
    assert_refused(&gate, "POST", "/acme/access", "{}", "contractId").await;
    for field in ["contractId", "username", "deviceName", "password"] {
        let types = WRONG_TYPES.iter().filter(|it| **it != "null" || field == "contractId");
        let mut values: Vec<String> = types.map(|it| (*it).to_owned()).collect();
        values.push(text(0));
        values.push(if field == "password" { text(73) } else { text(129) });
        if field == "password" {
            values.push(format!("\"{}\"", "é".repeat(37)));
        } else {
            values.push("\"a\\u0000b\"".into());
        }
        if field == "contractId" || field == "username" {
            values.extend(["\"\\n\"", "\"\\u007f\"", "\"\\u0085\""].map(str::to_owned));
        }
        if field == "username" {
            values.push("\"a\\u0007b\"".into());
        }
        for value in values {
            let body = if field == "contractId" {
                format!(r#"{{"contractId": {value}}}"#)
            } else {
                format!(r#"{{"contractId": "payg", "{field}": {value}}}"#)
            };
            assert_refused(&gate, "POST", "/acme/access", &body, field).await;
        }
        let twice = format!(r#"{{"contractId": "payg", "{field}": "payg", "{field}": "payg"}}"#);
        assert_refused(&gate, "POST", "/acme/access", &twice, field).await;
    }
    for unknown in ["contractid", "name", "status", "id", ""] {
        let body = format!(r#"{{"contractId": "payg", "{unknown}": "x"}}"#);
        assert_refused(&gate, "POST", "/acme/access", &body, unknown).await;
    }
    let counts = gate.get("/acme/contract").await.json();
    let counts: Vec<u64> =
        counts.as_array().unwrap().iter().map(|it| it["accessCount"].as_u64().unwrap()).collect();
    assert_eq!(counts, [0, 0, 0], "nothing was written");
}

#[tokio::test]
async fn a_creation_ignores_tmf_type_fields_and_null() {
    for gate in Gatehouse::on_each("sent_besides").await {
        let types =
            r#""@type": "RealizingResource", "@baseType": null, "@schemaLocation": {"a": [1]}"#;
        let nulls = r#""username": null, "password": null, "deviceName": null"#;
        let body = format!(r#"{{"contractId": "payg", {nulls}, {types}}}"#);
        let (path, created) = gate.create(&body).await;
        assert!(created["username"].as_str().unwrap().starts_with("u-"), "{created}");
        assert_eq!(created.get("deviceName"), None, "{created}");
        assert_eq!(created["@baseType"], "Resource");
        let batch = format!(
            r#"{{"contractId": "payg", "numberOfAccesses": null, "accesses": [{{{nulls}, {types}}}], {types}}}"#
        );
        let task = gate.accept("/acme/access/batch", serde_json::from_str(&batch).unwrap()).await;
        gate.work().await;
        assert_eq!(gate.get(&task).await.json()["accesses"].as_array().unwrap().len(), 1);
        let counted = format!(
            r#"{{"contractId": "payg", "numberOfAccesses": 2, "accesses": null, {types}}}"#
        );
        gate.accept("/acme/access/batch", serde_json::from_str(&counted).unwrap()).await;

        // An update is a merge patch, where `null` would delete a field.
        assert_refused(&gate, "PATCH", &path, r#"{"status": null}"#, "status").await;
        assert_refused(&gate, "PATCH", &path, r#"{"status": "SUSPENDED", "@type": "x"}"#, "@type")
            .await;
        let update = r#"{"operationType": "update", "accessesIdList": ["x"], "operationBody": {"status": null}}"#;
        assert_refused(&gate, "POST", "/acme/access/batchUpdate", update, "operationBody.status")
            .await;
    }
}

#[tokio::test]
async fn the_longest_values_are_accepted() {
    for gate in Gatehouse::on_each("longest_of_everything").await {
        let (name, password) = ("🛰".repeat(128), "é".repeat(36));
        let body = serde_json::json!({
            "contractId": "payg", "username": name, "deviceName": name, "password": password,
        });
        let (path, created) = gate.create(&body.to_string()).await;
        assert_eq!(created["username"], name.as_str());
        assert_eq!(gate.get(&path).await.json()["deviceName"], name.as_str(), "{}", gate.kind);
        assert_eq!(gate.verify(&name, &password).await.status, 200, "{}", gate.kind);
        let odd = "\u{0}\n\t: any characters";
        let patch = serde_json::json!({"password": odd}).to_string();
        assert_eq!(gate.patch(&path, &patch).await.json()["password"], odd);
        assert_eq!(gate.verify(&name, odd).await.status, 200, "{}", gate.kind);
    }
}

#[tokio::test]
async fn every_wrong_field_of_an_update_is_a_400() {
    let gate = Gatehouse::new().await;
    let (path, _) = gate.create(r#"{"contractId": "payg"}"#).await;
    let long = format!("\"{}\"", "x".repeat(73));
    assert_refused(&gate, "PATCH", &path, "{}", "body").await;
    for value in WRONG_TYPES.into_iter().chain([
        "\"\"",
        "\"active\"",
        "\"PENDING_ACTIVE\"",
        "\"PENDING_TERMINATE\"",
    ]) {
        assert_refused(&gate, "PATCH", &path, &format!(r#"{{"status": {value}}}"#), "status").await;
    }
    for value in WRONG_TYPES.into_iter().chain(["\"\"", &long]) {
        assert_refused(&gate, "PATCH", &path, &format!(r#"{{"password": {value}}}"#), "password")
            .await;
    }
    for fixed in ["contractId", "username", "productOfferingId", "deviceName", "name", "id", "x"] {
        let alone = format!(r#"{{"{fixed}": "x"}}"#);
        let combined = format!(r#"{{"status": "SUSPENDED", "{fixed}": "x"}}"#);
        assert_refused(&gate, "PATCH", &path, &alone, fixed).await;
        assert_refused(&gate, "PATCH", &path, &combined, fixed).await;
    }
    assert_eq!(gate.get(&path).await.header("etag"), Some("\"1\""), "nothing was written");
}

#[tokio::test]
async fn every_wrong_field_of_a_check_is_a_400() {
    let gate = Gatehouse::new().await;
    let (long_name, long_password) = ("x".repeat(129), "x".repeat(73));
    let (long_name, long_password) = (format!("\"{long_name}\""), format!("\"{long_password}\""));
    let names = ["\"\"", "\"a\\u0000\"", "\"\\n\"", &long_name];
    for value in WRONG_TYPES.into_iter().chain(names) {
        let body = format!(r#"{{"username": {value}, "password": "p"}}"#);
        assert_refused(&gate, "POST", "/acme/verify", &body, "username").await;
    }
    for value in WRONG_TYPES.into_iter().chain(["\"\"", &long_password]) {
        let body = format!(r#"{{"username": "u", "password": {value}}}"#);
        assert_refused(&gate, "POST", "/acme/verify", &body, "password").await;
    }
    let twice = r#"{"username": "u", "password": "p", "password": "q"}"#;
    assert_refused(&gate, "POST", "/acme/verify", twice, "password").await;
    let response = gate.post("/acme/verify", r#"{"user": "u"}"#).await;
    assert_eq!(response.invalid(), ["username", "password", "user"]);
}

#[tokio::test]
async fn every_wrong_field_of_a_search_is_a_400() {
    let gate = Gatehouse::new().await;
    let path = "/acme/product/find";
    let lists =
        ["iccidList", "imsiList", "msisdnList", "terminalSNList", "iotConnectionProductIdList"];
    assert_refused(&gate, "POST", path, "{}", "body").await;
    for list in lists {
        for value in ["7", "true", "{}", "\"x\"", "1.5"] {
            assert_refused(&gate, "POST", path, &format!(r#"{{"{list}": {value}}}"#), list).await;
        }
        assert_refused(&gate, "POST", path, &format!(r#"{{"{list}": null}}"#), "body").await;
        for item in WRONG_TYPES {
            let body = format!(r#"{{"{list}": ["x", {item}]}}"#);
            assert_refused(&gate, "POST", path, &body, &format!("{list}[1]")).await;
        }
        assert_refused(&gate, "POST", path, &format!(r#"{{"{list}": []}}"#), "body").await;
        let twice = format!(r#"{{"{list}": ["x"], "{list}": ["x"]}}"#);
        assert_refused(&gate, "POST", path, &twice, list).await;
        let combined = format!(r#"{{"{list}": ["x"], "{}": ["x"]}}"#, list.to_lowercase());
        assert_refused(&gate, "POST", path, &combined, &list.to_lowercase()).await;
    }
}

#[tokio::test]
async fn every_wrong_field_of_a_contract_or_tenant_is_a_400() {
    let gate = Gatehouse::new().await;
    let contract = "/-/admin/tenants/acme/contracts/x";
    let tenant = "/-/admin/tenants/x";
    let long = format!("\"{}\"", "x".repeat(129));
    let names = ["\"\"", "\"\\u0000\"", &long];
    let words = ["\"\"", "\"active\"", "\"prepaid\""];
    let times = ["\"\"", "\"soon\"", "\"2027-02-30\"", "\"2027-01-01T00:00Z\""];
    let periods = ["\"\"", "\"P\"", "\"P0D\"", "\"1 year\"", "\"P1001Y\""];
    let counts = ["-1", "1.5", "1e30", "\"5\"", "1000000000001"];
    let all: [(&str, &[&str]); 8] = [
        ("id", &names),
        ("productOfferingId", &names),
        ("billingModel", &words),
        ("status", &words),
        ("startDateTime", &times),
        ("endDateTime", &times),
        ("validityPeriod", &periods),
        ("maxAccesses", &counts),
    ];
    for (field, more) in all {
        // This field is a whole number.
        let types = WRONG_TYPES.into_iter().filter(|it| field != "maxAccesses" || *it != "7");
        for value in types.chain(more.iter().copied()) {
            let good = [("productOfferingId", "\"po\""), ("billingModel", "\"PREPAID\"")];
            let others = good.iter().filter(|(name, _)| *name != field);
            let others: String = others.map(|(name, it)| format!(r#""{name}": {it}, "#)).collect();
            let body = format!(r#"{{{others}"{field}": {value}}}"#);
            assert_refused(&gate, "PUT", contract, &body, field).await;
        }
        let twice = format!(r#"{{"{field}": 0, "{field}": 0}}"#);
        assert_refused(&gate, "PUT", contract, &twice, field).await;
    }
    assert_refused(&gate, "PUT", contract, "{}", "billingModel").await;
    for (field, more) in [("name", &names[..]), ("timeZone", &["\"\"", "\"Mars\"", "\"\\u0000\""])]
    {
        for value in WRONG_TYPES.into_iter().chain(more.iter().copied()) {
            assert_refused(&gate, "PUT", tenant, &format!(r#"{{"{field}": {value}}}"#), field)
                .await;
        }
    }
    assert_eq!(gate.get(contract).await.status, 404, "nothing was written");
    assert_eq!(gate.get(tenant).await.status, 404, "nothing was written");
}

#[tokio::test]
async fn every_wrong_field_of_an_account_is_a_400() {
    let gate = Gatehouse::new().await;
    let path = "/-/admin/tenants/acme/accounts/x";
    let long = format!("\"{}\"", "x".repeat(129));
    let long_word = format!("\"{}\"", "A".repeat(33));
    let names = ["\"\"", "\"\\u0000\"", &long];
    let platforms = ["\"\"", "\"alpha\"", "\"_A\"", "\"A-B\"", "\"\u{c4}\"", &long_word];
    let connectors = ["\"\"", "\"Simulator\"", "\"-a\"", "\"a.b\"", &long];
    let objects = ["\"\"", "\"x\""];
    let all: [(&str, &[&str]); 7] = [
        ("name", &names),
        ("platform", &platforms),
        ("connector", &connectors),
        ("platformAccount", &names),
        ("settings", &objects),
        ("credentials", &objects),
        ("hasCredentials", &objects),
    ];
    let good = [
        ("platform", "\"ALPHA\""),
        ("connector", "\"simulator\""),
        ("platformAccount", "\"1\""),
        ("settings", "{}"),
    ];
    for (field, more) in all {
        let is_wrong = |value: &&str| match field {
            "settings" | "credentials" => *value != "{}",
            "hasCredentials" => *value != "true",
            _ => true,
        };
        let others = good.iter().filter(|(name, _)| *name != field);
        let others: String = others.map(|(name, it)| format!(r#""{name}": {it}, "#)).collect();
        for value in WRONG_TYPES.into_iter().filter(is_wrong).chain(more.iter().copied()) {
            let body = format!(r#"{{{others}"{field}": {value}}}"#);
            assert_refused(&gate, "PUT", path, &body, field).await;
        }
        let twice = format!(r#"{{"{field}": 0, "{field}": 0}}"#);
        assert_refused(&gate, "PUT", path, &twice, field).await;
    }
    let good: Vec<String> = good.iter().map(|(name, it)| format!(r#""{name}": {it}"#)).collect();
    for value in WRONG_TYPES.into_iter().chain(["\"\""]) {
        let body = format!(r#"{{{}, "credentials": {{"token": {value}}}}}"#, good.join(", "));
        assert_refused(&gate, "PUT", path, &body, "credentials.token").await;
    }
    assert_eq!(gate.get(path).await.status, 404, "nothing was written");
}

#[tokio::test]
async fn a_body_that_is_no_object_is_a_400() {
    let gate = Gatehouse::new().await;
    let deep = "[".repeat(10_000);
    let deep_object = r#"{"contractId":"#.repeat(10_000);
    for body in [
        "",
        " ",
        "{",
        "nonsense",
        "[]",
        "7",
        "null",
        "\"x\"",
        "{} {}",
        "{'a': 1}",
        &deep,
        &deep_object,
    ] {
        let response = gate.post("/acme/access", body).await;
        assert_eq!(response.status, 400, "{:.20}: {}", body, response.body);
    }
    let bearer = format!("Bearer {}", gate.token);
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    for body in
        [&b"\xff\xfe"[..], b"{\"contractId\": \"\xc3\x28\"}", b"{\"contractId\": \"\\ud800\"}"]
    {
        let response = gate.send("POST", "/acme/access", &headers, body).await;
        assert_eq!(response.status, 400, "{}", response.body);
    }
}

#[tokio::test]
async fn a_body_of_a_wrong_type_or_size_is_refused() {
    let gate = Gatehouse::new().await;
    let body = r#"{"contractId": "payg"}"#;
    for (kind, status) in [
        ("application/json", 201),
        ("application/json; charset=utf-8", 201),
        ("Application/JSON;charset=\"UTF-8\"", 201),
        ("application/json; charset=latin1", 415),
        ("application/merge-patch+json", 415),
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
        ("", 415),
    ] {
        let response = gate.call("POST", "/acme/access", &[("content-type", kind)], body).await;
        assert_eq!(response.status, status, "{kind}");
    }
    assert_eq!(gate.call("POST", "/acme/access", &[], body).await.status, 415, "no content type");
    let two = [("content-type", "application/json"), ("content-type", "text/plain")];
    assert_eq!(gate.call("POST", "/acme/access", &two, body).await.status, 415, "two types");
    let zipped = [("content-type", "application/json"), ("content-encoding", "gzip")];
    assert_eq!(gate.call("POST", "/acme/access", &zipped, body).await.status, 415);

    let (path, _) = gate.create(body).await;
    let response = gate.call("PATCH", &path, &[("content-type", "application/json")], "{}").await;
    assert_eq!(response.status, 415);
    assert_eq!(response.header("accept-patch"), Some("application/merge-patch+json"));

    let exact = format!(r#"{{"contractId": "{}"}}"#, "x".repeat((1 << 20) - 18));
    assert_eq!(exact.len(), 1 << 20);
    assert_eq!(gate.post("/acme/access", &exact).await.status, 400, "accepted size, invalid field");
    assert_eq!(gate.post("/acme/access", &format!("{exact} ")).await.status, 413);
    let header = "x".repeat(100_000);
    assert_eq!(gate.call("GET", "/acme/contract", &[("x-long", &header)], "").await.status, 431);

    let mut config = Config::default();
    config.limits.body_bytes = 1024;
    let gate = Gatehouse::with(config).await;
    assert_eq!(gate.post("/acme/access", &" ".repeat(1025)).await.status, 413, "over the limit");
}

#[tokio::test]
async fn an_accept_header_without_an_available_type_is_a_406() {
    let gate = Gatehouse::new().await;
    for (accept, status) in [
        ("*/*", 200),
        ("", 200),
        ("application/*", 200),
        ("application/json", 200),
        ("Application/Json", 200),
        ("text/html, application/json;q=0.1", 200),
        ("text/html", 406),
        ("application/json;q=0", 406),
        ("application/json;q=0, */*", 406),
        ("*/*;q=0, application/json", 200),
        ("text/*", 406),
    ] {
        let response = gate.call("GET", "/acme/contract", &[("accept", accept)], "").await;
        assert_eq!(response.status, status, "{accept}");
    }
}
