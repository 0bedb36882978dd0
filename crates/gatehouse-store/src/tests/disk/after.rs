//! Conditions that must hold after a disk failed.

use std::path::Path;

use super::super::*;
use super::work::Told;
use crate::db::SnapshotFor;

/// Accesses that existed before anything failed.
pub(super) const N_BEFORE: usize = 10;

pub(super) fn username_before(n: usize) -> String {
    format!("before{n:03}")
}

/// Opens the store in a directory, and compares it with the responses that callers got.
pub(super) async fn must_hold(dir: &Path, told: &[(String, Told)], place: &str) {
    let clock = Clock::by_hand(day(0));
    let store = Store::open_sqlite(&dir.join("test.db"), clock).await;
    let store = store.unwrap_or_else(|why| panic!("{place}: {why:?}"));
    let sql = "PRAGMA integrity_check";
    let found = store.db.snapshot(SnapshotFor::Server(None), async move |tx| {
        tx.rows_once(sql, &[], |row| row.text(0)).await
    });
    assert_eq!(found.await.unwrap(), ["ok"], "{place}");
    for n in 0..N_BEFORE {
        assert!(is_there(&store, &username_before(n)).await, "{place}: what was there is gone");
    }
    let mut n_there = N_BEFORE;
    for (username, told) in told {
        let is_there = is_there(&store, username).await;
        n_there += usize::from(is_there);
        match told {
            Told::Done => assert!(is_there, "{place}: {username} was answered and is gone"),
            Told::Refused => assert!(!is_there, "{place}: {username} was refused and is there"),
            Told::OutcomeUnknown => {}
        }
    }
    assert_eq!(gaps::assert_gapless(&store, place).await, n_there);
    store.close().await;
}

async fn is_there(store: &Store, username: &str) -> bool {
    store.access_by_username(&acme(), &username.parse().unwrap()).await.unwrap().is_some()
}
