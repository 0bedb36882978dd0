//! The audit: changes of the setup, tokens and refused requests, and who may read them.

use gatehouse_store::JournalKind;
use serde_json::json;

use super::event::each;
use super::*;

const ACME: &str = "/-/admin/tenants/acme/audit";
const ESTATE: &str = "/-/admin/audit";
const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

impl Gatehouse {
    /// Reads an audit, once everything is written and numbered.
    async fn audit(&self, path: &str) -> TestResponse {
        let app = &self.gate.server.app;
        app.write_audit_counts(false).await.unwrap();
        self.events(path).await
    }

    /// Reads the part of an audit behind a number.
    async fn audit_after(&self, number: u64) -> Value {
        let response = self.audit(&format!("{ACME}?after={number}")).await;
        assert_eq!(response.status, 200, "{}", response.body);
        response.json()
    }

    async fn refused(&self, token: &str, path: &str) -> u16 {
        let token = format!("Bearer {token}");
        self.send("GET", path, &[("authorization", &token)], b"").await.status
    }
}

#[tokio::test]
async fn each_change_of_the_setup_tells_who_made_it_and_what_was_before() {
    for gate in Gatehouse::on_each("audit_of_changes").await {
        let tenant = "/-/admin/tenants/acme";
        let contract = format!("{tenant}/contracts/payg");
        let body = r#"{"productOfferingId": "po-use", "billingModel": "PAY_PER_USE", "status": "SUSPENDED"}"#;
        assert_eq!(gate.put(&contract, body).await.status, 200);
        assert_eq!(gate.put(&contract, body).await.status, 200, "again, and nothing changes");
        let account = |token: &str| {
            json!({
                "platform": "ALPHA", "connector": "simulator", "platformAccount": "7",
                "settings": {"baseUrl": "http://127.0.0.1:9"}, "credentials": {"token": token},
            })
            .to_string()
        };
        let path = format!("{tenant}/accounts/eu");
        for (token, status) in [("s3cret-1", 201), ("s3cret-2", 200), ("s3cret-2", 200)] {
            let put = gate.put(&path, &account(token)).await;
            assert_eq!(put.status, status, "{}", put.body);
        }
        assert_eq!(gate.delete(&path).await.status, 204);
        let client = gate.post(&format!("{tenant}/clients"), r#"{"scope": "access:read"}"#).await;
        let id = client.json()["clientId"].as_str().unwrap().to_owned();
        assert_eq!(gate.delete(&format!("{tenant}/clients/{id}")).await.status, 204);

        let audit = gate.audit(ACME).await;
        let events = audit.json();
        let types = [
            "TenantCreateEvent",
            "ContractCreateEvent",
            "ContractCreateEvent",
            "ContractCreateEvent",
            "ContractAttributeValueChangeEvent",
            "AccountCreateEvent",
            "AccountAttributeValueChangeEvent",
            "AccountDeleteEvent",
            "ClientCreateEvent",
            "ClientDeleteEvent",
        ];
        assert_eq!(each(&events, "/eventType"), types, "{}: {events:#}", gate.kind);
        assert_eq!(each(&events, "/x-number"), (1..=10).map(Value::from).collect::<Vec<_>>());
        assert_eq!((audit.header("x-event-number"), audit.header("link")), (Some("10"), None));
        let origin = json!({"kind": "request", "subject": "tester", "peer": "192.0.2.7"});
        assert!(each(&events, "/x-origin").iter().all(|it| *it == origin), "{events:#}");
        let ended = &events[4];
        assert_eq!(ended["x-changed"], json!(["status"]), "{ended:#}");
        assert_eq!(ended["x-before"]["status"], "ACTIVE");
        assert_eq!(ended["event"]["contract"]["status"], "SUSPENDED");
        assert_eq!(ended["event"]["contract"]["id"], "payg");
        // Another credential shows, but not what it is.
        assert_eq!(events[6]["x-changed"], json!(["credentialsSeal"]), "{:#}", events[6]);
        assert!(!audit.body.contains("s3cret"), "{}", audit.body);
        assert_eq!(events[7]["event"]["account"]["platformAccount"], "7", "{:#}", events[7]);
        let secret = client.json()["clientSecret"].as_str().unwrap().to_owned();
        assert!(!audit.body.contains(&secret));
        assert_eq!(events[9]["event"]["client"]["clientId"], id.as_str());
        // They are no events of accesses.
        assert_eq!(gate.events("/acme/event").await.json(), json!([]));
    }
}

#[tokio::test]
async fn an_audit_is_read_in_pages_and_by_filters() {
    let gate = Gatehouse::new().await;
    let page = gate.audit(&format!("{ACME}?pageSize=3")).await;
    let next = format!("<http://gate.example{ACME}?after=3&pageSize=3>; rel=\"next\"");
    assert_eq!(page.header("link"), Some(next.as_str()));
    assert_eq!(each(&page.json(), "/x-number"), [1, 2, 3].map(Value::from));
    for (query, n_expected) in [
        ("eventType=TenantCreateEvent", 1),
        ("eventType=TenantCreateEvent,ContractCreateEvent", 4),
        ("subject=tester", 4),
        ("subject=bob", 0),
        ("from=2027-03-01T12:00:00Z", 4),
        ("before=2027-03-01T12:00:00Z", 0),
        ("after=4", 0),
    ] {
        let found = gate.audit(&format!("{ACME}?{query}")).await.json();
        assert_eq!(found.as_array().unwrap().len(), n_expected, "{query}: {found}");
    }
    let bad = gate.get(&format!("{ACME}?eventType=AccessCreateEvent")).await;
    assert_eq!(bad.faults(), (400, "eventType".to_owned()), "{}", bad.body);
    assert!(bad.body.contains("RefusalEvent") && bad.body.contains("ClientCreateEvent"));
    assert_eq!(gate.get(&format!("{ACME}?after=99")).await.status, 409);
    let app = &gate.gate.server.app;
    gate.clock.set(at("2028-06-01T00:00:00Z"));
    let before = app.events.kept_from(gatehouse_store::JournalKind::Audit, app.now());
    gate.delete_events(JournalKind::Audit, before).await;
    let gone = gate.get(&format!("{ACME}?after=1")).await;
    assert_eq!(gone.status, 410, "{}", gone.body);
    let kept = gate.audit(ACME).await;
    assert_eq!((kept.status, kept.body.as_str()), (200, "[]"));
}

#[tokio::test]
async fn the_estate_tells_of_tenants_that_were_made_and_deleted() {
    for gate in Gatehouse::on_each("audit_estate").await {
        assert_eq!(gate.put("/-/admin/tenants/brief", "{}").await.status, 201);
        assert_eq!(gate.delete("/-/admin/tenants/brief").await.status, 204);
        let events = gate.audit(ESTATE).await.json();
        let of = |event: &Value| {
            let text = |pointer: &str| event.pointer(pointer).unwrap().as_str().unwrap().to_owned();
            (text("/eventType"), text("/event/tenant/name"))
        };
        let found: Vec<_> = events.as_array().unwrap().iter().map(of).collect();
        let text = |kind: &str, name: &str| (kind.to_owned(), name.to_owned());
        let expected = [
            text("TenantCreateEvent", "acme"),
            text("TenantCreateEvent", "rival"),
            text("TenantCreateEvent", "brief"),
            text("TenantDeleteEvent", "brief"),
        ];
        assert_eq!(found, expected, "{}: {events:#}", gate.kind);
        assert_eq!(gate.get("/-/admin/tenants/brief/audit").await.status, 404, "{}", gate.kind);
        // Only an admin of all tenants reads it.
        let admin = gate.token_for("acme", "admin");
        assert_eq!(gate.refused(&admin, ESTATE).await, 403);
        assert_eq!(gate.refused(&admin, ACME).await, 200);
        assert_eq!(gate.refused(&gate.token_for("acme", "event:read"), ACME).await, 403);
    }
}

#[tokio::test]
async fn refused_requests_are_counted_by_minute_reason_and_subject() {
    for gate in Gatehouse::on_each("audit_refusals").await {
        gate.gate.server.app.write_audit_counts(false).await.unwrap();
        let of_rival = gate.token_for("rival", "access:read");
        let without_scope = gate.token_for("acme", "product:read");
        for _ in 0..3 {
            assert_eq!(gate.refused("nonsense", "/acme/access").await, 401);
        }
        assert_eq!(gate.refused(&of_rival, "/acme/access").await, 403);
        for _ in 0..2 {
            assert_eq!(gate.refused(&without_scope, "/acme/access").await, 403);
        }
        let refusals = |events: &Value| -> Vec<(String, u64, Value)> {
            let events = events.as_array().unwrap().iter();
            let mut found: Vec<_> = events
                .map(|event| {
                    assert_eq!(event["eventType"], "RefusalEvent", "{event:#}");
                    let refusal = &event["event"]["refusal"];
                    let reason = refusal["reason"].as_str().unwrap().to_owned();
                    let subject = event["x-origin"]["subject"].clone();
                    (reason, refusal["count"].as_u64().unwrap(), subject)
                })
                .collect();
            found.sort_by_key(|(reason, ..)| reason.clone());
            found
        };
        let text = |it: &str| it.to_owned();
        // The first of each at once, the others after the minute.
        let first = refusals(&gate.audit_after(4).await);
        let expected = [
            (text("scope"), 1, json!("tester")),
            (text("tenant"), 1, json!("tester")),
            (text("token"), 1, Value::Null),
        ];
        assert_eq!(first, expected, "{}", gate.kind);
        gate.clock.set(at("2027-03-01T12:01:00Z"));
        let later = refusals(&gate.audit_after(7).await);
        let expected = [(text("scope"), 1, json!("tester")), (text("token"), 2, Value::Null)];
        assert_eq!(later, expected, "{}", gate.kind);
        // Those without a tenant are in the audit of the estate.
        assert_eq!(gate.refused("nonsense", "/-/me").await, 401);
        for path in ["/nowhere/access", "/elsewhere/no/such/path"] {
            assert_eq!(gate.refused("nonsense", path).await, 401);
        }
        gate.gate.server.app.write_audit_counts(false).await.unwrap();
        gate.clock.set(at("2027-03-01T12:02:00Z"));
        let estate = gate.audit(&format!("{ESTATE}?eventType=RefusalEvent")).await.json();
        assert_eq!(each(&estate, "/event/refusal/count"), [1, 2].map(Value::from), "{estate:#}");
    }
}

#[tokio::test]
async fn tokens_and_wrong_secrets_of_clients_are_told() {
    for gate in Gatehouse::on_each("audit_tokens").await {
        gate.gate.server.app.write_audit_counts(false).await.unwrap();
        let made = gate.post("/-/admin/tenants/acme/clients", r#"{"scope": "access:read"}"#).await;
        let text = |name: &str| made.json()[name].as_str().unwrap().to_owned();
        let (id, secret) = (text("clientId"), text("clientSecret"));
        let token = async |id: &str, secret: &str| {
            let form =
                format!("grant_type=client_credentials&client_id={id}&client_secret={secret}");
            gate.send("POST", "/-/oauth2/token", &[FORM], form.as_bytes()).await
        };
        let issued = token(&id, &secret).await;
        assert_eq!(issued.status, 200, "{}", issued.body);
        assert_eq!(token(&id, &secret).await.status, 200);
        assert_eq!(token(&id, "wrong-secret").await.status, 401);
        assert_eq!(token("acme~unknown", "wrong-secret").await.status, 401);
        gate.clock.set(at("2027-03-01T12:01:00Z"));
        let events = gate.audit_after(5).await;
        let tokens: Vec<&Value> = events
            .as_array()
            .unwrap()
            .iter()
            .filter(|event| event["eventType"] == "TokenIssueEvent")
            .collect();
        assert_eq!(tokens.len(), 2, "{}: {events:#}", gate.kind);
        let first = &tokens[0]["event"]["token"];
        assert_eq!(first["subject"], id.as_str(), "{first:#}");
        assert_eq!((&first["tenants"], &first["scope"]), (&json!(["acme"]), &json!("access:read")));
        assert_eq!(
            (&first["count"], &tokens[1]["event"]["token"]["count"]),
            (&json!(1), &json!(1))
        );
        assert_eq!(tokens[0]["x-origin"]["subject"], id.as_str());
        assert_eq!(first["since"], "2027-03-01T12:00:00.000Z", "{first:#}");
        let clients: Vec<(Value, Value)> = events
            .as_array()
            .unwrap()
            .iter()
            .filter(|event| event["event"]["refusal"]["reason"] == "client")
            .map(|event| {
                let refusal = &event["event"]["refusal"];
                (refusal["clientId"].clone(), event["x-origin"]["subject"].clone())
            })
            .collect();
        assert_eq!(clients.len(), 2, "{}: {events:#}", gate.kind);
        assert!(clients.contains(&(json!(id), Value::Null)), "an existing client: {events:#}");
        assert!(clients.contains(&(Value::Null, Value::Null)), "an unknown one: {events:#}");
        let text = events.to_string();
        let access_token = issued.json()["access_token"].as_str().unwrap().to_owned();
        assert!(!text.contains(&secret) && !text.contains(&access_token));
        assert!(!text.contains("unknown"), "what a stranger wrote isn't stored: {text}");
    }
}
