//! One call: a request that is sent once, and what it shows about the platform.

use std::sync::{Arc, OnceLock};

use bytes::BytesMut;
use gatehouse_core::TenantName;
use http::StatusCode;
use parking_lot::Mutex;
use reqwest::{Client, Url};
use tokio::time::{Instant, timeout_at};

use super::breaker::{Pass, Verdict};
use super::client_pool::LARGE_BYTES;
use super::secrets::Secrets;
use super::standing::Standing;
use super::{
    ANSWER_BYTES_MAX, ClientPool, DETAIL_BYTES_MAX, Judge, PlatformRequest, PlatformResponse, words,
};
use crate::connector::CallContext;
use crate::failure::{Failure, FailureKind};
use crate::meter::{AccountMeter, InFlight, Outcome};

const NO_ANSWER: &str = "the platform did not answer in time";

/// A call under way. Dropping it cancels it, without blocking other calls.
pub(in crate::client) struct Call<'a> {
    standing: &'a Mutex<Standing>,
    meter: &'a AccountMeter,
    pass: Option<Pass>,
    began: Instant,
    deadline: Instant,
    _in_flight: InFlight,
}

impl<'a> Call<'a> {
    /// Begins a call, if the circuit admits it.
    pub(in crate::client) fn begin(
        ask: CallContext,
        standing: &'a Mutex<Standing>,
        meter: &'a AccountMeter,
    ) -> Result<Self, Failure> {
        let began = Instant::now();
        let mut locked = standing.lock();
        let pass = Some(locked.admit(began)?);
        meter.show(locked.circuit());
        let (deadline, in_flight) = (ask.deadline, meter.in_flight());
        Ok(Self { standing, meter, pass, began, deadline, _in_flight: in_flight })
    }

    /// Records the result.
    pub(in crate::client) fn end(
        mut self,
        result: Result<PlatformResponse, Mishap>,
        judge: Option<&Judge>,
    ) -> Result<PlatformResponse, Mishap> {
        match &result {
            Ok(answer) => self.answered(answer, judge.is_some_and(|judge| judge(answer))),
            Err(mishap) => {
                let is_timeout = mishap.failure.kind == FailureKind::Timeout;
                let outcome = if is_timeout { Outcome::Timeout } else { Outcome::Error };
                let is_late = is_timeout && mishap.verdict == Verdict::Fails;
                let verdict = if is_late { self.blame() } else { mishap.verdict };
                self.settle(outcome, verdict, &mishap.failure.detail);
                return result.map_err(|mishap| mishap.with(verdict));
            }
        }
        result
    }

    /// Verdict on a platform that has not responded until now.
    fn blame(&self) -> Verdict {
        let had_a_chance = self.began.elapsed() >= self.standing.lock().chance();
        if had_a_chance { Verdict::Fails } else { Verdict::Unknown }
    }

    /// Records a response; `is_failure` if the failure check says so, whatever the status.
    fn answered(&mut self, answer: &PlatformResponse, is_failure: bool) {
        let status = answer.status;
        let (outcome, verdict) = match status {
            _ if is_failure => (Outcome::Error, Verdict::Fails),
            StatusCode::TOO_MANY_REQUESTS => (Outcome::Throttled, Verdict::Works),
            // A missing object is a normal response.
            StatusCode::NOT_FOUND => (Outcome::Ok, Verdict::Works),
            _ if status.is_server_error() => (Outcome::Error, Verdict::Fails),
            _ if status.is_client_error() => (Outcome::Error, Verdict::Works),
            _ => (Outcome::Ok, Verdict::Works),
        };
        let wants_quiet = status == StatusCode::TOO_MANY_REQUESTS || answer.reset_after.is_some();
        if wants_quiet && let Some(quiet) = answer.retry_after() {
            self.standing.lock().keep_quiet(quiet, Instant::now());
        }
        let what = if is_failure { " with a failure" } else { "" };
        self.settle(outcome, verdict, &format!("it answered {}{what}", status.as_u16()));
    }

    fn settle(&mut self, outcome: Outcome, verdict: Verdict, why: &str) {
        let now = self.let_go(verdict, why);
        let took = now - self.began;
        match (outcome, verdict) {
            (Outcome::Ok, _) => {
                self.standing.lock().took(took);
                self.meter.latency().take(took);
            }
            // A lower bound of the latency.
            (Outcome::Timeout, Verdict::Fails) => self.meter.latency().take(took),
            // A quick rejection says nothing about the latency of real work.
            _ => {}
        }
        self.meter.observe(outcome, took);
    }

    /// Returns the pass to the breaker.
    fn let_go(&mut self, verdict: Verdict, why: &str) -> Instant {
        let now = Instant::now();
        if let Some(pass) = self.pass.take() {
            let mut standing = self.standing.lock();
            standing.settle(pass, verdict, why, now);
            self.meter.show(standing.circuit());
        }
        now
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        if self.pass.is_none() {
            return;
        }
        let now = Instant::now();
        // A caller's own timeout may fire just before the client's.
        if now >= self.deadline {
            self.settle(Outcome::Timeout, self.blame(), NO_ANSWER);
        } else {
            self.let_go(Verdict::Unknown, NO_ANSWER);
        }
    }
}

/// An attempt that failed.
pub(in crate::client) struct Mishap {
    pub(in crate::client) failure: Failure,
    /// Whether the request was sent.
    pub(in crate::client) is_made: bool,
    /// Whether a retry may succeed.
    pub(in crate::client) is_passing: bool,
    /// What the failure shows about the platform.
    verdict: Verdict,
}

impl Mishap {
    /// The request was not sent.
    pub(in crate::client) fn before(failure: Failure) -> Self {
        Self { failure, is_made: false, is_passing: false, verdict: Verdict::Unknown }
            .with(Verdict::Unknown)
    }

    /// Sets the verdict. A failure that shows nothing about the platform is this server's, unless the circuit is open.
    fn with(mut self, verdict: Verdict) -> Self {
        self.verdict = verdict;
        self.failure.is_ours =
            verdict == Verdict::Unknown && self.failure.kind != FailureKind::Open;
        self
    }

    /// The platform responded, and would respond alike to a retry.
    pub(in crate::client) fn lasting(failure: Failure) -> Self {
        Self { failure, is_made: true, is_passing: false, verdict: Verdict::Works }
    }

    /// This server has no capacity for the response.
    fn crowded(failure: Failure) -> Self {
        Self { failure, is_made: true, is_passing: false, verdict: Verdict::Unknown }
            .with(Verdict::Unknown)
    }

    /// The deadline passed. Whether the platform had enough time is for [`Call::end`] to say.
    fn late(words: impl Into<String>) -> Self {
        let failure = Failure::new(FailureKind::Timeout, words);
        Self { failure, is_made: true, is_passing: false, verdict: Verdict::Fails }
    }

    /// The connection failed, or this server could not open one.
    fn broken(error: reqwest::Error, outside: &ClientPool, secrets: &Secrets) -> Self {
        let trouble = words::trouble(error);
        let verdict = match &trouble.lack {
            Some(lack) => {
                outside.tell_of_lack(lack);
                Verdict::Unknown
            }
            None => Verdict::Fails,
        };
        let kind = if trouble.is_timeout { FailureKind::Timeout } else { FailureKind::Error };
        // The text may repeat what the platform sent.
        let words = secrets.clean(trouble.words.as_bytes(), DETAIL_BYTES_MAX);
        let failure = Failure::new(kind, words);
        Self { failure, is_made: true, is_passing: trouble.is_passing, verdict }.with(verdict)
    }
}

/// Sends a request and reads the whole response.
pub(in crate::client) async fn exchange(
    ask: CallContext,
    (outside, tenant): (&ClientPool, &TenantName),
    client: &Client,
    request: &PlatformRequest,
    url: &Url,
    secrets: &Secrets,
) -> Result<PlatformResponse, Mishap> {
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
    let sent = sent.build().map_err(|_| {
        let words = "the request can't be written as HTTP";
        Mishap::before(Failure::new(FailureKind::Error, words))
    })?;
    let response = timeout_at(ask.deadline, client.execute(sent)).await;
    let response = response.map_err(|_| Mishap::late(NO_ANSWER))?;
    let mut response = response.map_err(|error| Mishap::broken(error, outside, secrets))?;
    let announced = response.content_length().unwrap_or_default();
    if announced > ANSWER_BYTES_MAX as u64 {
        return Err(too_large());
    }
    // Allocates the announced length at once, up to the size of a large response.
    let n_bytes = usize::try_from(announced).unwrap_or(LARGE_BYTES).min(LARGE_BYTES);
    let (mut body, mut place) = (BytesMut::with_capacity(n_bytes), None);
    loop {
        let chunk = timeout_at(ask.deadline, response.chunk()).await.map_err(|_| {
            let n_bytes = body.len();
            let words =
                format!("the platform did not finish its answer in time: {n_bytes} bytes came");
            Mishap::late(words)
        })?;
        let Some(chunk) = chunk.map_err(|error| Mishap::broken(error, outside, secrets))? else {
            break;
        };
        if body.len() + chunk.len() > ANSWER_BYTES_MAX {
            return Err(too_large());
        }
        if place.is_none() && body.len() + chunk.len() > LARGE_BYTES {
            place = Some(outside.place(ask, tenant).await.map_err(Mishap::crowded)?);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(PlatformResponse {
        status: response.status(),
        headers: std::mem::take(response.headers_mut()),
        body: body.freeze(),
        document: OnceLock::new(),
        reset_after: None,
        tells_text: false,
        secrets: secrets.clone(),
        _place: place.map(Arc::new),
    })
}
