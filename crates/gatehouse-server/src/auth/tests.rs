use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_millisecond((1_800_000_000 + second) * 1000).unwrap()
}

fn auth() -> Auth {
    Auth::new(TokenKey::generate(), "gatehouse".into())
}

fn signed(auth: &Auth, claims: Value) -> Result<Caller, Unknown> {
    let token = auth.key.sign(claims.as_object().unwrap());
    auth.authenticate(Some(&format!("Bearer {token}")), at(0))
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

#[test]
fn an_issued_token_is_recognised_until_it_expires() {
    let auth = auth();
    let grant = Grant {
        subject: "ann".into(),
        tenants: vec!["*".into()],
        scopes: scopes_from_words("access:read access:verify"),
        lifetime_seconds: 100,
    };
    let header = format!("bearer {}", auth.issue(&grant, at(0)));
    let caller = auth.authenticate(Some(&header), at(99)).unwrap();
    assert_eq!((caller.subject.as_str(), caller.rights.cover_all()), ("ann", true));
    assert_eq!(caller.rights.scopes, grant.scopes);
    assert!(auth.authenticate(Some(&header), at(100 + LEEWAY_SECONDS - 1)).is_ok());
    let late = auth.authenticate(Some(&header), at(100 + LEEWAY_SECONDS));
    assert_eq!(late.unwrap_err(), Unknown::Expired);
}

#[test]
fn claims_are_held_against_the_clock_and_the_settings() {
    let auth = auth();
    assert!(signed(&auth, good()).is_ok());
    assert!(signed(&auth, with("aud", json!(["x", "gatehouse"]))).is_ok());
    assert!(signed(&auth, with("nbf", json!(at(59).as_second()))).is_ok());
    for (name, value, why) in [
        ("iss", json!("evil"), Unknown::OtherIssuer),
        ("iss", json!(null), Unknown::OtherIssuer),
        ("aud", json!("other"), Unknown::OtherAudience),
        ("aud", json!([]), Unknown::OtherAudience),
        ("exp", json!(at(-61).as_second()), Unknown::Expired),
        ("exp", json!("tomorrow"), Unknown::Expired),
        ("nbf", json!(at(61).as_second()), Unknown::NotYetValid),
        ("nbf", json!("today"), Unknown::NotYetValid),
    ] {
        assert_eq!(signed(&auth, with(name, value.clone())).unwrap_err(), why, "{name} {value}");
    }
    let mut endless = good();
    endless.as_object_mut().unwrap().remove("exp");
    assert_eq!(signed(&auth, endless).unwrap_err(), Unknown::Expired);
}

#[test]
fn tenants_may_be_one_name_or_several() {
    let auth = auth();
    let covers = |claim: Value, name: &str| {
        let caller = signed(&auth, with("tenants", claim)).unwrap();
        caller.rights.cover(&name.parse().unwrap())
    };
    assert!(covers(json!("acme"), "acme") && !covers(json!("acme"), "other"));
    assert!(covers(json!(["a", "b"]), "b") && covers(json!("*"), "anyone"));
    assert!(!covers(json!(7), "acme") && !covers(json!(null), "acme"));
}

#[test]
fn what_is_no_token_of_ours_is_nobody() {
    let auth = auth();
    for (header, why) in [
        (None, Unknown::NoToken),
        (Some(""), Unknown::NoToken),
        (Some("Bearer"), Unknown::NoToken),
        (Some("Basic YTpi"), Unknown::NoToken),
        (Some("Bearer "), Unknown::NotTrusted),
        (Some("Bearer a.b.c"), Unknown::NotTrusted),
    ] {
        assert_eq!(auth.authenticate(header, at(0)).unwrap_err(), why, "{header:?}");
    }
    let foreign = Auth::new(TokenKey::generate(), "gatehouse".into());
    let token = foreign.key.sign(good().as_object().unwrap());
    let header = format!("Bearer {token}");
    assert_eq!(auth.authenticate(Some(&header), at(0)).unwrap_err(), Unknown::NotTrusted);
    let long = format!("Bearer {}", "x".repeat(TOKEN_BYTES_MAX + 1));
    assert_eq!(auth.authenticate(Some(&long), at(0)).unwrap_err(), Unknown::NotTrusted);
}
