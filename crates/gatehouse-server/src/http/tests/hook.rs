//! Hooks: how they are made, what their keys are good for, and what is known about their use.

use std::time::Duration;

use super::*;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::json;

const HOOKS: &str = "/-/admin/tenants/acme/hooks";

/// A hook that a test has made.
pub(super) struct TestHook {
    id: String,
    pub(super) key: String,
}

pub(super) async fn create_hook(gate: &Gatehouse, dialect: &str) -> TestHook {
    let response = gate.post(HOOKS, &json!({"dialect": dialect}).to_string()).await;
    assert_eq!(response.status, 201, "{}", response.body);
    let text = |name: &str| response.json()[name].as_str().unwrap().to_owned();
    TestHook { id: text("id"), key: text("key") }
}

/// The header of HTTP Basic.
pub(super) fn basic(username: &str, password: &str) -> String {
    format!("Basic {}", BASE64.encode(format!("{username}:{password}")))
}

async fn ask_basic(gate: &Gatehouse, path: &str, authorization: &str) -> TestResponse {
    gate.send("GET", path, &[("authorization", authorization)], b"").await
}

#[tokio::test]
async fn a_hook_is_created_read_listed_and_deleted() {
    for gate in Gatehouse::on_each("a_hook_is_made").await {
        let body = r#"{"dialect": "basic", "name": "nginx in Hamburg", "@type": "hook"}"#;
        let response = gate.post(HOOKS, body).await;
        assert_eq!(response.status_and("cache-control"), (201, Some("no-store")));
        let created = response.json();
        let id = created["id"].as_str().unwrap();
        let path = format!("{HOOKS}/{id}");
        let location = format!("http://gate.example{path}");
        assert_eq!(response.header("location"), Some(location.as_str()));
        assert!(created["key"].as_str().unwrap().len() >= 24, "{created}");
        assert_eq!(created["name"], "nginx in Hamburg");
        assert_eq!(created.get("lastUsedAt"), None);

        let mut shown = created.clone();
        shown.as_object_mut().unwrap().remove("key");
        assert_eq!(gate.get(&path).await.json(), shown, "the key is returned only once");
        let listed = gate.get(HOOKS).await;
        assert_eq!(listed.json(), json!([shown]));
        assert_eq!(listed.header("x-total-count"), Some("1"));
        let elsewhere = format!("/-/admin/tenants/rival/hooks/{id}");
        assert_eq!(gate.get(&elsewhere).await.status, 404);
        assert_eq!(gate.delete(&elsewhere).await.status, 404);

        assert_eq!(gate.delete(&path).await.status, 204);
        assert_eq!((gate.delete(&path).await.status, gate.get(&path).await.status), (404, 404));
        assert_eq!(gate.get("/-/admin/tenants/unknown/hooks").await.status, 404);
        let nowhere = gate.post("/-/admin/tenants/unknown/hooks", r#"{"dialect": "json"}"#).await;
        assert_eq!(nowhere.status, 404);
        let audit = gate.get("/-/admin/tenants/acme/audit?eventType=HookCreateEvent").await;
        while gate.gate.server.app.number_events().await.unwrap() {}
        let audit = match audit.json().as_array().unwrap().is_empty() {
            true => gate.get("/-/admin/tenants/acme/audit?eventType=HookCreateEvent").await,
            false => audit,
        };
        assert_eq!(audit.json()[0]["event"]["hook"], shown, "{}", gate.kind);
    }
}

#[tokio::test]
async fn an_invalid_hook_is_refused_with_its_faults() {
    let gate = Gatehouse::new().await;
    for (body, fields) in [
        ("{}", "dialect"),
        (r#"{"dialect": "mqtt"}"#, "dialect"),
        (r#"{"dialect": null}"#, "dialect"),
        (r#"{"dialect": "basic", "name": "", "key": "x"}"#, "name key"),
    ] {
        assert_eq!(gate.post(HOOKS, body).await.faults(), (400, fields.to_owned()), "{body}");
    }
}

#[tokio::test]
async fn a_key_is_good_for_checks_of_its_tenant_and_dialect_until_its_hook_is_deleted() {
    for gate in Gatehouse::on_each("a_hook_key").await {
        for tenant in ["acme", "rival"] {
            let body = r#"{"contractId": "payg", "username": "ann", "password": "s3cret"}"#;
            assert_eq!(gate.post(&format!("/{tenant}/access"), body).await.status, 201);
        }
        let (of_basic, of_json) =
            (create_hook(&gate, "basic").await, create_hook(&gate, "json").await);
        let (right, wrong) = (basic("ann", "s3cret"), basic("ann", "wrong"));
        let key = &of_basic.key;
        let ok = ask_basic(&gate, &format!("/acme/verify/~{key}/basic"), &right).await;
        assert_eq!(ok.status_and("cache-control"), (200, Some("no-store")), "{}", ok.body);
        let refused = ask_basic(&gate, &format!("/acme/verify/~{key}/basic"), &wrong).await;
        let header = Some("Basic realm=\"device\", charset=\"UTF-8\"");
        assert_eq!(refused.status_and("www-authenticate"), (401, header));
        for path in [
            format!("/acme/verify/~{}/basic", of_json.key),
            format!("/rival/verify/~{key}/basic"),
            format!("/unknown/verify/~{key}/basic"),
            "/acme/verify/~x/basic".to_owned(),
            "/acme/verify/~/basic".to_owned(),
            "/acme/verify/basic".to_owned(),
        ] {
            let other = ask_basic(&gate, &path, &right).await;
            assert_eq!(other.snapshot(), refused.snapshot(), "{}: {path}", gate.kind);
        }
        let twice = [("authorization", right.as_str()), ("x-hook-key", key)];
        let path = format!("/acme/verify/~{key}/basic");
        assert_eq!(gate.send("GET", &path, &twice, b"").await.status, 401, "given twice");
        assert_eq!(gate.send("GET", "/acme/verify/basic", &twice, b"").await.status, 200);

        let credentials = br#"{"username": "ann", "password": "s3cret"}"#;
        let json = [("content-type", "application/json")];
        let path = format!("/acme/verify/~{}", of_json.key);
        assert_eq!(gate.send("POST", &path, &json, credentials).await.status, 200);
        let path = format!("/acme/verify/~{key}");
        let other = gate.send("POST", &path, &json, credentials).await;
        assert_eq!(other.problem(), (401, "Credentials refused".to_owned()), "{}", gate.kind);
        // The key opens nothing else.
        for path in ["/acme/access", "/acme/summary"] {
            let with_key = gate.send("GET", path, &[("x-hook-key", key)], b"").await;
            assert_eq!(with_key.status, 401);
        }

        assert_eq!(gate.delete(&format!("{HOOKS}/{}", of_basic.id)).await.status, 204);
        let path = format!("/acme/verify/~{key}/basic");
        assert_eq!(ask_basic(&gate, &path, &right).await.status, 401, "{}", gate.kind);
    }
}

#[tokio::test]
async fn a_deleted_hook_is_refused_by_other_servers_within_a_second() {
    let url = empty_schema("http_hook_servers").await.parse().unwrap();
    let clock = Clock::by_hand(at("2027-03-01T12:00:00Z"));
    let store = Store::open_postgres(&url, clock.clone()).await.unwrap();
    let gate = Gatehouse::on("PostgreSQL", store, clock, Config::default(), None).await;
    gate.create(r#"{"contractId": "payg", "username": "ann", "password": "s3cret"}"#).await;
    let app = App { hook_keys: Arc::default(), ..gate.gate.server.app.clone() };
    let other = gate.beside(app);
    let hook = create_hook(&gate, "basic").await;
    let (path, right) = (format!("/acme/verify/~{}/basic", hook.key), basic("ann", "s3cret"));
    for server in [&gate, &other] {
        assert_eq!(ask_basic(server, &path, &right).await.status, 200);
    }
    assert_eq!(gate.delete(&format!("{HOOKS}/{}", hook.id)).await.status, 204);
    let deleted = std::time::Instant::now();
    assert_eq!(ask_basic(&gate, &path, &right).await.status, 401);
    // Which answers came in time is not for a test to say: that none is let in for ever is.
    while ask_basic(&other, &path, &right).await.status == 200 {
        assert!(deleted.elapsed() < Duration::from_secs(60));
    }
}

#[tokio::test]
async fn the_last_use_of_a_key_is_shown() {
    for gate in Gatehouse::on_each("hook_uses").await {
        gate.create(r#"{"contractId": "payg", "username": "ann", "password": "s3cret"}"#).await;
        let hook = create_hook(&gate, "basic").await;
        let path = format!("/acme/verify/~{}/basic", hook.key);
        gate.clock.set(at("2027-03-01T13:30:45Z"));
        assert_eq!(ask_basic(&gate, &path, &basic("ann", "wrong")).await.status, 401);
        gate.gate.server.app.write_hook_uses().await.unwrap();
        let shown = gate.get(&format!("{HOOKS}/{}", hook.id)).await.json();
        assert_eq!(shown["lastUsedAt"], "2027-03-01T13:30:00.000Z", "{}", gate.kind);
    }
}

#[tokio::test]
async fn refused_keys_are_counted_in_the_audit() {
    for gate in Gatehouse::on_each("hook_audit").await {
        let hook = create_hook(&gate, "json").await;
        for path in [format!("/acme/verify/~{}/basic", hook.key), "/acme/verify/~x/basic".into()] {
            assert_eq!(ask_basic(&gate, &path, &basic("ann", "x")).await.status, 401);
        }
        let app = &gate.gate.server.app;
        app.write_audit_counts(false).await.unwrap();
        while app.number_events().await.unwrap() {}
        let audit = gate.get("/-/admin/tenants/acme/audit?eventType=RefusalEvent").await.json();
        let refusals: Vec<&Value> =
            audit.as_array().unwrap().iter().map(|it| &it["event"]["refusal"]["reason"]).collect();
        assert_eq!(refusals, ["hook", "hook"], "{audit}");
        assert!(!audit.to_string().contains(&hook.key));
    }
}
