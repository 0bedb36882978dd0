//! The way out to one account's platform: guarded, bounded and patient.
//!
//! Around each call: an address that may be gone to (`address.rs`, `resolver.rs`), the account's budgets
//! (`bucket.rs`), a circuit breaker (`breaker.rs`), retries with pauses (`pause.rs`), and an end to
//! everything at the deadline. What a platform says is told without secrets (`secrets.rs`).

mod address;
mod answer;
mod breaker;
mod bucket;
mod outside;
mod pause;
mod resolver;
mod secrets;
mod words;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::LOCATION;
use http::{HeaderMap, Method, StatusCode};
use reqwest::{Client, Url};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, sleep_until, timeout_at};
use tracing::{Instrument, Span};
use zeroize::Zeroizing;

use self::breaker::{Breaker, Pass, Shut, Verdict};
use self::bucket::Bucket;
use self::pause::{Jitter, retry_after};
use self::secrets::Secrets;
use crate::connector::{Ask, Limits};
use crate::failure::{Failure, FailureKind};
use crate::meter::{AccountMeter, InFlight, Outcome};

pub use self::address::{BadUrl, BaseUrl};
pub use self::answer::Answer;
pub(crate) use self::breaker::Circuit;
pub use self::outside::Outside;

/// Most bytes of an answer's body.
pub const ANSWER_BYTES_MAX: usize = 16 << 20;

/// How often one question is asked in all, where it may be asked again.
const TRIES_MAX: u32 = 3;

/// How many redirects of one question are followed.
const REDIRECTS_MAX: usize = 3;

/// The longest that an account isn't asked because its platform said so once.
const QUIET_MAX: Duration = Duration::from_secs(60);

/// A call that had less time than this and got no answer says nothing about the platform.
const CHANCE_MIN: Duration = Duration::from_millis(250);

/// The way out to one account's platform.
pub struct Line {
    outside: Arc<Outside>,
    base: BaseUrl,
    also: Vec<BaseUrl>,
    limits: Limits,
    secrets: Secrets,
    meter: AccountMeter,
    permits: Semaphore,
    /// Whoever waits for a token holds it, and the others stand in line behind.
    bucket: Option<tokio::sync::Mutex<Bucket>>,
    standing: Mutex<Standing>,
    jitter: Jitter,
}

/// What is asked of a platform.
pub struct Request {
    /// What to do with what is there.
    pub method: Method,
    /// Where: a path and perhaps a query behind the base URL, or a whole address that the line may go to.
    pub target: String,
    /// What is said about the request. Credentials are among them.
    pub headers: HeaderMap,
    /// What is sent along.
    pub body: Bytes,
    /// Whether asking twice is the same as asking once. Methods that only look are so in any case.
    pub is_repeatable: bool,
}

/// What the calls so far have shown.
#[derive(Default)]
struct Standing {
    breaker: Breaker,
    /// What the last call failed with.
    why: String,
    /// Until when the platform wants to be left alone.
    quiet_until: Option<Instant>,
}

/// A try that came to nothing.
struct Mishap {
    failure: Failure,
    /// Whether the platform was asked at all.
    is_made: bool,
    /// Whether another try may come to something.
    is_passing: bool,
    /// What it says about the platform.
    verdict: Verdict,
}

impl Line {
    /// A way to `base`, within `limits`. The secrets are the ones that it proves with who it is: they
    /// are left out of everything that is told about the platform.
    pub fn new(
        outside: Arc<Outside>,
        base: BaseUrl,
        limits: Limits,
        meter: AccountMeter,
        secrets: Vec<Zeroizing<String>>,
    ) -> Self {
        let n_permits = (limits.calls_at_once.max(1) as usize).min(Semaphore::MAX_PERMITS);
        let bucket =
            limits.calls_per_second.map(|rate| Bucket::new(rate, limits.burst, Instant::now()));
        Self {
            outside,
            base,
            also: Vec::new(),
            limits,
            secrets: Secrets::new(secrets),
            meter,
            permits: Semaphore::new(n_permits),
            bucket: bucket.map(tokio::sync::Mutex::new),
            standing: Mutex::default(),
            jitter: Jitter::new(),
        }
    }

    /// The same, which may also go to whole addresses there: to an issuer of tokens, say.
    pub fn and_to(mut self, other: BaseUrl) -> Self {
        self.also.push(other);
        self
    }

    /// Asks for what is at `target`: a path and perhaps a query, behind the base URL.
    pub async fn get(&self, ask: Ask, target: &str, headers: HeaderMap) -> Result<Answer, Failure> {
        let (method, target) = (Method::GET, target.to_owned());
        self.send(ask, Request { method, target, headers, body: Bytes::new(), is_repeatable: true })
            .await
    }

    /// Asks, and asks again where that may help. An answer is given back with whatever status it has.
    pub async fn send(&self, ask: Ask, request: Request) -> Result<Answer, Failure> {
        let url = self.locate(&request.target)?;
        let secrets = self.secrets.and_of(&request.headers);
        let is_repeatable = request.is_repeatable || request.method.is_safe();
        let mut tried = self.attempt(ask, &request, &url, &secrets).await;
        for retry in 0..TRIES_MAX - 1 {
            let at_least = match &tried {
                Ok(answer) if is_passing(answer.status) => retry_after(&answer.headers),
                Err(mishap) if mishap.is_passing => None,
                _ => break,
            };
            let pause = self.jitter.pause(retry).max(at_least.unwrap_or_default());
            let Some(resume) = Instant::now().checked_add(pause) else { break };
            // What can't help any more is not waited for.
            let is_worth_it = is_repeatable && resume < ask.deadline && self.look(resume).is_ok();
            if !is_worth_it {
                break;
            }
            sleep_until(resume).await;
            match self.attempt(ask, &request, &url, &secrets).await {
                // What the platform did tells more than that it wasn't asked again.
                Err(mishap) if !mishap.is_made => break,
                other => tried = other,
            }
            self.meter.count_retry();
        }
        tried.map_err(|mishap| mishap.failure)
    }

    /// The address of a target, where this line may go to.
    fn locate(&self, target: &str) -> Result<Url, Failure> {
        let also = || {
            let url = address::whole(target)?;
            self.also.iter().any(|it| it.is_origin_of(&url)).then_some(url)
        };
        self.base.join(target).or_else(also).ok_or_else(|| {
            // The rest of it may hold what nobody is to read.
            let host = address::whole(target).and_then(|it| it.host_str().map(str::to_owned));
            let told =
                host.map(|host| format!(" (`{}`)", self.secrets.clean(host.as_bytes(), 255)));
            let told = told.unwrap_or_default();
            Failure::new(
                FailureKind::Error,
                format!("what was to be asked is not at the account's platform{told}"),
            )
        })
    }

    /// Asks once, redirects included.
    async fn attempt(
        &self,
        ask: Ask,
        request: &Request,
        url: &Url,
        secrets: &Secrets,
    ) -> Result<Answer, Mishap> {
        self.look(Instant::now()).map_err(|failure| self.not_made(failure))?;
        let _permit = self.turn(ask).await.map_err(|failure| self.not_made(failure))?;
        let mut url = url.clone();
        for _ in 0..=REDIRECTS_MAX {
            if Instant::now() >= ask.deadline {
                let words = "there was no time left to ask the platform";
                return Err(Mishap::before(Failure::new(FailureKind::Timeout, words)));
            }
            let client = self.outside.client(&url).map_err(|why| {
                let why = format!("the platform is not asked: {why}");
                Mishap::before(Failure::new(FailureKind::Error, why))
            })?;
            self.token(ask).await.map_err(|failure| self.not_made(failure))?;
            let call = self.begin(ask).map_err(|failure| self.not_made(failure))?;
            let exchange = exchange(ask, client, request, &url, secrets);
            let answer = call.end(exchange.instrument(span()).await)?;
            match self.redirect(request, &url, &answer, secrets) {
                Ok(None) => return Ok(answer),
                Ok(Some(next)) => url = next,
                Err(why) => return Err(Mishap::lasting(answer.error(why))),
            }
        }
        Err(Mishap::lasting(Failure::new(
            FailureKind::Error,
            format!("the platform redirects more than {REDIRECTS_MAX} times"),
        )))
    }

    /// Whether the platform may be asked at a time, as far as can be foreseen.
    fn look(&self, now: Instant) -> Result<(), Failure> {
        self.standing().look(now)
    }

    /// Waits for one of the calls that may run at once.
    async fn turn(&self, ask: Ask) -> Result<SemaphorePermit<'_>, Failure> {
        let permit = timeout_at(ask.deadline, self.permits.acquire()).await;
        // It is never closed, so it is only ever too late.
        permit.ok().and_then(Result::ok).ok_or_else(|| {
            let n_calls = self.limits.calls_at_once.max(1);
            let words = format!(
                "there was no time left when it was this call's turn: {n_calls} may run at once"
            );
            Failure::new(FailureKind::Timeout, words)
        })
    }

    /// Waits for a token of the bucket.
    async fn token(&self, ask: Ask) -> Result<(), Failure> {
        let Some(bucket) = &self.bucket else { return Ok(()) };
        let take = async {
            let mut bucket = bucket.lock().await;
            loop {
                let now = Instant::now();
                let Err(wait) = bucket.take(now) else { return true };
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
        Err(Failure::new(
            FailureKind::Throttled,
            format!("the account's own budget of {rate} calls a second is spent"),
        ))
    }

    /// Begins a call, if the breaker lets it through.
    fn begin(&self, ask: Ask) -> Result<Call<'_>, Failure> {
        let now = Instant::now();
        let mut standing = self.standing();
        // Things may have changed while it waited for its turn.
        standing.look(now)?;
        let pass = standing.breaker.admit(now).map_err(|shut| standing.shut(shut))?;
        self.meter.show(standing.breaker.circuit());
        let (deadline, in_flight) = (ask.deadline, self.meter.in_flight());
        Ok(Call { line: self, pass: Some(pass), began: now, deadline, _in_flight: in_flight })
    }

    /// Where an answer leads to instead, if that is where this line may follow.
    fn redirect(
        &self,
        request: &Request,
        from: &Url,
        answer: &Answer,
        secrets: &Secrets,
    ) -> Result<Option<Url>, String> {
        let status = answer.status;
        if !matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
            return Ok(None);
        }
        let told = format!("the platform answered {}", status.as_u16());
        if request.method != Method::GET {
            return Err(format!("{told}: a redirect is only followed where something is read"));
        }
        let location = answer.headers.get(LOCATION).and_then(|it| it.to_str().ok());
        let Some(next) = location.and_then(|it| from.join(it).ok()) else {
            return Err(format!("{told} without saying where to go"));
        };
        if next.origin() == from.origin() {
            return Ok(Some(next));
        }
        // The host alone: the rest may hold what nobody is to read.
        let host = secrets.clean(next.host_str().unwrap_or_default().as_bytes(), 255);
        Err(format!("{told} and leads to `{host}`, where the account's credentials must not go"))
    }

    /// Counts a call that is not made.
    fn not_made(&self, failure: Failure) -> Mishap {
        match failure.kind {
            FailureKind::Open => self.meter.count(Outcome::Refused),
            _ => self.meter.count_throttled(),
        }
        Mishap::before(failure)
    }

    fn standing(&self) -> MutexGuard<'_, Standing> {
        // Nothing panics while it is held, and every state of it is sound.
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Standing {
    fn look(&self, now: Instant) -> Result<(), Failure> {
        if let Some(until) = self.quiet_until
            && now < until
        {
            let left = until - now;
            let words =
                format!("the platform wants to be left alone for another {}", seconds(left));
            return Err(Failure::new(FailureKind::Throttled, words).with_retry_after(Some(left)));
        }
        self.breaker.look(now).map_err(|shut| self.shut(shut))
    }

    /// Why a call is not let through, and for how long still.
    fn shut(&self, shut: Shut) -> Failure {
        let why = &self.why;
        let told = format!(
            "it failed {} times or more in a row, last because {why}",
            breaker::FAILURES_MAX
        );
        let (words, left) = match shut {
            Shut::For(left) => (
                format!("the platform is left alone for another {}: {told}", seconds(left)),
                Some(left),
            ),
            Shut::Probing => {
                (format!("the platform is just being tried again with another call: {told}"), None)
            }
        };
        Failure::new(FailureKind::Open, words).with_retry_after(left)
    }
}

/// A call under way. One that nobody waits for any more is given up, and holds up no other.
struct Call<'a> {
    line: &'a Line,
    pass: Option<Pass>,
    began: Instant,
    deadline: Instant,
    _in_flight: InFlight,
}

impl Call<'_> {
    /// Takes what came of it.
    fn end(mut self, result: Result<Answer, Mishap>) -> Result<Answer, Mishap> {
        match &result {
            Ok(answer) => self.answered(answer),
            Err(mishap) => {
                let is_timeout = mishap.failure.kind == FailureKind::Timeout;
                let outcome = if is_timeout { Outcome::Timeout } else { Outcome::Error };
                self.settle(outcome, mishap.verdict, &mishap.failure.detail);
            }
        }
        result
    }

    fn answered(&mut self, answer: &Answer) {
        let status = answer.status;
        let (outcome, verdict) = match status {
            StatusCode::TOO_MANY_REQUESTS => (Outcome::Throttled, Verdict::Works),
            // There is no such thing: an answer like any other.
            StatusCode::NOT_FOUND => (Outcome::Ok, Verdict::Works),
            _ if status.is_server_error() => (Outcome::Error, Verdict::Fails),
            _ if status.is_client_error() => (Outcome::Error, Verdict::Works),
            _ => (Outcome::Ok, Verdict::Works),
        };
        if status == StatusCode::TOO_MANY_REQUESTS
            && let Some(quiet) = retry_after(&answer.headers)
        {
            let mut standing = self.line.standing();
            let until = Instant::now() + quiet.min(QUIET_MAX);
            standing.quiet_until = standing.quiet_until.max(Some(until));
        }
        self.settle(outcome, verdict, &format!("it answered {}", status.as_u16()));
    }

    fn settle(&mut self, outcome: Outcome, verdict: Verdict, why: &str) {
        let Some(pass) = self.pass.take() else { return };
        let now = Instant::now();
        let mut standing = self.line.standing();
        if verdict == Verdict::Fails {
            why.clone_into(&mut standing.why);
        }
        standing.breaker.settle(pass, verdict, now);
        self.line.meter.show(standing.breaker.circuit());
        self.line.meter.observe(outcome, now - self.began);
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        if self.pass.is_none() {
            return;
        }
        let now = Instant::now();
        // Whoever waited may have looked at the clock before this line did.
        if now >= self.deadline {
            self.settle(Outcome::Timeout, blame(now - self.began), NO_ANSWER);
            return;
        }
        let mut standing = self.line.standing();
        if let Some(pass) = self.pass.take() {
            standing.breaker.settle(pass, Verdict::Unknown, now);
            self.line.meter.show(standing.breaker.circuit());
        }
    }
}

impl Mishap {
    /// The platform was not asked.
    fn before(failure: Failure) -> Self {
        Self { failure, is_made: false, is_passing: false, verdict: Verdict::Unknown }
    }

    /// The platform is there, and would do the same again.
    fn lasting(failure: Failure) -> Self {
        Self { failure, is_made: true, is_passing: false, verdict: Verdict::Works }
    }

    /// The platform took longer than there was time.
    fn late(words: impl Into<String>, began: Instant) -> Self {
        let verdict = blame(began.elapsed());
        let failure = Failure::new(FailureKind::Timeout, words);
        Self { failure, is_made: true, is_passing: false, verdict }
    }

    /// The platform could not be reached, or broke off.
    fn broken(error: reqwest::Error, secrets: &Secrets) -> Self {
        let trouble = words::trouble(error);
        let kind = if trouble.is_timeout { FailureKind::Timeout } else { FailureKind::Error };
        // The words may repeat what the platform sent.
        let words = secrets.clean(trouble.words.as_bytes(), DETAIL_BYTES_MAX);
        let failure = Failure::new(kind, words);
        Self { failure, is_made: true, is_passing: trouble.is_passing, verdict: Verdict::Fails }
    }
}

/// Most bytes of what others say in a failure's detail.
const DETAIL_BYTES_MAX: usize = 512;

const NO_ANSWER: &str = "the platform did not answer in time";

/// Sends a request and reads all of its answer.
async fn exchange(
    ask: Ask,
    client: &Client,
    request: &Request,
    url: &Url,
    secrets: &Secrets,
) -> Result<Answer, Mishap> {
    let began = Instant::now();
    let too_large = || {
        let mib = ANSWER_BYTES_MAX >> 20;
        let words = format!("the platform answered with more than {mib} MiB");
        Mishap::lasting(Failure::new(FailureKind::Error, words))
    };
    let mut sent = client.request(request.method.clone(), url.clone());
    sent = sent.headers(request.headers.clone());
    if !request.body.is_empty() || !request.method.is_safe() {
        sent = sent.body(request.body.clone());
    }
    let response = timeout_at(ask.deadline, sent.send()).await;
    let response = response.map_err(|_| Mishap::late(NO_ANSWER, began))?;
    let mut response = response.map_err(|error| Mishap::broken(error, secrets))?;
    let announced = response.content_length().unwrap_or_default();
    if announced > ANSWER_BYTES_MAX as u64 {
        return Err(too_large());
    }
    let mut body = BytesMut::new();
    loop {
        let chunk = timeout_at(ask.deadline, response.chunk()).await.map_err(|_| {
            let n_bytes = body.len();
            let words =
                format!("the platform did not finish its answer in time: {n_bytes} bytes came");
            Mishap::late(words, began)
        })?;
        let Some(chunk) = chunk.map_err(|error| Mishap::broken(error, secrets))? else { break };
        if body.len() + chunk.len() > ANSWER_BYTES_MAX {
            return Err(too_large());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Answer {
        status: response.status(),
        headers: std::mem::take(response.headers_mut()),
        body: body.freeze(),
        secrets: secrets.clone(),
    })
}

/// Whether an answer with this status may be another one soon.
fn is_passing(status: StatusCode) -> bool {
    matches!(status.as_u16(), 429 | 502 | 503 | 504)
}

/// What it says about a platform that it gave no answer in so much time.
fn blame(waited: Duration) -> Verdict {
    if waited >= CHANCE_MIN { Verdict::Fails } else { Verdict::Unknown }
}

/// A time in words: whole seconds, and never none.
fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64().ceil().max(1.0))
}

fn span() -> Span {
    // Work that no request waits for is part of no trace.
    if Span::current().is_none() { Span::none() } else { tracing::info_span!("platform call") }
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line").field("base", &self.base).finish_non_exhaustive()
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Everything else may hold secrets, its query too.
        f.debug_struct("Request").field("method", &self.method).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
