//! The HTTP client for one account's platform: guarded, bounded, with retries.
//!
//! Each call checks the address (`address.rs`, `resolver.rs`, `address_scope.rs`, `network.rs`), the account's limits
//! (`bucket.rs`), the platform's quotas (`quota.rs`, `allowance.rs`) and the results of earlier calls (`call_gate.rs`,
//! `breaker.rs`), and retries with pauses (`pause.rs`) until the deadline. Texts about a platform hide secrets
//! (`secrets.rs`), also for observers (`observer.rs`).

mod address;
mod address_scope;
mod allowance;
pub(super) mod authorities;
mod breaker;
mod bucket;
mod call;
mod call_gate;
mod callback;
mod client_pool;
mod document;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod network;
mod observer;
mod pause;
mod quota;
mod redirect;
mod resolver;
mod response;
mod secrets;
mod transport_error;

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
use self::call::{AttemptError, Call, exchange};
use self::call_gate::CallGate;
use self::pause::{Jitter, reset_after};
use self::secrets::Secrets;
use crate::connector::{CallContext, CallKind, PlatformLimits};
use crate::failure::{Failure, FailureKind};
use crate::meter::{AccountMeter, Outcome};

pub use self::address::{AddressRules, AddressUse, BadUrl, BaseUrl};
pub use self::callback::{BadCallback, CallbackClient, CallbackResponse, NotDelivered};
pub use self::client_pool::ClientPool;
pub(crate) use self::document::{Document, Members};
pub use self::network::{BadNetwork, Network};
pub use self::observer::{Exchange, Observer, ShownResponse};
pub use self::response::PlatformResponse;
pub(crate) use self::secrets::forms;

/// Most bytes of a response body.
pub const RESPONSE_BYTES_MAX: usize = 16 << 20;

/// Most attempts per request, if the request may be repeated.
const ATTEMPTS_MAX: u32 = 3;

/// Longest time that a call waits because the platform asked for a pause; beyond it the call fails at once.
const PAUSE_WAIT_MAX: Duration = Duration::from_secs(5);

/// Most bytes of platform text in a failure's detail.
const DETAIL_BYTES_MAX: usize = 512;

/// Most bytes of a host name in a failure's detail.
const HOST_BYTES_MAX: usize = 255;

/// The HTTP client for one account's platform.
pub struct PlatformClient {
    pool: Arc<ClientPool>,
    base: BaseUrl,
    extra_origins: Vec<BaseUrl>,
    limits: PlatformLimits,
    secrets: Secrets,
    meter: AccountMeter,
    permits: Semaphore,
    /// A call that waits for a token holds the lock; other calls queue behind it.
    bucket: Option<tokio::sync::Mutex<Bucket>>,
    allowances: Allowances,
    gate: Mutex<CallGate>,
    jitter: Jitter,
    failure_check: Option<FailureCheck>,
    /// Whether failures include the raw text of a response: only if an operator set the address.
    includes_text: bool,
}

/// Tells whether a response means that the platform fails, whatever its status.
pub(crate) type FailureCheck = Box<dyn Fn(&PlatformResponse) -> bool + Send + Sync>;

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
        pool: Arc<ClientPool>,
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
            let share = pool.share().smallest_within(filled_within, now.into_std());
            Bucket::new(rate, limits.burst, share, now)
        });
        let host = base.host_and_port();
        let allowances = Allowances::new(&limits.quotas, connector, &host, &pool.quotas);
        Self {
            pool,
            base,
            extra_origins: Vec::new(),
            limits,
            secrets: Secrets::new(secrets),
            meter,
            permits: Semaphore::new(n_permits),
            bucket: bucket.map(tokio::sync::Mutex::new),
            allowances,
            gate: Mutex::default(),
            jitter: Jitter::new(),
            failure_check: None,
            includes_text: true,
        }
    }

    /// Also allows absolute URLs on this origin: a token issuer, say.
    pub fn with_origin(mut self, other: BaseUrl) -> Self {
        self.extra_origins.push(other);
        self
    }

    /// Sets who chose the platform's address: an operator, or an admin of the tenant.
    pub fn address_source(mut self, address_source: AddressSource) -> Self {
        self.includes_text = address_source == AddressSource::Operator;
        self
    }

    /// Sets a check for failures that the status doesn't show.
    pub(crate) fn with_failure_check(mut self, failure_check: FailureCheck) -> Self {
        self.failure_check = Some(failure_check);
        self
    }

    /// Reads a list at `target`: a path and perhaps a query, behind the base URL.
    pub async fn get(
        &self,
        context: CallContext,
        target: &str,
        headers: HeaderMap,
    ) -> Result<PlatformResponse, Failure> {
        let (kind, method, target) = (CallKind::List, Method::GET, target.to_owned());
        let (body, is_repeatable) = (Bytes::new(), true);
        self.send(context, PlatformRequest { kind, method, target, headers, body, is_repeatable })
            .await
    }

    /// Sends a request, with retries where they may help. Returns a response of any status.
    pub async fn send(
        &self,
        context: CallContext,
        request: PlatformRequest,
    ) -> Result<PlatformResponse, Failure> {
        self.send_with_secrets(context, Vec::new(), request).await
    }

    /// Sends a request that holds further secrets, such as a log-in's token.
    pub(crate) async fn send_with_secrets(
        &self,
        context: CallContext,
        further: Vec<Zeroizing<String>>,
        request: PlatformRequest,
    ) -> Result<PlatformResponse, Failure> {
        let url = self.locate(&request.target)?;
        let secrets = self.secrets.and(further).with_header_secrets(&request.headers);
        let is_repeatable = request.is_repeatable || request.method.is_safe();
        let mut result = self.attempt(context, &request, &url, &secrets).await;
        for retry in 0..ATTEMPTS_MAX - 1 {
            let at_least = match &result {
                Ok(response) if is_transient(response.status) => response.retry_after(),
                Err(error) if error.is_transient => None,
                _ => break,
            };
            let pause = self.jitter.pause(retry).max(at_least.unwrap_or_default());
            let Some(resume) = Instant::now().checked_add(pause) else { break };
            // A retry must be able to succeed in time.
            let is_worth_it =
                is_repeatable && resume < context.deadline && self.check_gate(resume).is_ok();
            if !is_worth_it {
                break;
            }
            sleep_until(resume).await;
            match self.attempt(context, &request, &url, &secrets).await {
                // The platform's response says more than a retry that was not sent.
                Err(error) if !error.was_sent => break,
                other => result = other,
            }
            self.meter.count_retry();
        }
        result.map_err(|error| error.failure)
    }

    /// Absolute URL of a link in a response, absolute or relative to the target `from`. Refuses links to other origins.
    pub fn follow(&self, from: &str, link: &str) -> Result<String, Failure> {
        let bad = |message: String| Failure::new(FailureKind::Error, message);
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
            let message = "the platform gives a link with a user name or password in it, which only the \
                           account may set";
            return Err(bad(message.into()));
        }
        next.set_fragment(None);
        Ok(next.into())
    }

    /// URL of a target on an allowed origin.
    fn locate(&self, target: &str) -> Result<Url, Failure> {
        let on_extra_origin = || {
            let url = address::absolute_url(target)?;
            self.extra_origins.iter().any(|it| it.is_origin_of(&url)).then_some(url)
        };
        self.base.join(target).or_else(on_extra_origin).ok_or_else(|| {
            // The host alone: the rest may hold secrets.
            let host =
                address::absolute_url(target).and_then(|it| it.host_str().map(str::to_owned));
            let named_host = host.map(|host| {
                format!(" (`{}`)", self.secrets.clean(host.as_bytes(), HOST_BYTES_MAX))
            });
            let named_host = named_host.unwrap_or_default();
            Failure::new(
                FailureKind::Error,
                format!("the requested address is not on the account's platform{named_host}"),
            )
        })
    }

    /// Sends a request once, and follows redirects.
    async fn attempt(
        &self,
        context: CallContext,
        request: &PlatformRequest,
        url: &Url,
        secrets: &Secrets,
    ) -> Result<PlatformResponse, AttemptError> {
        self.wait_for_pause_end(context).await;
        self.check_gate(Instant::now()).map_err(|failure| self.count_not_sent(failure))?;
        let _permit =
            self.account_permit(context).await.map_err(|failure| self.count_not_sent(failure))?;
        let (mut url, mut n_redirects) = (url.clone(), 0);
        loop {
            if Instant::now() >= context.deadline {
                let message = "the deadline passed before the platform could be called";
                return Err(AttemptError::not_sent(Failure::new(FailureKind::Timeout, message)));
            }
            let client = self.pool.client(&url).map_err(|why| {
                let why = format!("the platform is not called: {why}");
                AttemptError::not_sent(Failure::new(FailureKind::Error, why))
            })?;
            self.take_token(context).await.map_err(|failure| self.count_not_sent(failure))?;
            let reservation = self.allowances.reserve(context, request.kind).await;
            let reservation = reservation.map_err(|failure| self.count_not_sent(failure))?;
            let call_permit = self.pool.call_permit(context, self.meter.tenant()).await;
            let _call_permit = call_permit.map_err(|failure| self.count_not_sent(failure))?;
            // Counted only now, when the call is really made.
            reservation.commit(Instant::now());
            let call = Call::begin(context, &self.gate, &self.meter);
            let call = call.map_err(|failure| self.count_not_sent(failure))?;
            let exchange = exchange(
                context,
                (&self.pool, self.meter.tenant()),
                client,
                request,
                &url,
                secrets,
            );
            let began = Instant::now();
            let mut result = exchange.instrument(span()).await;
            if let Ok(response) = &mut result {
                response.includes_text = self.includes_text;
                let wait = self.limits.wait.as_ref();
                response.reset_after =
                    wait.and_then(|wait| reset_after(response.status, &response.headers, wait));
            }
            let result = call.end(result, self.failure_check.as_ref());
            self.show(request, &url, secrets, &result, began.elapsed());
            let response = result?;
            match redirect::next(request, &url, &response, n_redirects) {
                Ok(None) => return Ok(response),
                Ok(Some(next)) => url = next,
                Err(why) => return Err(AttemptError::permanent(response.error(why))),
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
        result: &Result<PlatformResponse, AttemptError>,
        took: Duration,
    ) {
        let Some(observer) = &self.pool.observer else { return };
        let result = match result {
            Ok(response) => Ok(response),
            Err(error) if error.was_sent => Err(&error.failure),
            Err(_) => return,
        };
        let account = self.meter.account();
        observer.observe(&Exchange::new(account, request, url, secrets, result, took));
    }

    /// Waits until the platform's requested pause ends, if that is soon.
    async fn wait_for_pause_end(&self, context: CallContext) {
        loop {
            let until = self.gate.lock().paused_until();
            let now = Instant::now();
            let soon = context.deadline.min(now + PAUSE_WAIT_MAX);
            match until.filter(|it| (now..soon).contains(it)) {
                Some(until) => sleep_until(until).await,
                None => return,
            }
        }
    }

    /// Checks whether the platform may be called at a time, as far as can be foreseen.
    fn check_gate(&self, now: Instant) -> Result<(), Failure> {
        self.gate.lock().check(now)
    }

    /// Waits for one of the account's concurrent calls.
    async fn account_permit(&self, context: CallContext) -> Result<SemaphorePermit<'_>, Failure> {
        let permit = timeout_at(context.deadline, self.permits.acquire()).await;
        // The semaphore is never closed, so only the deadline can pass.
        permit.ok().and_then(Result::ok).ok_or_else(|| {
            let n_calls = self.limits.calls_at_once.max(1);
            let message = format!(
                "the deadline passed before the call could start: only {n_calls} may run at once"
            );
            Failure::new(FailureKind::Timeout, message)
        })
    }

    /// Waits for a token of the rate limit.
    async fn take_token(&self, context: CallContext) -> Result<(), Failure> {
        let Some(bucket) = &self.bucket else { return Ok(()) };
        let take = async {
            let mut bucket = bucket.lock().await;
            loop {
                let now = Instant::now();
                let share = self.pool.share().get();
                let Err(wait) = bucket.take(share, now) else { return true };
                match now.checked_add(wait) {
                    Some(then) if then < context.deadline => sleep_until(then).await,
                    _ => return false,
                }
            }
        };
        if timeout_at(context.deadline, take).await.unwrap_or(false) {
            return Ok(());
        }
        let rate = self.limits.calls_per_second.unwrap_or_default();
        let share = allowance::share_note(self.pool.share().get());
        let message = format!("the account's own budget of {rate} calls a second is spent{share}");
        Err(Failure::new(FailureKind::Throttled, message))
    }

    /// Counts a call that was not made because of the platform's pause or a budget.
    fn count_not_sent(&self, failure: Failure) -> AttemptError {
        match failure.kind {
            FailureKind::Open => self.meter.count(Outcome::NotSent),
            FailureKind::Throttled => self.meter.count_throttled(),
            // The deadline passed in a queue.
            _ => {}
        }
        AttemptError::not_sent(failure)
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
fn is_transient(status: StatusCode) -> bool {
    matches!(status.as_u16(), 429 | 502 | 503 | 504)
}

#[cfg(test)]
pub(crate) mod tests;
