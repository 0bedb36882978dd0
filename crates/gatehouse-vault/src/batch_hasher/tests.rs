use super::*;
use crate::tests::caller;
use crate::{MasterKey, Vault};
use tokio::task::JoinHandle;

fn vault() -> Arc<Vault> {
    Arc::new(Vault::new(&MasterKey::generate().into()))
}

fn password(n: usize) -> Password {
    Password::new(format!("password {n}")).unwrap()
}

fn batch(n_hashes: usize) -> Vec<(Password, Salt)> {
    (0..n_hashes).map(|n| (password(n), [n as u8; 16])).collect()
}

/// More hashes than any test waits for.
fn n_many() -> usize {
    100 * std::thread::available_parallelism().map_or(1, usize::from)
}

/// Starts a large batch, and returns once the threads work on it.
async fn fill(vault: &Arc<Vault>) -> JoinHandle<Vec<StoredHash>> {
    let large = tokio::spawn({
        let vault = Arc::clone(vault);
        async move { vault.hash_batch(batch(n_many())).await }
    });
    // Lets the batch fill the queue.
    tokio::task::yield_now().await;
    // Queued after the waiting hashes of the large batch.
    assert_eq!(vault.hash_batch(batch(1)).await.len(), 1);
    assert!(!large.is_finished(), "a small batch passes a large one");
    large
}

#[tokio::test]
async fn batch_hashes_have_their_salts_and_order_and_pass_checks() {
    let vault = vault();
    let hashes = vault.hash_batch(batch(9)).await;
    assert_eq!(hashes.len(), 9);
    for (n, stored) in hashes.iter().enumerate() {
        assert!(vault.has_salt(stored, &[n as u8; 16]), "{n}");
        assert!(vault.check(caller(), stored, &password(n)).await.unwrap(), "{n}");
    }
    assert!(!vault.check(caller(), &hashes[0], &password(1)).await.unwrap());
    assert!(vault.hash_batch(Vec::new()).await.is_empty());
    assert_eq!((vault.meter.batch_waiting.get(), vault.meter.batch_made.get()), (0, 9));
}

#[tokio::test]
async fn checks_succeed_while_the_batch_queue_is_full() {
    let vault = vault();
    let stored = vault.hash_chosen(caller(), &password(0)).await.unwrap();
    let large = fill(&vault).await;
    for n in 0..4 {
        assert_eq!(vault.check_uncached(caller(), &stored, &password(n)).await.unwrap(), n == 0);
    }
    assert!(!large.is_finished());
    assert!(vault.meter.batch_waiting.get() > 0, "most of it has not begun");
    large.abort();
}

#[tokio::test]
async fn the_hashes_of_a_cancelled_batch_are_skipped() {
    let vault = vault();
    let large = fill(&vault).await;
    assert!(vault.meter.batch_waiting.get() > 0);
    large.abort();
    assert!(large.await.unwrap_err().is_cancelled());
    vault.hash_batch(batch(1)).await;
    assert_eq!(vault.meter.batch_waiting.get(), 0);
    let n_made = vault.meter.batch_made.get();
    assert!(n_made < n_many() as u64 / 2, "what was not begun is skipped: {n_made}");
}

#[tokio::test]
async fn the_threads_end_when_the_vault_is_dropped() {
    let vault = vault();
    fill(&vault).await.abort();
    let held_by_threads = Arc::downgrade(&vault.meter);
    // The cancelled batch holds the vault until it is dropped.
    while Arc::strong_count(&vault) > 1 {
        tokio::task::yield_now().await;
    }
    drop(vault);
    while held_by_threads.strong_count() > 0 {
        std::thread::yield_now();
    }
}

/// Linux's scheduling class of threads that run on an idle core alone.
#[cfg(target_os = "linux")]
const SCHED_IDLE: i32 = 5;

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_threads_have_idle_priority() {
    let vault = vault();
    vault.hash_batch(batch(1)).await;
    // Other tests have such threads too, perhaps just started: one is enough.
    let threads = std::fs::read_dir("/proc/self/task").unwrap();
    let stats = threads.filter_map(|it| std::fs::read_to_string(it.ok()?.path().join("stat")).ok());
    let mut policies = stats.filter_map(|stat| {
        let (name, fields) = stat.split_once('(')?.1.rsplit_once(") ")?;
        let policy = fields.split(' ').nth(38)?.parse::<i32>().ok()?;
        (name == THREAD_NAME).then_some(policy)
    });
    assert!(policies.any(|policy| policy == SCHED_IDLE));
}
