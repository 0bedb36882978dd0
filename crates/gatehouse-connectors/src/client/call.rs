//! One call: a request that is sent once, and what it shows about the platform.

use std::sync::{Arc, OnceLock};

use bytes::BytesMut;
use gatehouse_core::TenantName;
use gatehouse_meter::GaugeGuard;
use http::StatusCode;
use parking_lot::Mutex;
use reqwest::{Client, Url};
use tokio::time::{Instant, timeout_at};

use super::breaker::{Pass, Verdict};
use super::call_gate::CallGate;
use super::client_pool::LARGE_BYTES;
use super::secrets::Secrets;
use super::{
    ClientPool, DETAIL_BYTES_MAX, FailureCheck, PlatformRequest, PlatformResponse,
    RESPONSE_BYTES_MAX, transport_error,
};
use crate::connector::CallContext;
use crate::failure::{Failure, FailureKind};
use crate::meter::{AccountMeter, Outcome};

const NO_RESPONSE: &str = "the platform did not answer in time";

/// A call under way. Dropping it cancels it, without blocking other calls.
pub(in crate::client) struct Call<'a> {
    gate: &'a Mutex<CallGate>,
    meter: &'a AccountMeter,
    pass: Option<Pass>,
    began: Instant,
    deadline: Instant,
    _in_flight: GaugeGuard,
}

impl<'a> Call<'a> {
    pub(in crate::client) fn begin(
        context: CallContext,
        gate: &'a Mutex<CallGate>,
        meter: &'a AccountMeter,
    ) -> Result<Self, Failure> {
        let began = Instant::now();
        let mut locked = gate.lock();
        let pass = Some(locked.admit(began)?);
        meter.show(locked.circuit());
        let (deadline, in_flight) = (context.deadline, meter.in_flight());
        Ok(Self { gate, meter, pass, began, deadline, _in_flight: in_flight })
    }

    pub(in crate::client) fn end(
        mut self,
        result: Result<PlatformResponse, AttemptError>,
        failure_check: Option<&FailureCheck>,
    ) -> Result<PlatformResponse, AttemptError> {
        match &result {
            Ok(response) => {
                self.record_response(response, failure_check.is_some_and(|check| check(response)))
            }
            Err(error) => {
                let is_timeout = error.failure.kind == FailureKind::Timeout;
                let outcome = if is_timeout { Outcome::Timeout } else { Outcome::Error };
                let is_late = is_timeout && error.verdict == Verdict::Fails;
                let verdict = if is_late { self.timeout_verdict() } else { error.verdict };
                self.settle(outcome, verdict, &error.failure.detail);
                return result.map_err(|error| error.with(verdict));
            }
        }
        result
    }

    /// Verdict on a platform that has not responded until now.
    fn timeout_verdict(&self) -> Verdict {
        let had_enough_time = self.began.elapsed() >= self.gate.lock().timeout_that_counts();
        if had_enough_time { Verdict::Fails } else { Verdict::Unknown }
    }

    /// Records a response; `is_failure` if the failure check says so, whatever the status.
    fn record_response(&mut self, response: &PlatformResponse, is_failure: bool) {
        let status = response.status;
        let (outcome, verdict) = match status {
            _ if is_failure => (Outcome::Error, Verdict::Fails),
            StatusCode::TOO_MANY_REQUESTS => (Outcome::Throttled, Verdict::Works),
            // A missing object is a normal response.
            StatusCode::NOT_FOUND => (Outcome::Ok, Verdict::Works),
            _ if status.is_server_error() => (Outcome::Error, Verdict::Fails),
            _ if status.is_client_error() => (Outcome::Error, Verdict::Works),
            _ => (Outcome::Ok, Verdict::Works),
        };
        let wants_pause = status == StatusCode::TOO_MANY_REQUESTS || response.reset_after.is_some();
        if wants_pause && let Some(pause) = response.retry_after() {
            self.gate.lock().pause_for(pause, Instant::now());
        }
        let what = if is_failure { " with a failure" } else { "" };
        self.settle(outcome, verdict, &format!("it answered {}{what}", status.as_u16()));
    }

    fn settle(&mut self, outcome: Outcome, verdict: Verdict, why: &str) {
        let now = self.release(verdict, why);
        let took = now - self.began;
        match (outcome, verdict) {
            (Outcome::Ok, _) => {
                self.gate.lock().record_latency(took);
                self.meter.latency().record(took);
            }
            // A lower bound of the latency.
            (Outcome::Timeout, Verdict::Fails) => self.meter.latency().record(took),
            // A quick rejection says nothing about the latency of real work.
            _ => {}
        }
        self.meter.observe(outcome, took);
    }

    /// Returns the pass to the breaker.
    fn release(&mut self, verdict: Verdict, why: &str) -> Instant {
        let now = Instant::now();
        if let Some(pass) = self.pass.take() {
            let mut gate = self.gate.lock();
            gate.settle(pass, verdict, why, now);
            self.meter.show(gate.circuit());
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
            self.settle(Outcome::Timeout, self.timeout_verdict(), NO_RESPONSE);
        } else {
            self.release(Verdict::Unknown, NO_RESPONSE);
        }
    }
}

pub(in crate::client) struct AttemptError {
    pub(in crate::client) failure: Failure,
    pub(in crate::client) was_sent: bool,
    /// Whether a retry may succeed.
    pub(in crate::client) is_transient: bool,
    /// The platform's health, as the failure shows it.
    verdict: Verdict,
}

impl AttemptError {
    pub(in crate::client) fn not_sent(failure: Failure) -> Self {
        Self { failure, was_sent: false, is_transient: false, verdict: Verdict::Unknown }
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
    pub(in crate::client) fn permanent(failure: Failure) -> Self {
        Self { failure, was_sent: true, is_transient: false, verdict: Verdict::Works }
    }

    /// This server has no capacity for the response.
    fn over_capacity(failure: Failure) -> Self {
        Self { failure, was_sent: true, is_transient: false, verdict: Verdict::Unknown }
            .with(Verdict::Unknown)
    }

    /// The deadline passed. Whether the platform had enough time is for [`Call::end`] to say.
    fn timed_out(message: impl Into<String>) -> Self {
        let failure = Failure::new(FailureKind::Timeout, message);
        Self { failure, was_sent: true, is_transient: false, verdict: Verdict::Fails }
    }

    /// The connection failed, or this server could not open one.
    fn disconnected(error: reqwest::Error, pool: &ClientPool, secrets: &Secrets) -> Self {
        let error = transport_error::classify(error);
        let verdict = match &error.shortage {
            Some(shortage) => {
                pool.warn_of_shortage(shortage);
                Verdict::Unknown
            }
            None => Verdict::Fails,
        };
        let kind = if error.is_timeout { FailureKind::Timeout } else { FailureKind::Error };
        // The text may repeat what the platform sent.
        let message = secrets.clean(error.message.as_bytes(), DETAIL_BYTES_MAX);
        let failure = Failure::new(kind, message);
        Self { failure, was_sent: true, is_transient: error.is_transient, verdict }.with(verdict)
    }
}

/// Sends a request and reads the whole response.
pub(in crate::client) async fn exchange(
    context: CallContext,
    (pool, tenant): (&ClientPool, &TenantName),
    client: &Client,
    request: &PlatformRequest,
    url: &Url,
    secrets: &Secrets,
) -> Result<PlatformResponse, AttemptError> {
    let too_large = || {
        let mib = RESPONSE_BYTES_MAX >> 20;
        let message = format!("the platform answered with more than {mib} MiB");
        AttemptError::permanent(Failure::new(FailureKind::Error, message))
    };
    let mut sent = client.request(request.method.clone(), url.clone());
    sent = sent.headers(request.headers.clone());
    if !request.body.is_empty() || !request.method.is_safe() {
        sent = sent.body(request.body.clone());
    }
    let sent = sent.build().map_err(|_| {
        let message = "the request can't be written as HTTP";
        AttemptError::not_sent(Failure::new(FailureKind::Error, message))
    })?;
    let response = timeout_at(context.deadline, client.execute(sent)).await;
    let response = response.map_err(|_| AttemptError::timed_out(NO_RESPONSE))?;
    let mut response =
        response.map_err(|error| AttemptError::disconnected(error, pool, secrets))?;
    let announced = response.content_length().unwrap_or_default();
    if announced > RESPONSE_BYTES_MAX as u64 {
        return Err(too_large());
    }
    // Allocates the announced length at once, up to the size of a large response.
    let n_bytes = usize::try_from(announced).unwrap_or(LARGE_BYTES).min(LARGE_BYTES);
    let (mut body, mut permit) = (BytesMut::with_capacity(n_bytes), None);
    loop {
        let chunk = timeout_at(context.deadline, response.chunk()).await.map_err(|_| {
            let n_bytes = body.len();
            let message =
                format!("the platform did not finish its answer in time: {n_bytes} bytes came");
            AttemptError::timed_out(message)
        })?;
        let Some(chunk) =
            chunk.map_err(|error| AttemptError::disconnected(error, pool, secrets))?
        else {
            break;
        };
        if body.len() + chunk.len() > RESPONSE_BYTES_MAX {
            return Err(too_large());
        }
        if permit.is_none() && body.len() + chunk.len() > LARGE_BYTES {
            permit = Some(
                pool.large_response_permit(context, tenant)
                    .await
                    .map_err(AttemptError::over_capacity)?,
            );
        }
        body.extend_from_slice(&chunk);
    }
    Ok(PlatformResponse {
        status: response.status(),
        headers: std::mem::take(response.headers_mut()),
        body: body.freeze(),
        document: OnceLock::new(),
        reset_after: None,
        includes_text: false,
        secrets: secrets.clone(),
        _permit: permit.map(Arc::new),
    })
}
