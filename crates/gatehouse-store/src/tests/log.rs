//! The log of the embedded store doesn't grow without bound, whatever is written and read.

use super::*;
use crate::db::{CheckpointLengths, Location, OpenMode};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Size of a page with its frame header in the log.
const FRAME: u64 = 4096 + 24;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_stays_short_while_others_write_and_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("test.db");
    let place = Location { path: path.clone(), vfs: None, lengths: CheckpointLengths::FOR_TESTS };
    let store = Store::open_at(place, OpenMode::CreateIfNew, Clock::by_hand(day(0))).await.unwrap();
    set_up(&store).await;
    let stop = Arc::new(AtomicBool::new(false));
    let reader = tokio::spawn({
        let (store, stop) = (store.clone(), Arc::clone(&stop));
        async move {
            while !stop.load(Ordering::Relaxed) {
                store.access_by_username(&acme(), &"nobody".parse().unwrap()).await.unwrap();
                tokio::task::yield_now().await;
            }
        }
    });
    let mut longest = 0;
    for n in 0..400 {
        store.create_access(&acme(), new("c1", &format!("{n:04}"))).await.unwrap().unwrap();
        let log = dir.path().join("test.db-wal");
        longest = longest.max(std::fs::metadata(log).map_or(0, |it| it.len()));
    }
    stop.store(true, Ordering::Relaxed);
    reader.await.unwrap();
    let written = 400 * 8 * FRAME;
    assert!(longest < written / 4, "{longest} bytes of about {written} were in it at one time");
    store.close().await;
    assert_eq!(std::fs::metadata(dir.path().join("test.db-wal")).map_or(0, |it| it.len()), 0);
}
