use std::fs;

use gatehouse_core::Tenant;

use super::*;
use crate::app::requester::testing::audited;
use crate::backup::make;
use crate::serve::open_store;

/// A data directory with keys and a store that has this tenant.
async fn data_dir_with(dir: &Path, tenant: &str) -> Config {
    let config = Config { data_dir: dir.to_owned(), ..Config::default() };
    let (store, _lock) = open_store(&config, Clock::machine(), false).await.unwrap();
    keys::open(&config, &store, None).await.unwrap();
    let tenant = Tenant::new(tenant.parse().unwrap(), "UTC".parse().unwrap());
    store.put_tenant(&tenant, &audited()).await.unwrap();
    store.close().await;
    config
}

/// A backup of a store that has this tenant.
async fn backup(dir: &Path, tenant: &str) -> PathBuf {
    let source = dir.join(format!("source-{tenant}"));
    let config = data_dir_with(&source, tenant).await;
    let to = dir.join(format!("backup-{tenant}"));
    let store = Store::attach_sqlite(&config.database_file(), Clock::machine()).await;
    let store = store.unwrap().unwrap();
    make(&store, &source, &to, &CancellationToken::new()).await.unwrap();
    store.close().await;
    to
}

/// The tenants of the store, opened as a server does.
async fn tenants(config: &Config) -> Result<Vec<String>, crate::serve::StartError> {
    let (store, _lock) = open_store(config, Clock::machine(), false).await?;
    keys::open(config, &store, None).await?;
    let tenants = store.every_tenant().await?;
    store.close().await;
    Ok(tenants.iter().map(|it| it.name.to_string()).collect())
}

/// The files of a directory with their contents, without subdirectories.
fn files(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = fs::read_dir(dir).unwrap().map(|it| it.unwrap().path());
    let mut files: Vec<_> = entries
        .filter(|it| it.is_file() && !it.ends_with("lock"))
        .map(|it| (it.file_name().unwrap().into(), fs::read(&it).unwrap()))
        .collect();
    files.sort();
    files
}

#[tokio::test]
async fn a_backup_replaces_the_store() {
    let dir = tempfile::tempdir().unwrap();
    let from = backup(dir.path(), "saved").await;
    let config = data_dir_with(&dir.path().join("data"), "newer").await;
    let before = files(&config.data_dir);
    let restored = restore(&config, &from, Clock::machine()).await.unwrap();
    let replaced = restored.replaced.unwrap();
    assert!(!restored.is_continued);
    assert!(replaced.file_name().unwrap().to_string_lossy().starts_with("replaced-2"));
    assert_eq!(files(&replaced), before, "the old store is complete");
    assert_eq!(files(&config.data_dir), files(&from));
    assert_eq!(tenants(&config).await.unwrap(), ["saved"]);

    // The replaced store can be restored like a backup.
    restore(&config, &replaced, Clock::machine()).await.unwrap();
    assert_eq!(tenants(&config).await.unwrap(), ["newer"]);

    // Into a new directory.
    let config = Config { data_dir: dir.path().join("new/data"), ..Config::default() };
    let restored = restore(&config, &from, Clock::machine()).await.unwrap();
    assert_eq!(restored.replaced, None);
    assert_eq!(tenants(&config).await.unwrap(), ["saved"]);
}

#[tokio::test]
async fn a_restore_can_be_interrupted_anywhere() {
    let dir = tempfile::tempdir().unwrap();
    let from = backup(dir.path(), "saved").await.canonicalize().unwrap();
    let template = data_dir_with(&dir.path().join("template"), "newer").await;
    // A log that a crash has left belongs to the store too.
    fs::write(template.data_dir.join("gatehouse.db-wal"), "").unwrap();
    fs::write(template.data_dir.join(".gatehouse.db-replica"), "state of a program beside it")
        .unwrap();
    let before = files(&template.data_dir);
    let (mut n_steps, mut n_unfinished) = (0, 0);
    loop {
        let config =
            Config { data_dir: dir.path().join(format!("cut-{n_steps}")), ..Config::default() };
        fs::create_dir(&config.data_dir).unwrap();
        for (name, bytes) in &before {
            fs::write(config.data_dir.join(name), bytes).unwrap();
        }
        let mut left = n_steps;
        let mut failpoint = || {
            left -= 1;
            if left < 0 { Err(io::Error::other("cut off")) } else { Ok(()) }
        };
        let mut swap = Swap::new(&config.data_dir, &mut failpoint);
        let swapped = swap.copy(&from).and_then(|_| swap.commit(&from, "20261117T093000Z"));
        if swapped.is_ok() {
            break;
        }
        let replaced = match refuse_unfinished(&config) {
            Ok(()) if config.data_dir.join("replaced-20261117T093000Z").exists() => {
                // The last step is done, except for a flush.
                assert_eq!(tenants(&config).await.unwrap(), ["saved"], "step {n_steps}");
                n_steps += 1;
                continue;
            }
            Ok(()) => {
                assert_eq!(
                    files(&config.data_dir),
                    before,
                    "step {n_steps}: the old store is whole"
                );
                restore(&config, &from, Clock::machine()).await.unwrap().replaced
            }
            Err(why) => {
                n_unfinished += 1;
                let refused = tenants(&config).await.unwrap_err().to_string();
                assert_eq!(refused, why.to_string());
                let restored = restore(&config, &from, Clock::machine()).await.unwrap();
                assert!(restored.is_continued, "step {n_steps}");
                restored.replaced
            }
        };
        assert_eq!(files(&replaced.unwrap()), before, "step {n_steps}: nothing is lost");
        assert_eq!(files(&config.data_dir), files(&from), "step {n_steps}");
        assert_eq!(tenants(&config).await.unwrap(), ["saved"], "step {n_steps}");
        n_steps += 1;
    }
    assert!(n_steps > 15 && n_unfinished > 8, "{n_steps} steps, {n_unfinished} without a way back");
}

#[tokio::test]
async fn another_backup_can_be_restored_after_an_interrupted_restore() {
    let dir = tempfile::tempdir().unwrap();
    let first = backup(dir.path(), "first").await.canonicalize().unwrap();
    let second = backup(dir.path(), "second").await;
    let config = data_dir_with(&dir.path().join("data"), "newer").await;
    let mut left = 8;
    let mut failpoint = || {
        left -= 1;
        if left < 0 { Err(io::Error::other("cut off")) } else { Ok(()) }
    };
    let mut swap = Swap::new(&config.data_dir, &mut failpoint);
    assert!(swap.copy(&first).and_then(|_| swap.commit(&first, "20261117T093000Z")).is_err());
    assert!(refuse_unfinished(&config).is_err());
    let restored = restore(&config, &second, Clock::machine()).await.unwrap();
    assert!(!restored.is_continued);
    assert_eq!(tenants(&config).await.unwrap(), ["second"]);
    assert!(config.data_dir.join("replaced-20261117T093000Z").is_dir(), "the newer one");
}

#[tokio::test]
async fn a_refused_restore_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let from = backup(dir.path(), "saved").await;
    let config = data_dir_with(&dir.path().join("data"), "newer").await;
    let before = files(&config.data_dir);
    let refused = async |config: &Config, from: &Path, words: &str| {
        let why = restore(config, from, Clock::machine()).await.unwrap_err().to_string();
        assert!(why.contains(words), "{why}");
        assert_eq!(files(&config.data_dir), before, "{words}");
        let is_staging = |it: fs::DirEntry| it.file_name().to_string_lossy().starts_with("re");
        assert!(!fs::read_dir(&config.data_dir).unwrap().any(|it| is_staging(it.unwrap())));
    };
    refused(&config, &dir.path().join("nowhere"), "there is no directory").await;
    refused(&config, &from.join("gatehouse.db"), "there is no directory").await;
    refused(&config, &config.data_dir, "is the data directory itself").await;
    let empty = dir.path().join("empty");
    fs::create_dir(&empty).unwrap();
    refused(&config, &empty, "is no backup").await;
    let named = dir.path().join("shelf/20261117T093000Z");
    fs::create_dir_all(&named).unwrap();
    fs::copy(from.join("gatehouse.db"), named.join("gatehouse.db")).unwrap();
    refused(&config, &dir.path().join("shelf"), "the newest of them").await;
    // Without its key; the present one belongs to another store.
    refused(&config, &named, "not the one that this database was written with").await;
    fs::write(named.join("master.key"), fs::read(config.data_dir.join("master.key")).unwrap())
        .unwrap();
    refused(&config, &named, "not the one that this database was written with").await;

    let database_url = Some("postgres://ann@db/x".parse().unwrap());
    refused(&Config { database_url, ..config.clone() }, &from, "pg_restore").await;
    let held = lock(&config.data_dir).unwrap().unwrap();
    refused(&config, &from, "another gatehouse uses").await;
    drop(held);
    fs::write(config.data_dir.join("moved-to-postgres"), "").unwrap();
    let why = restore(&config, &from, Clock::machine()).await.unwrap_err();
    assert!(matches!(why, RestoreError::Moved(_)), "{why}");
    fs::remove_file(config.data_dir.join("moved-to-postgres")).unwrap();

    let whole = fs::read(from.join("gatehouse.db")).unwrap();
    fs::write(from.join("gatehouse.db"), &whole[..whole.len() / 2]).unwrap();
    refused(&config, &from, "is damaged, so nothing was changed").await;
}

#[tokio::test]
async fn a_backup_without_its_key_needs_the_present_one() {
    let dir = tempfile::tempdir().unwrap();
    let config = data_dir_with(&dir.path().join("data"), "newer").await;
    let store = Store::attach_sqlite(&config.database_file(), Clock::machine()).await;
    let to = dir.path().join("backup");
    make(&store.unwrap().unwrap(), &config.data_dir, &to, &CancellationToken::new()).await.unwrap();
    fs::remove_file(to.join("master.key")).unwrap();
    let restored = restore(&config, &to, Clock::machine()).await.unwrap();
    assert!(!restored.replaced.unwrap().join("master.key").exists(), "the key stays in place");
    assert_eq!(tenants(&config).await.unwrap(), ["newer"]);
    let elsewhere = Config { data_dir: dir.path().join("elsewhere"), ..Config::default() };
    let why = restore(&elsewhere, &to, Clock::machine()).await.unwrap_err().to_string();
    assert!(why.contains("master.key is missing"), "{why}");
}
