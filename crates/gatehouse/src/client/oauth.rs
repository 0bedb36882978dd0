//! Token requests by RFC 6749: form posts to an endpoint, and tokens or errors in response.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD as BASE64, URL_SAFE_NO_PAD as BASE64URL};
use form_urlencoded::byte_serialize;
use gatehouse_core::Timestamp;
use gatehouse_store::Clock;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Client, Method, Response};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::client::wire::{BUSY_MAX, Verbose, retry_after, root_cause};
use crate::failure::{Failure, FailureKind};
use crate::terminal::screen::harmless;
use crate::terminal::secret::Secret;

const RESPONSE_BYTES_MAX: usize = 1 << 20;

/// Characters shown of an error's description.
const DESCRIPTION_CHARS_MAX: usize = 500;

#[derive(Clone, Default)]
pub(crate) struct Form {
    fields: Vec<Field>,
    /// Whether the form holds a secret that may be valid only once.
    is_single_use: bool,
}

#[derive(Clone)]
struct Field {
    name: &'static str,
    value: String,
    is_secret: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Proof {
    /// HTTP Basic, which every server must support.
    Basic,
    /// In the form, which some servers require.
    Form,
}

/// A token endpoint's response.
#[derive(Debug)]
pub(crate) struct TokenResponse {
    pub(crate) access_token: Secret,
    pub(crate) expires_at: Option<Timestamp>,
    pub(crate) refresh_token: Option<Secret>,
}

/// Why no token was issued.
#[derive(Debug)]
pub(crate) enum TokenError {
    /// The endpoint refused with an error code of RFC 6749.
    Error { endpoint: String, error: String, description: Option<String> },
    /// The endpoint can't be reached, or is unavailable.
    Failed(Failure),
    /// The response isn't a token server's.
    NotUnderstood(Failure),
}

impl Form {
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.fields.push(Field { name, value: value.into(), is_secret: false });
        self
    }

    pub(crate) fn with_optional(self, name: &'static str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    pub(crate) fn with_secret(mut self, name: &'static str, value: &Secret) -> Self {
        self.fields.push(Field { name, value: value.reveal().to_owned(), is_secret: true });
        self
    }

    /// Forbids retries after a response that leaves the outcome unknown.
    pub(crate) fn single_use(mut self) -> Self {
        self.is_single_use = true;
        self
    }

    fn encoded(&self) -> String {
        let pairs = self.fields.iter().map(|it| (it.name, it.value.as_str()));
        form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
    }

    /// The form with its secrets masked.
    pub(crate) fn shown(&self) -> Value {
        let fields = self.fields.iter().map(|it| {
            let value = if it.is_secret { "***" } else { &it.value };
            (it.name.to_owned(), Value::from(value))
        });
        Value::Object(fields.collect::<Map<_, _>>())
    }
}

/// Posts a form without client authentication.
pub(crate) async fn post(
    client: &Client,
    verbose: Verbose,
    url: &str,
    form: Form,
) -> Result<Value, TokenError> {
    require_json(url, send(client, verbose, url, None, form).await?)
}

/// Posts a form; the response's body doesn't matter.
pub(crate) async fn post_without_response(
    client: &Client,
    verbose: Verbose,
    url: &str,
    form: Form,
) -> Result<(), TokenError> {
    send(client, verbose, url, None, form).await.map(drop)
}

/// Posts a form with client authentication.
pub(crate) async fn post_as(
    client: &Client,
    verbose: Verbose,
    url: &str,
    (id, secret, proof): (&str, &Secret, Proof),
    form: Form,
) -> Result<Value, TokenError> {
    let (authorization, form) = match proof {
        Proof::Basic => (Some(basic(id, secret)), form),
        Proof::Form => (None, form.with("client_id", id).with_secret("client_secret", secret)),
    };
    require_json(url, send(client, verbose, url, authorization, form).await?)
}

fn require_json(url: &str, body: Option<Value>) -> Result<Value, TokenError> {
    body.ok_or_else(|| TokenError::NotUnderstood(not_understood(url, "something that is not JSON")))
}

async fn send(
    client: &Client,
    verbose: Verbose,
    url: &str,
    authorization: Option<HeaderValue>,
    form: Form,
) -> Result<Option<Value>, TokenError> {
    let mut attempt = 1;
    let response = loop {
        let response = send_once(client, verbose, url, authorization.as_ref(), &form).await;
        let response = response.map_err(TokenError::Failed)?;
        // 429 means that nothing was done; after 503 the outcome is unknown.
        let is_busy = match response.status().as_u16() {
            429 => true,
            503 => !form.is_single_use,
            _ => false,
        };
        match retry_after(&response).filter(|_| is_busy) {
            Some(wait) if attempt <= BUSY_MAX => {
                verbose.note(&format!("retrying in {:.1} s", wait.as_secs_f64()));
                tokio::time::sleep(wait).await;
                attempt += 1;
            }
            _ => break response,
        }
    };
    let status = response.status();
    let body = read(url, response).await.map_err(TokenError::Failed)?;
    if status.is_success() {
        return Ok(body);
    }
    let text = |name| body.as_ref().and_then(|body| body.get(name)).and_then(Value::as_str);
    match text("error") {
        Some(error) if status.is_client_error() && status.as_u16() != 429 => {
            Err(TokenError::Error {
                endpoint: url.to_owned(),
                error: shorten(error),
                description: text("error_description").map(shorten),
            })
        }
        _ if status.is_server_error() || status.as_u16() == 429 => {
            let message = format!("{url} answered {status}");
            let failure =
                Failure::new(FailureKind::Unreachable, message).advise("try again in a moment");
            Err(TokenError::Failed(failure))
        }
        _ => Err(TokenError::NotUnderstood(not_understood(url, &status.to_string()))),
    }
}

async fn send_once(
    client: &Client,
    verbose: Verbose,
    url: &str,
    authorization: Option<&HeaderValue>,
    form: &Form,
) -> Result<Response, Failure> {
    let began = verbose.request(&Method::POST, url, &[], Some(&form.shown()));
    let mut request = client
        .post(url)
        .header(ACCEPT, "application/json")
        .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(form.encoded());
    if let Some(authorization) = authorization {
        request = request.header(AUTHORIZATION, authorization);
    }
    let response = request.send().await.map_err(|error| {
        verbose.no_response(began, &root_cause(&error));
        unreachable(url, &error)
    })?;
    verbose.response(began, response.status(), response.headers());
    Ok(response)
}

/// Reads a public document.
pub(crate) async fn get(client: &Client, verbose: Verbose, url: &str) -> Result<Value, Failure> {
    let began = verbose.request(&Method::GET, url, &[], None);
    let response = client.get(url).header(ACCEPT, "application/json").send().await;
    let response = response.map_err(|error| {
        verbose.no_response(began, &root_cause(&error));
        unreachable(url, &error)
    })?;
    verbose.response(began, response.status(), response.headers());
    let status = response.status();
    let body = read(url, response).await?;
    match body {
        Some(body) if status == reqwest::StatusCode::OK => Ok(body),
        Some(_) => Err(not_understood(url, &status.to_string())),
        None => Err(not_understood(url, &format!("{status}, without JSON"))),
    }
}

/// HTTP Basic, with both values form-encoded first (RFC 6749, section 2.3.1).
fn basic(id: &str, secret: &Secret) -> HeaderValue {
    let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
    let pair = format!("{}:{}", encoded(id), encoded(secret.reveal()));
    let mut value = HeaderValue::from_str(&format!("Basic {}", BASE64.encode(pair)))
        .expect("base64 has only letters that a header may have");
    value.set_sensitive(true);
    value
}

/// The response's JSON; `None` if it isn't JSON.
async fn read(url: &str, mut response: Response) -> Result<Option<Value>, Failure> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| unreachable(url, &error))? {
        if body.len() + chunk.len() > RESPONSE_BYTES_MAX {
            return Err(not_understood(url, "more than 1 MiB"));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(serde_json::from_slice(&body).ok())
}

fn unreachable(url: &str, error: &reqwest::Error) -> Failure {
    Failure::new(FailureKind::Unreachable, format!("{url} can't be reached: {}", root_cause(error)))
        .advise("is the address right, and is the server up?")
}

fn not_understood(url: &str, what: &str) -> Failure {
    Failure::new(
        FailureKind::Unreachable,
        format!("{url} answered {what}, which is no token response"),
    )
    .advise("see that --url and --issuer are right")
}

/// A text of the server, shortened and without control characters.
fn shorten(text: &str) -> String {
    let beginning: String = text.chars().take(DESCRIPTION_CHARS_MAX).collect();
    harmless(&beginning).into_owned()
}

impl TokenResponse {
    /// Parses a token endpoint's response.
    pub(crate) fn read(endpoint: &str, body: &Value, now: Timestamp) -> Result<Self, TokenError> {
        let bad = |what: &str| TokenError::NotUnderstood(not_understood(endpoint, what));
        let text = |name| body.get(name).and_then(Value::as_str).filter(|it| !it.is_empty());
        let token = text("access_token").ok_or_else(|| bad("without an access_token"))?;
        // A token bound to a key is useless without the key.
        let is_bearer = text("token_type").is_none_or(|it| it.eq_ignore_ascii_case("bearer"));
        if !is_bearer {
            return Err(bad("with a token that is no bearer token"));
        }
        Ok(Self {
            access_token: Secret::new(token),
            expires_at: lifetime(body)
                .map(|seconds| now.plus_milliseconds(seconds.saturating_mul(1000)))
                .or_else(|| expiry_of(token)),
            refresh_token: text("refresh_token").map(Secret::new),
        })
    }
}

/// Lifetime in seconds. Some issuers write the number as a string.
fn lifetime(body: &Value) -> Option<i64> {
    let lifetime = body.get("expires_in")?;
    lifetime.as_i64().or_else(|| lifetime.as_str()?.parse().ok())
}

/// A JWT's claims. Only hints: the server decides whether the token is valid.
pub(crate) fn claims_of(token: &str) -> Option<Value> {
    let payload = BASE64URL.decode(token.split('.').nth(1)?).ok()?;
    serde_json::from_slice(&payload).ok()
}

/// The token's `exp` claim.
pub(crate) fn expiry_of(token: &str) -> Option<Timestamp> {
    let seconds = claims_of(token)?.get("exp")?.as_f64()?;
    Timestamp::from_millisecond((seconds * 1000.0) as i64).ok()
}

pub(crate) fn now() -> Timestamp {
    Clock::machine().now()
}

impl TokenError {
    /// The error code of RFC 6749 and its extensions.
    pub(crate) fn error(&self) -> Option<&str> {
        match self {
            Self::Error { error, .. } => Some(error),
            Self::Failed(_) | Self::NotUnderstood(_) => None,
        }
    }

    /// The error as a command's failure.
    pub(crate) fn into_failure(self) -> Failure {
        match self {
            Self::Failed(failure) | Self::NotUnderstood(failure) => failure,
            Self::Error { endpoint, error, description } => {
                let message = match description {
                    Some(description) => format!("{endpoint} says {error}: {description}"),
                    None => format!("{endpoint} says {error}"),
                };
                let failure = Failure::new(FailureKind::NotAllowed, message);
                match advice(&error) {
                    Some(advice) => failure.advise(advice),
                    None => failure,
                }
            }
        }
    }
}

fn advice(error: &str) -> Option<&'static str> {
    Some(match error {
        "invalid_client" => "see that the client ID and its secret are right",
        "invalid_scope" => "ask for less with --scope",
        "invalid_target" => "see that --resource and --audience are right",
        "unauthorized_client" | "unsupported_grant_type" => {
            "the client may not sign in this way: have the issuer allow it, or choose another client"
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
