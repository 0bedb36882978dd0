//! Checks that the OpenAPI document describes what the server does.

use super::schema::faults;
use super::*;
use crate::http::answer::media::FORM;
use crate::http::openapi::document;
use crate::http::route::resource::{Operation, Resource};
use crate::http::routes;
use std::collections::BTreeSet;

fn schema<'d>(document: &'d Value, name: &str) -> &'d Value {
    document["components"]["schemas"].get(name).unwrap_or_else(|| panic!("no schema {name}"))
}

fn keys(object: &Value) -> BTreeSet<String> {
    object.as_object().map(|it| it.keys().cloned().collect()).unwrap_or_default()
}

#[tokio::test]
async fn the_document_has_exactly_the_listed_routes() {
    let gate = Gatehouse::new().await;
    let document = gate.send("GET", "/-/openapi.json", &[], b"").await.json();
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(document["info"]["version"], env!("CARGO_PKG_VERSION"));
    let described: BTreeSet<(String, String)> = document["paths"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(path, item)| {
            let methods = keys(item).into_iter();
            methods.map(|method| (path.clone(), method.to_ascii_uppercase())).collect::<Vec<_>>()
        })
        .collect();
    let routed: BTreeSet<(String, String)> = routes::table()
        .iter()
        .flat_map(|it: &Resource| {
            let path = it.path.to_owned();
            // A document has no method that is any.
            let method = |op: &Operation| op.method.replace('*', "GET");
            it.listed().map(move |op| (path.clone(), method(op))).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(described, routed);
    let unlisted: Vec<&str> = routes::table()
        .iter()
        .filter(|it| it.listed().next().is_none())
        .map(|it| it.path)
        .collect();
    let of_pages = ["/-/docs/", "/-/docs/{file}", "/-/console", "/-/console/{*file}"];
    assert_eq!(unlisted, of_pages, "only files of pages are unlisted");
}

#[test]
fn every_reference_resolves_and_names_are_unique() {
    fn references(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    if name == "$ref" {
                        found.push(value.as_str().unwrap().to_owned());
                    }
                    references(value, found);
                }
            }
            Value::Array(items) => items.iter().for_each(|it| references(it, found)),
            _ => {}
        }
    }
    let document = document(&routes::table(), &Config::default().limits);
    let mut found = Vec::new();
    references(&document, &mut found);
    for reference in &found {
        assert!(document.pointer(&reference[1..]).is_some(), "{reference}");
    }
    for name in keys(&document["components"]["schemas"]) {
        let used = format!("#/components/schemas/{name}");
        assert!(found.contains(&used), "nothing uses the schema {name}");
    }
    let ids: Vec<&str> = routes::table()
        .iter()
        .flat_map(|it| it.operations.iter().map(|op| op.id).collect::<Vec<_>>())
        .collect();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
}

/// Sends every property of a schema as a list, which none accepts, and an unknown one: only that one is unknown.
#[tokio::test]
async fn every_request_schema_has_exactly_the_parsed_fields() {
    let gate = Gatehouse::new().await;
    let (path, _) = gate.create(r#"{"contractId": "payg"}"#).await;
    let id = path.rsplit('/').next().unwrap();
    let hub = gate.post("/acme/hub", r#"{"callback": "https://crm.example.com/"}"#).await.json();
    let document = document(&routes::table(), &Config::default().limits);
    for resource in routes::table() {
        for operation in &resource.operations {
            // Unknown fields of a form are ignored (RFC 6749), and those of a gateway.
            let Some(kind) = operation.body.as_ref().filter(|it| it.media_types != [FORM]) else {
                continue;
            };
            if operation.is_foreign() {
                continue;
            }
            let alternatives = alternatives(&document, kind.schema);
            let properties: BTreeSet<String> =
                alternatives.iter().flat_map(|it| keys(&it["properties"])).collect();
            let path = resource.path.replace("{tenantName}", "acme").replace("{accessId}", id);
            let path = path.replace("{contractId}", "payg").replace("{accountName}", "one");
            let path = path.replace("{hubId}", hub["id"].as_str().unwrap());
            let mut body: serde_json::Map<String, Value> =
                properties.iter().map(|it| (it.clone(), Value::Array(vec![]))).collect();
            body.insert("doesNotExist".into(), 1.into());
            let body = Value::Object(body).to_string();
            let headers = [("content-type", kind.media_types[0])];
            let response = gate.call(operation.method, &path, &headers, &body).await;
            let reasons = response.json()["invalidParams"].as_array().cloned();
            let reasons = reasons.unwrap_or_else(|| panic!("{path}: {}", response.body));
            let unknown: Vec<&str> = reasons
                .iter()
                .filter(|it| it["reason"].as_str().unwrap().contains("not a field"))
                .map(|it| it["name"].as_str().unwrap())
                .collect();
            assert_eq!(unknown, ["doesNotExist"], "{}: {}", kind.schema, response.body);
            let known: &str = reasons.last().unwrap()["reason"].as_str().unwrap();
            let (_, known) = known.split_once("it may have ").unwrap();
            let known: BTreeSet<String> = known.split(", ").map(str::to_owned).collect();
            // The parser ignores the names of types, so its faults don't mention them.
            let named = properties.into_iter().filter(|it| !it.starts_with('@')).collect();
            assert_eq!(known, named, "{}", kind.schema);

            let empty = gate.call(operation.method, &path, &headers, "{}").await;
            let missing: BTreeSet<String> = if empty.status == 400 {
                empty.invalid().into_iter().filter(|it| it != "body").collect()
            } else {
                BTreeSet::new()
            };
            // Of alternatives, only fields that all of them require are missing.
            let required = |schema: &Value| -> BTreeSet<String> {
                let names = schema["required"].as_array().cloned().unwrap_or_default();
                names.iter().map(|it| it.as_str().unwrap().to_owned()).collect()
            };
            let required: Vec<_> = alternatives.iter().map(required).collect();
            let by_all = required.iter().cloned().reduce(|all, one| &all & &one).unwrap();
            assert!(missing.is_superset(&by_all), "{}: {missing:?}", kind.schema);
            // One of the other fields may stand for its alternatives.
            let by_any = required.iter().cloned().reduce(|all, one| &all | &one).unwrap();
            assert!(missing.is_subset(&by_any), "{}: {missing:?}", kind.schema);
        }
    }
}

/// A schema's alternatives, or the schema.
fn alternatives(document: &Value, name: &str) -> Vec<Value> {
    let whole = schema(document, name);
    let Some(chosen) = whole["anyOf"].as_array() else { return vec![whole.clone()] };
    let at = |it: &Value| document.pointer(&it["$ref"].as_str().unwrap()[1..]).unwrap().clone();
    chosen.iter().map(at).collect()
}

/// Calls `look` with every object in the document and its path.
fn walk(value: &Value, path: &str, look: &mut impl FnMut(&str, &Value)) {
    match value {
        Value::Object(fields) => {
            look(path, value);
            fields.iter().for_each(|(name, it)| walk(it, &format!("{path}/{name}"), look));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(n, it)| walk(it, &format!("{path}/{n}"), look));
        }
        _ => {}
    }
}

#[test]
fn every_body_has_an_example_that_its_schema_accepts() {
    let document = document(&routes::table(), &Config::default().limits);
    let mut n_examples = 0;
    walk(&document, "", &mut |path, object| {
        let Some(content) = object.get("content") else { return };
        for (media_type, body) in content.as_object().unwrap() {
            let example = body.get("example");
            let example = example.unwrap_or_else(|| panic!("no example of {path} {media_type}"));
            let faults = faults(&document, &body["schema"], example);
            assert!(faults.is_empty(), "{path} {media_type}: {faults:?}");
            n_examples += 1;
        }
    });
    assert!(n_examples > 40, "{n_examples}");
    walk(&document, "", &mut |path, object| {
        // Parameters and headers have an example next to their schema.
        if let (Some(schema), Some(example)) = (object.get("schema"), object.get("example")) {
            let faults = faults(&document, schema, example);
            assert!(faults.is_empty(), "{path}: {faults:?}");
        }
    });
}

#[test]
fn everything_is_described() {
    let document = document(&routes::table(), &Config::default().limits);
    let is_described = |it: &Value| it["description"].as_str().is_some_and(|it| !it.is_empty());
    walk(&document, "", &mut |path, object| {
        if object.get("in").is_some() && object.get("name").is_some() {
            assert!(is_described(object), "the parameter {} of {path}", object["name"]);
        }
        let is_schema = path.starts_with("/components/schemas");
        let fields = object.get("properties").and_then(Value::as_object);
        for (name, field) in fields.into_iter().flatten().filter(|_| is_schema) {
            // A reference is described at its target; a constant needs no description.
            let is_plain = field.get("$ref").is_none() && field.get("const").is_none();
            let is_count = path.ends_with("CountsByStatus");
            assert!(!is_plain || is_count || is_described(field), "{path}: {name}");
        }
        for header in object.get("headers").and_then(Value::as_object).into_iter().flatten() {
            assert!(is_described(header.1), "the header {} of {path}", header.0);
            assert_ne!(header.1["description"], "RFC 9110", "the header {} of {path}", header.0);
        }
    });
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        assert!(is_described(schema), "{name}");
    }
    let tags: BTreeSet<&str> = document["tags"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    let mut used = BTreeSet::new();
    for item in document["paths"].as_object().unwrap().values() {
        for operation in item.as_object().unwrap().values() {
            used.insert(operation["tags"][0].as_str().unwrap());
            for needed in ["operationId", "summary", "description"] {
                assert!(operation[needed].as_str().is_some_and(|it| !it.is_empty()), "{operation}");
            }
            // Of the others the security of the whole document is right.
            let has_own =
                ["public", "token", "verify"].iter().any(|it| operation["tags"][0] == *it);
            assert_eq!(operation.get("security").is_some(), has_own, "{operation}");
        }
    }
    assert_eq!(tags, used);
}

/// Asserts that the document describes a response: status, headers, body.
pub(super) fn assert_documented(
    document: &Value,
    path: &str,
    method: &str,
    response: &TestResponse,
) {
    let item = &document["paths"][path];
    let operation = match item.get(method.to_ascii_lowercase()) {
        Some(operation) => operation,
        // An unsupported method is described with the supported ones.
        None => item.as_object().unwrap().values().next().unwrap(),
    };
    let case = format!("{method} {path} {} {}", response.status, response.body);
    let documented = &operation["responses"][response.status.to_string()];
    let documented = match documented["$ref"].as_str() {
        Some(reference) => document.pointer(&reference[1..]).unwrap(),
        None => documented,
    };
    assert!(documented.is_object(), "not in the document: {case}");
    let no_headers = serde_json::Map::new();
    let headers = documented["headers"].as_object().unwrap_or(&no_headers);
    for (name, header) in headers {
        match response.header(name) {
            None => assert!(header.get("required").is_none(), "{name} is missing: {case}"),
            Some(text) => {
                let value = text.parse::<u64>().map_or_else(|_| text.into(), Value::from);
                let faults = faults(document, &header["schema"], &value);
                assert!(faults.is_empty(), "{name}: {text}: {faults:?}: {case}");
            }
        }
    }
    for name in response.headers.keys().map(http::HeaderName::as_str) {
        // Documented elsewhere; the last two are for browsers only.
        let is_elsewhere =
            ["content-type", "content-length", "x-content-type-options", "referrer-policy"];
        let is_documented = headers.keys().any(|it| it.eq_ignore_ascii_case(name));
        assert!(is_documented || is_elsewhere.contains(&name), "{name} in {case}");
    }
    let Some(content) = documented["content"].as_object() else {
        assert_eq!(response.body, "", "{case}");
        return;
    };
    let media_type = response.header("content-type").unwrap();
    let body = content.get(media_type).unwrap_or_else(|| panic!("{media_type}: {case}"));
    let is_json = media_type.ends_with("json");
    let value = if is_json { response.json() } else { response.body.as_str().into() };
    let faults = faults(document, &body["schema"], &value);
    assert!(faults.is_empty(), "{faults:?}: {case}");
}

#[tokio::test]
async fn every_response_is_in_the_document() {
    let gate = Gatehouse::new().await;
    let document = document(&routes::table(), &Config::default().limits);
    let (access, _) = gate.create(r#"{"contractId": "payg"}"#).await;
    let id = access.rsplit('/').next().unwrap();
    let large = "x".repeat(2 << 20);
    let long = "x".repeat(70 << 10);
    let lacking = format!("Bearer {}", gate.token_for("*", "event:write"));
    let rival = format!("Bearer {}", gate.token_for("rival", ALL_SCOPES));
    for resource in routes::table() {
        let path = resource.path.replace("{accessId}", id).replace("{contractId}", "payg");
        let path = path.replace("{productId}", "ALPHA-4711");
        let here = path.replace("{tenantName}", "acme");
        for operation in resource.listed() {
            let method = if operation.method == "*" { "GET" } else { operation.method };
            let (kind, good) = match &operation.body {
                Some(body) => (body.media_types[0], (body.example)().to_string()),
                None => ("application/json", String::new()),
            };
            let kind = ("content-type", kind);
            let strange = [("accept", "text/strange"), kind];
            let mut responses = vec![
                gate.call(method, &here, &[kind], &good).await,
                gate.call(method, &format!("{here}?colour=red"), &[kind], &good).await,
                gate.call(
                    method,
                    &format!("{here}?x=1"),
                    &[kind, ("prefer", "handling=strict")],
                    "",
                )
                .await,
                gate.call(method, &here, &[kind, ("x-correlator", "mine")], "{").await,
                gate.call(method, &here, &[kind, ("x-long", &long)], &good).await,
                gate.call(method, &here, &[kind, ("if-none-match", "*")], &good).await,
                gate.call(method, &here, &strange, &good).await,
                gate.call(method, &here, &[("content-type", "text/strange")], &good).await,
                gate.call(method, &here, &[kind], "{").await,
                gate.call(method, &here, &[kind], "[1]").await,
                gate.call(method, &here, &[kind], &large).await,
                gate.call(method, &path.replace("{tenantName}", "nobody"), &[kind], &good).await,
                gate.send(method, &here, &[], b"").await,
            ];
            for token in ["Bearer a.b.c", &lacking, &rival] {
                let headers = [("authorization", token), kind];
                responses.push(gate.send(method, &here, &headers, good.as_bytes()).await);
            }
            for response in &responses {
                assert_documented(&document, resource.path, method, response);
            }
            assert_documented(
                &document,
                resource.path,
                "PURGE",
                &gate.call("PURGE", &here, &[], "").await,
            );
        }
    }
}

#[tokio::test]
async fn the_responses_of_a_lifecycle_are_in_the_document() {
    let gate = Gatehouse::new().await;
    let document = document(&routes::table(), &Config::default().limits);
    let body = r#"{"contractId": "pre", "username": "ann", "password": "p", "deviceName": "d"}"#;
    let (access, _) = gate.create(body).await;
    let (accesses, one) = ("/{tenantName}/access", "/{tenantName}/access/{accessId}");
    let contract = "/-/admin/tenants/{tenantName}/contracts/{contractId}";
    let account = "/-/admin/tenants/{tenantName}/accounts/{accountName}";
    let accounts = "/-/admin/tenants/{tenantName}/accounts";
    let eu = "/-/admin/tenants/acme/accounts/eu";
    let setup = r#"{"platform": "ALPHA", "connector": "simulator", "platformAccount": "1",
                      "settings": {"baseUrl": "http://127.0.0.1:9700", "callsPerSecond": 1.5, "paging": "cursor"},
                      "credentials": {"token": "t"}}"#;
    let full = r#"{"productOfferingId": "o", "billingModel": "PREPAID", "validityPeriod": "PT1.5H",
                   "startDateTime": "0000-01-01", "endDateTime": "2028-01-01T00:00:00+02:00",
                   "maxAccesses": 1}"#;
    let new = "/-/admin/tenants/acme/contracts/new";
    #[rustfmt::skip]
    let cases = [
        // route     method    address                          body                                  status
        (accesses,   "POST",   "/acme/access",                  body,                                 409),
        (accesses,   "POST",   "/acme/access",                  r#"{"contractId": "payg"}"#,          201),
        (accesses,   "POST",   "/acme/access",                  r#"{"contractId": "none"}"#,          422),
        (accesses,   "GET",    "/acme/access?pageSize=1",       "",                                   200),
        (accesses,   "GET",    "/acme/access?createdAt=soon",   "",                                   400),
        (accesses,   "GET",    "/acme/access?pageSize=0",       "",                                   400),
        ("/{tenantName}/verify", "POST", "/acme/verify",        r#"{"username": "ann", "password": "p"}"#, 200),
        ("/{tenantName}/verify", "POST", "/acme/verify",        r#"{"username": "ann", "password": "q"}"#, 401),
        (one,        "GET",    &access,                         "",                                   200),
        (one,        "PATCH",  &access,                         r#"{"password": "q"}"#,               200),
        (one,        "PATCH",  &access,                         r#"{"status": "TERMINATED"}"#,        200),
        (one,        "PATCH",  &access,                         r#"{"status": "ACTIVE"}"#,            409),
        ("/{tenantName}/summary", "GET", "/acme/summary",       "",                                   200),
        ("/{tenantName}/product", "GET", "/acme/product?pageNumber=2&pageSize=5", "",                 206),
        ("/{tenantName}/product", "GET", "/acme/product?pageNumber=0&pageSize=1001", "",              400),
        ("/{tenantName}/product/find", "POST", "/acme/product/find", r#"{"iccidList": ["8944500102000000012", "1"]}"#, 200),
        ("/{tenantName}/product/{productId}", "GET", "/acme/product/ALPHA-1", "",                     404),
        (contract,   "PUT",    new,                             full,                                 201),
        (contract,   "GET",    new,                             "",                                   200),
        ("/{tenantName}/contract", "GET", "/acme/contract",     "",                                   200),
        (account,    "PUT",    eu,                              setup,                                201),
        (account,    "PUT",    eu,                              setup,                                200),
        (account,    "GET",    eu,                              "",                                   200),
        (accounts,   "GET",    "/-/admin/tenants/acme/accounts", "",                                  200),
        ("/{tenantName}/account", "GET", "/acme/account",       "",                                   200),
        (account,    "DELETE", eu,                              "",                                   204),
        (contract,   "DELETE", new,                             "",                                   204),
    ];
    for (route, method, address, body, status) in cases {
        let kind =
            if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let response = gate.call(method, address, &[("content-type", kind)], body).await;
        assert_eq!(response.status, status, "{method} {address}: {}", response.body);
        assert_documented(&document, route, method, &response);
    }
    let stale = [("content-type", "application/merge-patch+json"), ("if-match", "\"1\"")];
    let response = gate.call("PATCH", &access, &stale, r#"{"status": "TERMINATED"}"#).await;
    assert_eq!(response.status, 412);
    assert_documented(&document, one, "PATCH", &response);
}
