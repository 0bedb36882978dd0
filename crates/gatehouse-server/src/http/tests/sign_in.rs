//! How a page learns where people sign in.

use super::*;
use crate::auth::{Answering, Far};
use crate::http::openapi::document;
use crate::http::routes;

/// A server whose console is a client of this issuer.
async fn trusting(issuer: &str) -> Gatehouse {
    let auth = format!("[[issuers]]\nissuer = \"{issuer}\"\nconsole_client_id = \"console\"\n");
    Gatehouse::with(Config { auth: toml::from_str(&auth).unwrap(), ..Config::default() }).await
}

async fn sign_in(gate: &Gatehouse) -> Seen {
    gate.send("GET", "/-/sign-in", &[], b"").await
}

#[tokio::test]
async fn without_issuers_nobody_signs_in() {
    let gate = Gatehouse::new().await;
    let seen = sign_in(&gate).await;
    assert_eq!((seen.status, seen.body.as_str()), (200, r#"{"issuers":[]}"#));
    assert_eq!(seen.header("cache-control"), Some("no-store"));
}

#[tokio::test]
async fn an_issuer_that_was_not_reached_is_named_and_no_more() {
    let gate = trusting("http://127.0.0.1:1").await;
    let expected = r#"{"issuers":[{"issuer":"http://127.0.0.1:1","clientId":"console"}]}"#;
    assert_eq!(sign_in(&gate).await.body, expected);
}

#[tokio::test]
async fn an_issuer_that_was_reached_says_where_and_the_console_may_ask_it() {
    let far = Far::start().await;
    far.answer_with(Answering::Also(serde_json::json!({
        "authorization_endpoint": "https://id.example/auth?realm=a",
        "token_endpoint": "https://id.example:8443/token",
        "revocation_endpoint": "https://revoke.example/",
        "scopes_supported": ["access:read"],
    })));
    let gate = trusting(&far.url).await;
    let policy = async || {
        let page = gate.send("GET", "/-/console/", &[], b"").await;
        let header = |name| page.header(name).unwrap().to_owned();
        (header("content-security-policy"), header("etag"))
    };
    let (before, etag_before) = policy().await;
    assert!(before.contains("connect-src 'self';"), "{before}");

    // A token that names the issuer has its document read.
    let token = far.signed(serde_json::json!({"iss": far.url}));
    gate.send("GET", "/-/me", &[("authorization", &token)], b"").await;
    let seen = sign_in(&gate).await;
    let expected = serde_json::json!({"issuers": [{
        "issuer": far.url, "clientId": "console",
        "authorizationEndpoint": "https://id.example/auth?realm=a",
        "tokenEndpoint": "https://id.example:8443/token",
        "revocationEndpoint": "https://revoke.example/",
        "scope": "openid access:read",
    }]});
    assert_eq!(seen.json(), expected);
    let document = document(&routes::table(), &Config::default().limits);
    openapi::hold(&document, "/-/sign-in", "GET", &seen);

    let (after, etag_after) = policy().await;
    let asked = "connect-src 'self' https://id.example:8443 https://revoke.example;";
    assert!(after.contains(asked), "{after}");
    assert_ne!(etag_before, etag_after, "a browser must not go on with the policy that it has");
}
