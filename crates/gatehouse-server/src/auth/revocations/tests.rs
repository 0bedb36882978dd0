use gatehouse_core::rights::scopes_from_words;

use super::*;

fn at(milliseconds: i64) -> Timestamp {
    Timestamp::EPOCH.plus_milliseconds(milliseconds)
}

fn caller(subject: &str, tenants: &[&str]) -> Arc<Caller> {
    let tenants = Tenants::from_words(tenants.iter().copied());
    let rights = Rights { tenants, scopes: scopes_from_words("admin") };
    Arc::new(Caller { subject: subject.into(), rights, expires: at(i64::MAX) })
}

fn token(is_own: bool, issued: Option<i64>) -> TokenName {
    TokenName { is_own, id: Some("the-id".into()), issued: issued.map(at) }
}

fn ended(kind: RevocationKind, name: &str) -> Revocations {
    let trust = Revocations::default();
    trust.add(Revocation { kind, name: name.into(), at: at(1000) });
    trust
}

/// The tenants that are left to a token.
fn left(
    trust: &Revocations,
    caller: &Arc<Caller>,
    token: &TokenName,
) -> Result<Vec<String>, AuthError> {
    let caller = trust.heed(caller, token)?;
    Ok(caller.rights.tenants.words().map(str::to_owned).collect())
}

#[test]
fn a_deleted_client_is_known_by_our_own_tokens_alone() {
    let trust = ended(RevocationKind::Client, "acme~one");
    let one = caller("acme~one", &["acme"]);
    assert_eq!(left(&trust, &one, &token(true, Some(5000))), Err(AuthError::Revoked));
    assert_eq!(left(&trust, &one, &token(false, Some(5000))).unwrap(), ["acme"]);
    assert_eq!(left(&trust, &caller("acme~two", &["acme"]), &token(true, None)).unwrap(), ["acme"]);
}

#[test]
fn a_revoked_token_is_refused() {
    let trust = ended(RevocationKind::Token, "the-id");
    assert_eq!(
        left(&trust, &caller("a", &["*"]), &token(true, Some(5000))),
        Err(AuthError::Revoked)
    );
    let other = TokenName { id: None, ..token(true, None) };
    assert_eq!(left(&trust, &caller("a", &["*"]), &other).unwrap(), ["*"]);
}

#[test]
fn a_tenant_that_was_made_anew_does_not_honour_what_was_issued_before() {
    let trust = ended(RevocationKind::Tenant, "acme");
    let both = caller("a", &["acme", "rival"]);
    for is_own in [true, false] {
        let (before, after) = (token(is_own, Some(1000)), token(is_own, Some(1001)));
        assert_eq!(left(&trust, &caller("a", &["acme"]), &before), Err(AuthError::Revoked));
        assert_eq!(
            left(&trust, &caller("a", &["acme"]), &token(is_own, None)),
            Err(AuthError::Revoked)
        );
        assert_eq!(left(&trust, &both, &before).unwrap(), ["rival"]);
        assert_eq!(left(&trust, &both, &after).unwrap(), ["acme", "rival"]);
        assert_eq!(left(&trust, &caller("a", &["*"]), &before).unwrap(), ["*"]);
    }
    // Deleted once more, it is the later end that counts.
    trust.add(Revocation { kind: RevocationKind::Tenant, name: "acme".into(), at: at(2000) });
    trust.add(Revocation { kind: RevocationKind::Tenant, name: "acme".into(), at: at(1000) });
    assert_eq!(
        left(&trust, &caller("a", &["acme"]), &token(true, Some(1500))),
        Err(AuthError::Revoked)
    );
}
