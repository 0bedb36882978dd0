//! `/-/me`: the rights of a token.

use super::*;

async fn me(gate: &Gatehouse, token: &str) -> TestResponse {
    gate.send("GET", "/-/me", &[("authorization", &format!("Bearer {token}"))], b"").await
}

#[tokio::test]
async fn me_returns_the_rights_of_a_token() {
    let gate = Gatehouse::new().await;
    let grant = Grant {
        subject: "ann".into(),
        tenants: vec!["rival".into(), "acme".into()],
        scopes: scopes_from_words("admin access:read"),
        lifetime_seconds: 60,
    };
    let token = gate.gate.auth().issue(&grant, gate.clock.now()).text;
    insta::assert_snapshot!(me(&gate, &token).await.snapshot(), @r#"
    200
    content-type: application/json
    cache-control: no-store
    x-correlation-id: <correlation>
    content-length: 111

    {
      "subject": "ann",
      "tenants": [
        "acme",
        "rival"
      ],
      "scope": "access:read admin",
      "expiresAt": "2027-03-01T12:01:00.000Z"
    }
    "#);
    let all = me(&gate, &gate.token).await.json();
    assert_eq!(all["tenants"], serde_json::json!(["*"]));
    assert_eq!(all["scope"], ALL_SCOPES);
}

#[tokio::test]
async fn me_accepts_every_token_also_one_without_rights() {
    let gate = Gatehouse::new().await;
    let grant = Grant {
        subject: String::new(),
        tenants: Vec::new(),
        scopes: Default::default(),
        lifetime_seconds: i64::MAX,
    };
    let token = gate.gate.auth().issue(&grant, gate.clock.now()).text;
    let response = me(&gate, &token).await;
    let nothing = r#"{"tenants":[],"scope":"","expiresAt":"9999-12-31T23:59:59.999Z"}"#;
    assert_eq!((response.status, response.body.as_str()), (200, nothing));
    assert_eq!(response.header("ratelimit"), None, "the request counts against no rate limit");
}

#[tokio::test]
async fn me_needs_a_token() {
    let gate = Gatehouse::new().await;
    assert_eq!(gate.send("GET", "/-/me", &[], b"").await.status, 401);
    let grant = Grant {
        subject: "ann".into(),
        tenants: vec!["*".into()],
        scopes: scopes_from_words(ALL_SCOPES),
        lifetime_seconds: -61,
    };
    let late = gate.gate.auth().issue(&grant, gate.clock.now()).text;
    assert_eq!(me(&gate, &late).await.status, 401);
}
