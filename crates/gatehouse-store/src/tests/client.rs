use super::*;
use gatehouse_core::rights::scopes_from_words;
use gatehouse_core::{Client, ClientId, PageRequest};

fn client(code: &str, name: Option<&str>) -> Client {
    Client {
        id: ClientId::new(&acme(), code).unwrap(),
        name: name.map(|name| name.parse().unwrap()),
        scopes: scopes_from_words("access:read admin"),
        created_at: day(3),
    }
}

#[tokio::test]
async fn a_client_is_stored_as_given_until_it_is_deleted() {
    for case in stores("a_client_is_kept").await {
        let store = &case.store;
        let secret = StoredHash::new("hash".into());
        let (first, second) = (client("b", Some("the broker")), client("a", None));
        let nowhere = store.create_client(&acme(), &first, &secret, &audited()).await.unwrap();
        assert!(!nowhere, "{}: no tenant, no client", case.kind);
        assert_eq!(store.clients(&acme(), PageRequest { number: 1, size: 9 }).await.unwrap(), None);

        set_up(store).await;
        for it in [&first, &second] {
            assert!(store.create_client(&acme(), it, &secret, &audited()).await.unwrap());
        }
        let found = store.client(&acme(), &first.id).await.unwrap();
        assert_eq!(found, Some((first.clone(), secret.clone())), "{}", case.kind);
        let other: TenantName = "rival".parse().unwrap();
        assert_eq!(store.client(&other, &first.id).await.unwrap(), None);
        for (number, expected) in [(1, vec![second.clone()]), (2, vec![first.clone()]), (3, vec![])]
        {
            let page = store.clients(&acme(), PageRequest { number, size: 1 }).await.unwrap();
            let page = page.unwrap();
            assert_eq!((page.items, page.total), (expected, 2), "{}", case.kind);
        }
        assert_eq!(store.delete_client(&other, &first.id, &audited()).await.unwrap(), None);
        let ended = store.delete_client(&acme(), &first.id, &audited()).await.unwrap().unwrap();
        assert_eq!(store.revocations().await.unwrap(), [ended], "{}", case.kind);
        assert_eq!(store.delete_client(&acme(), &first.id, &audited()).await.unwrap(), None);

        assert!(store.delete_tenant(&acme(), &audited()).await.unwrap().unwrap().is_ok());
        set_up(store).await;
        let page = store.clients(&acme(), PageRequest { number: 1, size: 9 }).await.unwrap();
        assert_eq!(page.unwrap().total, 0, "{}: clients go with their tenant", case.kind);
    }
}

/// The command line creates clients while a server runs.
#[tokio::test]
async fn a_second_process_may_write_beside_a_server() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("test.db");
    let clock = Clock::machine();
    assert!(Store::join_sqlite(&path, clock.clone()).await.unwrap().is_none());
    assert!(!path.exists(), "looking makes nothing");
    let server = Store::open_sqlite(&path, clock.clone()).await.unwrap();
    set_up(&server).await;
    let beside = Store::join_sqlite(&path, clock).await.unwrap().unwrap();
    let (tenant, secret) = (acme(), StoredHash::new("hash".into()));
    for n in 0..20 {
        let made = client(&format!("c{n}"), None);
        let audited = audited();
        let (one, two) = tokio::join!(
            beside.create_client(&tenant, &made, &secret, &audited),
            server.create_access(&tenant, new("c1", &format!("u{n}"))),
        );
        assert!(one.unwrap() && two.unwrap().is_ok());
    }
    beside.close().await;
    let page =
        server.clients(&acme(), PageRequest { number: 1, size: 100 }).await.unwrap().unwrap();
    assert_eq!(page.total, 20);
}
