//! A full disk: writes fail, committed ones stay, and writes succeed again when there is room.

use super::*;
use crate::StoreError;
use crate::db::WriteKind;

/// Simulates a full disk: SQLite refuses to grow past this many pages, with the same error.
async fn limit_pages(store: &Store, sql: &'static str) {
    let limited = store.db.write(WriteKind::Server, async move |tx| tx.script(sql).await);
    limited.await.map_err(|error: StoreError| error.to_string()).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_full_disk_fails_writes_and_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::by_hand(day(0));
    let store = Store::open_sqlite(&dir.path().join("test.db"), clock).await.unwrap();
    set_up(&store).await;
    limit_pages(&store, "PRAGMA max_page_count = 60").await;

    // These fit. Concurrent creations share a transaction, and a full disk fails all of it: without these, a machine
    // that groups all of the next ones would complete none.
    let (mut answered, mut failed) = (Vec::new(), Vec::new());
    for n in 0..20 {
        let username = format!("{n:03}");
        store.create_access(&acme(), new("c1", &username)).await.unwrap().unwrap();
        answered.push(username);
    }
    let writers: Vec<_> = (20..600)
        .map(|n| {
            let store = store.clone();
            tokio::spawn(async move {
                let username = format!("{n:03}{}", "x".repeat(100));
                let created = store.create_access(&acme(), new("c1", &username)).await;
                (username, created)
            })
        })
        .collect();
    for writer in writers {
        match writer.await.unwrap() {
            (username, Ok(created)) => {
                created.unwrap();
                answered.push(username);
            }
            (username, Err(StoreError::Unavailable(_))) => failed.push(username),
            (_, Err(other)) => panic!("{other:?}"),
        }
    }
    assert!(!failed.is_empty(), "the disk was full for none of {}", answered.len());
    assert_eq!(gaps::assert_gapless(&store, "SQLite").await, answered.len());
    for username in &answered {
        let found = store.access_by_username(&acme(), &username.parse().unwrap()).await.unwrap();
        assert!(found.is_some(), "{username} was answered");
    }

    limit_pages(&store, "PRAGMA max_page_count = 100000").await;
    for username in &failed {
        store.create_access(&acme(), new("c1", username)).await.unwrap().unwrap();
    }
    assert_eq!(gaps::assert_gapless(&store, "SQLite").await, 600);
}
