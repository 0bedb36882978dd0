//! Checks of undamaged and damaged databases.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use gatehouse_testing::SeededRandom;
use rusqlite::Connection;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::{Damage, FINDINGS_MAX, Integrity, Usage, check_fully, check_quickly};

/// Creates a store with accesses of several tenants, and closes it.
async fn filled() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("test.db");
    let store = Store::open_sqlite(&path, Clock::by_hand(day(0))).await.unwrap();
    fill(&store, 300).await;
    store.close().await;
    drop(store);
    (dir, path)
}

async fn fill(store: &Store, n: u32) {
    set_up(store).await;
    for nth in 0..n {
        let contract = ["c1", "c2", "c3"][nth as usize % 3];
        let made = store.create_access(&acme(), new(contract, &format!("user-{nth}"))).await;
        made.unwrap().unwrap();
    }
    store.put_tenant(&tenant("empty"), &audited()).await.unwrap();
}

fn fully(path: &Path) -> Integrity {
    check_fully(path, Usage::Idle, &CancellationToken::new())
}

#[track_caller]
fn damage(outcome: Integrity) -> Damage {
    match outcome {
        Integrity::Damaged(damage) => damage,
        other => panic!("nothing was found: {other:?}"),
    }
}

#[track_caller]
fn assert_found(outcome: Integrity, words: &str) {
    let damage = damage(outcome);
    assert!(damage.to_string().contains(words), "{damage}");
}

/// The files of a directory with their contents.
fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = fs::read_dir(dir).unwrap().map(|it| it.unwrap().path());
    entries.map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

#[tokio::test]
async fn a_store_is_sound_while_it_is_open_and_when_it_is_closed() {
    for case in stores("a_store_is_sound").await {
        fill(&case.store, 50).await;
        let (quick, full) = (
            case.store.check_quickly().await,
            case.store.check_fully(&CancellationToken::new()).await,
        );
        let Place::Sqlite(dir) = &case.place else {
            assert_eq!((quick, full), (Integrity::NotApplicable, Integrity::NotApplicable));
            continue;
        };
        assert_eq!((quick, full), (Integrity::Sound, Integrity::Sound));
        let path = dir.path().join("test.db");
        assert!(
            fs::metadata(dir.path().join("test.db-wal")).unwrap().len() > 0,
            "the log has pages"
        );
        assert_eq!(fully(&path), Integrity::Sound, "also in the eyes of another process");
        let copy = dir.path().join("copy");
        case.store.copy_to(&copy, &CancellationToken::new()).await.unwrap();
        case.store.close().await;
        drop(case.store);
        for path in [path, copy] {
            let before = files(dir.path());
            assert_eq!(check_quickly(&path, Usage::Idle), Integrity::Sound);
            assert_eq!(fully(&path), Integrity::Sound);
            assert_eq!(files(dir.path()), before, "nothing is left beside it");
            assert_eq!(check_quickly(&path, Usage::Live), Integrity::Sound);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_store_that_is_written_to_is_never_taken_for_damaged() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("test.db");
    let store = Store::open_sqlite(&path, Clock::by_hand(day(0))).await.unwrap();
    set_up(&store).await;
    let writing = tokio::spawn({
        let store = store.clone();
        async move {
            for nth in 0..600 {
                let made = store.create_access(&acme(), new("c1", &format!("user-{nth}"))).await;
                made.unwrap().unwrap();
                if nth % 7 == 0 {
                    // Checkpoints the log, and truncates it where no check reads it.
                    store.db.truncate_log().await.unwrap();
                }
            }
        }
    });
    let mut n_checks = 0;
    while !writing.is_finished() {
        assert_eq!(store.check_quickly().await, Integrity::Sound);
        assert_eq!(check_quickly(&path, Usage::Live), Integrity::Sound);
        n_checks += 1;
    }
    writing.await.unwrap();
    assert!(n_checks > 10, "{n_checks}");
    assert_eq!(store.check_fully(&CancellationToken::new()).await, Integrity::Sound);
}

#[tokio::test]
async fn a_file_that_is_no_database_is_described() {
    let (dir, path) = filled().await;
    let whole = fs::read(&path).unwrap();
    let zeros = vec![0; whole.len()];
    let text = b"to be, or not to be. ".repeat(100);
    let longer = [&whole[..], &[0; 4096]].concat();
    let mut unknown_page = whole.clone();
    unknown_page[16..18].copy_from_slice(&[0x12, 0x34]);
    for (bytes, words) in [
        (&whole[..whole.len() / 2], "a part of it is missing"),
        (&whole[..4096], "a part of it is missing"),
        (&whole[..300], "has 300 bytes"),
        (&zeros, "there are zeros"),
        (&text, "not that of a SQLite database"),
        (&longer, "something was added"),
        (&unknown_page, "can't have 4660 bytes"),
    ] {
        fs::write(&path, bytes).unwrap();
        let before = files(dir.path());
        for usage in [Usage::Idle, Usage::Live] {
            assert_found(check_quickly(&path, usage), words);
            assert_found(check_fully(&path, usage, &CancellationToken::new()), words);
            assert_eq!(fs::read(&path).unwrap(), bytes, "{words}: nothing changes");
            if usage == Usage::Idle {
                assert_eq!(files(dir.path()), before, "{words}: nothing is left beside it");
            }
        }
    }
    let outcome = check_quickly(dir.path(), Usage::Live);
    assert!(matches!(outcome, Integrity::Unchecked(_)), "a directory: {outcome:?}");
}

#[tokio::test]
async fn an_absent_database_differs_from_one_whose_log_is_left() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("test.db");
    let log = dir.path().join("test.db-wal");
    let absent = |words: &str| {
        for outcome in [check_quickly(&path, Usage::Live), fully(&path)] {
            let Integrity::Absent(what) = outcome else { panic!("{words}: {outcome:?}") };
            assert!(what.contains(words), "{what}");
        }
    };
    absent("there is no file");
    fs::write(&path, "").unwrap();
    absent("is empty");
    fs::write(&log, "").unwrap();
    absent("is empty");
    fs::write(&log, [7; 5000]).unwrap();
    assert_found(check_quickly(&path, Usage::Live), "keep that file");
    fs::remove_file(&path).unwrap();
    assert_found(check_quickly(&path, Usage::Live), "keep that file");
    assert_eq!(fs::read(&log).unwrap(), [7; 5000], "SQLite would have deleted it");
    fs::remove_file(&log).unwrap();
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("PRAGMA journal_mode = WAL").unwrap();
    drop(connection);
    absent("has no tables");
}

#[tokio::test]
async fn pages_that_are_only_in_the_log_are_not_missing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("test.db");
    let store = Store::open_sqlite(&path, Clock::by_hand(day(0))).await.unwrap();
    fill(&store, 200).await;
    // As after a crash: most of the database is still in the log.
    let crashed = tempfile::tempdir().unwrap();
    let copy = crashed.path().join("test.db");
    fs::copy(&path, &copy).unwrap();
    fs::copy(dir.path().join("test.db-wal"), crashed.path().join("test.db-wal")).unwrap();
    assert_eq!(fully(&copy), Integrity::Sound);
    store.close().await;

    // A log of a few pages doesn't replace half of the file.
    let (dir, path) = filled().await;
    let store = Store::open_sqlite(&path, Clock::by_hand(day(0))).await.unwrap();
    store.create_access(&acme(), new("c1", "one-more")).await.unwrap().unwrap();
    let whole = fs::read(&path).unwrap();
    fs::write(&copy, &whole[..whole.len() / 2]).unwrap();
    fs::copy(dir.path().join("test.db-wal"), crashed.path().join("test.db-wal")).unwrap();
    let _ = fs::remove_file(crashed.path().join("test.db-shm"));
    assert_found(check_quickly(&copy, Usage::Live), "a part of it is missing");
    store.close().await;
}

#[tokio::test]
async fn tables_columns_and_indexes_must_exist() {
    for (harm, words) in [
        ("DROP TABLE access", "no table or index access"),
        ("DROP TABLE server_key", "no table or index server_key"),
        (
            "ALTER TABLE account DROP COLUMN vouched_version",
            "account has no column vouched_version",
        ),
        ("DROP INDEX access_contract", "no table or index access_contract"),
        ("DROP INDEX access_username_live", "no table or index access_username"),
        ("DROP TABLE schema_version", "no table schema_version"),
        ("DELETE FROM schema_version", "has no version"),
    ] {
        let (_dir, path) = filled().await;
        Connection::open(&path).unwrap().execute_batch(harm).unwrap();
        assert_found(check_quickly(&path, Usage::Idle), words);
    }
    let (_dir, path) = filled().await;
    let newer =
        "INSERT INTO schema_version (version, needs) VALUES (99, 50); CREATE TABLE more (a);";
    Connection::open(&path).unwrap().execute_batch(newer).unwrap();
    assert_eq!(check_quickly(&path, Usage::Idle), Integrity::Sound, "a newer one is no damage");
}

#[tokio::test]
async fn counters_must_agree_with_the_last_rows() {
    for (harm, words) in [
        ("DELETE FROM access WHERE number = 300", "the counter of the tenant says that access 300"),
        ("UPDATE counter SET total = 299 WHERE kind = 'tenant' AND total > 0", "the last is 300"),
        (
            "UPDATE counter SET latest_at = 1 WHERE kind = 'offering'",
            "the counter of the offering o2",
        ),
        (
            "DELETE FROM counter WHERE kind = 'contract'",
            "the counter of the contract c3 is missing",
        ),
        ("UPDATE tally SET n_active = n_active - 1", "the tally of the contract c3 has 99"),
        ("DELETE FROM counter WHERE kind = 'task'", "the counter of its Tasks is missing"),
        ("DELETE FROM access", "counts 300 accesses and has none"),
    ] {
        let (_dir, path) = filled().await;
        Connection::open(&path).unwrap().execute_batch(harm).unwrap();
        assert_found(check_quickly(&path, Usage::Idle), words);
    }
}

#[tokio::test]
async fn every_earlier_schema_is_understood() {
    for n_steps in 1..=crate::migrate::STEPS.len() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("test.db");
        let db = crate::db::Db::open_sqlite(
            path.as_path(),
            crate::db::ProcessRole::Server,
            Clock::by_hand(day(0)),
        )
        .unwrap();
        crate::migrate::take(&db, &crate::migrate::STEPS[..n_steps]).await.unwrap();
        db.close().await;
        drop(db);
        let rows = "INSERT INTO tenant (tenant, time_zone) VALUES ('acme', 'UTC');
            INSERT INTO counter VALUES ('acme', 'tenant', '', 0, 0), ('acme', 'task', '', 0, 0);";
        Connection::open(&path).unwrap().execute_batch(rows).unwrap();
        assert_eq!(fully(&path), Integrity::Sound, "version {n_steps}");
    }
}

#[tokio::test]
async fn a_full_check_ends_when_it_is_cancelled() {
    let (_dir, path) = filled().await;
    let stop = CancellationToken::new();
    stop.cancel();
    assert_eq!(check_fully(&path, Usage::Idle, &stop), Integrity::Interrupted);
}

#[tokio::test]
async fn damage_is_remembered_until_a_check_passes() {
    let (_dir, path) = filled().await;
    let store = Store::open_sqlite(&path, Clock::by_hand(day(0))).await.unwrap();
    assert_eq!(store.damage(), None);
    let harm = |sql: &str| Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    harm("UPDATE counter SET total = total + 1 WHERE kind = 'offering'");
    assert_found(store.check_quickly().await, "offering o2");
    assert!(store.damage().unwrap().to_string().contains("offering o2"));
    harm("UPDATE counter SET total = total - 1 WHERE kind = 'offering'");
    assert_eq!(store.check_quickly().await, Integrity::Sound);
    assert!(store.damage().is_some(), "a quick look doesn't see everything");
    assert_eq!(store.check_fully(&CancellationToken::new()).await, Integrity::Sound);
    assert_eq!(store.damage(), None);
}

/// Whether SQLite itself finds nothing wrong, and reads every row.
fn is_harmless(path: &Path) -> bool {
    let look = || -> rusqlite::Result<bool> {
        let connection = Connection::open(path)?;
        let said: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0))?;
        for table in ["access", "counter", "tally", "contract", "tenant", "due"] {
            connection.query_row(&format!("SELECT COUNT(*) FROM {table}"), [], |_| Ok(()))?;
        }
        Ok(said == "ok")
    };
    look().unwrap_or(false)
}

#[tokio::test]
async fn a_flipped_bit_is_harmless_or_found() {
    let (dir, path) = filled().await;
    let whole = fs::read(&path).unwrap();
    let mut random = SeededRandom(20_261_117);
    let (mut n_found, mut n_harmless) = (0, 0);
    for nth in 0..100 {
        let damaged = dir.path().join(format!("flipped-{nth}.db"));
        fs::write(&damaged, &whole).unwrap();
        // Some in the headers of the file and of its pages, where every byte counts.
        let at = match nth % 4 {
            0 => random.roll(100),
            1 => random.roll(whole.len() as u64 / 4096) * 4096 + random.roll(12),
            _ => random.roll(whole.len() as u64),
        };
        let flipped = whole[at as usize] ^ (1 << random.roll(8));
        let file = fs::OpenOptions::new().write(true).open(&damaged).unwrap();
        file.write_all_at(&[flipped], at).unwrap();
        match fully(&damaged) {
            Integrity::Sound => {
                assert!(is_harmless(&damaged), "byte {at} is {flipped}");
                n_harmless += 1;
            }
            Integrity::Damaged(damage) => {
                assert!((1..=FINDINGS_MAX).contains(&damage.findings().len()), "byte {at}");
                n_found += 1;
            }
            other => panic!("byte {at} is {flipped}: {other:?}"),
        }
        // The quick check finds less, but must not fail otherwise.
        let quick = check_quickly(&damaged, Usage::Live);
        assert!(matches!(quick, Integrity::Sound | Integrity::Damaged(_)), "byte {at}: {quick:?}");
    }
    assert!(n_found >= 25 && n_harmless >= 25, "{n_found} found, {n_harmless} harmless");
    gatehouse_testing::record(
        "embedded store: one bit of the database's file is another",
        100,
        &format!(
            "{n_found} are found by the full check, {n_harmless} are harmless by SQLite's own"
        ),
    );
}

#[tokio::test]
async fn findings_are_bounded() {
    let (_dir, path) = filled().await;
    // An index without a single access.
    let harm = "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = \
                'CREATE INDEX access_device_name ON access (tenant, username, number)' \
                WHERE name = 'access_device_name'";
    Connection::open(&path).unwrap().execute_batch(harm).unwrap();
    let damage = damage(fully(&path));
    assert_eq!(damage.findings().len(), FINDINGS_MAX, "{damage}");
    assert!(damage.has_more() && damage.to_string().ends_with("; and more"));
}
