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
use crate::manifest::format::template::{Named, Scope, What};

/// Longest margin before a session's end at which it counts as expired; otherwise a tenth of its lifetime.
const MARGIN_MAX: Duration = Duration::from_secs(60);

/// Pause after a rejected log-in; doubles with each further rejection.
const PAUSE_FIRST: Duration = Duration::from_secs(60);
/// Pause if the rejection may have another reason than the credentials.
const PAUSE_DOUBTFUL: Duration = Duration::from_secs(5);
const PAUSE_MAX: Duration = Duration::from_secs(60 * 60);

/// Longest lifetime of a session, whatever the platform says.
const LIFETIME_MAX: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// A session.
pub(in crate::manifest) struct Begun {
    values: IndexMap<String, Zeroizing<String>>,
    began: Instant,
    ends: Instant,
    /// Kinds of calls that succeeded with it, a bit for each.
    worked: AtomicU8,
    /// Kind of call that the previous session was rejected for.
    renewed_for: Option<CallKind>,
}

impl Begun {
    /// Records that a call of a kind succeeded.
    pub(in crate::manifest) fn works(&self, kind: CallKind) {
        self.worked.fetch_or(1 << kind as u8, Ordering::Relaxed);
    }

    /// Whether a new log-in is worthwhile if this session is rejected for a kind of call: not if it never worked, and
    /// not if it
    /// was renewed for the same kind in vain, unless some time has passed.
    pub(in crate::manifest) fn is_worth_another(&self, kind: CallKind) -> bool {
        let worked = self.worked.load(Ordering::Relaxed);
        let is_in_vain = self.renewed_for == Some(kind) && worked & (1 << kind as u8) == 0;
        (worked != 0 && !is_in_vain) || self.began.elapsed() >= PAUSE_FIRST
    }

    /// Secrets of the session.
    pub(in crate::manifest) fn secrets(&self) -> Vec<Zeroizing<String>> {
        self.values.values().cloned().collect()
    }
}

/// Holds the session of one account.
#[derive(Default)]
pub(in crate::manifest) struct SessionCache {
    state: Mutex<State>,
    /// Number of finished log-ins.
    n_tries: AtomicU64,
}

#[derive(Default)]
struct State {
    begun: Option<Arc<Begun>>,
    /// Why the last log-in failed.
    failure: Option<Failure>,
    refusals: u32,
    paused_until: Option<Instant>,
    /// Kind of call that the last session was rejected for.
    ended_for: Option<CallKind>,
}

/// A failed log-in.
struct NotBegun {
    failure: Failure,
    /// First pause, if the platform rejected the log-in.
    pause: Option<Duration>,
}

impl SessionCache {
    /// The session, after a log-in if there is none; `None` if the platform has no sessions.
    pub(in crate::manifest) async fn session(
        &self,
        ask: CallContext,
        manifest: &Manifest,
        account: &AccountValues,
        line: &PlatformClient,
    ) -> Result<Option<Arc<Begun>>, Failure> {
        let Some(session) = &manifest.session else { return Ok(None) };
        let n_before = self.n_tries.load(Ordering::Acquire);
        let Ok(mut state) = timeout_at(ask.deadline, self.state.lock()).await else {
            return Err(Failure::late());
        };
        let now = Instant::now();
        if let Some(begun) = state.begun.as_ref().filter(|it| now < it.ends) {
            return Ok(Some(Arc::clone(begun)));
        }
        // A caller that waited for another's log-in shares its result, unless only the other's deadline passed.
        let has_been_tried = self.n_tries.load(Ordering::Acquire) != n_before;
        if let Some(failure) = state.failure.as_ref().filter(|_| has_been_tried)
            && failure.kind != FailureKind::Timeout
        {
            return Err(failure.clone());
        }
        state.refused_still(session, now)?;
        let ended_for = state.ended_for;
        let begun = begin(ask, session, &manifest.errors, account, line).await;
        let begun = begun.map(|it| Begun { renewed_for: ended_for, ..it });
        self.n_tries.fetch_add(1, Ordering::Release);
        match begun {
            Ok(begun) => {
                let begun = Arc::new(begun);
                *state = State { begun: Some(Arc::clone(&begun)), ..State::default() };
                Ok(Some(begun))
            }
            Err(NotBegun { failure, pause }) => {
                state.begun = None;
                state.failure = Some(failure.clone());
                if let Some(pause) = pause {
                    let pause = pause * 2u32.saturating_pow(state.refusals.min(10));
                    state.paused_until = Some(Instant::now() + pause.min(PAUSE_MAX));
                    state.refusals += 1;
                }
                Err(failure)
            }
        }
    }

    /// Drops a session that the platform rejects, unless another caller has done so.
    pub(in crate::manifest) async fn end(
        &self,
        ask: CallContext,
        ended: &Arc<Begun>,
        kind: CallKind,
    ) {
        if let Ok(mut state) = timeout_at(ask.deadline, self.state.lock()).await
            && state.begun.as_ref().is_some_and(|it| Arc::ptr_eq(it, ended))
        {
            (state.begun, state.ended_for) = (None, Some(kind));
        }
    }
}

impl State {
    /// Fails if the platform has rejected a log-in recently.
    fn refused_still(&self, session: &Session, now: Instant) -> Result<(), Failure> {
        let Some(failure) = &self.failure else { return Ok(()) };
        if session.refusals_max.is_some_and(|max| self.refusals >= max) {
            let detail = format!(
                "{}; it is not asked again until the account is changed, so that it isn't locked",
                failure.detail
            );
            return Err(Failure { detail, ..failure.clone() });
        }
        match self.paused_until {
            Some(until) if now < until => {
                let seconds = (until - now).as_secs() + 1;
                let detail =
                    format!("{}; it is asked again in {seconds} s at the earliest", failure.detail);
                Err(Failure { detail, ..failure.clone() })
            }
            _ => Ok(()),
        }
    }
}

/// Logs in.
async fn begin(
    ask: CallContext,
    session: &Session,
    errors: &Errors,
    account: &AccountValues,
    line: &PlatformClient,
) -> Result<Begun, NotBegun> {
    let passing = |failure: Failure| NotBegun { failure, pause: None };
    let mut values: IndexMap<String, Zeroizing<String>> = IndexMap::new();
    let mut told_lifetime: Option<Duration> = None;
    for step in &session.calls {
        let taken = Taken(&values);
        let scope =
            Scope { account, session: Some(&taken), page: None, values: &[], now: machine_time() };
        let filled = step.call.fill(&EveryCall::default(), &scope).ok_or_else(|| {
            let detail = "the call that begins a session can't be made with what the account says";
            passing(Failure::new(FailureKind::Error, detail))
        })?;
        let answer = line.send_hiding(
            ask,
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
        let answer = answer.await.map_err(passing)?;
        let body = serde_json::from_slice(&answer.body).unwrap_or_default();
        let meaning = errors.meaning(answer.status, &body);
        if meaning != Meaning::Fine {
            return Err(refusal(&answer, meaning, errors));
        }
        for (name, source) in &step.take {
            // The rest of the response may be secret, so the failure holds none of it.
            let value = source.text(&answer.headers, &body).ok_or_else(|| {
                let detail = format!(
                    "the platform answered {} to the log-in, without the `{name}` that it should give",
                    answer.status.as_u16()
                );
                let failure = Failure::new(FailureKind::Error, detail);
                NotBegun { failure, pause: Some(PAUSE_DOUBTFUL) }
            })?;
            values.insert(name.clone(), Zeroizing::new(value));
        }
        let told = step.expires_in.as_ref().and_then(|it| it.text(&answer.headers, &body));
        let told = told.and_then(|it| it.trim().parse::<f64>().ok());
        let told = told.and_then(|it| Duration::try_from_secs_f64(it).ok());
        // A session without a lifetime would be renewed for each call.
        let told = told.filter(|it| !it.is_zero());
        // The session expires with the first of its parts.
        told_lifetime = told_lifetime.into_iter().chain(told).min();
    }
    let lifetime = told_lifetime.unwrap_or(session.lifetime.0).min(LIFETIME_MAX);
    let began = Instant::now();
    let ends = began + (lifetime - (lifetime / 10).min(MARGIN_MAX));
    Ok(Begun { values, began, ends, worked: AtomicU8::new(0), renewed_for: None })
}

fn refusal(answer: &PlatformResponse, meaning: Meaning, errors: &Errors) -> NotBegun {
    let status = answer.status;
    let (code, message) = (errors.code(answer.document()), errors.message(answer.document()));
    let words = message.as_ref().map(|it| format!(": {it}")).unwrap_or_default();
    let words =
        format!("the platform answered {} to the log-in of the account{words}", status.as_u16());
    let mut failure = answer.failure_that_says(words, code.as_deref(), message.as_deref());
    let refused = [StatusCode::BAD_REQUEST, StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN];
    if meaning == Meaning::Throttled {
        // The credentials may be right.
        failure.kind = FailureKind::Throttled;
        return NotBegun { failure, pause: None };
    }
    let pause = if meaning == Meaning::Expired || refused.contains(&status) {
        Some(PAUSE_FIRST)
    } else {
        // A server error is retried like any call; any other status may mean wrong credentials.
        (!status.is_server_error()).then_some(PAUSE_DOUBTFUL)
    };
    NotBegun { failure, pause }
}

/// Values of the session's calls so far.
struct Taken<'v>(&'v IndexMap<String, Zeroizing<String>>);

impl Named for Taken<'_> {
    fn named(&self, what: &What) -> Option<Zeroizing<String>> {
        let What::Session(name) = what else { return None };
        self.0.get(name).cloned()
    }
}

impl Named for Begun {
    fn named(&self, what: &What) -> Option<Zeroizing<String>> {
        Taken(&self.values).named(what)
    }
}
