use super::*;
use gatehouse_core::rights::scopes_from_words;

const LEEWAY: i64 = claims::LEEWAY_SECONDS as i64;

fn at(second: i64) -> Timestamp {
    Timestamp::from_millisecond((1_800_000_000 + second) * 1000).unwrap()
}

fn auth() -> Auth {
    Auth::new(TokenKeys::generate(), "gatehouse".into())
}

async fn signed(auth: &Auth, claims: Value) -> Result<Arc<Caller>, AuthError> {
    let token = auth.built_in.signing().sign(claims.as_object().unwrap());
    auth.authenticate(Some(&format!("Bearer {token}")), at(0)).await
}

fn good() -> Value {
    json!({"iss": "gatehouse", "aud": "gatehouse", "sub": "ann", "exp": at(10).as_second(),
           "tenants": ["acme"], "scope": "access:read admin"})
}

fn with(name: &str, value: Value) -> Value {
    let mut claims = good();
    claims[name] = value;
    claims
}

#[tokio::test]
async fn an_issued_token_is_accepted_until_it_expires() {
    let auth = auth();
    let grant = Grant {
        subject: "ann".into(),
        tenants: vec!["*".into()],
        scopes: scopes_from_words("access:read access:verify"),
        lifetime_seconds: 100,
    };
    let header = format!("bearer {}", auth.issue(&grant, at(0)).text);
    let caller = auth.authenticate(Some(&header), at(99)).await.unwrap();
    assert_eq!((caller.subject.as_str(), caller.rights.cover_all()), ("ann", true));
    assert_eq!(caller.rights.scopes, grant.scopes);
    assert!(auth.authenticate(Some(&header), at(100 + LEEWAY - 1)).await.is_ok());
    let late = auth.authenticate(Some(&header), at(100 + LEEWAY)).await;
    assert_eq!(late.unwrap_err(), AuthError::Expired);
}

#[tokio::test]
async fn claims_must_match_the_clock_and_the_settings() {
    let auth = auth();
    assert!(signed(&auth, good()).await.is_ok());
    assert!(signed(&auth, with("aud", json!(["x", "gatehouse"]))).await.is_ok());
    assert!(signed(&auth, with("nbf", json!(at(59).as_second()))).await.is_ok());
    for (name, value, why) in [
        ("iss", json!("evil"), AuthError::OtherIssuer),
        ("iss", json!(null), AuthError::NotTrusted),
        ("aud", json!("other"), AuthError::OtherAudience),
        ("aud", json!([]), AuthError::OtherAudience),
        ("exp", json!(at(-61).as_second()), AuthError::Expired),
        ("exp", json!("tomorrow"), AuthError::Expired),
        ("nbf", json!(at(61).as_second()), AuthError::NotYetValid),
        ("nbf", json!("today"), AuthError::NotYetValid),
    ] {
        let refused = signed(&auth, with(name, value.clone())).await.unwrap_err();
        assert_eq!(refused, why, "{name} {value}");
    }
    let mut endless = good();
    endless.as_object_mut().unwrap().remove("exp");
    assert_eq!(signed(&auth, endless).await.unwrap_err(), AuthError::Expired);
}

#[tokio::test]
async fn the_tenants_claim_is_one_name_or_several() {
    let auth = auth();
    for (claim, name, is_covered) in [
        (json!("acme"), "acme", true),
        (json!("acme"), "other", false),
        (json!(["a", "b"]), "b", true),
        (json!("*"), "anyone", true),
        (json!(7), "acme", false),
        (json!(null), "acme", false),
    ] {
        let caller = signed(&auth, with("tenants", claim.clone())).await.unwrap();
        assert_eq!(caller.rights.cover(&name.parse().unwrap()), is_covered, "{claim} {name}");
    }
}

#[tokio::test]
async fn a_missing_or_untrusted_token_is_refused() {
    let auth = auth();
    for (header, why) in [
        (None, AuthError::NoToken),
        (Some(""), AuthError::NoToken),
        (Some("Bearer"), AuthError::NoToken),
        (Some("Basic YTpi"), AuthError::NoToken),
        (Some("Bearer "), AuthError::NotTrusted),
        (Some("Bearer a.b.c"), AuthError::NotTrusted),
    ] {
        assert_eq!(auth.authenticate(header, at(0)).await.unwrap_err(), why, "{header:?}");
    }
    let foreign = Auth::new(TokenKeys::generate(), "gatehouse".into());
    let token = foreign.built_in.signing().sign(good().as_object().unwrap());
    let header = format!("Bearer {token}");
    assert_eq!(auth.authenticate(Some(&header), at(0)).await.unwrap_err(), AuthError::NotTrusted);
    let long = format!("Bearer {}", "x".repeat(TOKEN_BYTES_MAX + 1));
    assert_eq!(auth.authenticate(Some(&long), at(0)).await.unwrap_err(), AuthError::NotTrusted);
}

#[tokio::test]
async fn a_cached_token_must_still_match_the_clock() {
    let auth = auth();
    let token =
        auth.built_in.signing().sign(with("nbf", json!(at(0).as_second())).as_object().unwrap());
    let header = format!("Bearer {token}");
    for (second, expected) in [
        (0, None),
        (-LEEWAY - 1, Some(AuthError::NotYetValid)),
        (10 + LEEWAY, Some(AuthError::Expired)),
        (0, None),
    ] {
        let result = auth.authenticate(Some(&header), at(second)).await;
        assert_eq!(result.err(), expected, "{second}");
    }
}
