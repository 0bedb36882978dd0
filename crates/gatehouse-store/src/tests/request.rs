//! Idempotent requests.

use gatehouse_core::task::TaskWork;
use gatehouse_core::{PageRequest, Status, TaskId};

use super::*;
use crate::{
    Change, CreateRefused, IdempotentRequest, NewTask, NotAccepted, Operation, Repeated,
    SecretKind, StoreError, WorkKind,
};

fn idempotent(operation: Operation, key: &str, body: u8) -> IdempotentRequest {
    let sealed = (operation == Operation::Create).then(|| format!("sealed {key} {body}").into());
    let (key, digest) = (key.parse().unwrap(), [body; 32]);
    IdempotentRequest { operation, key, digest, former_digests: Vec::new(), sealed }
}

fn keyed(username: &str, key: &str, body: u8) -> NewAccess {
    NewAccess { idempotent: Some(idempotent(Operation::Create, key, body)), ..new("c1", username) }
}

fn batch(n: u8, key: &str, body: u8) -> NewTask {
    NewTask {
        id: TaskId::new(1, &[n; 10]),
        work: TaskWork::Termination,
        n_items: 1,
        parts: vec![(0, b"part".to_vec())],
        sealed_key: None,
        origin: origin(),
        idempotent: Some(idempotent(Operation::Change, key, body)),
    }
}

async fn secret(store: &Store, key: &str) -> Option<Vec<u8>> {
    store.secret(&acme(), SecretKind::Response, &format!("create {key}")).await.unwrap()
}

/// Deletes everything that is due.
async fn let_go(store: &Store) -> usize {
    let mut n_due = 0;
    while let Some(lease) = store.claim_due(&[WorkKind::OldResponses], 15_000).await.unwrap() {
        n_due += 1;
        while store.destroy_responses(&lease, 2).await.unwrap() {}
        assert!(store.scrub().await.unwrap());
        store.finish_due(&lease).await.unwrap();
    }
    n_due
}

/// Whether these bytes are in any file of the embedded database.
fn lies_in(place: &Place, bytes: &[u8]) -> bool {
    let Place::Sqlite(dir) = place else { return false };
    std::fs::read_dir(dir.path()).unwrap().any(|file| {
        let content = std::fs::read(file.unwrap().path()).unwrap();
        content.windows(bytes.len()).any(|some| some == bytes)
    })
}

#[tokio::test]
async fn a_creation_is_found_again_as_it_was() {
    for Case { kind, store, .. } in stores("request_creation").await {
        set_up(&store).await;
        let made = store.create_access(&acme(), keyed("ann", "k", 1)).await.unwrap().unwrap();
        let suspend = |stored: &crate::StoredAccess, _: &Contract| {
            let access = gatehouse_core::Access {
                status: Status::Suspended,
                end: Some(day(9)),
                version: 2,
                ..stored.access.clone()
            };
            Ok::<_, StoreError>(Change { access, password: None })
        };
        store.change_access(&acme(), made.id, origin(), suspend).await.unwrap().unwrap();
        let again = async |key: &str, body: u8| {
            let idempotent = idempotent(Operation::Create, key, body);
            store.repeated_creation(&acme(), &idempotent, day(0)).await.unwrap()
        };
        let sealed = b"sealed k 1".to_vec();
        assert_eq!(again("k", 1).await, Some(Repeated::Same((made, sealed))), "{kind}");
        assert_eq!(again("k", 2).await, Some(Repeated::AnotherBody), "{kind}");
        assert_eq!(again("K", 1).await, None, "{kind}");
        let refused = store.create_access(&acme(), keyed("bob", "k", 1)).await.unwrap();
        assert_eq!(refused, Err(CreateRefused::Repeated), "{kind}");
    }
}

#[tokio::test]
async fn one_of_several_requests_with_one_key_is_processed() {
    for Case { kind, store, .. } in stores("request_several").await {
        set_up(&store).await;
        let all = vec![
            keyed("ann", "k", 1),
            keyed("bob", "k", 1),
            keyed("ann", "l", 1),
            keyed("cleo", "l", 1),
            new("c1", "dan"),
        ];
        let made = store.create_accesses(&acme(), all).await.unwrap();
        let made: Vec<_> =
            made.into_iter().map(|it| it.map(|it| it.username.to_string())).collect();
        let expected = [
            Ok("ann".into()),
            Err(CreateRefused::Repeated),
            // A failed request leaves its key unused.
            Err(CreateRefused::UsernameTaken),
            Ok("cleo".into()),
            Ok("dan".into()),
        ];
        assert_eq!(made, expected, "{kind}");
        assert_eq!(store.recount(&acme()).await.unwrap().discrepancies, Vec::<String>::new());
    }
}

#[tokio::test]
async fn creations_in_a_group_have_a_result_each() {
    for Case { kind, store, .. } in stores("request_together").await {
        set_up(&store).await;
        let all = [
            keyed("ann", "k", 1),
            keyed("bob", "k", 1),
            new("c1", "ann"),
            new("nowhere", "cleo"),
            keyed("dan", "l", 1),
        ];
        let meter = store.db.meter();
        let (waiting, n_before) = (meter.gather_waiting.clone(), meter.gathered.get_sample_count());
        // Locks the tenant until all of them wait.
        let holder =
            store.db.write::<_, StoreError, _, _>(crate::db::WriteKind::Server, async move |tx| {
                crate::counts::counter::lock_tenant(&tx, &acme()).await?;
                while waiting.get() < 5 {
                    match kind {
                        // SQLite's writer has its own thread, and never waits.
                        "SQLite" => std::thread::yield_now(),
                        _ => tokio::task::yield_now().await,
                    }
                }
                Ok(())
            });
        let tenant = acme();
        let created = all.map(|new| store.create_access(&tenant, new));
        let (held, created) = futures_util::join!(holder, futures_util::future::join_all(created));
        held.unwrap();
        let created: Vec<_> = created
            .into_iter()
            .map(|it| it.unwrap().map(|access| access.username.to_string()))
            .collect();
        let expected = [
            Ok("ann".into()),
            Err(CreateRefused::Repeated),
            Err(CreateRefused::UsernameTaken),
            Err(CreateRefused::NoContract),
            Ok("dan".into()),
        ];
        assert_eq!(created, expected, "{kind}");
        assert_eq!(store.db.meter().gathered.get_sample_count(), n_before + 1, "{kind}");
        assert_eq!(store.recount(&acme()).await.unwrap().discrepancies, Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_batch_is_accepted_once() {
    for case in stores("request_batch").await {
        let (kind, store) = (case.kind, &case.store);
        set_up(store).await;
        let unknown = "nobody".parse().unwrap();
        let refused = store.accept_task(&unknown, batch(9, "k", 1)).await;
        assert!(matches!(refused, Err(NotAccepted::NoTenant)), "{kind}");
        let idempotent = idempotent(Operation::Change, "k", 1);
        let left = store.repeated_batch(&unknown, &idempotent, day(0)).await.unwrap();
        assert_eq!(left, None, "{kind}: a failure leaves nothing behind");

        let other = case.another().await.unwrap();
        let accept = async |n: u8| {
            let store = if n.is_multiple_of(2) { store } else { &other };
            store.accept_task(&acme(), batch(n, "k", 1)).await
        };
        let accepted = futures_util::future::join_all((0..20).map(accept)).await;
        let first: Vec<u8> = (0..20).filter(|n| accepted[usize::from(*n)].is_ok()).collect();
        assert_eq!(first.len(), 1, "{kind}");
        let late = accepted.iter().filter(|it| matches!(it, Err(NotAccepted::Repeated))).count();
        assert_eq!(late, 19, "{kind}: {accepted:?}");
        let found = store.repeated_batch(&acme(), &idempotent, day(0)).await.unwrap();
        assert_eq!(found, Some(Repeated::Same(TaskId::new(1, &[first[0]; 10]))), "{kind}");
        let page = store.tasks(&acme(), PageRequest { number: 1, size: 9 }).await.unwrap().unwrap();
        assert_eq!(page.total, 1, "{kind}");
    }
}

#[tokio::test]
async fn a_key_is_free_after_a_day_and_its_secret_is_gone() {
    for Case { kind, store, clock, place } in stores("request_day").await {
        set_up(&store).await;
        for (name, key) in [("ann", "k"), ("bob", "l"), ("cleo", "m")] {
            store.create_access(&acme(), keyed(name, key, 1)).await.unwrap().unwrap();
        }
        store.accept_task(&acme(), batch(1, "k", 1)).await.unwrap();
        clock.set(day(1).plus_milliseconds(-1));
        assert_eq!(let_go(&store).await, 0, "{kind}");
        assert_eq!(lies_in(&place, b"sealed l 1"), matches!(place, Place::Sqlite(_)), "{kind}");
        let late = store.create_access(&acme(), keyed("dan", "k", 2)).await.unwrap();
        assert_eq!(late, Err(CreateRefused::Repeated), "{kind}");

        // An expired result counts as expired before it is deleted.
        clock.set(day(1));
        store.create_access(&acme(), keyed("dan", "k", 2)).await.unwrap().unwrap();
        store.accept_task(&acme(), batch(2, "k", 2)).await.unwrap();
        assert_eq!(secret(&store, "k").await, Some(b"sealed k 2".to_vec()), "{kind}");
        assert_eq!(let_go(&store).await, 1, "{kind}: one piece of work for all of them");
        assert_eq!(secret(&store, "l").await, None, "{kind}");
        assert_eq!(secret(&store, "m").await, None, "{kind}");
        assert!(!lies_in(&place, b"sealed l 1") && !lies_in(&place, b"sealed k 1"), "{kind}");
        // But not the result that replaced it.
        assert_eq!(secret(&store, "k").await, Some(b"sealed k 2".to_vec()), "{kind}");
        let change = idempotent(Operation::Change, "k", 2);
        assert!(store.repeated_batch(&acme(), &change, day(1)).await.unwrap().is_some(), "{kind}");
        clock.set(day(2));
        assert_eq!(let_go(&store).await, 1, "{kind}");
        assert_eq!(secret(&store, "k").await, None, "{kind}");
        let left = store.repeated_batch(&acme(), &change, Timestamp::EPOCH).await.unwrap();
        assert_eq!(left, None, "{kind}");
        assert_eq!(store.next_due(&[WorkKind::OldResponses]).await.unwrap(), None, "{kind}");
    }
}

#[tokio::test]
async fn idempotency_keys_are_deleted_with_their_tenant() {
    for Case { kind, store, .. } in stores("request_tenant").await {
        set_up(&store).await;
        store.accept_task(&acme(), batch(1, "k", 1)).await.unwrap();
        assert!(store.delete_tenant(&acme(), &audited()).await.unwrap().unwrap().is_ok(), "{kind}");
        set_up(&store).await;
        store.accept_task(&acme(), batch(2, "k", 2)).await.unwrap();
    }
}
