//! Tenants take turns with PostgreSQL's connections for writes.

use std::time::Duration;

use super::*;
use crate::db::WriteKind;
use crate::{Change, StoreError};

/// Changes of the first tenant that all wait for one access.
const N_ATTACKING: usize = 60;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn writes_of_one_tenant_that_hang_leave_connections_to_the_others() {
    // An embedded store has one writer, which never waits in the middle of a write. The pooler of these tests has fewer
    // connections than one tenant may have transactions.
    let cases = stores("writes_that_hang").await.into_iter();
    for case in cases.filter(|case| case.kind == "PostgreSQL") {
        let (store, victim) = (&case.store, "victim".parse::<TenantName>().unwrap());
        set_up(store).await;
        store.put_tenant(&tenant("victim"), &audited()).await.unwrap();
        store.put_contract(&victim, &contract("c1", "o1"), &audited()).await.unwrap().unwrap();
        let made = store.create_access(&acme(), new("c1", "ann")).await.unwrap().unwrap();
        let (held, holding) = tokio::sync::oneshot::channel();
        let (release, released) = tokio::sync::oneshot::channel::<()>();
        let holder = tokio::spawn({
            let store = store.clone();
            async move {
                let held = store.db.write(
                    WriteKind::Schema,
                    once(async move |tx| {
                        let sql = "UPDATE access SET version = version WHERE tenant = ?1";
                        tx.execute(sql, &["acme".into()]).await?;
                        let _ = held.send(());
                        let _ = released.await;
                        Ok::<_, StoreError>(())
                    }),
                );
                held.await
            }
        });
        holding.await.unwrap();
        let attack = (0..N_ATTACKING).map(|_| {
            let store = store.clone();
            tokio::spawn(async move {
                let tenant = acme();
                let changed = store.change_access(&tenant, made.id, origin(), |stored, _| {
                    Ok::<_, StoreError>(Change { access: stored.access.clone(), password: None })
                });
                changed.await.map(drop)
            })
        });
        let attack: Vec<_> = attack.collect();
        // All but those that have a connection wait for one.
        let waiting = async {
            while store.db.n_waiting() < N_ATTACKING - 8 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), waiting).await.unwrap();
        for n in 0..20 {
            let made = store.create_access(&victim, new("c1", &format!("u{n}"))).await;
            assert!(made.as_ref().is_ok_and(Result::is_ok), "{}: {made:?}", case.kind);
        }
        assert!(store.db.n_waiting() > 0, "{}: the first tenant still waits", case.kind);
        release.send(()).unwrap();
        holder.await.unwrap().unwrap();
        for change in attack {
            // Changes that waited too long have failed; the others have succeeded.
            let changed = change.await.unwrap();
            let is_told = matches!(changed, Ok(()) | Err(StoreError::Unavailable(_)));
            assert!(is_told, "{}: {changed:?}", case.kind);
        }
        assert_eq!(store.db.n_waiting(), 0, "{}", case.kind);
    }
}
