//! Failing platforms: throttling, expired sessions, errors of every kind.

use std::time::Duration;

use futures_util::future::join_all;
use gatehouse_core::account::Credentials;

use super::{Checks, TestBench, Verdict, ids_of, same};
use crate::connector::{CallKind, LookUpKey};
use crate::failure::{Failure, FailureKind};
use crate::manifest::format::errors::Meaning;
use crate::testing::one_account::{Access, OneAccount, Outcome};
use crate::testing::recording::Recording;
use crate::testing::replay_platform::server::ReplayResponse;
use crate::testing::replay_platform::{FailureMode, error_body, satisfy};

/// Concurrent calls with an expired session.
const CONCURRENT_CALLS: u64 = 20;

/// Time limit for a platform that doesn't respond.
const SILENCE_TIMEOUT: Duration = Duration::from_millis(400);

/// A wrong credential.
const WRONG: &str = "wrong-credential";

pub(in crate::testing::conformance) async fn check(
    checks: &mut Checks,
    bench: &TestBench,
    recording: &Recording,
) {
    sessions(checks, bench).await;
    checks.take("throttling is reported, and calls work again afterwards", throttled(bench).await);
    let message = "the replayed platform fails";
    let error = ReplayResponse::json(500, &error_body(&bench.manifest, message));
    let cases = [
        ("an error 500 is a failure", error, ""),
        ("a gateway's page is a failure", gateway_page(503), ""),
        ("a web page under 200 is a failure", gateway_page(200), "web page"),
        (
            "an empty body is a failure",
            ReplayResponse { status: 200, ..ReplayResponse::default() },
            "empty body",
        ),
        ("a body that is not JSON is a failure", invalid_json(), ""),
    ];
    for (name, response, text) in cases {
        checks.take(name, fails(bench, response, FailureKind::Error, text).await);
    }
    let name = "the platform's error message is reported";
    if bench.manifest.errors.message.picks().is_empty() {
        checks.add(name, Verdict::DoesNotApply("errors.message has no path".into()));
    } else {
        let error = ReplayResponse::json(400, &error_body(&bench.manifest, message));
        checks.take(name, fails(bench, error, FailureKind::Error, message).await);
    }
    checks.take("a gateway's 404 is not a result of a look-up", gateway_404(bench).await);
    rules(checks, bench, recording).await;
    bench.platform.fail(FailureMode::Silence);
    let access = bench.platform.access();
    let silent = match OneAccount::open(&bench.manifest, access, SILENCE_TIMEOUT, None) {
        Ok(account) => failed(&account.page(1, 10).await, FailureKind::Timeout, "").map(drop),
        Err(why) => Err(why),
    };
    checks.take("a platform that doesn't answer is a timeout", silent);
    bench.platform.fail(FailureMode::None);
}

async fn sessions(checks: &mut Checks, bench: &TestBench) {
    let name = "wrong credentials are a failure that doesn't repeat them";
    if bench.manifest.account.credentials.is_empty() {
        checks.add(name, Verdict::DoesNotApply("accounts have none".into()));
    } else {
        checks.take(name, wrong_credentials(bench).await);
    }
    let name = "an expired session is renewed once for all callers";
    let Some(session) = &bench.manifest.session else {
        checks.add(name, Verdict::DoesNotApply("the platform has no sessions".into()));
        return;
    };
    let result = async {
        let account = bench.account()?;
        ids_of(account.page(1, 1).await)?;
        bench.platform.expire_sessions();
        let ids = bench.ids();
        let calls = (1..=CONCURRENT_CALLS).map(|n| account.page(n, 1));
        for (n, outcome) in join_all(calls).await.into_iter().enumerate() {
            let expected: Vec<String> = ids.get(n).cloned().into_iter().collect();
            same("a page of one", &expected, &ids_of(outcome)?)?;
        }
        let n_calls = 2 * session.calls.len();
        same("calls for two sessions", &n_calls, &account.n_calls(CallKind::Session))
    };
    checks.take(name, result.await);
}

async fn wrong_credentials(bench: &TestBench) -> Result<(), String> {
    let mut credentials = Credentials::default();
    for name in bench.manifest.account.credentials.keys() {
        credentials.insert(name.clone(), format!("{WRONG}-{name}"));
    }
    let access = Access { credentials, ..bench.platform.access().clone() };
    let account = OneAccount::open(&bench.manifest, &access, super::TIME_LIMIT, None)?;
    let outcome = account.page(1, 10).await;
    let failure = failed(&outcome, FailureKind::Error, "")?;
    if format!("{failure:?}").contains(WRONG) {
        return Err("the failure repeats a credential".into());
    }
    let n_log_ins = account.n_calls(CallKind::Session);
    if n_log_ins > 1 {
        return Err(format!("expected one try to log in, {n_log_ins} were made"));
    }
    Ok(())
}

async fn throttled(bench: &TestBench) -> Result<(), String> {
    let body = error_body(&bench.manifest, "too many requests");
    let account = bench.account()?;
    bench.platform.fail(FailureMode::Response(ReplayResponse::json(429, &body)));
    let first = account.page(1, 10).await;
    bench.platform.fail(FailureMode::None);
    failed(&first, FailureKind::Throttled, "")?;
    ids_of(account.page(1, 10).await).map_err(|why| format!("afterwards, {why}"))?;
    // With `Retry-After`, there is no retry before that time.
    let mut response = ReplayResponse::json(429, &body);
    response.headers.push(("retry-after".into(), "3600".into()));
    let account = bench.account()?;
    bench.platform.fail(FailureMode::Response(response));
    let outcome = account.page(1, 10).await;
    bench.platform.fail(FailureMode::None);
    let failure = failed(&outcome, FailureKind::Throttled, "")?;
    if failure.retry_after.is_none() {
        return Err("expected the failure to tell how long to wait, it doesn't".into());
    }
    same("calls", &1, &account.n_calls(CallKind::List))
}

async fn fails(
    bench: &TestBench,
    response: ReplayResponse,
    kind: FailureKind,
    text: &str,
) -> Result<(), String> {
    let account = bench.account()?;
    bench.platform.fail(FailureMode::Response(response));
    let outcome = account.page(1, 10).await;
    bench.platform.fail(FailureMode::None);
    failed(&outcome, kind, text)?;
    ids_of(account.page(1, 10).await).map_err(|why| format!("afterwards, {why}"))?;
    Ok(())
}

async fn gateway_404(bench: &TestBench) -> Result<(), String> {
    let Some(id) = bench.ids().into_iter().next() else { return Ok(()) };
    bench.platform.fail(FailureMode::Response(gateway_page(404)));
    let outcome = bench.account()?.look_up(LookUpKey::Id, &[id]).await;
    bench.platform.fail(FailureMode::None);
    failed(&outcome, FailureKind::Error, "").map(drop)
}

/// Checks each rule for responses.
async fn rules(checks: &mut Checks, bench: &TestBench, recording: &Recording) {
    let list = recording.exchanges().find(|it| it.kind == CallKind::List);
    for (n, rule) in bench.manifest.errors.rules.iter().enumerate() {
        let name = format!("errors.rules[{n}] means {:?}", rule.means);
        let mut body = list.map(|it| it.body.clone()).unwrap_or_default();
        let status =
            rule.when.status.as_ref().map_or(Some(http::StatusCode::OK), |it| it.example());
        let (Some(status), Some(())) = (status, satisfy(&rule.when, &mut body)) else {
            let why = "no response can be made that matches it";
            checks.add(name, Verdict::DoesNotApply(why.into()));
            continue;
        };
        let response = ReplayResponse::json(status.as_u16(), &body);
        let result = match rule.means {
            Meaning::Fine => {
                let why = "it is no failure";
                checks.add(name, Verdict::DoesNotApply(why.into()));
                continue;
            }
            Meaning::Throttled => fails(bench, response, FailureKind::Throttled, "").await,
            Meaning::NotFound | Meaning::Failed | Meaning::Expired => {
                fails(bench, response, FailureKind::Error, "").await
            }
        };
        checks.take(name, result);
    }
}

fn failed<'o>(outcome: &'o Outcome, kind: FailureKind, text: &str) -> Result<&'o Failure, String> {
    let Some(failure) = outcome.failures.first() else {
        let n = outcome.connections.len();
        return Err(format!("expected a failure, {n} connections came"));
    };
    same("the failure's kind", &kind, &failure.kind)?;
    if !failure.detail.contains(text) {
        return Err(format!("expected a failure that says {text:?}, {:?} came", failure.detail));
    }
    Ok(failure)
}

fn gateway_page(status: u16) -> ReplayResponse {
    let headers = vec![("content-type".to_owned(), "text/html".to_owned())];
    ReplayResponse { status, headers, body: "<html><body>Service Unavailable</body></html>".into() }
}

fn invalid_json() -> ReplayResponse {
    let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    ReplayResponse { status: 200, headers, body: "{\"data\": [tru".into() }
}
