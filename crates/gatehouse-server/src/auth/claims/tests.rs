use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL;
use serde_json::json;

use super::*;

const NOW: i64 = 1_800_000_000;

fn now() -> Timestamp {
    Timestamp::EPOCH.plus_milliseconds(NOW * 1000)
}

/// An issuer without limits in the settings.
fn unbound() -> Bounds {
    Bounds { tenants: None, scopes: None, token_types: None, lifetime_max: 3600.0 }
}

fn rules(bounds: Bounds) -> ClaimRules {
    let bounds = Some(bounds);
    ClaimRules { issuer: "id".into(), bounds, ..ClaimRules::of_built_in("fleet".into()) }
}

fn claims(more: Value) -> Claims {
    let all =
        json!({"iss": "id", "aud": "fleet", "iat": NOW, "exp": NOW + 3600, "tenants": "acme"});
    let Value::Object(mut all) = all else { unreachable!() };
    all.extend(more.as_object().unwrap().clone());
    all
}

/// The tenants and the number of scopes that a token gets.
fn allowed(bounds: Bounds, tenants: Value) -> (Vec<String>, usize) {
    let claims = claims(json!({"tenants": tenants, "scope": "access:read admin"}));
    let (caller, _) = rules(bounds).read(&claims, now()).unwrap();
    let tenants = caller.rights.tenants.words().map(str::to_owned).collect();
    (tenants, caller.rights.scopes.len())
}

#[test]
fn a_token_gets_only_the_tenants_that_its_issuer_may_name() {
    let bound = |names: &[&str]| Bounds {
        tenants: Some(names.iter().map(|it| (*it).to_owned()).collect()),
        ..unbound()
    };
    let both = json!(["acme", "rival"]);
    assert_eq!(allowed(unbound(), both.clone()).0, ["acme", "rival"]);
    assert_eq!(allowed(unbound(), json!("*")).0, Vec::<String>::new(), "not all at once");
    assert_eq!(allowed(unbound(), json!(["*", "acme"])).0, ["acme"]);
    assert_eq!(allowed(bound(&["acme"]), both.clone()).0, ["acme"]);
    assert_eq!(allowed(bound(&["acme"]), json!("*")).0, Vec::<String>::new());
    assert_eq!(allowed(bound(&["*"]), json!("*")).0, ["*"]);
    assert_eq!(allowed(bound(&["*"]), both.clone()).0, ["acme", "rival"]);
    assert_eq!(allowed(bound(&[]), both).0, Vec::<String>::new());
}

#[test]
fn a_token_gets_only_the_scopes_that_its_issuer_may_give() {
    assert_eq!(allowed(unbound(), json!("acme")).1, 2);
    let scopes = Some(BTreeSet::from([Scope::AccessRead]));
    assert_eq!(allowed(Bounds { scopes, ..unbound() }, json!("acme")).1, 1);
}

#[test]
fn only_access_tokens_are_accepted() {
    let check = |types: Option<&[&str]>, header: Value, more: Value| {
        let token_types = types.map(|it| it.iter().map(|it| (*it).to_owned()).collect());
        let token = format!("{}.e30.", BASE64URL.encode(header.to_string()));
        rules(Bounds { token_types, ..unbound() }).check_type(&token, &claims(more)).is_ok()
    };
    for typ in ["JWT", "jwt", "at+jwt", "application/at+jwt", "AT+JWT"] {
        assert!(check(None, json!({"typ": typ}), json!({})), "{typ}");
    }
    assert!(check(None, json!({}), json!({})), "the type is optional");
    for typ in [json!("logout+jwt"), json!("dpop+jwt"), json!("secevent+jwt"), json!(""), json!(7)]
    {
        assert!(!check(None, json!({"typ": typ}), json!({})), "{typ}");
    }
    for id_token in [
        json!({"nonce": "n"}),
        json!({"at_hash": "h"}),
        json!({"c_hash": "h"}),
        json!({"typ": "ID"}),
    ] {
        assert!(!check(None, json!({"typ": "JWT"}), id_token.clone()), "{id_token}");
    }
    // Some issuers put the nonce into access tokens too, and name the type.
    assert!(check(None, json!({"typ": "at+jwt"}), json!({"nonce": "n"})));
    assert!(check(None, json!({"typ": "JWT"}), json!({"nonce": "n", "typ": "Bearer"})));
    let own: Option<&[&str]> = Some(&["fleet+jwt"]);
    assert!(check(own, json!({"typ": "fleet+jwt"}), json!({"nonce": "n"})));
    assert!(!check(own, json!({"typ": "JWT"}), json!({})));
    assert!(!check(own, json!({}), json!({})), "a configured type is required");
    let written_out: Option<&[&str]> = Some(&["JWT", "at+jwt"]);
    assert!(check(written_out, json!({"typ": "JWT"}), json!({})));
    assert!(!check(written_out, json!({"typ": "JWT"}), json!({"at_hash": "h"})));
}

#[test]
fn a_token_that_is_valid_for_too_long_is_refused() {
    let read = |more: Value| rules(unbound()).read(&claims(more), now()).map(drop);
    assert_eq!(read(json!({"exp": NOW + 3600})), Ok(()));
    assert_eq!(read(json!({"exp": NOW + 3601})), Err(AuthError::NotForAccess));
    let mut undated = claims(json!({"exp": NOW + 3601}));
    undated.remove("iat");
    assert!(rules(unbound()).read(&undated, now()).is_err(), "from now without `iat`");
    let own = ClaimRules::of_built_in("fleet".into());
    let long = claims(json!({"iss": ISSUER, "exp": NOW + 1_000_000_000}));
    assert!(own.read(&long, now()).is_ok());
}

#[test]
fn a_token_issued_in_the_future_is_refused() {
    for rules in [
        rules(unbound()),
        ClaimRules { issuer: "id".into(), ..ClaimRules::of_built_in("fleet".into()) },
    ] {
        let validity =
            |iat: i64| rules.read(&claims(json!({"iat": iat, "exp": NOW + 900})), now()).unwrap().1;
        assert_eq!(validity(NOW + 60).check(now()), Ok(()), "within the allowed clock skew");
        assert_eq!(validity(NOW + 61).check(now()), Err(AuthError::NotYetValid));
        let odd = claims(json!({"iat": "yesterday"}));
        assert_eq!(rules.read(&odd, now()).unwrap_err(), AuthError::NotYetValid);
    }
}
