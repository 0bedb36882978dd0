//! Replicas of one service, as clients see them.

use std::time::Duration;

use tokio::time::Instant;

use super::call::{Answer, Request};
use crate::SeededRandom;

/// A client comes again at the latest after this, whatever `Retry-After` says.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Between two looks at something that takes time.
pub const PAUSE: Duration = Duration::from_millis(50);

/// Limit of a client's retries, from when it asked first.
struct RetryLimit {
    began: Instant,
    max: Duration,
}

impl RetryLimit {
    fn new(max: Duration) -> Self {
        Self { began: Instant::now(), max }
    }

    /// Waits before the client asks again; panics where it has asked for too long.
    async fn pause(&self, pause: Duration, reason: &str) {
        assert!(self.began.elapsed() < self.max, "{reason}, for {:?}", self.max);
        tokio::time::sleep(pause).await;
    }
}

/// Some replicas over one database, and a record of what is asked of them.
pub trait Replicas: Send + Sync + 'static {
    /// Time for which a client retries a request that it must have done: longer than any trouble lasts.
    const RETRY_TIME_MAX: Duration = Duration::from_secs(120);

    /// The replicas that run.
    fn running(&self) -> Vec<usize>;

    /// Asks one replica, once, and records the call. None when it doesn't listen: then nothing was sent, and nothing
    /// is recorded.
    fn call(
        &self,
        replica: usize,
        tenant: usize,
        request: &Request,
    ) -> impl Future<Output = Option<Answer>> + Send;

    /// One that runs. Where none does, there will be one soon.
    fn anyone(&self, dice: &mut SeededRandom) -> impl Future<Output = usize> + Send {
        async {
            let limit = RetryLimit::new(Self::RETRY_TIME_MAX);
            loop {
                let running = self.running();
                if !running.is_empty() {
                    return *dice.pick(&running);
                }
                limit.pause(PAUSE, "no replica runs").await;
            }
        }
    }

    /// Asks any replica, once; another one where one doesn't listen.
    fn ask(
        &self,
        dice: &mut SeededRandom,
        tenant: usize,
        request: &Request,
    ) -> impl Future<Output = Answer> + Send {
        async move {
            let limit = RetryLimit::new(Self::RETRY_TIME_MAX);
            loop {
                let replica = self.anyone(dice).await;
                if let Some(answer) = self.call(replica, tenant, request).await {
                    return answer;
                }
                limit.pause(PAUSE, "no replica listens").await;
            }
        }
    }

    /// Asks until it is done or refused: for reads, and for what has an `Idempotency-Key`.
    fn insist(
        &self,
        dice: &mut SeededRandom,
        tenant: usize,
        request: &Request,
    ) -> impl Future<Output = Answer> + Send {
        async move {
            let limit = RetryLimit::new(Self::RETRY_TIME_MAX);
            loop {
                let answer = self.ask(dice, tenant, request).await;
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
