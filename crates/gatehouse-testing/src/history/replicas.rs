//! Replicas of one service, as clients see them.

use std::time::Duration;

use tokio::time::Instant;

use super::call::{Answer, Request};
use crate::SeededRandom;

/// Longest pause before a client retries, whatever `Retry-After` says.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Pause between two polls.
pub const PAUSE: Duration = Duration::from_millis(50);

/// Limit of a client's retries, from its first request.
struct RetryLimit {
    began: Instant,
    max: Duration,
}

impl RetryLimit {
    fn new(max: Duration) -> Self {
        Self { began: Instant::now(), max }
    }

    /// Waits before the client retries; panics once it has retried for too long.
    async fn pause(&self, pause: Duration, reason: &str) {
        assert!(self.began.elapsed() < self.max, "{reason}, for {:?}", self.max);
        tokio::time::sleep(pause).await;
    }
}

/// Replicas over one database, and a record of their calls.
pub trait Replicas: Send + Sync + 'static {
    /// Time for which a client retries a request that must succeed: longer than any failure lasts.
    const RETRY_TIME_MAX: Duration = Duration::from_secs(120);

    /// The replicas that run.
    fn running(&self) -> Vec<usize>;

    /// Sends a request to one replica, once, and records the call. `None` if the replica doesn't listen: then nothing
    /// was sent, and nothing is recorded.
    fn call(
        &self,
        replica: usize,
        tenant: usize,
        request: &Request,
    ) -> impl Future<Output = Option<Answer>> + Send;

    /// A random running replica. Waits while there is none.
    fn anyone(&self, random: &mut SeededRandom) -> impl Future<Output = usize> + Send {
        async {
            let limit = RetryLimit::new(Self::RETRY_TIME_MAX);
            loop {
                let running = self.running();
                if !running.is_empty() {
                    return *random.pick(&running);
                }
                limit.pause(PAUSE, "no replica runs").await;
            }
        }
    }

    /// Sends a request to any replica, once; to another one if a replica doesn't listen.
    fn ask(
        &self,
        random: &mut SeededRandom,
        tenant: usize,
        request: &Request,
    ) -> impl Future<Output = Answer> + Send {
        async move {
            let limit = RetryLimit::new(Self::RETRY_TIME_MAX);
            loop {
                let replica = self.anyone(random).await;
                if let Some(answer) = self.call(replica, tenant, request).await {
                    return answer;
                }
                limit.pause(PAUSE, "no replica listens").await;
            }
        }
    }

    /// Sends a request until it succeeds or is refused: for reads, and for requests with an `Idempotency-Key`.
    fn insist(
        &self,
        random: &mut SeededRandom,
        tenant: usize,
        request: &Request,
    ) -> impl Future<Output = Answer> + Send {
        async move {
            let limit = RetryLimit::new(Self::RETRY_TIME_MAX);
            loop {
                let answer = self.ask(random, tenant, request).await;
                let pause = match &answer {
                    Answer::Unavailable { retry_after } => retry_after.unwrap_or(1),
                    Answer::Refused { title, .. } if title == "Request under way" => 1,
                    Answer::Lost => 0,
                    Answer::Done(_) | Answer::Refused { .. } | Answer::Late | Answer::Wrong(_) => {
                        return answer;
                    }
                };
                let pause = Duration::from_secs(pause).min(LONGEST_PAUSE);
                limit.pause(pause, &format!("{request:?} still gets {answer:?}")).await;
            }
        }
    }
}
