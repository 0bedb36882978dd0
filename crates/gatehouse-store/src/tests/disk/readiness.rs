//! Health checks of a store on a failing disk.

use gatehouse_lying_disk::{Call, Failure, Plan};

use super::super::*;
use super::work::Run;
use crate::{DiskTrouble, Integrity, StoreError};

/// Every call of this kind fails from now on.
fn always(call: Call, failure: Failure) -> Option<Plan> {
    Some(Plan { first: 0, n_calls: usize::MAX, only: Some(call), failure })
}

async fn trouble(store: &Store) -> Option<DiskTrouble> {
    match store.ping().await {
        Ok(()) => None,
        Err(StoreError::NotReady(trouble)) => Some(trouble),
        Err(other) => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_full_disk_is_reported_until_it_has_room() {
    let mut run = Run::begin(1, None).await;
    let store = &run.store().clone();
    assert_eq!(trouble(store).await, None);
    run.be_still().await;
    run.disk.follow(always(Call::Write, Failure::Full));
    let refused = run.create("no room").await;
    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
    for _ in 0..3 {
        assert_eq!(
            trouble(store).await,
            Some(DiskTrouble::Full),
            "no other write is needed for it"
        );
    }
    let found = store.access_by_username(&acme(), &"first000".parse().unwrap()).await;
    assert!(found.unwrap().is_some(), "what is there can be read");
    run.disk.follow(None);
    assert_eq!(trouble(store).await, None, "nor for this");
    run.create("room").await.unwrap();
    run.end().await.must_hold("a full disk that has room again").await;
}

#[tokio::test]
async fn a_full_disk_that_only_a_flush_reports_does_not_recover() {
    let mut run = Run::begin(2, None).await;
    let store = run.store().clone();
    run.be_still().await;
    run.disk.follow(always(Call::Flush, Failure::Full));
    let unsure = run.create("unsure").await;
    assert!(matches!(unsure, Err(StoreError::OutcomeUnknown(_))), "{unsure:?}");
    assert_eq!(trouble(&store).await, Some(DiskTrouble::Stopped));
    run.disk.follow(None);
    assert_eq!(trouble(&store).await, Some(DiskTrouble::Stopped));
    let why = store.until_disk_fails().await;
    assert!(why.contains("a commit failed"), "{why}");
    let refused = run.create("late").await;
    assert!(refused.is_err(), "{refused:?}");
    drop(store);
    run.end().await.must_hold("a flush without room").await;
}

#[tokio::test]
async fn all_waiting_callers_get_an_error_when_the_disk_fails() {
    let mut run = Run::begin(3, None).await;
    let store = run.store().clone();
    run.be_still().await;
    run.disk.follow(always(Call::Flush, Failure::Io));
    let creations = (0..50).map(|n| {
        let store = store.clone();
        tokio::spawn(async move {
            let username = format!("waits{n}");
            let created = store.create_access(&acme(), new("c1", &username)).await;
            (username, created.map(|created| drop(created.unwrap())))
        })
    });
    let (mut n_unsure, mut n_refused) = (0, 0);
    for creation in creations.collect::<Vec<_>>() {
        let (username, created) = creation.await.unwrap();
        match run.remember(&username, created) {
            Err(StoreError::OutcomeUnknown(_)) => n_unsure += 1,
            Err(StoreError::Disk(_) | StoreError::Unavailable(_)) => n_refused += 1,
            other => panic!("{other:?}"),
        }
    }
    assert!(n_unsure > 0, "{n_unsure} and {n_refused}");
    drop(store);
    run.end().await.must_hold("fifty at once").await;
}

#[tokio::test]
async fn a_failed_read_fails_no_other_call_and_requires_a_check() {
    let mut run = Run::begin(4, None).await;
    // Readers' caches are empty after this write.
    run.create("one more").await.unwrap();
    run.be_still().await;
    let store = &run.store().clone();
    run.disk.follow(always(Call::Read, Failure::Io));
    let failed = store.access_by_username(&acme(), &"first000".parse().unwrap()).await;
    assert!(matches!(failed, Err(StoreError::Disk(_))), "{failed:?}");
    run.disk.follow(None);
    let found = store.access_by_username(&acme(), &"first000".parse().unwrap()).await;
    assert!(found.unwrap().is_some());
    assert_eq!(trouble(store).await, Some(DiskTrouble::Unreadable), "until all has been looked at");
    store.until_unreadable().await;
    let stop = tokio_util::sync::CancellationToken::new();
    assert_eq!(store.check_fully(&stop).await, Integrity::Sound);
    assert_eq!(trouble(store).await, None);
    run.end().await.must_hold("a read that failed").await;
}
