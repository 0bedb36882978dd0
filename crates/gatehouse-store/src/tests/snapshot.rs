use super::*;
use crate::StoreError;
use crate::db::{FOR_A_REQUEST, SnapshotFor};
use std::sync::{Arc, Barrier};
use std::time::Duration;

/// Takes longer than any time limit.
const ENDLESS: &str = "WITH RECURSIVE n (i) AS (SELECT CAST(1 AS BIGINT) UNION ALL \
                       SELECT i + 1 FROM n WHERE i < 100000000000) SELECT COUNT(*) FROM n";

#[tokio::test]
async fn a_snapshot_beyond_its_time_limit_is_stopped_and_harms_no_other() {
    for case in stores("what_takes_too_long_is_stopped").await {
        set_up(&case.store).await;
        // More often than there are slots: each is freed.
        for _ in 0..10 {
            let limit = Some(Duration::from_millis(50));
            let read = case.store.db.snapshot(SnapshotFor::Server(limit), async |tx| {
                tx.row(ENDLESS, &[], |row| row.count(0)).await
            });
            assert!(matches!(read.await, Err(StoreError::TooSlow)), "{}", case.kind);
        }
        let read = case.store.db.snapshot(SnapshotFor::Server(None), async |tx| {
            tx.row("SELECT COUNT(*) FROM contract", &[], |row| row.count(0)).await
        });
        assert_eq!(read.await.unwrap(), Some(3), "{}", case.kind);
        case.store.create_access(&acme(), new("c1", "ann")).await.unwrap().unwrap();
    }
}

/// Waits for the other side, on a thread that may block.
fn meet(between: &Barrier) {
    tokio::task::block_in_place(|| between.wait());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_of_one_tenant_blocks_neither_others_nor_the_server() {
    for case in stores("a_snapshot_of_one_tenant_holds_up").await {
        set_up(&case.store).await;
        let store = case.store.clone();
        let between = Arc::new(Barrier::new(2));
        let other_side = Arc::clone(&between);
        let held = tokio::spawn(async move {
            let caller = acme();
            let read = store.db.snapshot(SnapshotFor::Tenant(&caller), async move |_| {
                meet(&other_side);
                meet(&other_side);
                Ok(())
            });
            read.await
        });
        meet(&between);
        let count = "SELECT COUNT(*) FROM contract";
        let rival = "rival".parse().unwrap();
        let mut counted = Vec::new();
        for caller in [SnapshotFor::Tenant(&rival), SnapshotFor::Server(Some(FOR_A_REQUEST))] {
            let read = case
                .store
                .db
                .snapshot(caller, async |tx| tx.row(count, &[], |row| row.count(0)).await);
            counted.push(read.await);
        }
        // Before anything is asserted, so that the blocked thread can end.
        meet(&between);
        held.await.unwrap().unwrap();
        for n_contracts in counted {
            assert_eq!(n_contracts.unwrap(), Some(3), "{}", case.kind);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_sees_one_moment() {
    for case in stores("a_snapshot_sees_one_moment").await {
        set_up(&case.store).await;
        let store = case.store.clone();
        let between = Arc::new(Barrier::new(2));
        let other_side = Arc::clone(&between);
        let count = "SELECT COUNT(*) FROM access";
        let read = tokio::spawn(async move {
            store
                .db
                .snapshot(SnapshotFor::Server(None), async move |tx| {
                    let before = tx.row(count, &[], |row| row.count(0)).await?;
                    meet(&other_side);
                    meet(&other_side);
                    Ok((before, tx.row(count, &[], |row| row.count(0)).await?))
                })
                .await
        });
        meet(&between);
        case.store.create_access(&acme(), new("c1", "ann")).await.unwrap().unwrap();
        meet(&between);
        assert_eq!(read.await.unwrap().unwrap(), (Some(0), Some(0)), "{}", case.kind);
    }
}
