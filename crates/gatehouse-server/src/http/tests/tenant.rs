use super::*;

#[tokio::test]
async fn a_put_creates_a_tenant_and_then_replaces_it() {
    for gate in Gatehouse::on_each("tenant_made_once").await {
        let path = "/-/admin/tenants/new.tenant_1";
        let created = gate.put(path, r#"{"timeZone": "europe/berlin"}"#).await;
        assert_eq!(created.status, 201, "{}", gate.kind);
        assert_eq!(created.body, r#"{"name":"new.tenant_1","timeZone":"Europe/Berlin"}"#);
        assert_eq!(
            created.header("location"),
            Some("http://gate.example/-/admin/tenants/new.tenant_1")
        );
        let again = gate.put(path, "{}").await;
        assert_eq!((again.status, again.json()["timeZone"].as_str()), (200, Some("UTC")));
        assert_eq!(gate.get(path).await.json(), again.json());
        assert_eq!(gate.get("/-/admin/tenants").await.header("x-total-count"), Some("3"));
        assert_eq!(gate.delete(path).await.status, 204);
        assert_eq!(gate.get(path).await.status, 404, "{}", gate.kind);
    }
}

#[tokio::test]
async fn a_tenants_highest_product_page_is_stored_and_returned() {
    let gate = Gatehouse::new().await;
    let path = "/-/admin/tenants/acme";
    for own in ["1", "10000000"] {
        let response = gate.put(path, &format!(r#"{{"pageNumberMax": {own}}}"#)).await;
        assert_eq!(
            (response.status, response.json()["pageNumberMax"].to_string().as_str()),
            (200, own)
        );
        assert_eq!(gate.get(path).await.body, response.body);
    }
    for bad in ["0", "10000001", "1.5", "\"3\"", "null"] {
        let response = gate.put(path, &format!(r#"{{"pageNumberMax": {bad}}}"#)).await;
        assert_eq!(response.faults(), (400, "pageNumberMax".into()), "{bad}");
    }
    assert!(gate.put(path, "{}").await.json().get("pageNumberMax").is_none());
}

#[tokio::test]
async fn an_invalid_tenant_is_refused() {
    let gate = Gatehouse::new().await;
    for (name, body, invalid) in [
        ("x", r#"{"timeZone": "Mars"}"#, "timeZone"),
        ("x", r#"{"name": "y"}"#, "name"),
        ("x", r#"{"colour": 1}"#, "colour"),
        ("_x", "{}", "tenantName"),
        (&"x".repeat(64), "{}", "tenantName"),
    ] {
        let response = gate.put(&format!("/-/admin/tenants/{name}"), body).await;
        assert_eq!(response.faults(), (400, invalid.into()), "{name} {body}");
    }
    assert_eq!(gate.get("/-/admin/tenants").await.header("x-total-count"), Some("2"));
}

#[tokio::test]
async fn an_admin_of_some_tenants_manages_only_their_contracts() {
    let mut gate = Gatehouse::new().await;
    gate.token = gate.token_for("acme", "admin");
    let contract = r#"{"productOfferingId": "po", "billingModel": "PAY_PER_USE"}"#;
    for (method, path, body, status) in [
        ("GET", "/-/admin/tenants/acme", "", 200),
        ("PUT", "/-/admin/tenants/acme/contracts/x", contract, 201),
        ("GET", "/-/admin/tenants/acme/contracts", "", 200),
        ("DELETE", "/-/admin/tenants/acme/contracts/x", "", 204),
        ("GET", "/-/admin/tenants", "", 403),
        ("PUT", "/-/admin/tenants/acme", "{}", 403),
        ("DELETE", "/-/admin/tenants/acme", "", 403),
        ("GET", "/-/admin/tenants/rival", "", 403),
        ("GET", "/-/admin/tenants/nobody", "", 403),
        ("PUT", "/-/admin/tenants/rival/contracts/x", contract, 403),
        ("GET", "/acme/contract", "", 403),
    ] {
        let response = gate.call(method, path, &[("content-type", "application/json")], body).await;
        assert_eq!(response.status, status, "{method} {path}: {}", response.body);
    }
}
