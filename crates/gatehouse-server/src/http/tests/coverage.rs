//! Walks the route table: no route escapes these.

use super::*;
use crate::http::route::resource::{BodyKind, Need, Operation, PathObject, Resource};
use crate::http::routes;

/// The routes that need no token, known by heart.
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

fn path_of(resource: &Resource, tenant: &str, id: &str) -> String {
    resource
        .path
        .replace("{tenantName}", tenant)
        .replace("{accessId}", id)
        .replace("{contractId}", id)
        .replace("{accountName}", id)
        .replace("{clientId}", id)
        .replace("{productId}", id)
        .replace("{taskId}", id)
}

/// Sends a good request of an operation with a token for `tenant` with `scopes`.
async fn try_it(
    gate: &Gatehouse,
    operation: &Operation,
    path: &str,
    token: Option<String>,
) -> Seen {
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
        assert!(needs.iter().all(|it| *it == needs[0]), "{} is half public", resource.path);
        let is_tenants = !resource.path.starts_with("/-/");
        assert!(!is_tenants || !resource.is_public(), "{} is a tenant's", resource.path);
    }
}

#[tokio::test]
async fn every_route_refuses_who_may_not() {
    let gate = Gatehouse::new().await;
    let id = "019f0000-0000-7000-8000-000000000000";
    for resource in routes::table().iter().filter(|it| !it.is_public()) {
        let path = path_of(resource, "acme", id);
        for operation in &resource.operations {
            let case = format!("{} {path}", operation.method);
            let none = try_it(&gate, operation, &path, None).await;
            assert_eq!(none.status, 401, "{case}: no token");
            assert_eq!(none.header("www-authenticate"), Some("Bearer"), "{case}");
            let junk = try_it(&gate, operation, &path, Some("a.b.c".into())).await;
            assert_eq!(junk.status, 401, "{case}: a bad token");

            if operation.need == Need::Token {
                continue;
            }
            let scope = match operation.need {
                Need::Scope(scope) => scope.as_str(),
                Need::Admin | Need::AdminOfAll => "admin",
                Need::Nothing | Need::Token => unreachable!("they are left out"),
            };
            for tenant in ["rival", "nobody"] {
                let token = gate.token_for(tenant, scope);
                let other = try_it(&gate, operation, &path, Some(token)).await;
                assert_eq!(other.status, 403, "{case}: a token for {tenant}");
            }
            let others: Vec<&str> = EVERYTHING.split(' ').filter(|it| *it != scope).collect();
            let token = gate.token_for("*", &others.join(" "));
            let lacking = try_it(&gate, operation, &path, Some(token)).await;
            assert_eq!(lacking.status, 403, "{case}: without the scope {scope}");
        }
        // A method that the path doesn't know is no way around.
        for method in ["TRACE", "PURGE"] {
            assert_eq!(gate.send(method, &path, &[], b"").await.status, 401, "{method} {path}");
        }
    }
}

#[tokio::test]
async fn every_route_tells_what_is_missing_before_what_is_wrong() {
    let gate = Gatehouse::new().await;
    for resource in routes::table().iter().filter(|it| it.path.contains("{tenantName}")) {
        for operation in &resource.operations {
            let makes_tenant = operation.creates && resource.object == PathObject::Tenant;
            // Unknown tenant, then unknown thing; the body is nonsense of a wrong type.
            let missing_tenant = path_of(resource, "nobody", "x");
            let missing_thing = path_of(resource, "acme", "x");
            let wrong = [("content-type", "text/nonsense")];
            if !makes_tenant {
                let seen = gate.ask(operation.method, &missing_tenant, &wrong, "{").await;
                let case = format!("{} {missing_tenant}: {}", operation.method, seen.body);
                assert_eq!(
                    (seen.status, seen.json()["title"].as_str()),
                    (404, Some("Unknown tenant")),
                    "{case}"
                );
            }
            if !matches!(resource.object, PathObject::None | PathObject::Tenant)
                && !operation.creates
            {
                let seen = gate.ask(operation.method, &missing_thing, &wrong, "{").await;
                assert_eq!(
                    (seen.status, seen.json()["title"].as_str()),
                    (404, Some("Not found")),
                    "{missing_thing}"
                );
            }
        }
    }
}

#[tokio::test]
async fn checks_come_in_the_order_of_the_contract() {
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
        let seen = gate.ask(method, path, &headers, body).await;
        assert_eq!(seen.status, status, "{method} {path} {headers:?}: {}", seen.body);
        assert_eq!(seen.json()["status"], status);
        assert_eq!(seen.header("content-type"), Some("application/problem+json"));
    }
    // Who may use nothing at a path does not learn there what exists.
    let bearer = format!("Bearer {}", gate.token_for("acme", "event:read"));
    for path in ["/acme/contract/payg", "/acme/contract/none", &path, missing] {
        let seen = gate.send("PURGE", path, &[("authorization", &bearer)], b"").await;
        assert_eq!(seen.status, 403, "{path}");
    }
    // Without a token, a tenant's part of the house tells nothing.
    for (path, status) in [("/acme/nothing", 401), ("/-/nothing", 404), ("/nothing", 404)] {
        assert_eq!(gate.send("GET", path, &[], b"").await.status, status, "{path}");
    }
}

#[tokio::test]
async fn options_and_wrong_methods_say_what_is_allowed() {
    let gate = Gatehouse::new().await;
    for resource in routes::table() {
        let path = path_of(&resource, "acme", "payg");
        let seen = gate.send("OPTIONS", &path, &[], b"").await;
        assert_eq!((seen.status, seen.body.as_str()), (204, ""), "{path}");
        let allow = seen.header("allow").unwrap().to_owned();
        let patch = resource.operations.iter().find(|it| it.method == "PATCH");
        let patch = patch.map(|it| it.body.as_ref().unwrap().media_types.join(", "));
        assert_eq!(seen.header("accept-patch"), patch.as_deref(), "{path}");
        for operation in &resource.operations {
            assert!(allow.contains(operation.method), "{path}: {allow}");
        }
        if !matches!(
            resource.object,
            PathObject::Access
                | PathObject::Account
                | PathObject::Client
                | PathObject::Product
                | PathObject::Task
        ) {
            let seen = gate.ask("PURGE", &path, &[], "").await;
            assert_eq!((seen.status, seen.header("allow")), (405, Some(allow.as_str())), "{path}");
        }
    }
}
