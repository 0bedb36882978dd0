//! Checks of every route in the table.

use super::*;
use crate::http::route::resource::{BodyKind, Need, Operation, PathObject, Resource};
use crate::http::routes;

/// The routes that need no token.
const PUBLIC: [&str; 12] = [
    "/-/oauth2/token",
    "/-/live",
    "/-/ready",
    "/-/openapi.json",
    "/-/docs",
    "/-/docs/",
    "/-/docs/{file}",
    "/-/console",
    "/-/console/",
    "/-/console/{*file}",
    "/-/sign-in",
    "/-/jwks.json",
];

/// Whether a path refuses in the dialect of a gateway.
fn is_of_gateways(resource: &Resource) -> bool {
    resource.operations.iter().any(Operation::is_foreign)
}

/// The refusal of every dialect, for callers without rights and for everything that is wrong.
#[tokio::test]
async fn every_dialect_refuses_in_its_own_way() {
    let gate = Gatehouse::new().await;
    for resource in routes::table().iter().filter(|it| is_of_gateways(it)) {
        for tenant in ["acme", "unknown", "a%20b"] {
            let path = path_of(resource, tenant, "x");
            for operation in &resource.operations {
                let method = if operation.method == "*" { "GET" } else { operation.method };
                let wrong = [("content-type", "text/nonsense"), ("accept", "text/html")];
                let none = gate.send(method, &path, &wrong, b"{").await;
                for (what, token) in [
                    ("a bad token", "a.b.c".to_owned()),
                    ("a token for another tenant", gate.token_for("rival", ALL_SCOPES)),
                    ("a token without the scope", gate.token_for("*", "admin access:read")),
                ] {
                    let bearer = format!("Bearer {token}");
                    let headers = [wrong[0], wrong[1], ("authorization", bearer.as_str())];
                    let refused = gate.send(method, &path, &headers, b"{").await;
                    let [refused, expected] = [&refused, &none].map(|it| (it.status, &it.body));
                    assert_eq!(refused, expected, "{method} {path}: {what}");
                }
                assert_eq!(none.header("cache-control"), Some("no-store"), "{method} {path}");
                assert_ne!(none.header("content-type"), Some("application/problem+json"));
                let is_allowed = none.status == 200 && none.body.contains("allow");
                assert!(!is_allowed || none.body.contains("not_allowed"), "{path}: {}", none.body);
            }
        }
    }
}

fn path_of(resource: &Resource, tenant: &str, id: &str) -> String {
    resource
        .path
        .replace("{tenantName}", tenant)
        .replace("{accessId}", id)
        .replace("{contractId}", id)
        .replace("{accountName}", id)
        .replace("{clientId}", id)
        .replace("{hubId}", id)
        .replace("{hookId}", id)
        .replace("{productId}", id)
        .replace("{taskId}", id)
}

/// Sends a valid request of an operation with this token.
async fn send_example(
    gate: &Gatehouse,
    operation: &Operation,
    path: &str,
    token: Option<String>,
) -> TestResponse {
    let bearer = token.map(|token| format!("Bearer {token}"));
    let mut headers: Vec<(&str, &str)> =
        bearer.iter().map(|it| ("authorization", it.as_str())).collect();
    let mut body = String::new();
    if let Some(BodyKind { media_types, example, .. }) = &operation.body {
        headers.push(("content-type", media_types[0]));
        body = example().to_string();
    }
    gate.send(operation.method, path, &headers, body.as_bytes()).await
}

#[tokio::test]
async fn only_these_routes_are_public() {
    let public: Vec<&str> =
        routes::table().iter().filter(|it| it.is_public()).map(|it| it.path).collect();
    assert_eq!(public, PUBLIC);
    for resource in routes::table() {
        let needs: Vec<bool> =
            resource.operations.iter().map(|it| it.need == Need::Nothing).collect();
        assert!(needs.iter().all(|it| *it == needs[0]), "{} is only partly public", resource.path);
        let is_tenants = !resource.path.starts_with("/-/");
        assert!(!is_tenants || !resource.is_public(), "{} is a tenant's", resource.path);
    }
}

#[tokio::test]
async fn every_route_refuses_callers_without_rights() {
    let gate = Gatehouse::new().await;
    let id = "019f0000-0000-7000-8000-000000000000";
    for resource in routes::table().iter().filter(|it| !it.is_public() && !is_of_gateways(it)) {
        let path = path_of(resource, "acme", id);
        for operation in &resource.operations {
            let case = format!("{} {path}", operation.method);
            let none = send_example(&gate, operation, &path, None).await;
            assert_eq!(none.status, 401, "{case}: no token");
            assert_eq!(none.header("www-authenticate"), Some("Bearer"), "{case}");
            let junk = send_example(&gate, operation, &path, Some("a.b.c".into())).await;
            assert_eq!(junk.status, 401, "{case}: a bad token");

            if operation.need == Need::Token {
                continue;
            }
            let scope = match operation.need {
                Need::Scope(scope) => scope.as_str(),
                Need::Check(_) => "access:verify",
                Need::Admin | Need::AdminOfAll => "admin",
                Need::Nothing | Need::Token => unreachable!("skipped above"),
            };
            for tenant in ["rival", "nobody"] {
                let token = gate.token_for(tenant, scope);
                let other = send_example(&gate, operation, &path, Some(token)).await;
                assert_eq!(other.status, 403, "{case}: a token for {tenant}");
            }
            let others: Vec<&str> = ALL_SCOPES.split(' ').filter(|it| *it != scope).collect();
            let token = gate.token_for("*", &others.join(" "));
            let lacking = send_example(&gate, operation, &path, Some(token)).await;
            assert_eq!(lacking.status, 403, "{case}: without the scope {scope}");
        }
        // An unsupported method needs a token too.
        for method in ["TRACE", "PURGE"] {
            assert_eq!(gate.send(method, &path, &[], b"").await.status, 401, "{method} {path}");
        }
    }
}

#[tokio::test]
async fn every_route_reports_missing_objects_before_other_faults() {
    let gate = Gatehouse::new().await;
    let with_tenant = |it: &&Resource| it.path.contains("{tenantName}") && !is_of_gateways(it);
    for resource in routes::table().iter().filter(with_tenant) {
        for operation in &resource.operations {
            let creates_tenant = operation.creates && resource.object == PathObject::Tenant;
            // The tenant or the object is unknown, and the body is invalid and of a wrong type.
            let missing_tenant = path_of(resource, "nobody", "x");
            let missing_object = path_of(resource, "acme", "x");
            let wrong = [("content-type", "text/nonsense")];
            if !creates_tenant {
                let response = gate.call(operation.method, &missing_tenant, &wrong, "{").await;
                let case = format!("{} {missing_tenant}: {}", operation.method, response.body);
                assert_eq!(response.problem(), (404, "Unknown tenant".into()), "{case}");
            }
            if !matches!(resource.object, PathObject::None | PathObject::Tenant)
                && !operation.creates
            {
                let response = gate.call(operation.method, &missing_object, &wrong, "{").await;
                assert_eq!(response.problem(), (404, "Not found".into()), "{missing_object}");
            }
        }
    }
}

#[tokio::test]
async fn checks_run_in_the_order_of_the_contract() {
    let gate = Gatehouse::new().await;
    let (path, _) = gate.create(r#"{"contractId": "payg"}"#).await;
    let missing = "/acme/access/019f0000-0000-7000-8000-000000000000";
    let merge = ("content-type", "application/merge-patch+json");
    let large = format!("{{\"password\": \"{}\"}}", "x".repeat(2 << 20));
    for (method, path, headers, body, status) in [
        ("DELETE", missing, vec![], "", 404),
        ("DELETE", &path, vec![], "", 405),
        ("DELETE", &path, vec![("accept", "text/html")], "", 405),
        ("PATCH", &path, vec![("accept", "text/html")], "", 406),
        ("PATCH", &path, vec![("content-type", "application/json")], &large, 415),
        ("PATCH", missing, vec![merge], &large, 404),
        ("PATCH", &path, vec![merge], &large, 413),
        ("PATCH", missing, vec![merge], "{}", 404),
        ("PATCH", &path, vec![merge, ("if-match", "\"9\"")], "{}", 400),
        ("PATCH", &path, vec![merge, ("if-match", "\"9\"")], r#"{"status": "ACTIVE"}"#, 412),
        ("PATCH", missing, vec![merge, ("if-match", "\"9\"")], r#"{"status": "ACTIVE"}"#, 404),
        ("GET", "/acme/access/not-an-id", vec![], "", 404),
        ("GET", "/acme/nothing", vec![], "", 404),
        ("DELETE", "/acm%65/%63ontract", vec![], "", 405),
        ("POST", "/%2D/live", vec![], "", 405),
        ("GET", "/a%20b/contract", vec![], "", 404),
        ("GET", "/-/access", vec![], "", 404),
        ("GET", "/-/contract/x", vec![], "", 404),
        ("GET", "/", vec![], "", 404),
        ("GET", "/%FF/contract", vec![], "", 404),
    ] {
        let response = gate.call(method, path, &headers, body).await;
        assert_eq!(response.status, status, "{method} {path} {headers:?}: {}", response.body);
        assert_eq!(response.json()["status"], status);
        assert_eq!(response.header("content-type"), Some("application/problem+json"));
    }
    // A caller without rights for a path doesn't learn what exists there.
    let bearer = format!("Bearer {}", gate.token_for("acme", "event:write"));
    for path in ["/acme/contract/payg", "/acme/contract/none", &path, missing] {
        let response = gate.send("PURGE", path, &[("authorization", &bearer)], b"").await;
        assert_eq!(response.status, 403, "{path}");
    }
    // Without a token, a client learns nothing about a tenant's paths.
    for (path, status) in [("/acme/nothing", 401), ("/-/nothing", 404), ("/nothing", 404)] {
        assert_eq!(gate.send("GET", path, &[], b"").await.status, status, "{path}");
    }
}

#[tokio::test]
async fn options_and_wrong_methods_list_the_allowed_methods() {
    let gate = Gatehouse::new().await;
    for resource in routes::table() {
        let path = path_of(&resource, "acme", "payg");
        let response = gate.send("OPTIONS", &path, &[], b"").await;
        if resource.takes_any_method() {
            // It is a device's request, which a gateway asks about.
            assert_eq!(response.status, 401, "{path}");
            continue;
        }
        assert_eq!((response.status, response.body.as_str()), (204, ""), "{path}");
        let allow = response.header("allow").unwrap().to_owned();
        let patch = resource.operations.iter().find(|it| it.method == "PATCH");
        let patch = patch.map(|it| it.body.as_ref().unwrap().media_types.join(", "));
        assert_eq!(response.header("accept-patch"), patch.as_deref(), "{path}");
        for operation in &resource.operations {
            assert!(allow.contains(operation.method), "{path}: {allow}");
        }
        if !is_of_gateways(&resource)
            && !matches!(
                resource.object,
                PathObject::Access
                    | PathObject::Account
                    | PathObject::Client
                    | PathObject::Hook
                    | PathObject::Hub
                    | PathObject::Product
                    | PathObject::Task
            )
        {
            let response = gate.call("PURGE", &path, &[], "").await;
            assert_eq!(response.status_and("allow"), (405, Some(allow.as_str())), "{path}");
        }
    }
}
