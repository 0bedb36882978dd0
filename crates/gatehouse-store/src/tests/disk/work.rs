//! A short workload on a disk that may fail, and its results.

use std::path::PathBuf;
use std::sync::Arc;

use gatehouse_lying_disk::{Disk, Plan};
use tokio::sync::OnceCell;

use super::super::*;
use super::after;
use crate::StoreError;
use crate::db::{CheckpointLengths, Location, OpenMode};

/// Number of creations, one after the other.
pub(super) const N_WRITES: usize = 14;

/// A caller's response to a creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    Done,
    /// The creation did not happen.
    Refused,
    /// The creation may have happened.
    OutcomeUnknown,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunEnd {
    Orderly,
    /// The disk failed, and the store stopped.
    Stopped,
    /// The store could not be opened.
    NotOpened,
}

/// A store on a disk that may fail.
pub(super) struct Run {
    pub(super) disk: &'static Disk,
    /// The directory of its files, as long as it runs.
    _dir: tempfile::TempDir,
    pub(super) told: Vec<(String, Told)>,
    pub(super) ended: RunEnd,
    store: Option<Store>,
}

/// A directory with a store that has some accesses, created once.
async fn template() -> Arc<tempfile::TempDir> {
    static TEMPLATE: OnceCell<Arc<tempfile::TempDir>> = OnceCell::const_new();
    let made = TEMPLATE.get_or_init(|| async {
        let dir = tempfile::tempdir().unwrap();
        let clock = Clock::by_hand(day(0));
        let store = Store::open_sqlite(&dir.path().join("test.db"), clock).await.unwrap();
        set_up(&store).await;
        for n in 0..after::N_BEFORE {
            let username = after::username_before(n);
            store.create_access(&acme(), new("c1", &username)).await.unwrap().unwrap();
        }
        store.close().await;
        Arc::new(dir)
    });
    Arc::clone(made.await)
}

impl Run {
    /// Opens a copy of the template on a disk that fails by this plan, and runs the workload.
    pub(super) async fn begin(seed: u64, plan: Option<Plan>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let database = dir.path().join("test.db");
        std::fs::copy(template().await.path().join("test.db"), &database).unwrap();
        let disk = Disk::new(seed);
        disk.follow(plan);
        let store = open(disk, database).await.ok();
        let ended = if store.is_some() { RunEnd::Orderly } else { RunEnd::NotOpened };
        let mut run = Self { disk, _dir: dir, told: Vec::new(), ended, store };
        run.work("first").await;
        run
    }

    /// Creates accesses, and reads each.
    async fn work(&mut self, stage: &str) {
        let Some(store) = self.store.clone() else { return };
        for n in 0..N_WRITES {
            let username = format!("{stage}{n:03}");
            if self.create(&username).await.is_ok()
                && let Ok(found) =
                    store.access_by_username(&acme(), &username.parse().unwrap()).await
            {
                assert!(found.is_some(), "{username} was answered and can't be read");
            }
        }
    }

    /// Creates an access, and records the response.
    pub(super) async fn create(&mut self, username: &str) -> Result<(), StoreError> {
        let created = self.store().create_access(&acme(), new("c1", username)).await;
        self.remember(username, created.map(|created| drop(created.unwrap())))
    }

    /// Records the response to a creation.
    pub(super) fn remember(
        &mut self,
        username: &str,
        created: Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let told = match &created {
            Ok(()) => Told::Done,
            Err(StoreError::OutcomeUnknown(_)) => Told::OutcomeUnknown,
            Err(_) => Told::Refused,
        };
        self.told.push((username.to_owned(), told));
        created
    }

    /// Waits until the writer has nothing left to do, checkpoints included.
    pub(super) async fn be_still(&self) {
        assert!(
            self.store().scrub().await.unwrap(),
            "no reader prevents the truncation of the log"
        );
    }

    /// The store, while it is open.
    pub(super) fn store(&self) -> &Store {
        self.store.as_ref().expect("it could be opened")
    }

    /// Closes the store, if it is open.
    pub(super) async fn end(mut self) -> Self {
        let Some(store) = self.store.take() else { return self };
        if store.db.health().unwrap().stopped().is_none() {
            store.close().await;
        }
        if store.db.health().unwrap().stopped().is_some() {
            self.ended = RunEnd::Stopped;
            let n_calls = self.disk.calls().len();
            store.close().await;
            drop(store);
            assert_eq!(self.disk.calls().len(), n_calls, "a stopped store touches no file");
        }
        self
    }

    pub(super) fn n_answered(&self) -> usize {
        self.told.iter().filter(|(_, told)| *told == Told::Done).count()
    }

    /// Checks the conditions on the same disk, which works again and is written to once more, and on one whose power
    /// was cut at that moment.
    pub(super) async fn must_hold(self, place: &str) {
        let cut = tempfile::tempdir().unwrap();
        self.disk.after_power_cut(cut.path()).unwrap();
        after::must_hold(cut.path(), &self.told, &format!("{place}, then a power cut")).await;

        let anew = tempfile::tempdir().unwrap();
        self.disk.after_reading_anew(anew.path()).unwrap();
        after::must_hold(anew.path(), &self.told, &format!("{place}, read anew")).await;

        // The page cache was kept, and is wrong: it still shows what a failed flush has lost.
        if self.ended == RunEnd::Stopped {
            let mut again = self.again(place).await;
            again.work("again").await;
            let again = again.end().await;
            assert_eq!(again.ended, RunEnd::Orderly, "{place}");
            let cut = tempfile::tempdir().unwrap();
            again.disk.after_power_cut(cut.path()).unwrap();
            let place = format!("{place}, then again, then a power cut");
            after::must_hold(cut.path(), &again.told, &place).await;
            again.disk.forget();
        }
    }

    /// Opens the store again, as the next process does.
    async fn again(self, place: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let disk = self.disk.for_next_process(dir.path()).unwrap();
        self.disk.forget();
        let store = open(disk, dir.path().join("test.db")).await;
        let store = store.unwrap_or_else(|why| panic!("{place}, then again: {why:?}"));
        Self { disk, _dir: dir, told: self.told, ended: RunEnd::Orderly, store: Some(store) }
    }
}

async fn open(disk: &'static Disk, path: PathBuf) -> Result<Store, StoreError> {
    let place = Location { path, vfs: Some(disk.name()), lengths: CheckpointLengths::FOR_TESTS };
    let clock = Clock::by_hand(day(0));
    Store::open_at(place, OpenMode::CreateIfNew, clock).await
}
