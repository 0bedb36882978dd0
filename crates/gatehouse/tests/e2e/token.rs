use super::process::*;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL;
use reqwest::Method;
use serde_json::Value;
use std::time::Duration;

#[tokio::test]
async fn a_token_is_valid_for_its_tenants_and_scopes() {
    for setup in Setup::each("good_for_its_tenants").await {
        let mut server = setup.serve();
        for (tenant, scope, status) in [
            ("acme", "access:read", 200),
            ("*", "access:read access:write", 200),
            ("acme", "access:write", 403),
            ("other", "access:read", 403),
        ] {
            server.token = setup.token(tenant, scope);
            let (seen, _) = server.json(Method::GET, "/acme/contract", None).await;
            assert_eq!(seen, status, "{}: {tenant} {scope}", setup.kind);
        }
        let output =
            setup.run(&["token", "--tenant", "a", "--tenant", "acme", "--scope", "access:read"]);
        server.token = String::from_utf8(output.stdout).unwrap().trim().to_owned();
        assert_eq!(
            server.json(Method::GET, "/acme/contract", None).await.0,
            200,
            "several tenants"
        );
    }
}

#[test]
fn faults_of_a_token_are_reported() {
    let setup = Setup::sqlite();
    for (arguments, expected) in [
        (vec!["token", "--tenant", "a", "--scope", "access:raed"], "access:raed"),
        (vec!["token", "--tenant", "-a", "--scope", "admin"], "--tenant"),
        (vec!["token", "--tenant", "a b", "--scope", "admin"], "must begin with a letter"),
        (vec!["token", "--tenant", "a", "--scope", "admin", "--ttl", "soon"], "--ttl"),
        (vec!["token", "--scope", "admin"], "--tenant"),
        (vec!["token", "--tenant", "a", "--scope", "admin"], "start `gatehouse serve`"),
    ] {
        let output = setup.run(&arguments);
        let shown = printed(&output);
        assert!(!output.status.success() && shown.contains(expected), "{arguments:?}: {shown}");
    }
    assert!(!setup.path("gatehouse-data").exists(), "reading makes nothing");
}

#[tokio::test]
async fn a_revoked_token_and_those_of_a_deleted_client_are_refused_by_every_server() {
    for setup in Setup::each("revoked_token").await {
        let mut servers = vec![setup.serve()];
        if setup.kind == "PostgreSQL" {
            servers.push(setup.serve());
        }
        let status = async |server: &Server, token: &str| {
            let request =
                server.client.get(format!("{}/acme/contract", server.url)).bearer_auth(token);
            request.send().await.unwrap().status().as_u16()
        };
        let refused_everywhere = async |token: &str| {
            for server in &servers {
                let refused = async {
                    while status(server, token).await != 401 {
                        tokio::task::yield_now().await;
                    }
                };
                // Within a second, says the documentation; a busy machine may take longer.
                tokio::time::timeout(Duration::from_secs(60), refused).await.unwrap();
            }
        };
        let (first, second, other) = (
            setup.token("acme", "access:read"),
            setup.token("acme", "access:read"),
            setup.token("acme", "access:read"),
        );
        for server in &servers {
            for token in [&first, &second, &other] {
                assert_eq!(status(server, token).await, 200, "{}", setup.kind);
            }
        }
        // By its identifier, and by the token in a file.
        let output = setup.run(&["token", "revoke", &id_of(&first)]);
        assert!(printed(&output).contains("is refused from now on"), "{}", setup.kind);
        std::fs::write(setup.path("leaked"), &second).unwrap();
        assert!(setup.run(&["token", "revoke", "@leaked"]).status.success(), "{}", setup.kind);
        refused_everywhere(&first).await;
        refused_everywhere(&second).await;

        let (id, secret) = setup.create_client("access:read");
        let request = servers[0].client.post(format!("{}/-/oauth2/token", servers[0].url));
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        let form = format!("grant_type=client_credentials&client_id={id}&client_secret={secret}");
        let given: Value = request.body(form).send().await.unwrap().json().await.unwrap();
        let token = given["access_token"].as_str().unwrap();
        for server in &servers {
            assert_eq!(status(server, token).await, 200, "{}", setup.kind);
        }
        let deleted = setup.run(&["client", "delete", "--tenant", "acme", &id]);
        assert!(deleted.status.success(), "{}", setup.kind);
        refused_everywhere(token).await;
        for server in &servers {
            assert_eq!(status(server, &other).await, 200, "{}", setup.kind);
        }
        // Revocations survive a restart.
        let again = restart_with_one_server(&setup, &mut servers);
        assert_eq!(status(&again, &first).await, 401, "{}", setup.kind);
    }
}

fn restart_with_one_server(setup: &Setup, servers: &mut Vec<Server>) -> Server {
    for server in servers.drain(..) {
        server.terminate();
        assert!(server.wait().success());
    }
    setup.serve()
}

fn id_of(token: &str) -> String {
    let payload = BASE64URL.decode(token.split('.').nth(1).unwrap()).unwrap();
    let claims: Value = serde_json::from_slice(&payload).unwrap();
    claims["jti"].as_str().unwrap().to_owned()
}

#[test]
fn a_long_lived_token_needs_its_flag() {
    let setup = Setup::sqlite();
    drop(setup.serve());
    let make = |more: &[&str]| {
        setup.run(&[&["token", "--tenant", "acme", "--scope", "access:read"], more].concat())
    };
    assert!(make(&["--ttl", "90d"]).status.success());
    let refused = make(&["--ttl", "91d"]);
    let why = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success() && why.contains("--long-lived"), "{why}");
    assert!(make(&["--ttl", "91d", "--long-lived"]).status.success());
    let refused = setup.run(&["token", "revoke", ""]);
    assert!(!refused.status.success());
    let refused = setup.run(&["token", "--scope", "access:read"]);
    assert!(String::from_utf8(refused.stderr).unwrap().contains("--tenant"));
}
