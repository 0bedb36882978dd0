//! Single flight: identical concurrent calls are made once.
//!
//! The first caller starts the call; identical callers join it. The call is cancelled when no caller is left. Results
//! are
//! not cached.

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
type Flight<T> = Pin<Box<dyn Future<Output = Result<Arc<T>, Failure>> + Send>>;

type UnderWay<K, T> = Arc<Mutex<HashMap<K, Departed<T>>>>;

/// A call under way, and the deadline of the caller that started it.
struct Departed<T> {
    flight: WeakShared<Flight<T>>,
    deadline: Instant,
}

/// A call that fails so shortly before its deadline had no time for a retry.
const HURRY: Duration = Duration::from_secs(1);

/// Calls of one kind that are under way.
pub(crate) struct Flights<K, T> {
    under_way: UnderWay<K, T>,
}

impl<K, T> Default for Flights<K, T> {
    fn default() -> Self {
        Self { under_way: Arc::default() }
    }
}

impl<K, T> Flights<K, T>
where
    K: Clone + Eq + Hash + Send + 'static,
    T: Send + Sync + 'static,
{
    /// Whether an identical call is under way.
    pub(crate) fn is_under_way(&self, question: &K) -> bool {
        self.under_way.lock().contains_key(question)
    }

    /// Waits for an identical call, or starts one.
    pub(crate) async fn join<F>(
        &self,
        ask: CallContext,
        question: &K,
        set_off: impl Fn() -> F,
    ) -> Result<Arc<T>, Failure>
    where
        F: Future<Output = Result<T, Failure>> + Send + 'static,
    {
        loop {
            let (flight, deadline) = self.board(ask, question, &set_off);
            match timeout_at(ask.end(), flight).await {
                // A caller that joined later has more time than the one that started the call.
                Ok(Err(_)) if deadline < ask.deadline && Instant::now() + HURRY >= deadline => {}
                Ok(answer) => return answer,
                Err(_) => return Err(Failure::late()),
            }
        }
    }

    fn board<F>(
        &self,
        ask: CallContext,
        question: &K,
        set_off: impl Fn() -> F,
    ) -> (Shared<Flight<T>>, Instant)
    where
        F: Future<Output = Result<T, Failure>> + Send + 'static,
    {
        let mut under_way = self.under_way.lock();
        let departed = under_way.get(question);
        if let Some((flight, deadline)) =
            departed.and_then(|it| Some((it.flight.upgrade()?, it.deadline)))
        {
            return (flight, deadline);
        }
        let asking = set_off();
        let landing =
            Landing { under_way: Arc::clone(&self.under_way), question: question.clone() };
        let flight: Flight<T> = Box::pin(async move {
            let _landing = landing;
            asking.await.map(Arc::new)
        });
        let flight = flight.shared();
        let weak = flight.downgrade().expect("it has not been polled yet");
        under_way.insert(question.clone(), Departed { flight: weak, deadline: ask.deadline });
        (flight, ask.deadline)
    }
}

/// Removes a call that has ended or was cancelled.
struct Landing<K: Eq + Hash, T> {
    under_way: UnderWay<K, T>,
    question: K,
}

impl<K: Eq + Hash, T> Drop for Landing<K, T> {
    fn drop(&mut self) {
        self.under_way.lock().remove(&self.question);
    }
}
