//! Asking for tokens as RFC 6749 has it: forms that go to an endpoint, and tokens or errors that come back.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD as BASE64, URL_SAFE_NO_PAD as BASE64URL};
use form_urlencoded::byte_serialize;
use gatehouse_core::Timestamp;
use gatehouse_store::Clock;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Client, Method, Response};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::client::wire::{BUSY_MAX, Talk, retry_after, root_cause};
use crate::failure::{Failure, Kind};
use crate::terminal::screen::harmless;
use crate::terminal::secret::Secret;

/// Most bytes of an answer.
const ANSWER_BYTES_MAX: usize = 1 << 20;

/// Characters of what an error says about itself that are shown.
const DESCRIPTION_CHARS_MAX: usize = 500;

/// What is sent, field by field.
#[derive(Clone, Default)]
pub(crate) struct Form {
    fields: Vec<Field>,
    /// Whether it may be worth nothing the second time.
    is_for_once: bool,
}

#[derive(Clone)]
struct Field {
    name: &'static str,
    value: String,
    is_secret: bool,
}

/// How a client proves who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Proof {
    /// By HTTP Basic, which every server must take.
    Basic,
    /// In the form, which some want.
    Form,
}

/// A token, and what belongs to it.
#[derive(Debug)]
pub(crate) struct Granted {
    pub(crate) access_token: Secret,
    pub(crate) expires_at: Option<Timestamp>,
    pub(crate) refresh_token: Option<Secret>,
}

/// Why nothing was given.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The endpoint says no, in RFC 6749's words.
    Error { endpoint: String, error: String, description: Option<String> },
    /// It can't be reached, or can't serve just now.
    Failed(Failure),
    /// It answers what no token server does.
    NotUnderstood(Failure),
}

impl Form {
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.fields.push(Field { name, value: value.into(), is_secret: false });
        self
    }

    pub(crate) fn with_any(self, name: &'static str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    pub(crate) fn with_secret(mut self, name: &'static str, value: &Secret) -> Self {
        self.fields.push(Field { name, value: value.reveal().to_owned(), is_secret: true });
        self
    }

    /// Sent once, whatever comes of it.
    pub(crate) fn for_once(mut self) -> Self {
        self.is_for_once = true;
        self
    }

    fn encoded(&self) -> String {
        let pairs = self.fields.iter().map(|it| (it.name, it.value.as_str()));
        form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
    }

    /// As it may be seen.
    pub(crate) fn shown(&self) -> Value {
        let fields = self.fields.iter().map(|it| {
            let value = if it.is_secret { "***" } else { &it.value };
            (it.name.to_owned(), Value::from(value))
        });
        Value::Object(fields.collect::<Map<_, _>>())
    }
}

/// Sends a form that anyone may send.
pub(crate) async fn post(
    client: &Client,
    talk: Talk,
    url: &str,
    form: Form,
) -> Result<Value, Refusal> {
    given(url, send(client, talk, url, None, form).await?)
}

/// Sends a form to which success is the whole answer.
pub(crate) async fn post_without_answer(
    client: &Client,
    talk: Talk,
    url: &str,
    form: Form,
) -> Result<(), Refusal> {
    send(client, talk, url, None, form).await.map(drop)
}

/// Sends a form as a client that proves who it is.
pub(crate) async fn post_as(
    client: &Client,
    talk: Talk,
    url: &str,
    (id, secret, proof): (&str, &Secret, Proof),
    form: Form,
) -> Result<Value, Refusal> {
    let (authorization, form) = match proof {
        Proof::Basic => (Some(basic(id, secret)), form),
        Proof::Form => (None, form.with("client_id", id).with_secret("client_secret", secret)),
    };
    given(url, send(client, talk, url, authorization, form).await?)
}

fn given(url: &str, body: Option<Value>) -> Result<Value, Refusal> {
    body.ok_or_else(|| Refusal::NotUnderstood(not_understood(url, "something that is not JSON")))
}

async fn send(
    client: &Client,
    talk: Talk,
    url: &str,
    authorization: Option<HeaderValue>,
    form: Form,
) -> Result<Option<Value>, Refusal> {
    let mut attempt = 1;
    let response = loop {
        let response = send_once(client, talk, url, authorization.as_ref(), &form).await;
        let response = response.map_err(Refusal::Failed)?;
        // Who is asked too often has done nothing yet; of who can't serve, nobody knows.
        let is_busy = match response.status().as_u16() {
            429 => true,
            503 => !form.is_for_once,
            _ => false,
        };
        match retry_after(&response).filter(|_| is_busy) {
            Some(wait) if attempt <= BUSY_MAX => {
                talk.says(&format!("once more in {:.1} s", wait.as_secs_f64()));
                tokio::time::sleep(wait).await;
                attempt += 1;
            }
            _ => break response,
        }
    };
    let status = response.status();
    let body = read(url, response).await.map_err(Refusal::Failed)?;
    if status.is_success() {
        return Ok(body);
    }
    let text = |name| body.as_ref().and_then(|body| body.get(name)).and_then(Value::as_str);
    match text("error") {
        Some(error) if status.is_client_error() && status.as_u16() != 429 => Err(Refusal::Error {
            endpoint: url.to_owned(),
            error: short(error),
            description: text("error_description").map(short),
        }),
        _ if status.is_server_error() || status.as_u16() == 429 => {
            let said = format!("{url} answered {status}");
            let failure = Failure::new(Kind::Unreachable, said).advise("try again in a moment");
            Err(Refusal::Failed(failure))
        }
        _ => Err(Refusal::NotUnderstood(not_understood(url, &status.to_string()))),
    }
}

async fn send_once(
    client: &Client,
    talk: Talk,
    url: &str,
    authorization: Option<&HeaderValue>,
    form: &Form,
) -> Result<Response, Failure> {
    let began = talk.asks(&Method::POST, url, &[], Some(&form.shown()));
    let mut request = client
        .post(url)
        .header(ACCEPT, "application/json")
        .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(form.encoded());
    if let Some(authorization) = authorization {
        request = request.header(AUTHORIZATION, authorization);
    }
    let response = request.send().await.map_err(|error| {
        talk.misses(began, &root_cause(&error));
        unreachable(url, &error)
    })?;
    talk.hears(began, response.status(), response.headers());
    Ok(response)
}

/// Asks for a document that everyone may have.
pub(crate) async fn get(client: &Client, talk: Talk, url: &str) -> Result<Value, Failure> {
    let began = talk.asks(&Method::GET, url, &[], None);
    let response = client.get(url).header(ACCEPT, "application/json").send().await;
    let response = response.map_err(|error| {
        talk.misses(began, &root_cause(&error));
        unreachable(url, &error)
    })?;
    talk.hears(began, response.status(), response.headers());
    let status = response.status();
    let body = read(url, response).await?;
    match body {
        Some(body) if status == reqwest::StatusCode::OK => Ok(body),
        Some(_) => Err(not_understood(url, &status.to_string())),
        None => Err(not_understood(url, &format!("{status}, without JSON"))),
    }
}

/// Both are encoded like a form's values before they are put together (RFC 6749, section 2.3.1).
fn basic(id: &str, secret: &Secret) -> HeaderValue {
    let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
    let pair = format!("{}:{}", encoded(id), encoded(secret.reveal()));
    let mut value = HeaderValue::from_str(&format!("Basic {}", BASE64.encode(pair)))
        .expect("base64 has only letters that a header may have");
    value.set_sensitive(true);
    value
}

/// The JSON of an answer, if it is any.
async fn read(url: &str, mut response: Response) -> Result<Option<Value>, Failure> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| unreachable(url, &error))? {
        if body.len() + chunk.len() > ANSWER_BYTES_MAX {
            return Err(not_understood(url, "more than 1 MiB"));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(serde_json::from_slice(&body).ok())
}

fn unreachable(url: &str, error: &reqwest::Error) -> Failure {
    Failure::new(Kind::Unreachable, format!("{url} can't be reached: {}", root_cause(error)))
        .advise("is the address right, and is the server up?")
}

fn not_understood(url: &str, what: &str) -> Failure {
    Failure::new(Kind::Unreachable, format!("{url} answered {what}, which no token server does"))
        .advise("see that --url and --issuer are right")
}

/// What somebody else says, so that it fits on a line and steers no terminal.
fn short(text: &str) -> String {
    let beginning: String = text.chars().take(DESCRIPTION_CHARS_MAX).collect();
    harmless(&beginning).into_owned()
}

impl Granted {
    /// Reads what a token endpoint gave.
    pub(crate) fn read(endpoint: &str, body: &Value, now: Timestamp) -> Result<Self, Refusal> {
        let bad = |what: &str| Refusal::NotUnderstood(not_understood(endpoint, what));
        let text = |name| body.get(name).and_then(Value::as_str).filter(|it| !it.is_empty());
        let token = text("access_token").ok_or_else(|| bad("without an access_token"))?;
        // A token that is bound to a key is of no use without it.
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

/// In how many seconds it expires. Some write the number as a text.
fn lifetime(body: &Value) -> Option<i64> {
    let lifetime = body.get("expires_in")?;
    lifetime.as_i64().or_else(|| lifetime.as_str()?.parse().ok())
}

/// What a token says about itself, if it is a JWT. Only hints: whether it is good, the server says.
pub(crate) fn claims_of(token: &str) -> Option<Value> {
    let payload = BASE64URL.decode(token.split('.').nth(1)?).ok()?;
    serde_json::from_slice(&payload).ok()
}

/// When a token expires by its own account.
pub(crate) fn expiry_of(token: &str) -> Option<Timestamp> {
    let seconds = claims_of(token)?.get("exp")?.as_f64()?;
    Timestamp::from_millisecond((seconds * 1000.0) as i64).ok()
}

/// What time it is here.
pub(crate) fn now() -> Timestamp {
    Clock::machine().now()
}

impl Refusal {
    /// What RFC 6749 and its relatives call it.
    pub(crate) fn error(&self) -> Option<&str> {
        match self {
            Self::Error { error, .. } => Some(error),
            Self::Failed(_) | Self::NotUnderstood(_) => None,
        }
    }

    /// As the reason why a command did not do what it was asked.
    pub(crate) fn into_failure(self) -> Failure {
        match self {
            Self::Failed(failure) | Self::NotUnderstood(failure) => failure,
            Self::Error { endpoint, error, description } => {
                let said = match description {
                    Some(description) => format!("{endpoint} says {error}: {description}"),
                    None => format!("{endpoint} says {error}"),
                };
                let failure = Failure::new(Kind::NotAllowed, said);
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
