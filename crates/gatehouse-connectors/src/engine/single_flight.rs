//! Single flight: identical concurrent calls are made once.
//!
//! The first caller starts the call; identical callers join it. The call is cancelled when no caller is left. Results
//! are not cached.

use std::collections::HashMap;
use std::hash::Hash;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{Shared, WeakShared};
use parking_lot::Mutex;
use tokio::time::{Instant, timeout_at};

use crate::connector::CallContext;
use crate::failure::Failure;

/// A call under way, whose result is shared.
type SharedCall<T> = Pin<Box<dyn Future<Output = Result<Arc<T>, Failure>> + Send>>;

type CallsInFlight<K, T> = Arc<Mutex<HashMap<K, StartedCall<T>>>>;

/// A call under way, and the deadline of the caller that started it.
struct StartedCall<T> {
    call: WeakShared<SharedCall<T>>,
    deadline: Instant,
}

/// A call that fails so shortly before its deadline had no time for a retry.
const RETRY_TIME_MIN: Duration = Duration::from_secs(1);

/// Calls of one kind that are under way.
pub(crate) struct SingleFlight<K, T> {
    in_flight: CallsInFlight<K, T>,
}

impl<K, T> Default for SingleFlight<K, T> {
    fn default() -> Self {
        Self { in_flight: Arc::default() }
    }
}

impl<K, T> SingleFlight<K, T>
where
    K: Clone + Eq + Hash + Send + 'static,
    T: Send + Sync + 'static,
{
    /// Whether an identical call is under way.
    pub(crate) fn is_in_flight(&self, key: &K) -> bool {
        self.in_flight.lock().contains_key(key)
    }

    /// Waits for an identical call, or starts one.
    pub(crate) async fn join<F>(
        &self,
        context: CallContext,
        key: &K,
        start: impl Fn() -> F,
    ) -> Result<Arc<T>, Failure>
    where
        F: Future<Output = Result<T, Failure>> + Send + 'static,
    {
        loop {
            let (call, deadline) = self.join_or_start(context, key, &start);
            match timeout_at(context.end(), call).await {
                // A caller that joined later has more time than the one that started the call.
                Ok(Err(_))
                    if deadline < context.deadline
                        && Instant::now() + RETRY_TIME_MIN >= deadline => {}
                Ok(result) => return result,
                Err(_) => return Err(Failure::timed_out()),
            }
        }
    }

    fn join_or_start<F>(
        &self,
        context: CallContext,
        key: &K,
        start: impl Fn() -> F,
    ) -> (Shared<SharedCall<T>>, Instant)
    where
        F: Future<Output = Result<T, Failure>> + Send + 'static,
    {
        let mut in_flight = self.in_flight.lock();
        let started = in_flight.get(key);
        if let Some((call, deadline)) =
            started.and_then(|it| Some((it.call.upgrade()?, it.deadline)))
        {
            return (call, deadline);
        }
        let call = start();
        let guard = RemoveOnDrop { in_flight: Arc::clone(&self.in_flight), key: key.clone() };
        let call: SharedCall<T> = Box::pin(async move {
            let _guard = guard;
            call.await.map(Arc::new)
        });
        let call = call.shared();
        let weak = call.downgrade().expect("it has not been polled yet");
        in_flight.insert(key.clone(), StartedCall { call: weak, deadline: context.deadline });
        (call, context.deadline)
    }
}

/// Removes a call that has ended or was cancelled.
struct RemoveOnDrop<K: Eq + Hash, T> {
    in_flight: CallsInFlight<K, T>,
    key: K,
}

impl<K: Eq + Hash, T> Drop for RemoveOnDrop<K, T> {
    fn drop(&mut self) {
        self.in_flight.lock().remove(&self.key);
    }
}
