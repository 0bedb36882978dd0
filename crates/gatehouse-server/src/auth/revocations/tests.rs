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

fn token(is_built_in: bool, issued: Option<i64>) -> RevocationKey {
    RevocationKey { is_built_in, id: Some("the-id".into()), issued: issued.map(at) }
}

fn revocations(kind: RevocationKind, name: &str) -> Revocations {
    let list = Revocations::default();
    list.add(Revocation { kind, name: name.into(), at: at(1000) });
    list
}

/// The tenants that a token still covers.
fn remaining(
    list: &Revocations,
    caller: &Arc<Caller>,
    token: &RevocationKey,
) -> Result<Vec<String>, AuthError> {
    let caller = list.check(caller, token)?;
    Ok(caller.rights.tenants.words().map(str::to_owned).collect())
}

#[test]
fn a_deleted_client_revokes_only_tokens_of_the_built_in_issuer() {
    let list = revocations(RevocationKind::Client, "acme~one");
    let one = caller("acme~one", &["acme"]);
    assert_eq!(remaining(&list, &one, &token(true, Some(5000))), Err(AuthError::Revoked));
    assert_eq!(remaining(&list, &one, &token(false, Some(5000))).unwrap(), ["acme"]);
    assert_eq!(
        remaining(&list, &caller("acme~two", &["acme"]), &token(true, None)).unwrap(),
        ["acme"]
    );
}

#[test]
fn a_revoked_token_is_refused() {
    let list = revocations(RevocationKind::Token, "the-id");
    assert_eq!(
        remaining(&list, &caller("a", &["*"]), &token(true, Some(5000))),
        Err(AuthError::Revoked)
    );
    let other = RevocationKey { id: None, ..token(true, None) };
    assert_eq!(remaining(&list, &caller("a", &["*"]), &other).unwrap(), ["*"]);
}

#[test]
fn a_recreated_tenant_refuses_tokens_issued_before_its_deletion() {
    let list = revocations(RevocationKind::Tenant, "acme");
    let both = caller("a", &["acme", "rival"]);
    for is_built_in in [true, false] {
        let (before, after) = (token(is_built_in, Some(1000)), token(is_built_in, Some(1001)));
        assert_eq!(remaining(&list, &caller("a", &["acme"]), &before), Err(AuthError::Revoked));
        assert_eq!(
            remaining(&list, &caller("a", &["acme"]), &token(is_built_in, None)),
            Err(AuthError::Revoked)
        );
        assert_eq!(remaining(&list, &both, &before).unwrap(), ["rival"]);
        assert_eq!(remaining(&list, &both, &after).unwrap(), ["acme", "rival"]);
        assert_eq!(remaining(&list, &caller("a", &["*"]), &before).unwrap(), ["*"]);
    }
    // The later of two deletions counts.
    list.add(Revocation { kind: RevocationKind::Tenant, name: "acme".into(), at: at(2000) });
    list.add(Revocation { kind: RevocationKind::Tenant, name: "acme".into(), at: at(1000) });
    assert_eq!(
        remaining(&list, &caller("a", &["acme"]), &token(true, Some(1500))),
        Err(AuthError::Revoked)
    );
}
