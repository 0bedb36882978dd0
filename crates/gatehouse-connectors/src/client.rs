//! The HTTP client for one account's platform: guarded, bounded, with retries.
//!
//! Each call checks the address (`address.rs`, `resolver.rs`, `address_scope.rs`, `network.rs`), the account's limits
//! (`bucket.rs`), the platform's quotas (`quota.rs`, `allowance.rs`) and the platform's health (`health.rs`,
//! `breaker.rs`), and retries with pauses (`pause.rs`) until the deadline. Texts about a platform hide secrets
//! (`secrets.rs`), also for observers (`observer.rs`).

mod address;
mod allowance;
pub(super) mod authorities;
mod breaker;
mod bucket;
mod call;
mod client_pool;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod network;
mod observer;
mod pause;
mod quota;
mod reach;
mod redirect;
mod resolver;
mod response;
mod secrets;
mod standing;
mod words;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use gatehouse_core::ConnectorName;
use gatehouse_core::account::AddressSource;
use http::{HeaderMap, Method, StatusCode};
use parking_lot::Mutex;
use reqwest::Url;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, sleep_until, timeout_at};
use tracing::{Instrument, Span};
use zeroize::Zeroizing;

use self::allowance::Allowances;
use self::bucket::Bucket;
use self::call::{Call, Mishap, exchange};
use self::pause::{Jitter, reset_after};
use self::secrets::Secrets;
use self::standing::Standing;
use crate::connector::{CallContext, CallKind, PlatformLimits};
use crate::failure::{Failure, FailureKind};
use crate::meter::{AccountMeter, Outcome};

pub use self::address::{AddressRules, BadUrl, BaseUrl};
pub use self::client_pool::ClientPool;
pub use self::network::{BadNetwork, Network};
pub use self::observer::{Exchange, Observer, ShownResponse};
pub use self::response::PlatformResponse;
pub(crate) use self::secrets::forms;

/// Most bytes of a response body.
pub const ANSWER_BYTES_MAX: usize = 16 << 20;

/// Most attempts per request, if the request may be repeated.
const TRIES_MAX: u32 = 3;

/// Longest time that a call waits because the platform asked for a pause; beyond it the call fails at once.
const WAITED_OUT_MAX: Duration = Duration::from_secs(5);

/// Most bytes of platform text in a failure's detail.
const DETAIL_BYTES_MAX: usize = 512;

/// Most bytes of a host name in a failure's detail.
const HOST_BYTES_MAX: usize = 255;

/// The HTTP client for one account's platform.
pub struct PlatformClient {
    outside: Arc<ClientPool>,
    base: BaseUrl,
    also: Vec<BaseUrl>,
    limits: PlatformLimits,
    secrets: Secrets,
    meter: AccountMeter,
    permits: Semaphore,
    /// A call that waits for a token holds the lock; other calls queue behind it.
    bucket: Option<tokio::sync::Mutex<Bucket>>,
    allowances: Allowances,
    standing: Mutex<Standing>,
    jitter: Jitter,
    judge: Option<Judge>,
    /// Whether failures include the raw text of a response: only if an operator set the address.
    tells_text: bool,
}

/// Tells whether a response means that the platform fails, whatever its status.
pub(crate) type Judge = Box<dyn Fn(&PlatformResponse) -> bool + Send + Sync>;

/// A request to a platform.
pub struct PlatformRequest {
    /// Kind of call, for quotas and metrics.
    pub kind: CallKind,
    /// HTTP method.
    pub method: Method,
    /// A path and perhaps a query behind the base URL, or an absolute URL on an allowed origin.
    pub target: String,
    /// Headers, credentials included.
    pub headers: HeaderMap,
    /// Body; may be empty.
    pub body: Bytes,
    /// Whether the request may be sent twice. Safe methods may in any case.
    pub is_repeatable: bool,
}

impl PlatformClient {
    /// A client for `base`, within `limits`. The account's secrets are hidden in every text about the platform.
    pub fn new(
        outside: Arc<ClientPool>,
        connector: &ConnectorName,
        base: BaseUrl,
        limits: PlatformLimits,
        meter: AccountMeter,
        secrets: Vec<Zeroizing<String>>,
    ) -> Self {
        let n_permits = (limits.calls_at_once.max(1) as usize).min(Semaphore::MAX_PERMITS);
        let bucket = limits.calls_per_second.map(|rate| {
            // Another server may just have used a share that became this server's a moment ago.
            let filled_within = Duration::try_from_secs_f64(f64::from(limits.burst) / rate);
            let (filled_within, now) = (filled_within.unwrap_or(Duration::MAX), Instant::now());
            let slice = outside.slice().narrowest_for(filled_within, now.into_std());
            Bucket::new(rate, limits.burst, slice, now)
        });
        let host = base.host_and_port();
        let allowances = Allowances::new(&limits.quotas, connector, &host, &outside.quotas);
        Self {
            outside,
            base,
            also: Vec::new(),
            limits,
            secrets: Secrets::new(secrets),
            meter,
            permits: Semaphore::new(n_permits),
            bucket: bucket.map(tokio::sync::Mutex::new),
            allowances,
            standing: Mutex::default(),
            jitter: Jitter::new(),
            judge: None,
            tells_text: true,
        }
    }

    /// Also allows absolute URLs on this origin: a token issuer, say.
    pub fn and_to(mut self, other: BaseUrl) -> Self {
        self.also.push(other);
        self
    }

    /// Sets who chose the platform's address: an operator, or an admin of the tenant.
    pub fn address_source(mut self, address_source: AddressSource) -> Self {
        self.tells_text = address_source == AddressSource::Operator;
        self
    }

    /// Sets a check for failures that the status doesn't show.
    pub(crate) fn judged_by(mut self, judge: Judge) -> Self {
        self.judge = Some(judge);
        self
    }

    /// Reads a list at `target`: a path and perhaps a query, behind the base URL.
    pub async fn get(
        &self,
        ask: CallContext,
        target: &str,
        headers: HeaderMap,
    ) -> Result<PlatformResponse, Failure> {
        let (kind, method, target) = (CallKind::List, Method::GET, target.to_owned());
        let (body, is_repeatable) = (Bytes::new(), true);
        self.send(ask, PlatformRequest { kind, method, target, headers, body, is_repeatable }).await
    }

    /// Sends a request, with retries where they may help. Returns a response of any status.
    pub async fn send(
        &self,
        ask: CallContext,
        request: PlatformRequest,
    ) -> Result<PlatformResponse, Failure> {
        self.send_hiding(ask, Vec::new(), request).await
    }

    /// Sends a request that holds further secrets, such as a log-in's token.
    pub(crate) async fn send_hiding(
        &self,
        ask: CallContext,
        further: Vec<Zeroizing<String>>,
        request: PlatformRequest,
    ) -> Result<PlatformResponse, Failure> {
        let url = self.locate(&request.target)?;
        let secrets = self.secrets.and(further).and_of(&request.headers);
        let is_repeatable = request.is_repeatable || request.method.is_safe();
        let mut tried = self.attempt(ask, &request, &url, &secrets).await;
        for retry in 0..TRIES_MAX - 1 {
            let at_least = match &tried {
                Ok(answer) if is_passing(answer.status) => answer.retry_after(),
                Err(mishap) if mishap.is_passing => None,
                _ => break,
            };
            let pause = self.jitter.pause(retry).max(at_least.unwrap_or_default());
            let Some(resume) = Instant::now().checked_add(pause) else { break };
            // A retry must be able to succeed in time.
            let is_worth_it = is_repeatable && resume < ask.deadline && self.look(resume).is_ok();
            if !is_worth_it {
                break;
            }
            sleep_until(resume).await;
            match self.attempt(ask, &request, &url, &secrets).await {
                // The platform's response says more than a retry that was not sent.
                Err(mishap) if !mishap.is_made => break,
                other => tried = other,
            }
            self.meter.count_retry();
        }
        tried.map_err(|mishap| mishap.failure)
    }

    /// Absolute URL of a link in a response, absolute or relative to the target `from`. Refuses links to other origins.
    pub fn follow(&self, from: &str, link: &str) -> Result<String, Failure> {
        let bad = |words: String| Failure::new(FailureKind::Error, words);
        let Ok(mut next) = self.locate(from)?.join(link) else {
            return Err(bad("the platform gives a link that is no address".into()));
        };
        if !self.base.is_origin_of(&next) {
            // The host alone: the rest may hold secrets.
            let Some(host) = next.host_str() else {
                return Err(bad("the platform gives a link that leads to no host".into()));
            };
            let host = self.secrets.clean(host.as_bytes(), HOST_BYTES_MAX);
            return Err(bad(format!(
                "the platform leads to `{host}`, where the account's credentials must not go"
            )));
        }
        if !next.username().is_empty() || next.password().is_some() {
            let words = "the platform gives a link with a user name or password in it, and who asks is \
                         for the account to say";
            return Err(bad(words.into()));
        }
        next.set_fragment(None);
        Ok(next.into())
    }

    /// URL of a target on an allowed origin.
    fn locate(&self, target: &str) -> Result<Url, Failure> {
        let also = || {
            let url = address::whole(target)?;
            self.also.iter().any(|it| it.is_origin_of(&url)).then_some(url)
        };
        self.base.join(target).or_else(also).ok_or_else(|| {
            // The host alone: the rest may hold secrets.
            let host = address::whole(target).and_then(|it| it.host_str().map(str::to_owned));
            let told = host.map(|host| {
                format!(" (`{}`)", self.secrets.clean(host.as_bytes(), HOST_BYTES_MAX))
            });
            let told = told.unwrap_or_default();
            Failure::new(
                FailureKind::Error,
                format!("what was to be asked is not at the account's platform{told}"),
            )
        })
    }

    /// Sends a request once, and follows redirects.
    async fn attempt(
        &self,
        ask: CallContext,
        request: &PlatformRequest,
        url: &Url,
        secrets: &Secrets,
    ) -> Result<PlatformResponse, Mishap> {
        self.wait_out(ask).await;
        self.look(Instant::now()).map_err(|failure| self.not_made(failure))?;
        let _permit = self.turn(ask).await.map_err(|failure| self.not_made(failure))?;
        let (mut url, mut n_redirects) = (url.clone(), 0);
        loop {
            if Instant::now() >= ask.deadline {
                let words = "there was no time left to ask the platform";
                return Err(Mishap::before(Failure::new(FailureKind::Timeout, words)));
            }
            let client = self.outside.client(&url).map_err(|why| {
                let why = format!("the platform is not asked: {why}");
                Mishap::before(Failure::new(FailureKind::Error, why))
            })?;
            self.token(ask).await.map_err(|failure| self.not_made(failure))?;
            let room = self.allowances.room(ask, request.kind).await;
            let room = room.map_err(|failure| self.not_made(failure))?;
            let turn = self.outside.turn(ask, self.meter.tenant()).await;
            let _turn = turn.map_err(|failure| self.not_made(failure))?;
            // Counted only now, when the call is really made.
            room.take(Instant::now());
            let call = Call::begin(ask, &self.standing, &self.meter);
            let call = call.map_err(|failure| self.not_made(failure))?;
            let exchange =
                exchange(ask, (&self.outside, self.meter.tenant()), client, request, &url, secrets);
            let began = Instant::now();
            let mut result = exchange.instrument(span()).await;
            if let Ok(answer) = &mut result {
                answer.tells_text = self.tells_text;
                let wait = self.limits.wait.as_ref();
                answer.reset_after =
                    wait.and_then(|wait| reset_after(answer.status, &answer.headers, wait));
            }
            let result = call.end(result, self.judge.as_ref());
            self.show(request, &url, secrets, &result, began.elapsed());
            let answer = result?;
            match redirect::next(request, &url, &answer, n_redirects) {
                Ok(None) => return Ok(answer),
                Ok(Some(next)) => url = next,
                Err(why) => return Err(Mishap::lasting(answer.error(why))),
            }
            n_redirects += 1;
        }
    }

    /// Shows a call to the observer, if the request was sent.
    fn show(
        &self,
        request: &PlatformRequest,
        url: &Url,
        secrets: &Secrets,
        result: &Result<PlatformResponse, Mishap>,
        took: Duration,
    ) {
        let Some(witness) = &self.outside.witness else { return };
        let result = match result {
            Ok(answer) => Ok(answer),
            Err(mishap) if mishap.is_made => Err(&mishap.failure),
            Err(_) => return,
        };
        let account = self.meter.account();
        witness.saw(&Exchange::new(account, request, url, secrets, result, took));
    }

    /// Waits until the platform's requested pause ends, if that is soon.
    async fn wait_out(&self, ask: CallContext) {
        loop {
            let until = self.standing.lock().quiet_until();
            let now = Instant::now();
            let soon = ask.deadline.min(now + WAITED_OUT_MAX);
            match until.filter(|it| (now..soon).contains(it)) {
                Some(until) => sleep_until(until).await,
                None => return,
            }
        }
    }

    /// Checks whether the platform may be called at a time, as far as can be foreseen.
    fn look(&self, now: Instant) -> Result<(), Failure> {
        self.standing.lock().look(now)
    }

    /// Waits for one of the account's concurrent calls.
    async fn turn(&self, ask: CallContext) -> Result<SemaphorePermit<'_>, Failure> {
        let permit = timeout_at(ask.deadline, self.permits.acquire()).await;
        // The semaphore is never closed, so only the deadline can pass.
        permit.ok().and_then(Result::ok).ok_or_else(|| {
            let n_calls = self.limits.calls_at_once.max(1);
            let words = format!(
                "there was no time left when it was this call's turn: {n_calls} may run at once"
            );
            Failure::new(FailureKind::Timeout, words)
        })
    }

    /// Waits for a token of the rate limit.
    async fn token(&self, ask: CallContext) -> Result<(), Failure> {
        let Some(bucket) = &self.bucket else { return Ok(()) };
        let take = async {
            let mut bucket = bucket.lock().await;
            loop {
                let now = Instant::now();
                let slice = self.outside.slice().get();
                let Err(wait) = bucket.take(slice, now) else { return true };
                match now.checked_add(wait) {
                    Some(then) if then < ask.deadline => sleep_until(then).await,
                    _ => return false,
                }
            }
        };
        if timeout_at(ask.deadline, take).await.unwrap_or(false) {
            return Ok(());
        }
        let rate = self.limits.calls_per_second.unwrap_or_default();
        let share = allowance::share(self.outside.slice().get());
        let words = format!("the account's own budget of {rate} calls a second is spent{share}");
        Err(Failure::new(FailureKind::Throttled, words))
    }

    /// Counts a call that was not made because of the platform's pause or a budget.
    fn not_made(&self, failure: Failure) -> Mishap {
        match failure.kind {
            FailureKind::Open => self.meter.count(Outcome::Refused),
            FailureKind::Throttled => self.meter.count_throttled(),
            // The deadline passed in a queue.
            _ => {}
        }
        Mishap::before(failure)
    }
}

fn span() -> Span {
    // A call that serves no request belongs to no trace.
    if Span::current().is_none() { Span::none() } else { tracing::info_span!("platform call") }
}

impl fmt::Debug for PlatformClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlatformClient").field("base", &self.base).finish_non_exhaustive()
    }
}

impl fmt::Debug for PlatformRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Other fields may hold secrets, the query too.
        f.debug_struct("Request").field("method", &self.method).finish_non_exhaustive()
    }
}

/// Whether a retry may get another response than this status.
fn is_passing(status: StatusCode) -> bool {
    matches!(status.as_u16(), 429 | 502 | 503 | 504)
}

#[cfg(test)]
pub(crate) mod tests;
