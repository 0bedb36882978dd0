//! Uses of master keys: counted by prefix, and seals of former keys replaced.

use std::collections::BTreeMap;

use gatehouse_core::hub::HubQuery;
use gatehouse_core::rights::scopes_from_words;
use gatehouse_core::task::TaskWork;
use gatehouse_core::{Client, ClientId, Hub, HubId, HubState, Status, TaskId};

use super::account::{account, put};
use super::*;
use crate::{
    Change, FormerSeal, HubChange, IdempotentRequest, KeyUseKind, NewTask, Operation, Repeated,
    SealOwner, SecretKind, StoreError,
};

/// A seal in the vault's form: the name of its key, and some bytes.
fn seal(key: &str, what: &str) -> Vec<u8> {
    format!("{key}:{what}, and a good deal that follows").into_bytes()
}

fn hash(key: &str, what: &str) -> StoredHash {
    StoredHash::new(format!("{key}:{what}"))
}

fn job(n: u8) -> TaskId {
    TaskId::new(1, &[n; 10])
}

fn idempotent(key: &str, digest: u8, former: &[u8], sealed: Option<Vec<u8>>) -> IdempotentRequest {
    let former_digests = former.iter().map(|it| [*it; 32]).collect();
    let (operation, key) = (Operation::Create, key.parse().unwrap());
    IdempotentRequest { operation, key, digest: [digest; 32], former_digests, sealed }
}

/// Creates an access, a client, an account, a Task and a response, all with this key.
async fn make(store: &Store, key: &str, n: u8) -> AccessId {
    let made = NewAccess {
        password: hash(key, "password"),
        idempotent: Some(idempotent(&format!("request {n}"), n, &[], Some(seal(key, "answer")))),
        origin: origin(),
        ..new("c1", &format!("access-{n}"))
    };
    let made = store.create_access(&acme(), made).await.unwrap().unwrap();
    let client = Client {
        id: ClientId::new(&acme(), &format!("client{n}")).unwrap(),
        name: None,
        scopes: scopes_from_words("admin"),
        created_at: day(0),
    };
    assert!(store.create_client(&acme(), &client, &hash(key, "secret"), &audited()).await.unwrap());
    let kept = account("ALPHA", &format!("account {n}"));
    let sealed = seal(key, "credentials");
    put(store, &kept, "{}", Some(&sealed)).await;
    let task = NewTask {
        id: job(n),
        work: TaskWork::Creation {
            contract_id: "c1".parse().unwrap(),
            is_explicit: true,
            labels: Labels::NONE,
        },
        n_items: 1,
        parts: vec![(0, b"part".to_vec())],
        sealed_key: Some(seal(key, "task")),
        origin: origin(),
        idempotent: None,
    };
    store.accept_task(&acme(), task).await.unwrap();
    make_hub(store, n, &seal(key, "hub")).await;
    made.id
}

async fn make_hub(store: &Store, n: u8, secret: &[u8]) -> HubId {
    let hub = Hub {
        id: HubId::new(1, &[n; 10]),
        callback: "https://crm.example.com/events".into(),
        query: HubQuery::default(),
        state: HubState::Active,
        created_at: day(0),
        former_secret_until: None,
    };
    store.create_hub(&acme(), &hub, secret, &audited()).await.unwrap().unwrap();
    hub.id
}

/// Number of uses by key and kind.
async fn counted(store: &Store) -> BTreeMap<(String, KeyUseKind), u64> {
    let found = store.key_uses(&acme(), 3, 3).await.unwrap();
    let named = |it: crate::KeyUse| ((String::from_utf8(it.prefix).unwrap(), it.kind), it.n);
    found.into_iter().map(named).collect()
}

/// All seals without this prefix.
async fn former(store: &Store, name: &[u8]) -> Vec<FormerSeal> {
    let mut all = store.former_seals_of_accounts(&acme(), name).await.unwrap();
    all.extend(store.former_seals_of_hubs(&acme(), name).await.unwrap());
    for kind in [SecretKind::Response, SecretKind::Task] {
        all.extend(store.former_secrets(&acme(), kind, name, "", 100).await.unwrap());
    }
    all
}

#[tokio::test]
async fn uses_of_a_key_are_counted_until_they_end() {
    for Case { kind, store, .. } in stores("keyed_counts").await {
        set_up(&store).await;
        let bare = account("ALPHA", "bare");
        put(&store, &bare, "{}", None).await;
        let old = make(&store, "old", 1).await;
        make(&store, "new", 2).await;
        make(&store, "new", 3).await;
        let all = [
            KeyUseKind::Access,
            KeyUseKind::Client,
            KeyUseKind::Account,
            KeyUseKind::Task,
            KeyUseKind::Response,
            KeyUseKind::Hub,
        ];
        let mut expected = BTreeMap::new();
        for of in all {
            expected.insert(("old".to_owned(), of), 1);
            expected.insert(("new".to_owned(), of), 2);
        }
        assert_eq!(counted(&store).await, expected, "{kind}");

        let end = |stored: &crate::StoredAccess, _: &Contract| {
            let access = gatehouse_core::Access {
                status: Status::Terminated,
                end: Some(day(0)),
                version: 2,
                ..stored.access.clone()
            };
            Ok::<_, StoreError>(Change { access, password: None })
        };
        store.change_access(&acme(), old, origin(), end).await.unwrap();
        expected.remove(&("old".to_owned(), KeyUseKind::Access));
        assert_eq!(
            counted(&store).await,
            expected,
            "{kind}: a TERMINATED access needs no password hash"
        );
    }
}

#[tokio::test]
async fn seals_are_replaced_unless_they_have_changed_meanwhile() {
    for Case { kind, store, place, .. } in stores("keyed_replaces").await {
        set_up(&store).await;
        make(&store, "old", 1).await;
        make(&store, "new", 2).await;
        let rotated = HubId::new(1, &[2; 10]);
        let change =
            HubChange { secret: Some((seal("old", "hub"), day(9))), ..HubChange::default() };
        store.change_hub(&acme(), rotated, change, &audited()).await.unwrap().unwrap();
        let change =
            HubChange { secret: Some((seal("new", "hub"), day(9))), ..HubChange::default() };
        store.change_hub(&acme(), rotated, change, &audited()).await.unwrap().unwrap();
        let kept = store.account(&acme(), &account("ALPHA", "account 1").name).await.unwrap();
        let seals = former(&store, b"new").await;
        let owners: Vec<_> = seals.iter().map(|it| it.owner.clone()).collect();
        let expected = [
            SealOwner::Account("account 1".parse().unwrap()),
            SealOwner::Hub(HubId::new(1, &[1; 10])),
            SealOwner::Hub(rotated),
            SealOwner::Response("create request 1".into()),
            SealOwner::Task(job(1)),
        ];
        assert_eq!(owners, expected, "{kind}");
        for before in &seals {
            assert!(!format!("{before:?}").contains("111"), "bytes are not shown");
            let text = String::from_utf8(before.sealed.clone()).unwrap();
            let after = text.replacen("old", "new", 1).into_bytes();
            assert!(store.replace_seal(&acme(), before, &after).await.unwrap(), "{kind}");
            let again = store.replace_seal(&acme(), before, b"late").await.unwrap();
            assert!(!again, "{kind}: {before:?} has been replaced already");
        }
        assert_eq!(former(&store, b"new").await, [], "{kind}");
        let now = store.account(&acme(), &account("ALPHA", "account 1").name).await.unwrap();
        let (kept, now) = (kept.unwrap(), now.unwrap());
        assert_eq!(now.credentials, Some(seal("new", "credentials")), "{kind}");
        assert_eq!(
            now.version, kept.version,
            "{kind}: servers may keep the credentials that they have opened"
        );
        let secret = store.secret(&acme(), SecretKind::Task, &job(1).to_string()).await.unwrap();
        assert_eq!(secret, Some(seal("new", "task")), "{kind}");
        if let Place::Sqlite(dir) = &place {
            assert!(store.scrub().await.unwrap());
            for file in std::fs::read_dir(dir.path()).unwrap() {
                let bytes = std::fs::read(file.unwrap().path()).unwrap();
                for gone in ["old:task", "old:answer", "old:credentials"] {
                    let gone = gone.as_bytes();
                    assert!(!bytes.windows(gone.len()).any(|it| it == gone), "{gone:?}");
                }
            }
        }
    }
}

#[tokio::test]
async fn many_secrets_are_found_some_at_a_time() {
    for Case { kind, store, .. } in stores("keyed_some_at_a_time").await {
        set_up(&store).await;
        for n in 1..=5 {
            make(&store, "old", n).await;
        }
        let (mut seen, mut behind) = (Vec::new(), String::new());
        loop {
            let (tenant, answers) = (acme(), SecretKind::Response);
            let some = store.former_secrets(&tenant, answers, b"new", &behind, 2).await.unwrap();
            assert!(some.len() <= 2);
            let Some(last) = some.last() else { break };
            let SealOwner::Response(name) = &last.owner else { panic!("{last:?}") };
            behind.clone_from(name);
            seen.extend(some);
        }
        assert_eq!(seen.len(), 5, "{kind}: each seal once, also the seals that were not replaced");
    }
}

#[tokio::test]
async fn a_hash_is_renewed_unless_it_has_changed_meanwhile() {
    for Case { kind, store, .. } in stores("keyed_renews").await {
        set_up(&store).await;
        let id = make(&store, "old", 1).await;
        let (old, new) = (hash("old", "password"), hash("new", "password"));
        let before = store.access(&acme(), id).await.unwrap();
        assert!(store.renew_password(&acme(), id, &old, &new).await.unwrap(), "{kind}");
        assert!(!store.renew_password(&acme(), id, &old, &hash("x", "y")).await.unwrap());
        assert_eq!(store.access(&acme(), id).await.unwrap(), before, "{kind}: version and all");
        let kept = store.access_by_username(&acme(), &"access-1".parse().unwrap()).await.unwrap();
        assert_eq!(kept.unwrap().password, new);

        let client = ClientId::new(&acme(), "client1").unwrap();
        let (old, new) = (hash("old", "secret"), hash("new", "secret"));
        assert!(store.renew_client_secret(&acme(), &client, &old, &new).await.unwrap());
        assert!(!store.renew_client_secret(&acme(), &client, &old, &old).await.unwrap());
        assert_eq!(store.client(&acme(), &client).await.unwrap().unwrap().1, new, "{kind}");
    }
}

#[tokio::test]
async fn a_request_is_recognised_by_a_former_digest() {
    for Case { kind, store, .. } in stores("keyed_former_digest").await {
        set_up(&store).await;
        make(&store, "old", 1).await;
        for (digest, former, is_same) in
            [(1, &[][..], true), (7, &[8, 1], true), (7, &[8], false), (7, &[], false)]
        {
            let asked = idempotent("request 1", digest, former, None);
            let found = store.repeated_creation(&acme(), &asked, day(0)).await.unwrap().unwrap();
            assert_eq!(matches!(found, Repeated::Same(_)), is_same, "{kind}: {digest} {former:?}");
        }
    }
}

#[tokio::test]
async fn a_server_key_is_replaced_only_with_its_present_value() {
    for Case { kind, store, .. } in stores("keyed_server_key").await {
        assert!(!store.replace_server_key("k", b"a", b"b").await.unwrap(), "{kind}: none yet");
        store.keep_server_key("k", b"a").await.unwrap();
        assert!(store.replace_server_key("k", b"a", b"b").await.unwrap());
        assert!(!store.replace_server_key("k", b"a", b"c").await.unwrap(), "{kind}: too late");
        assert_eq!(store.server_key("k").await.unwrap().unwrap(), b"b", "{kind}");
    }
}
