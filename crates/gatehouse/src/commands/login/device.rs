//! People sign in: with a browser, on whichever device has one, while the command waits (RFC 8628).

use std::time::{Duration, Instant};

use gatehouse_core::rights::Scope;
use reqwest::Client;
use serde_json::Value;

use super::issuer::Issuer;
use crate::client::oauth::{self, Form, Granted, Refusal};
use crate::client::session::{RefreshToken, Wish};
use crate::client::wire::Talk;
use crate::failure::{Failure, Kind};
use crate::terminal::screen::harmless;
use crate::terminal::secret::Secret;

const GRANT_TYPE: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// How long is waited between two looks, if the issuer doesn't say (RFC 8628, section 3.2).
const INTERVAL_DEFAULT: Duration = Duration::from_secs(5);

/// How much longer after the issuer has asked for it (section 3.5).
const SLOWER_BY: Duration = Duration::from_secs(5);

/// Shortest and longest between two looks.
pub(in crate::commands::login) const INTERVAL_MIN: Duration = Duration::from_secs(1);
pub(in crate::commands::login) const INTERVAL_MAX: Duration = Duration::from_secs(60);

/// How long a code is good for, if the issuer doesn't say, and at most.
const LIFETIME_DEFAULT: Duration = Duration::from_secs(10 * 60);
pub(in crate::commands::login) const LIFETIME_MAX: Duration = Duration::from_secs(60 * 60);

/// A sign-in that has begun.
pub(in crate::commands::login) struct Begun {
    device_code: Secret,
    user_code: String,
    verification_uri: String,
    verification_uri_complete: Option<String>,
    pub(in crate::commands::login) lifetime: Duration,
    pub(in crate::commands::login) interval: Duration,
}

/// What comes after a look.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    /// Look again after so long.
    Wait(Duration),
    /// It has come to nothing.
    Over,
}

/// A token, and how the next one is got, if it is.
pub(in crate::commands::login) async fn sign_in(
    client: &Client,
    talk: Talk,
    issuer: &Issuer,
    client_id: String,
    wish: Wish,
) -> Result<(Granted, Option<RefreshToken>), Failure> {
    let (device_endpoint, token_endpoint) = (issuer.device_endpoint()?, issuer.token_endpoint()?);
    let form = asking(&client_id, &wish, |scope| issuer.has_scope(scope));
    let body = oauth::post(client, talk, &device_endpoint, form).await;
    let body = body.map_err(Refusal::into_failure)?;
    let begun = Begun::read(&body).ok_or_else(|| {
        let said = format!("{device_endpoint} answered without a code to sign in with");
        Failure::new(Kind::Unreachable, said)
    })?;
    begun.show();

    let form = Form::default()
        .with("grant_type", GRANT_TYPE)
        .with("client_id", &client_id)
        .with_secret("device_code", &begun.device_code)
        .with_any("resource", wish.resource.as_deref());
    let (began, mut interval) = (Instant::now(), begun.interval);
    // Why the issuer could not be asked last, if it could not.
    let mut away: Option<Failure> = None;
    loop {
        // Nobody can have typed the code before there was time to read it.
        let left = begun.lifetime.saturating_sub(began.elapsed());
        if left.is_zero() {
            return Err(away.unwrap_or_else(expired));
        }
        tokio::time::sleep(interval.min(left)).await;
        let body = match oauth::post(client, talk, &token_endpoint, form.clone()).await {
            Ok(body) => body,
            Err(refusal) => match next(&refusal, interval) {
                Next::Wait(longer) => {
                    interval = longer;
                    let is_away = matches!(refusal, Refusal::Failed(_));
                    if is_away && away.is_none() {
                        eprintln!("The issuer can't be asked just now; trying again.");
                    }
                    away = is_away.then(|| refusal.into_failure());
                    continue;
                }
                Next::Over => return Err(over(refusal)),
            },
        };
        let granted = Granted::read(&token_endpoint, &body, oauth::now());
        let granted = granted.map_err(Refusal::into_failure)?;
        let renewal = granted.refresh_token.clone().map(|refresh_token| RefreshToken {
            issuer: issuer.name.clone(),
            token_endpoint,
            revocation_endpoint: issuer.revocation_endpoint(),
            client_id,
            refresh_token,
            wish,
        });
        return Ok((granted, renewal));
    }
}

/// What the sign-in is asked for with.
fn asking(client_id: &str, wish: &Wish, has_scope: impl Fn(&str) -> bool) -> Form {
    let mut scopes: Vec<&str> = match &wish.scope {
        Some(scope) => scope.split_whitespace().collect(),
        // What people do with these commands. Who manages tenants says so.
        None => {
            let ours = Scope::ALL.iter().filter(|it| **it != Scope::Admin).map(|it| it.as_str());
            ["openid"].into_iter().chain(ours).filter(|it| has_scope(it)).collect()
        }
    };
    // Without it, many issuers give nothing that a token could be renewed with.
    const OFFLINE: &str = "offline_access";
    if has_scope(OFFLINE) && !scopes.contains(&OFFLINE) {
        scopes.push(OFFLINE);
    }
    // OpenID Connect Core, section 11: it is ignored unless consent is asked for.
    let prompt = scopes.contains(&OFFLINE).then_some("consent");
    let scope = (!scopes.is_empty()).then(|| scopes.join(" "));
    Wish { scope, ..wish.clone() }
        .add_to(Form::default().with("client_id", client_id))
        .with_any("prompt", prompt)
}

/// What comes after a refusal.
fn next(refusal: &Refusal, interval: Duration) -> Next {
    let longer = |wait: Duration| Next::Wait(wait.min(INTERVAL_MAX));
    match refusal.error() {
        Some("authorization_pending") => Next::Wait(interval),
        Some("slow_down") => longer(interval + SLOWER_BY),
        // Whoever is signing in goes on meanwhile: the issuer may be back before they are done.
        None if matches!(refusal, Refusal::Failed(_)) => longer(interval * 2),
        Some(_) | None => Next::Over,
    }
}

fn over(refusal: Refusal) -> Failure {
    match refusal.error() {
        Some("access_denied") => {
            Failure::new(Kind::NotAllowed, "the sign-in was denied in the browser")
        }
        Some("expired_token") => expired(),
        _ => refusal.into_failure(),
    }
}

fn expired() -> Failure {
    Failure::new(Kind::NotAllowed, "nobody signed in while the code was good")
        .advise("begin again, and open the address before the code expires")
}

impl Begun {
    pub(in crate::commands::login) fn read(body: &Value) -> Option<Self> {
        let text = |name: &str| body.get(name)?.as_str().filter(|it| !it.is_empty());
        let seconds = |name: &str| body.get(name)?.as_u64().map(Duration::from_secs);
        Some(Self {
            device_code: Secret::new(text("device_code")?),
            user_code: text("user_code")?.to_owned(),
            // Some have the name of a draft.
            verification_uri: text("verification_uri").or(text("verification_url"))?.to_owned(),
            verification_uri_complete: text("verification_uri_complete").map(str::to_owned),
            lifetime: seconds("expires_in").unwrap_or(LIFETIME_DEFAULT).min(LIFETIME_MAX),
            interval: seconds("interval")
                .unwrap_or(INTERVAL_DEFAULT)
                .clamp(INTERVAL_MIN, INTERVAL_MAX),
        })
    }

    /// Says what to do, beside what a script may read.
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

    fn refused(error: &str) -> Refusal {
        let (endpoint, error) = ("https://id.example/token".to_owned(), error.to_owned());
        Refusal::Error { endpoint, error, description: None }
    }

    #[test]
    fn waiting_goes_on_as_the_issuer_says() {
        let seconds = Duration::from_secs;
        let failed = || Refusal::Failed(Failure::new(Kind::Unreachable, "gone"));
        let strange = || Refusal::NotUnderstood(Failure::new(Kind::Unreachable, "a page"));
        for (refusal, interval, expected) in [
            (refused("authorization_pending"), 5, Next::Wait(seconds(5))),
            (refused("slow_down"), 5, Next::Wait(seconds(10))),
            (refused("slow_down"), 58, Next::Wait(seconds(60))),
            (failed(), 5, Next::Wait(seconds(10))),
            (strange(), 5, Next::Over),
            (refused("access_denied"), 5, Next::Over),
            (refused("expired_token"), 5, Next::Over),
            (refused("invalid_grant"), 5, Next::Over),
        ] {
            assert_eq!(next(&refusal, seconds(interval)), expected, "{refusal:?}");
        }
        for (error, expected) in
            [("access_denied", "denied"), ("expired_token", "nobody"), ("other", "says other")]
        {
            let why = over(refused(error));
            assert!(why.kind == Kind::NotAllowed && why.said().contains(expected), "{why}");
        }
    }

    #[test]
    fn a_beginning_is_read_with_what_is_usual() {
        let least =
            json!({"device_code": "d", "user_code": "U-1", "verification_uri": "https://v"});
        let begun = Begun::read(&least).unwrap();
        assert_eq!((begun.interval, begun.lifetime), (INTERVAL_DEFAULT, LIFETIME_DEFAULT));
        let mut most = least.clone();
        most["interval"] = 1.into();
        most["expires_in"] = 1_000_000.into();
        let begun = Begun::read(&most).unwrap();
        assert_eq!((begun.interval, begun.lifetime), (Duration::from_secs(1), LIFETIME_MAX));
        most["interval"] = 0.into();
        assert_eq!(Begun::read(&most).unwrap().interval, INTERVAL_MIN);
        for missing in ["device_code", "user_code", "verification_uri"] {
            let mut body = least.clone();
            body.as_object_mut().unwrap().remove(missing);
            assert!(Begun::read(&body).is_none(), "{missing}");
        }
    }

    #[test]
    fn what_is_asked_for_is_what_the_issuer_knows() {
        let known = ["openid", "offline_access", "access:read", "admin"];
        let scope = |wish: Option<&str>, known: &[&str]| {
            let wish = Wish { scope: wish.map(str::to_owned), ..Wish::default() };
            let form = asking("gatehouse", &wish, |it| known.contains(&it)).shown();
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
