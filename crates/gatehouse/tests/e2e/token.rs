use super::process::*;
use reqwest::Method;

#[tokio::test]
async fn a_token_is_good_for_its_tenants_and_scopes() {
    for place in Place::each("good_for_its_tenants").await {
        let mut server = place.serve();
        for (tenant, scope, status) in [
            ("acme", "access:read", 200),
            ("*", "access:read access:write", 200),
            ("acme", "access:write", 403),
            ("other", "access:read", 403),
        ] {
            server.token = place.token(tenant, scope);
            let (seen, _) = server.json(Method::GET, "/acme/contract", None).await;
            assert_eq!(seen, status, "{}: {tenant} {scope}", place.kind);
        }
        let output =
            place.run(&["token", "--tenant", "a", "--tenant", "acme", "--scope", "access:read"]);
        server.token = String::from_utf8(output.stdout).unwrap().trim().to_owned();
        assert_eq!(
            server.json(Method::GET, "/acme/contract", None).await.0,
            200,
            "several tenants"
        );
    }
}

#[test]
fn what_is_wrong_with_a_token_is_said() {
    let place = Place::sqlite();
    for (arguments, expected) in [
        (vec!["token", "--tenant", "a", "--scope", "access:raed"], "access:raed"),
        (vec!["token", "--tenant", "-a", "--scope", "admin"], "--tenant"),
        (vec!["token", "--tenant", "a b", "--scope", "admin"], "must begin with a letter"),
        (vec!["token", "--tenant", "a", "--scope", "admin", "--ttl", "soon"], "--ttl"),
        (vec!["token", "--scope", "admin"], "--tenant"),
        (vec!["token", "--tenant", "a", "--scope", "admin"], "start `gatehouse serve`"),
    ] {
        let output = place.run(&arguments);
        let shown = said(&output);
        assert!(!output.status.success() && shown.contains(expected), "{arguments:?}: {shown}");
    }
    assert!(!place.path("gatehouse-data").exists(), "reading makes nothing");
}
