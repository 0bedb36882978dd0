//! Slow hashes for batches, at the full speed of the machine and at the lowest priority.
//!
//! A batch may have 100,000 chosen passwords, many minutes of hashing, while every check needs its own hash at once. So
//! batches have their own threads, one per core, which yield to every other thread: they use only idle time. The pool
//! of the checks never waits for them.
//!
//! Hashes are queued one by one, so batches alternate, and a small one overtakes a large one. The number of threads
//! bounds the memory: each makes one hash at a time.

use std::sync::{Arc, OnceLock};

use gatehouse_core::credential::{Password, StoredHash};
use gatehouse_meter::GaugeGuard;
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};

use crate::meter::VaultMeter;
use crate::password::{HashMemory, Hasher, Salt};

/// Hashes that are queued per thread, so that no thread waits for the next one.
const READY_PER_THREAD: usize = 4;

/// Makes slow hashes with the machine's idle time.
pub(crate) struct BatchHasher {
    hasher: Hasher,
    meter: Arc<VaultMeter>,
    /// Queue of the threads, which start at the first use and end when the sender is dropped.
    queue: OnceLock<mpsc::Sender<Job>>,
}

/// One hash to make, unless its caller no longer waits for it.
struct Job {
    password: Password,
    salt: Salt,
    reply: oneshot::Sender<StoredHash>,
    waiting: GaugeGuard,
}

impl BatchHasher {
    pub(crate) fn new(hasher: Hasher, meter: Arc<VaultMeter>) -> Self {
        Self { hasher, meter, queue: OnceLock::new() }
    }

    /// Hashes all passwords, in order.
    pub(crate) async fn hash_all(&self, chosen: Vec<(Password, Salt)>) -> Vec<StoredHash> {
        #[cfg(feature = "simulation")]
        if crate::simulation::is_on() {
            let hash = |(password, salt): (Password, Salt)| {
                self.hasher.hash_slow(&password, &salt, &mut HashMemory::default())
            };
            return chosen.into_iter().map(hash).collect();
        }
        let jobs = chosen.into_iter().map(|(password, salt)| {
            let (reply, hash) = oneshot::channel();
            (
                Job { password, salt, reply, waiting: GaugeGuard::new(&self.meter.batch_waiting) },
                hash,
            )
        });
        let (jobs, hashes): (Vec<Job>, Vec<oneshot::Receiver<StoredHash>>) = jobs.unzip();
        let queue = self.queue.get_or_init(|| self.start_threads());
        for job in jobs {
            queue.send(job).await.expect(NEVER_ENDS);
        }
        let mut made = Vec::with_capacity(hashes.len());
        for hash in hashes {
            made.push(hash.await.expect(NEVER_ENDS));
        }
        made
    }

    /// Starts the threads, which are not joined: dropping the vault, or ending the process, doesn't wait for unread
    /// hashes.
    fn start_threads(&self) -> mpsc::Sender<Job> {
        let n_threads = std::thread::available_parallelism().map_or(1, usize::from);
        let (jobs, queue) = mpsc::channel(n_threads * READY_PER_THREAD);
        let queue = Arc::new(Mutex::new(queue));
        for _ in 0..n_threads {
            let (queue, hasher) = (Arc::clone(&queue), self.hasher.clone());
            let meter = Arc::clone(&self.meter);
            std::thread::Builder::new()
                .name(THREAD_NAME.to_owned())
                .spawn(move || work(&queue, &hasher, &meter))
                .expect("the operating system has a thread for each core");
        }
        jobs
    }
}

/// Loop of a thread, until the vault is dropped.
fn work(queue: &Mutex<mpsc::Receiver<Job>>, hasher: &Hasher, meter: &VaultMeter) {
    lower_priority();
    let mut memory = HashMemory::default();
    while let Some(job) = next_at_once(queue).or_else(|| {
        // An idle thread frees its memory.
        memory = HashMemory::default();
        next(queue)
    }) {
        let Job { password, salt, reply, waiting } = job;
        drop(waiting);
        let hash = hasher.hash_slow(&password, &salt, &mut memory);
        meter.batch_made.inc();
        // Fails if the caller no longer waits.
        let _ = reply.send(hash);
    }
}

/// The next hash with a waiting caller, if it is queued already.
fn next_at_once(queue: &Mutex<mpsc::Receiver<Job>>) -> Option<Job> {
    let job = queue.try_lock()?.try_recv().ok();
    job.filter(|job| !job.reply.is_closed())
}

/// The next hash with a waiting caller.
fn next(queue: &Mutex<mpsc::Receiver<Job>>) -> Option<Job> {
    let mut queue = queue.lock();
    loop {
        let job = queue.blocking_recv()?;
        if !job.reply.is_closed() {
            return Some(job);
        }
    }
}

/// Yields to every other thread of the machine: this thread runs when a core would be idle, and stops at once when
/// another thread wakes. A nice value would not suffice: it counts only among the threads of one session or container,
/// and the database has its own. Only on Linux.
#[cfg(target_os = "linux")]
fn lower_priority() {
    use thread_priority::unix::{
        NormalThreadSchedulePolicy::Idle, ThreadSchedulePolicy, set_thread_priority_and_policy,
        thread_native_id,
    };
    let policy = ThreadSchedulePolicy::Normal(Idle);
    let least = thread_priority::ThreadPriority::Min;
    if let Err(cause) = set_thread_priority_and_policy(thread_native_id(), least, policy) {
        tracing::warn!(?cause, "hashes for batches run at ordinary priority");
    }
}

#[cfg(not(target_os = "linux"))]
fn lower_priority() {}

const THREAD_NAME: &str = "batch-hash";
const NEVER_ENDS: &str = "the threads end after the vault, and every hash can be made";

#[cfg(test)]
mod tests;
