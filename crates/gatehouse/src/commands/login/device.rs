//! Signing in people: in a browser on any device, while the command waits (RFC 8628).

use std::time::{Duration, Instant};

use gatehouse_core::rights::Scope;
use reqwest::Client;
use serde_json::Value;

use super::issuer::Issuer;
use crate::client::oauth::{self, Form, TokenError, TokenResponse};
use crate::client::session::{RefreshToken, TokenSpec};
use crate::client::wire::Verbose;
use crate::failure::{Failure, FailureKind};
use crate::terminal::screen::harmless;
use crate::terminal::secret::Secret;

const GRANT_TYPE: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// Pause between polls, if the issuer names none (RFC 8628, section 3.2).
const INTERVAL_DEFAULT: Duration = Duration::from_secs(5);

/// Longer pause that `slow_down` asks for (section 3.5).
const SLOW_DOWN_BY: Duration = Duration::from_secs(5);

/// Shortest and longest pause between polls.
pub(in crate::commands::login) const INTERVAL_MIN: Duration = Duration::from_secs(1);
pub(in crate::commands::login) const INTERVAL_MAX: Duration = Duration::from_secs(60);

/// Lifetime of a code: if the issuer names none, and at most.
const LIFETIME_DEFAULT: Duration = Duration::from_secs(10 * 60);
pub(in crate::commands::login) const LIFETIME_MAX: Duration = Duration::from_secs(60 * 60);

/// A device authorisation in progress.
pub(in crate::commands::login) struct DeviceFlow {
    device_code: Secret,
    user_code: String,
    verification_uri: String,
    verification_uri_complete: Option<String>,
    pub(in crate::commands::login) lifetime: Duration,
    pub(in crate::commands::login) interval: Duration,
}

/// The step after a refused poll.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    /// Poll again after this pause.
    Wait(Duration),
    /// The authorisation has failed.
    Failed,
}

/// Gets a token; also returns the credentials for the next one, if there are any.
pub(in crate::commands::login) async fn sign_in(
    client: &Client,
    verbose: Verbose,
    issuer: &Issuer,
    client_id: String,
    spec: TokenSpec,
) -> Result<(TokenResponse, Option<RefreshToken>), Failure> {
    let (device_endpoint, token_endpoint) = (issuer.device_endpoint()?, issuer.token_endpoint()?);
    let form = flow_form(&client_id, &spec, |scope| issuer.has_scope(scope));
    let body = oauth::post(client, verbose, &device_endpoint, form).await;
    let body = body.map_err(TokenError::into_failure)?;
    let flow = DeviceFlow::read(&body).ok_or_else(|| {
        let message = format!("{device_endpoint} answered without a code to sign in with");
        Failure::new(FailureKind::Unreachable, message)
    })?;
    flow.show();

    let form = Form::default()
        .with("grant_type", GRANT_TYPE)
        .with("client_id", &client_id)
        .with_secret("device_code", &flow.device_code)
        .with_optional("resource", spec.resource.as_deref());
    let (began, mut interval) = (Instant::now(), flow.interval);
    // Why the latest poll got no response.
    let mut unreachable: Option<Failure> = None;
    loop {
        // The first poll waits, too: the user must read the code first.
        let remaining = flow.lifetime.saturating_sub(began.elapsed());
        if remaining.is_zero() {
            return Err(unreachable.unwrap_or_else(expired));
        }
        tokio::time::sleep(interval.min(remaining)).await;
        let body = match oauth::post(client, verbose, &token_endpoint, form.clone()).await {
            Ok(body) => body,
            Err(error) => match next(&error, interval) {
                Next::Wait(longer) => {
                    interval = longer;
                    let is_unreachable = matches!(error, TokenError::Failed(_));
                    if is_unreachable && unreachable.is_none() {
                        eprintln!("The issuer can't be reached just now; trying again.");
                    }
                    unreachable = is_unreachable.then(|| error.into_failure());
                    continue;
                }
                Next::Failed => return Err(failure_of(error)),
            },
        };
        let granted = TokenResponse::read(&token_endpoint, &body, oauth::now());
        let granted = granted.map_err(TokenError::into_failure)?;
        let renewal = granted.refresh_token.clone().map(|refresh_token| RefreshToken {
            issuer: issuer.name.clone(),
            token_endpoint,
            revocation_endpoint: issuer.revocation_endpoint(),
            client_id,
            refresh_token,
            spec,
        });
        return Ok((granted, renewal));
    }
}

/// The form of the device authorisation request.
fn flow_form(client_id: &str, spec: &TokenSpec, has_scope: impl Fn(&str) -> bool) -> Form {
    let mut scopes: Vec<&str> = match &spec.scope {
        Some(scope) => scope.split_whitespace().collect(),
        // The scopes for these commands; managing tenants needs an explicit `--scope`.
        None => {
            let ours = Scope::ALL.iter().filter(|it| **it != Scope::Admin).map(|it| it.as_str());
            ["openid"].into_iter().chain(ours).filter(|it| has_scope(it)).collect()
        }
    };
    // Many issuers issue no refresh token without it.
    const OFFLINE: &str = "offline_access";
    if has_scope(OFFLINE) && !scopes.contains(&OFFLINE) {
        scopes.push(OFFLINE);
    }
    // OpenID Connect Core, section 11: the scope is ignored without a prompt for consent.
    let prompt = scopes.contains(&OFFLINE).then_some("consent");
    let scope = (!scopes.is_empty()).then(|| scopes.join(" "));
    TokenSpec { scope, ..spec.clone() }
        .add_to(Form::default().with("client_id", client_id))
        .with_optional("prompt", prompt)
}

fn next(error: &TokenError, interval: Duration) -> Next {
    let longer = |wait: Duration| Next::Wait(wait.min(INTERVAL_MAX));
    match error.error() {
        Some("authorization_pending") => Next::Wait(interval),
        Some("slow_down") => longer(interval + SLOW_DOWN_BY),
        // The user goes on meanwhile, and the issuer may be back by then.
        None if matches!(error, TokenError::Failed(_)) => longer(interval * 2),
        Some(_) | None => Next::Failed,
    }
}

fn failure_of(error: TokenError) -> Failure {
    match error.error() {
        Some("access_denied") => {
            Failure::new(FailureKind::NotAllowed, "the sign-in was denied in the browser")
        }
        Some("expired_token") => expired(),
        _ => error.into_failure(),
    }
}

fn expired() -> Failure {
    Failure::new(FailureKind::NotAllowed, "the code has expired before the sign-in")
        .advise("begin again, and open the address before the code expires")
}

impl DeviceFlow {
    pub(in crate::commands::login) fn read(body: &Value) -> Option<Self> {
        let text = |name: &str| body.get(name)?.as_str().filter(|it| !it.is_empty());
        let seconds = |name: &str| body.get(name)?.as_u64().map(Duration::from_secs);
        Some(Self {
            device_code: Secret::new(text("device_code")?),
            user_code: text("user_code")?.to_owned(),
            // Some issuers use a draft's name.
            verification_uri: text("verification_uri").or(text("verification_url"))?.to_owned(),
            verification_uri_complete: text("verification_uri_complete").map(str::to_owned),
            lifetime: seconds("expires_in").unwrap_or(LIFETIME_DEFAULT).min(LIFETIME_MAX),
            interval: seconds("interval")
                .unwrap_or(INTERVAL_DEFAULT)
                .clamp(INTERVAL_MIN, INTERVAL_MAX),
        })
    }

    /// Prints the instructions on standard error.
    fn show(&self) {
        let (uri, code) = (harmless(&self.verification_uri), harmless(&self.user_code));
        eprintln!("To sign in, open this address in a browser, on any device:\n\n    {uri}\n");
        eprintln!("and enter this code:\n\n    {code}\n");
        if let Some(complete) = &self.verification_uri_complete {
            eprintln!(
                "Or open this one, which has the code in it:\n\n    {}\n",
                harmless(complete)
            );
        }
        let minutes = self.lifetime.as_secs().div_ceil(60);
        eprintln!("Waiting for that, up to {minutes} min; Ctrl-C ends it.");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refused(error: &str) -> TokenError {
        let (endpoint, error) = ("https://id.example/token".to_owned(), error.to_owned());
        TokenError::Error { endpoint, error, description: None }
    }

    #[test]
    fn polling_follows_the_issuers_errors() {
        let seconds = Duration::from_secs;
        let failed = || TokenError::Failed(Failure::new(FailureKind::Unreachable, "gone"));
        let strange =
            || TokenError::NotUnderstood(Failure::new(FailureKind::Unreachable, "a page"));
        for (error, interval, expected) in [
            (refused("authorization_pending"), 5, Next::Wait(seconds(5))),
            (refused("slow_down"), 5, Next::Wait(seconds(10))),
            (refused("slow_down"), 58, Next::Wait(seconds(60))),
            (failed(), 5, Next::Wait(seconds(10))),
            (strange(), 5, Next::Failed),
            (refused("access_denied"), 5, Next::Failed),
            (refused("expired_token"), 5, Next::Failed),
            (refused("invalid_grant"), 5, Next::Failed),
        ] {
            assert_eq!(next(&error, seconds(interval)), expected, "{error:?}");
        }
        for (error, expected) in
            [("access_denied", "denied"), ("expired_token", "expired"), ("other", "says other")]
        {
            let why = failure_of(refused(error));
            assert!(
                why.kind == FailureKind::NotAllowed && why.message().contains(expected),
                "{why}"
            );
        }
    }

    #[test]
    fn a_device_flow_is_read_with_defaults() {
        let least =
            json!({"device_code": "d", "user_code": "U-1", "verification_uri": "https://v"});
        let flow = DeviceFlow::read(&least).unwrap();
        assert_eq!((flow.interval, flow.lifetime), (INTERVAL_DEFAULT, LIFETIME_DEFAULT));
        let mut most = least.clone();
        most["interval"] = 1.into();
        most["expires_in"] = 1_000_000.into();
        let flow = DeviceFlow::read(&most).unwrap();
        assert_eq!((flow.interval, flow.lifetime), (Duration::from_secs(1), LIFETIME_MAX));
        most["interval"] = 0.into();
        assert_eq!(DeviceFlow::read(&most).unwrap().interval, INTERVAL_MIN);
        for missing in ["device_code", "user_code", "verification_uri"] {
            let mut body = least.clone();
            body.as_object_mut().unwrap().remove(missing);
            assert!(DeviceFlow::read(&body).is_none(), "{missing}");
        }
    }

    #[test]
    fn the_requested_scopes_are_those_of_the_issuer() {
        let known = ["openid", "offline_access", "access:read", "admin"];
        let scope = |spec: Option<&str>, known: &[&str]| {
            let spec = TokenSpec { scope: spec.map(str::to_owned), ..TokenSpec::default() };
            let form = flow_form("gatehouse", &spec, |it| known.contains(&it)).shown();
            (form["scope"].as_str().map(str::to_owned), form["prompt"].as_str() == Some("consent"))
        };
        let text = |scope: &str| Some(scope.to_owned());
        assert_eq!(scope(None, &known), (text("openid access:read offline_access"), true));
        assert_eq!(scope(Some("admin"), &known), (text("admin offline_access"), true));
        assert_eq!(scope(Some("offline_access"), &known), (text("offline_access"), true));
        assert_eq!(scope(Some("admin"), &[]), (text("admin"), false));
        assert_eq!(scope(None, &[]), (None, false));
    }
}
