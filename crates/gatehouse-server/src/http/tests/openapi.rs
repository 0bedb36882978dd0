//! The document is held against what the server really does.

use super::*;
use crate::http::media::FORM;
use crate::http::openapi::document;
use crate::http::resource::Resource;
use crate::http::routes;
use std::collections::BTreeSet;

fn schema<'d>(document: &'d Value, name: &str) -> &'d Value {
    document["components"]["schemas"].get(name).unwrap_or_else(|| panic!("no schema {name}"))
}

fn keys(object: &Value) -> BTreeSet<String> {
    object.as_object().map(|it| it.keys().cloned().collect()).unwrap_or_default()
}

#[tokio::test]
async fn every_route_is_in_the_document_and_nothing_else() {
    let gate = Gatehouse::new().await;
    let document = gate.send("GET", "/-/openapi.json", &[], b"").await.json();
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(document["info"]["version"], env!("CARGO_PKG_VERSION"));
    let described: BTreeSet<(String, String)> = document["paths"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(path, item)| {
            let methods = keys(item).into_iter().filter(|it| it != "parameters");
            methods.map(|method| (path.clone(), method.to_ascii_uppercase())).collect::<Vec<_>>()
        })
        .collect();
    let routed: BTreeSet<(String, String)> = routes::table()
        .iter()
        .flat_map(|it: &Resource| {
            let path = it.path.to_owned();
            it.operations
                .iter()
                .map(move |op| (path.clone(), op.method.to_string()))
                .collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(described, routed);
}

#[test]
fn every_reference_leads_somewhere_and_names_are_unique() {
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

/// A schema says what the reader takes: send every property as a list, which none may be, and one
/// that doesn't exist, and see that each is known, or not.
#[tokio::test]
async fn the_schema_of_every_body_is_what_is_read() {
    let gate = Gatehouse::new().await;
    let (path, _) = gate.create(r#"{"contractId": "payg"}"#).await;
    let id = path.rsplit('/').next().unwrap();
    let document = document(&routes::table(), &Config::default().limits);
    for resource in routes::table() {
        for operation in &resource.operations {
            // A form's fields that nobody knows are ignored, as RFC 6749 wants.
            let Some(kind) = operation.body.as_ref().filter(|it| it.media_type != FORM) else {
                continue;
            };
            let schema = schema(&document, kind.schema);
            let path = resource.path.replace("{tenantName}", "acme").replace("{accessId}", id);
            let path = path.replace("{contractId}", "payg");
            let mut body: serde_json::Map<String, Value> = keys(&schema["properties"])
                .into_iter()
                .map(|it| (it, Value::Array(vec![])))
                .collect();
            body.insert("doesNotExist".into(), 1.into());
            let body = Value::Object(body).to_string();
            let headers = [("content-type", kind.media_type)];
            let seen = gate.ask(operation.method, &path, &headers, &body).await;
            let reasons = seen.json()["invalidParams"].as_array().unwrap().clone();
            let unknown: Vec<&str> = reasons
                .iter()
                .filter(|it| it["reason"].as_str().unwrap().contains("not a field"))
                .map(|it| it["name"].as_str().unwrap())
                .collect();
            assert_eq!(unknown, ["doesNotExist"], "{}: {}", kind.schema, seen.body);
            let known: &str = reasons.last().unwrap()["reason"].as_str().unwrap();
            let (_, known) = known.split_once("it may have ").unwrap();
            let known: BTreeSet<String> = known.split(", ").map(str::to_owned).collect();
            assert_eq!(known, keys(&schema["properties"]), "{}", kind.schema);

            let empty = gate.ask(operation.method, &path, &headers, "{}").await;
            let missing: BTreeSet<String> = if empty.status == 400 {
                empty.invalid().into_iter().filter(|it| it != "body").collect()
            } else {
                BTreeSet::new()
            };
            let required: BTreeSet<String> = schema["required"]
                .as_array()
                .map(|it| it.iter().map(|it| it.as_str().unwrap().to_owned()).collect())
                .unwrap_or_default();
            assert_eq!(missing, required, "{}", kind.schema);
        }
    }
}

#[tokio::test]
async fn answers_have_what_their_schemas_say() {
    let gate = Gatehouse::new().await;
    let document = document(&routes::table(), &Config::default().limits);
    let body = r#"{"contractId": "pre", "username": "ann", "password": "p", "deviceName": "d"}"#;
    let (path, made) = gate.create(body).await;
    let verified = gate.verify("ann", "p").await.json();
    let read = gate.get(&path).await.json();
    let contract = gate.get("/acme/contract/pre").await.json();
    let admin = gate.get("/-/admin/tenants/acme/contracts/pre").await.json();
    let tenant = gate.get("/-/admin/tenants/acme").await.json();
    let summary = gate.get("/acme/summary").await.json();
    let listed = gate.get("/acme/access").await.json()[0].clone();
    let problem = gate.post("/acme/access", "{}").await.json();
    for (name, answer) in [
        ("Access", made),
        ("Access", read),
        ("Access", listed),
        ("Summary", summary),
        ("Verified", verified),
        ("Contract", contract),
        ("Contract", admin),
        ("Tenant", tenant),
        ("Problem", problem),
    ] {
        let schema = schema(&document, name);
        let (has, may) = (keys(&answer), keys(&schema["properties"]));
        assert!(has.is_subset(&may), "{name}: {:?}", has.difference(&may));
        for must in schema["required"].as_array().unwrap() {
            assert!(has.contains(must.as_str().unwrap()), "{name} lacks {must}");
        }
    }
}
