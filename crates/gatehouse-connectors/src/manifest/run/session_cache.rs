//! The session of one account: logs in when needed, once for all callers, and again after expiry.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use http::StatusCode;
use indexmap::IndexMap;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};
use zeroize::Zeroizing;

use crate::client::{PlatformClient, PlatformRequest, PlatformResponse};
use crate::clock::machine_time;
use crate::connector::{CallContext, CallKind};
use crate::failure::{Failure, FailureKind};
use crate::manifest::Manifest;
use crate::manifest::format::account::AccountValues;
use crate::manifest::format::call::EveryCall;
use crate::manifest::format::errors::{Errors, Meaning};
use crate::manifest::format::session::Session;
use crate::manifest::format::template::{Scope, Variable, VariableValues};

/// Longest margin before a session's end at which it counts as expired; otherwise a tenth of its lifetime.
const MARGIN_MAX: Duration = Duration::from_secs(60);

/// Pause after a rejected log-in; doubles with each further rejection.
const PAUSE_FIRST: Duration = Duration::from_secs(60);
/// Pause if the rejection may have another reason than the credentials.
const PAUSE_UNCERTAIN: Duration = Duration::from_secs(5);
const PAUSE_MAX: Duration = Duration::from_secs(60 * 60);

/// Longest lifetime of a session, whatever the platform says.
const LIFETIME_MAX: Duration = Duration::from_secs(365 * 24 * 60 * 60);

pub(in crate::manifest) struct OpenSession {
    values: IndexMap<String, Zeroizing<String>>,
    began: Instant,
    ends: Instant,
    /// Kinds of calls that succeeded with it, a bit for each.
    worked: AtomicU8,
    /// Kind of call that the previous session was rejected for.
    renewed_for: Option<CallKind>,
}

impl OpenSession {
    /// Records that a call of a kind succeeded.
    pub(in crate::manifest) fn record_success(&self, kind: CallKind) {
        self.worked.fetch_or(1 << kind as u8, Ordering::Relaxed);
    }

    /// Whether a new log-in is worthwhile if this session is rejected for a kind of call: not if it never worked, and
    /// not if it was renewed for the same kind in vain, unless some time has passed.
    pub(in crate::manifest) fn should_renew(&self, kind: CallKind) -> bool {
        let worked = self.worked.load(Ordering::Relaxed);
        let failed_before = self.renewed_for == Some(kind) && worked & (1 << kind as u8) == 0;
        (worked != 0 && !failed_before) || self.began.elapsed() >= PAUSE_FIRST
    }

    pub(in crate::manifest) fn secrets(&self) -> Vec<Zeroizing<String>> {
        self.values.values().cloned().collect()
    }
}

#[derive(Default)]
pub(in crate::manifest) struct SessionCache {
    state: Mutex<State>,
    n_log_ins: AtomicU64,
}

#[derive(Default)]
struct State {
    open_session: Option<Arc<OpenSession>>,
    /// Why the last log-in failed.
    failure: Option<Failure>,
    rejections: u32,
    paused_until: Option<Instant>,
    /// Kind of call that the last session was rejected for.
    rejected_for: Option<CallKind>,
}

struct LogInError {
    failure: Failure,
    /// First pause, if the platform rejected the log-in.
    pause: Option<Duration>,
}

impl SessionCache {
    /// The session, after a log-in if there is none; `None` if the platform has no sessions.
    pub(in crate::manifest) async fn session(
        &self,
        context: CallContext,
        manifest: &Manifest,
        account: &AccountValues,
        client: &PlatformClient,
    ) -> Result<Option<Arc<OpenSession>>, Failure> {
        let Some(session) = &manifest.session else { return Ok(None) };
        let n_before = self.n_log_ins.load(Ordering::Acquire);
        let Ok(mut state) = timeout_at(context.deadline, self.state.lock()).await else {
            return Err(Failure::timed_out());
        };
        let now = Instant::now();
        if let Some(open_session) = state.open_session.as_ref().filter(|it| now < it.ends) {
            return Ok(Some(Arc::clone(open_session)));
        }
        // A caller that waited for another's log-in shares its result, unless only the other's deadline passed.
        let was_tried = self.n_log_ins.load(Ordering::Acquire) != n_before;
        if let Some(failure) = state.failure.as_ref().filter(|_| was_tried)
            && failure.kind != FailureKind::Timeout
        {
            return Err(failure.clone());
        }
        state.check_rejections(session, now)?;
        let rejected_for = state.rejected_for;
        let open_session = log_in(context, session, &manifest.errors, account, client).await;
        let open_session = open_session.map(|it| OpenSession { renewed_for: rejected_for, ..it });
        self.n_log_ins.fetch_add(1, Ordering::Release);
        match open_session {
            Ok(open_session) => {
                let open_session = Arc::new(open_session);
                *state =
                    State { open_session: Some(Arc::clone(&open_session)), ..State::default() };
                Ok(Some(open_session))
            }
            Err(LogInError { failure, pause }) => {
                state.open_session = None;
                state.failure = Some(failure.clone());
                if let Some(pause) = pause {
                    let pause = pause * 2u32.saturating_pow(state.rejections.min(10));
                    state.paused_until = Some(Instant::now() + pause.min(PAUSE_MAX));
                    state.rejections += 1;
                }
                Err(failure)
            }
        }
    }

    /// Drops a session that the platform rejects, unless another caller has done so.
    pub(in crate::manifest) async fn drop_session(
        &self,
        context: CallContext,
        ended: &Arc<OpenSession>,
        kind: CallKind,
    ) {
        if let Ok(mut state) = timeout_at(context.deadline, self.state.lock()).await
            && state.open_session.as_ref().is_some_and(|it| Arc::ptr_eq(it, ended))
        {
            (state.open_session, state.rejected_for) = (None, Some(kind));
        }
    }
}

impl State {
    /// Fails if the platform has rejected a log-in recently.
    fn check_rejections(&self, session: &Session, now: Instant) -> Result<(), Failure> {
        let Some(failure) = &self.failure else { return Ok(()) };
        if session.refusals_max.is_some_and(|max| self.rejections >= max) {
            let detail = format!(
                "{}; there is no further log-in until the account is changed, so that it isn't locked",
                failure.detail
            );
            return Err(Failure { detail, ..failure.clone() });
        }
        match self.paused_until {
            Some(until) if now < until => {
                let seconds = (until - now).as_secs() + 1;
                let detail = format!(
                    "{}; the next log-in is in {seconds} s at the earliest",
                    failure.detail
                );
                Err(Failure { detail, ..failure.clone() })
            }
            _ => Ok(()),
        }
    }
}

async fn log_in(
    context: CallContext,
    session: &Session,
    errors: &Errors,
    account: &AccountValues,
    client: &PlatformClient,
) -> Result<OpenSession, LogInError> {
    let transient = |failure: Failure| LogInError { failure, pause: None };
    let mut values: IndexMap<String, Zeroizing<String>> = IndexMap::new();
    let mut given_lifetime: Option<Duration> = None;
    for step in &session.calls {
        let taken = SessionValues(&values);
        let scope =
            Scope { account, session: Some(&taken), page: None, values: &[], now: machine_time() };
        let filled = step.call.fill(&EveryCall::default(), &scope).ok_or_else(|| {
            let detail = "the log-in can't be made with the account's settings and credentials";
            transient(Failure::new(FailureKind::Error, detail))
        })?;
        let response = client.send_with_secrets(
            context,
            values.values().cloned().collect(),
            PlatformRequest {
                kind: CallKind::Session,
                method: filled.method,
                target: filled.target,
                headers: filled.headers,
                body: filled.body,
                is_repeatable: true,
            },
        );
        let response = response.await.map_err(transient)?;
        let body = response.document();
        let meaning = errors.meaning(response.status, body);
        if meaning != Meaning::Fine {
            return Err(rejection(&response, meaning, errors));
        }
        for (name, source) in &step.take {
            // The rest of the response may be secret, so the failure holds none of it.
            let value = source.text(&response.headers, body).ok_or_else(|| {
                let detail = format!(
                    "the platform answered {} to the log-in, without the `{name}` that it should give",
                    response.status.as_u16()
                );
                let failure = Failure::new(FailureKind::Error, detail);
                LogInError { failure, pause: Some(PAUSE_UNCERTAIN) }
            })?;
            values.insert(name.clone(), Zeroizing::new(value));
        }
        let given = step.expires_in.as_ref().and_then(|it| it.text(&response.headers, body));
        let given = given.and_then(|it| it.trim().parse::<f64>().ok());
        let given = given.and_then(|it| Duration::try_from_secs_f64(it).ok());
        // A session without a lifetime would be renewed for each call.
        let given = given.filter(|it| !it.is_zero());
        // The session expires with the first of its parts.
        given_lifetime = given_lifetime.into_iter().chain(given).min();
    }
    let lifetime = given_lifetime.unwrap_or(session.lifetime.0).min(LIFETIME_MAX);
    let began = Instant::now();
    let ends = began + (lifetime - (lifetime / 10).min(MARGIN_MAX));
    Ok(OpenSession { values, began, ends, worked: AtomicU8::new(0), renewed_for: None })
}

fn rejection(response: &PlatformResponse, meaning: Meaning, errors: &Errors) -> LogInError {
    let status = response.status;
    let (code, message) = (errors.code(response.document()), errors.message(response.document()));
    let suffix = message.as_ref().map(|it| format!(": {it}")).unwrap_or_default();
    let detail =
        format!("the platform answered {} to the log-in of the account{suffix}", status.as_u16());
    let mut failure = response.failure_that_says(detail, code.as_deref(), message.as_deref());
    let rejected = [StatusCode::BAD_REQUEST, StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN];
    if meaning == Meaning::Throttled {
        // The credentials may be right.
        failure.kind = FailureKind::Throttled;
        return LogInError { failure, pause: None };
    }
    let pause = if meaning == Meaning::Expired || rejected.contains(&status) {
        Some(PAUSE_FIRST)
    } else {
        // A server error is retried like any call; any other status may mean wrong credentials.
        (!status.is_server_error()).then_some(PAUSE_UNCERTAIN)
    };
    LogInError { failure, pause }
}

/// Values of the session's calls so far.
struct SessionValues<'v>(&'v IndexMap<String, Zeroizing<String>>);

impl VariableValues for SessionValues<'_> {
    fn value_of(&self, variable: &Variable) -> Option<Zeroizing<String>> {
        let Variable::Session(name) = variable else { return None };
        self.0.get(name).cloned()
    }
}

impl VariableValues for OpenSession {
    fn value_of(&self, variable: &Variable) -> Option<Zeroizing<String>> {
        SessionValues(&self.values).value_of(variable)
    }
}
