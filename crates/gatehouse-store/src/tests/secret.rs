//! Deleted secrets: not a byte of them stays in the embedded database's files.

use std::collections::HashSet;
use std::path::Path;

use gatehouse_core::TaskId;
use gatehouse_core::task::TaskWork;
use gatehouse_testing::SeededRandom;

use super::*;
use crate::NewTask;
use crate::db::WriteKind;
use crate::keys::secret::{self, SecretKind};

/// Length of the pieces that are searched: longer than a random match.
const PIECE: usize = 16;

/// Enough that rows move between pages repeatedly: without padding, copies would be left.
const N_SECRETS: u64 = 600;

/// A secret that is stored, or was.
struct Kept {
    kind: SecretKind,
    name: String,
    sealed: Vec<u8>,
}

/// Number of pieces of these secrets in the files: a secret may be split at the end of a page.
fn found(dir: &Path, secrets: &[Kept]) -> usize {
    let pieces: HashSet<&[u8]> =
        secrets.iter().flat_map(|it| it.sealed.chunks_exact(PIECE)).collect();
    // Few offsets of a file begin like one of them, so few are looked up.
    let start = |bytes: &[u8]| {
        usize::from(bytes[0]) << 16 | usize::from(bytes[1]) << 8 | usize::from(bytes[2])
    };
    let mut is_start = vec![false; 1 << 24];
    pieces.iter().for_each(|piece| is_start[start(piece)] = true);
    let mut found = HashSet::new();
    for name in ["test.db", "test.db-wal"] {
        let bytes = std::fs::read(dir.join(name)).unwrap();
        let windows = bytes.windows(PIECE).filter(|it| is_start[start(it)] && pieces.contains(it));
        found.extend(windows.map(<[u8]>::to_vec));
    }
    found.len()
}

/// Stores a secret: a Task's key, or a response of random length.
async fn keep(store: &Store, random: &mut SeededRandom, n: u64) -> Kept {
    let id = TaskId::new(n, random.bytes(10).as_slice().try_into().unwrap());
    let name = id.to_string();
    if random.roll(2) == 0 {
        let sealed = random.bytes(77);
        let new = NewTask {
            id,
            work: TaskWork::Creation {
                contract_id: "c1".parse().unwrap(),
                is_explicit: true,
                labels: Labels::NONE,
            },
            n_items: 1,
            parts: vec![(0, vec![0; random.roll(9000) as usize])],
            sealed_key: Some(sealed.clone()),
            origin: origin(),
            idempotent: None,
        };
        store.accept_task(&acme(), new).await.unwrap();
        return Kept { kind: SecretKind::Task, name, sealed };
    }
    let longest = *random.pick(&[200, 200, 200, 6000]);
    let n_bytes = 32 + random.roll(longest) as usize;
    let sealed = random.bytes(n_bytes);
    let (kind, named, body) = (SecretKind::Response, name.clone(), sealed.clone());
    let put = store.db.write(WriteKind::Server, async move |tx| {
        secret::put(&tx, &acme(), kind, &named, &body).await
    });
    put.await.unwrap();
    Kept { kind, name, sealed }
}

async fn destroy(store: &Store, kept: &Kept) {
    let (kind, name) = (kept.kind, kept.name.clone());
    let removed = store
        .db
        .write(WriteKind::Server, async move |tx| secret::remove(&tx, &acme(), kind, &name).await);
    assert!(removed.await.unwrap());
}

#[tokio::test]
async fn destroyed_secrets_are_nowhere_in_the_files() {
    let mut random = SeededRandom::from_entropy("destroyed_secrets_are_nowhere_in_the_files");
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("test.db");
    let store = Store::open_sqlite(&path, Clock::by_hand(day(0))).await.unwrap();
    set_up(&store).await;
    let (mut kept, mut gone) = (Vec::new(), Vec::new());
    let (mut n_drawn, mut grows) = (0, true);
    while n_drawn < N_SECRETS || !kept.is_empty() {
        // The number of stored secrets grows and shrinks by turns.
        grows = if random.roll(60) == 0 { !grows } else { grows };
        let share = if grows { 4 } else { 1 };
        let is_new = n_drawn < N_SECRETS && (kept.is_empty() || random.roll(5) < share);
        if is_new {
            n_drawn += 1;
            kept.push(keep(&store, &mut random, n_drawn).await);
        } else {
            let one: Kept = random.take(&mut kept);
            destroy(&store, &one).await;
            gone.push(one);
        }
        // Other rows use the freed pages too.
        for n in 0..random.roll(2) {
            let name = format!("a{}-{}-{n}", n_drawn, gone.len());
            store.create_access(&acme(), new("c1", &name)).await.unwrap().unwrap();
        }
        if random.roll(150) == 0 {
            assert!(store.scrub().await.unwrap());
            assert_eq!(found(dir.path(), &gone), 0, "after {} of them", gone.len());
            let n_pieces: usize = kept.iter().map(|it| it.sealed.len() / PIECE).sum();
            // A secret that is split at the end of a page has a piece that is nowhere whole.
            assert!(
                found(dir.path(), &kept) * 10 >= n_pieces * 9,
                "the stored secrets are found in the files"
            );
        }
    }
    assert!(store.scrub().await.unwrap());
    assert_eq!(gone.len() as u64, N_SECRETS);
    assert_eq!(found(dir.path(), &gone), 0);
}

#[tokio::test]
async fn a_reader_that_prevents_a_checkpoint_is_waited_for() {
    let mut random =
        SeededRandom::from_entropy("a_reader_that_prevents_a_checkpoint_is_waited_for");
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("test.db");
    let store = Store::open_sqlite(&path, Clock::by_hand(day(0))).await.unwrap();
    set_up(&store).await;
    let one = keep(&store, &mut random, 1).await;
    let reader = rusqlite::Connection::open(&path).unwrap();
    reader.execute_batch("BEGIN; SELECT COUNT(*) FROM secret").unwrap();
    let looked: i64 = reader.query_row("SELECT COUNT(*) FROM secret", [], |it| it.get(0)).unwrap();
    destroy(&store, &one).await;
    assert!(!store.scrub().await.unwrap(), "the reader still sees it");
    assert!(looked == 1 && found(dir.path(), &[one]) > 0);
    reader.execute_batch("COMMIT").unwrap();
    assert!(store.scrub().await.unwrap());
    assert_eq!(std::fs::metadata(dir.path().join("test.db-wal")).unwrap().len(), 0);
}
