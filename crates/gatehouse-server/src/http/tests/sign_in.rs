//! `/-/sign-in`: issuers, endpoints, and the token of a demo.

use super::*;
use http::Version;

use crate::auth::{IssuerReply, TestIssuer};
use crate::http::openapi::document;
use crate::http::routes;

/// A server whose console is a client of this issuer.
async fn trusting(issuer: &str) -> Gatehouse {
    let auth = format!("[[issuers]]\nissuer = \"{issuer}\"\nconsole_client_id = \"console\"\n");
    Gatehouse::with(Config { auth: toml::from_str(&auth).unwrap(), ..Config::default() }).await
}

async fn sign_in(gate: &Gatehouse) -> TestResponse {
    gate.send("GET", "/-/sign-in", &[], b"").await
}

#[tokio::test]
async fn without_issuers_sign_in_is_empty() {
    let gate = Gatehouse::new().await;
    let response = sign_in(&gate).await;
    assert_eq!((response.status, response.body.as_str()), (200, r#"{"issuers":[]}"#));
    assert_eq!(response.header("cache-control"), Some("no-store"));
}

#[tokio::test]
async fn an_unreached_issuer_has_no_endpoints() {
    let gate = trusting("http://127.0.0.1:1").await;
    let expected = r#"{"issuers":[{"issuer":"http://127.0.0.1:1","clientId":"console"}]}"#;
    assert_eq!(sign_in(&gate).await.body, expected);
}

#[tokio::test]
async fn a_reached_issuer_has_endpoints_and_is_in_the_consoles_policy() {
    let issuer = TestIssuer::start().await;
    issuer.reply_with(IssuerReply::WithFields(serde_json::json!({
        "authorization_endpoint": "https://id.example/auth?realm=a",
        "token_endpoint": "https://id.example:8443/token",
        "revocation_endpoint": "https://revoke.example/",
        "scopes_supported": ["access:read"],
    })));
    let gate = trusting(&issuer.url).await;
    let policy = async || {
        let page = gate.send("GET", "/-/console/", &[], b"").await;
        let header = |name| page.header(name).unwrap().to_owned();
        (header("content-security-policy"), header("etag"))
    };
    let (before, etag_before) = policy().await;
    assert!(before.contains("connect-src 'self';"), "{before}");

    // A token of the issuer makes the server read its discovery document.
    let token = issuer.signed(serde_json::json!({"iss": issuer.url}));
    gate.send("GET", "/-/me", &[("authorization", &token)], b"").await;
    let response = sign_in(&gate).await;
    let expected = serde_json::json!({"issuers": [{
        "issuer": issuer.url, "clientId": "console",
        "authorizationEndpoint": "https://id.example/auth?realm=a",
        "tokenEndpoint": "https://id.example:8443/token",
        "revocationEndpoint": "https://revoke.example/",
        "scope": "openid access:read", "namesItself": false,
    }]});
    assert_eq!(response.json(), expected);
    let document = document(&routes::table(), &Config::default().limits);
    openapi::assert_documented(&document, "/-/sign-in", "GET", &response);

    let (after, etag_after) = policy().await;
    let allowed = "connect-src 'self' https://id.example:8443 https://revoke.example;";
    assert!(after.contains(allowed), "{after}");
    assert_ne!(etag_before, etag_after, "another policy needs another tag");
}

const LOCALHOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A request for the token of a demo.
#[derive(Clone, Copy)]
struct DemoRequest {
    peer: &'static str,
    host: &'static str,
    header: Option<(&'static str, &'static str)>,
}

const LOCAL: DemoRequest = DemoRequest { peer: "127.0.0.1", host: "localhost:8080", header: None };

async fn demo() -> Gatehouse {
    let mut gate = Gatehouse::new().await;
    let grant = Grant {
        subject: "demo".into(),
        tenants: vec!["acme".into()],
        scopes: scopes_from_words("access:read"),
        lifetime_seconds: 24 * 60 * 60,
    };
    Arc::get_mut(&mut gate.gate.server).unwrap().demo = Some(grant);
    gate
}

/// The demo's token and tenant in the response; null without.
async fn demo_token(gate: &Gatehouse, request: DemoRequest) -> Value {
    let DemoRequest { peer, host, header } = request;
    let request = Request::get("/-/sign-in").header("host", host);
    let request = match header {
        Some((name, value)) => request.header(name, value),
        None => request,
    };
    let request = request.body(Full::default()).unwrap();
    let connection = ConnectionInfo { peer: peer.parse().unwrap(), ..PLAIN };
    let (parts, body) = gate.respond(connection, request).await;
    assert_eq!(parts.status, 200);
    assert_eq!(parts.headers["cache-control"], "no-store");
    serde_json::from_slice::<Value>(&body).unwrap()["demo"].take()
}

#[tokio::test]
async fn a_demo_signs_in_browsers_on_its_machine() {
    let gate = demo().await;
    for request in [
        LOCAL,
        DemoRequest { peer: "127.9.9.9", ..LOCAL },
        DemoRequest { peer: "::1", host: "[::1]:8080", ..LOCAL },
        DemoRequest { peer: "::ffff:127.0.0.1", ..LOCAL },
        DemoRequest { host: "LocalHost", ..LOCAL },
        DemoRequest { host: "127.0.0.1:8080", ..LOCAL },
        DemoRequest { host: "127.1.2.3", ..LOCAL },
        DemoRequest { header: Some(("sec-fetch-site", "same-origin")), ..LOCAL },
        DemoRequest { header: Some(("sec-fetch-site", "none")), ..LOCAL },
    ] {
        let demo = demo_token(&gate, request).await;
        let case = format!("{} {} {:?}", request.peer, request.host, request.header);
        assert_eq!(demo["tenant"], "acme", "{case}");
        let bearer = format!("Bearer {}", demo["token"].as_str().unwrap());
        let me = gate.send("GET", "/-/me", &[("authorization", &bearer)], b"").await.json();
        assert_eq!(me["scope"], "access:read", "{case}");
        assert_eq!(me["expiresAt"], "2027-03-02T12:00:00.000Z", "{case}");
    }
    let again = [demo_token(&gate, LOCAL).await, demo_token(&gate, LOCAL).await];
    assert_ne!(again[0]["token"], again[1]["token"], "every response has a new token");
}

#[tokio::test]
async fn a_demo_signs_in_no_other_client() {
    let gate = demo().await;
    for request in [
        DemoRequest { peer: "192.0.2.7", ..LOCAL },
        DemoRequest { peer: "10.0.0.1", ..LOCAL },
        DemoRequest { peer: "2001:db8::1", ..LOCAL },
        DemoRequest { peer: "::ffff:192.0.2.7", ..LOCAL },
        DemoRequest { host: "gate.example", ..LOCAL },
        DemoRequest { host: "localhost.evil.example:8080", ..LOCAL },
        DemoRequest { host: "127.0.0.1.evil.example", ..LOCAL },
        DemoRequest { host: "192.0.2.7:8080", ..LOCAL },
        DemoRequest { host: "0.0.0.0:8080", ..LOCAL },
        DemoRequest { host: "[::2]:8080", ..LOCAL },
        DemoRequest { header: Some(("forwarded", "for=192.0.2.7")), ..LOCAL },
        DemoRequest { header: Some(("via", "1.1 proxy")), ..LOCAL },
        DemoRequest { header: Some(("x-forwarded-for", "127.0.0.1")), ..LOCAL },
        DemoRequest { header: Some(("x-forwarded-host", "localhost")), ..LOCAL },
        DemoRequest { header: Some(("x-real-ip", "")), ..LOCAL },
        DemoRequest { header: Some(("sec-fetch-site", "cross-site")), ..LOCAL },
        DemoRequest { header: Some(("sec-fetch-site", "same-site")), ..LOCAL },
        DemoRequest { header: Some(("sec-fetch-site", "")), ..LOCAL },
    ] {
        let case = format!("{} {} {:?}", request.peer, request.host, request.header);
        assert_eq!(demo_token(&gate, request).await, Value::Null, "{case}");
    }
    let connection = ConnectionInfo { peer: LOCALHOST, ..PLAIN };
    let mut old =
        Request::get("/-/sign-in").header("host", "localhost").body(Full::default()).unwrap();
    *old.version_mut() = Version::HTTP_10;
    let elsewhere = Request::get("http://gate.example/-/sign-in").header("host", "localhost");
    let mut nameless = Request::get("/-/sign-in").body(Full::default()).unwrap();
    *nameless.version_mut() = Version::HTTP_10;
    for request in [old, elsewhere.body(Full::default()).unwrap(), nameless] {
        let case = format!("{request:?}");
        let (_, body) = gate.respond(connection, request).await;
        assert_eq!(body, r#"{"issuers":[]}"#, "{case}");
    }
}

#[tokio::test]
async fn a_server_that_is_no_demo_gives_out_no_token() {
    let gate = Gatehouse::new().await;
    assert_eq!(demo_token(&gate, LOCAL).await, Value::Null);
}

#[tokio::test]
async fn the_sign_in_response_of_a_demo_is_in_the_document() {
    let gate = demo().await;
    let request = Request::get("/-/sign-in").header("host", "localhost").body(Full::default());
    let connection = ConnectionInfo { peer: LOCALHOST, ..PLAIN };
    let (parts, body) = gate.respond(connection, request.unwrap()).await;
    let body = String::from_utf8(body.to_vec()).unwrap();
    let response = TestResponse { status: parts.status.as_u16(), headers: parts.headers, body };
    assert!(response.body.contains("\"demo\""), "{}", response.body);
    let document = document(&routes::table(), &Config::default().limits);
    openapi::assert_documented(&document, "/-/sign-in", "GET", &response);
}
