//! The quiet lane: slow hashes for batches, at the full speed of the machine and in nobody's way.
//!
//! A batch may bring 100,000 chosen passwords, many minutes of hashing, while every check wants its
//! own hash at once. So batches have threads of their own, one for each core, which give way to
//! every other thread: they get whatever the checks leave. The checks' pool never waits for them.
//!
//! Hashes are handed over one by one, so batches take turns and a small one passes a large one.
//! SuccessCache is bounded by the threads: each makes one hash at a time.

use std::sync::{Arc, OnceLock};

use gatehouse_core::credential::{Password, StoredHash};
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};

use crate::meter::{Held, VaultMeter};
use crate::password::{Hasher, Salt, SuccessCache};

/// Hashes that lie ready for each thread, so that it needn't wait for the next to be handed over.
const READY_PER_THREAD: usize = 4;

/// Makes slow hashes when nobody else wants the machine.
pub(crate) struct BatchHasher {
    hasher: Hasher,
    meter: Arc<VaultMeter>,
    /// The way to the threads. They start when first needed, and end when it is dropped.
    jobs: OnceLock<mpsc::Sender<Job>>,
}

/// One hash to be made, unless nobody waits for it any more.
struct Job {
    password: Password,
    salt: Salt,
    answer: oneshot::Sender<StoredHash>,
    waiting: Held,
}

impl BatchHasher {
    pub(crate) fn new(hasher: Hasher, meter: Arc<VaultMeter>) -> Self {
        Self { hasher, meter, jobs: OnceLock::new() }
    }

    /// Hashes all of them, in their order.
    pub(crate) async fn hash_all(&self, chosen: Vec<(Password, Salt)>) -> Vec<StoredHash> {
        #[cfg(feature = "simulation")]
        if crate::simulation::is_on() {
            let hash = |(password, salt): (Password, Salt)| {
                self.hasher.hash_slow(&password, &salt, &mut SuccessCache::default())
            };
            return chosen.into_iter().map(hash).collect();
        }
        let jobs = chosen.into_iter().map(|(password, salt)| {
            let (answer, hash) = oneshot::channel();
            (Job { password, salt, answer, waiting: Held::new(&self.meter.quiet_waiting) }, hash)
        });
        let (jobs, hashes): (Vec<Job>, Vec<oneshot::Receiver<StoredHash>>) = jobs.unzip();
        let lane = self.jobs.get_or_init(|| self.open());
        for job in jobs {
            lane.send(job).await.expect(NEVER_ENDS);
        }
        let mut made = Vec::with_capacity(hashes.len());
        for hash in hashes {
            made.push(hash.await.expect(NEVER_ENDS));
        }
        made
    }

    /// Starts the threads.
    ///
    /// Nobody joins them: who drops the vault, or ends the process, doesn't wait for hashes that
    /// nobody will read.
    fn open(&self) -> mpsc::Sender<Job> {
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

/// What a thread does until the vault is dropped.
fn work(queue: &Mutex<mpsc::Receiver<Job>>, hasher: &Hasher, meter: &VaultMeter) {
    step_back();
    let mut memory = SuccessCache::default();
    while let Some(job) = next_at_once(queue).or_else(|| {
        // Who waits needs no memory meanwhile.
        memory = SuccessCache::default();
        next(queue)
    }) {
        let Job { password, salt, answer, waiting } = job;
        drop(waiting);
        let hash = hasher.hash_slow(&password, &salt, &mut memory);
        meter.quiet_made.inc();
        // Who left meanwhile doesn't miss it.
        let _ = answer.send(hash);
    }
}

/// The next hash that somebody waits for, if it is there already.
fn next_at_once(queue: &Mutex<mpsc::Receiver<Job>>) -> Option<Job> {
    let job = queue.try_lock()?.try_recv().ok();
    job.filter(|job| !job.answer.is_closed())
}

/// The next hash that somebody waits for.
fn next(queue: &Mutex<mpsc::Receiver<Job>>) -> Option<Job> {
    let mut queue = queue.lock();
    loop {
        let job = queue.blocking_recv()?;
        if !job.answer.is_closed() {
            return Some(job);
        }
    }
}

/// Lets every other thread of the machine go first: it runs when a core would be idle, and stops at once when
/// somebody wakes. A nice value alone would not do: it counts only among the threads of one session or
/// container, and the database's are not ours. Only Linux knows this.
#[cfg(target_os = "linux")]
fn step_back() {
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
fn step_back() {}

const THREAD_NAME: &str = "quiet-hash";
const NEVER_ENDS: &str = "the threads end after the vault, and every hash can be made";

#[cfg(test)]
mod tests;
