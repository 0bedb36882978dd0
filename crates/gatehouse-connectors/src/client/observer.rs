//! Observers of platform calls: they record calls, or show them to an operator.
//!
//! Observers see no known secret. The token in a log-in's response is not known yet, so of log-ins only values too
//! short to be secrets are shown.

use std::fmt;
use std::time::Duration;

use http::header::{CONTENT_TYPE, LOCATION};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use reqwest::Url;
use serde_json::Value;

use super::secrets::{HIDDEN, Secrets, holds_secret, is_secret_name};
use super::{PlatformRequest, PlatformResponse};
use crate::connector::CallKind;
use crate::failure::Failure;

/// Most characters of a log-in's value that are shown: tokens are longer.
const SHOWN_CHARS_MAX: usize = 8;

/// Content type of a form.
const FORM: &str = "application/x-www-form-urlencoded";

/// Observes platform calls.
pub trait Observer: Send + Sync {
    /// Called after each call that was sent. The platform client waits for it.
    fn observe(&self, exchange: &Exchange<'_>);
}

/// A call and its result. Whatever could be a secret is `***`.
pub struct Exchange<'a> {
    /// Name of the account.
    pub account: &'a str,
    /// Kind of call.
    pub kind: CallKind,
    /// HTTP method.
    pub method: &'a Method,
    /// URL.
    pub url: String,
    /// Request headers.
    pub headers: Vec<(HeaderName, String)>,
    /// Request body.
    pub body: String,
    /// The response, or why there is none.
    pub result: Result<ShownResponse, &'a Failure>,
    /// Time from sending the request until the whole response was read.
    pub took: Duration,
    raw_url: &'a Url,
    raw_body: Option<&'a [u8]>,
}

/// A response without secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownResponse {
    /// Status.
    pub status: StatusCode,
    /// Headers.
    pub headers: Vec<(HeaderName, String)>,
    /// Whole body.
    pub body: String,
}

impl<'a> Exchange<'a> {
    pub(in crate::client) fn new(
        account: &'a str,
        request: &'a PlatformRequest,
        url: &'a Url,
        secrets: &Secrets,
        result: Result<&'a PlatformResponse, &'a Failure>,
        took: Duration,
    ) -> Self {
        let shown = result.map(|response| ShownResponse {
            status: response.status,
            headers: headers(request.kind, &response.headers, secrets),
            body: body(request.kind, &response.headers, &response.body, secrets),
        });
        Self {
            account,
            kind: request.kind,
            method: &request.method,
            url: secrets.clean_all(address(request.kind, url.as_str()).as_bytes()),
            headers: headers(request.kind, &request.headers, secrets),
            body: body(request.kind, &request.headers, &request.body, secrets),
            result: shown,
            took,
            raw_url: url,
            raw_body: result.ok().map(|response| &response.body[..]),
        }
    }

    /// The request's URL, **unmasked**: it may hold secrets. For callers with their own cleaning rules.
    pub fn raw_url(&self) -> &'a str {
        self.raw_url.as_str()
    }

    /// The response's body, **unmasked**: a log-in's holds secrets. For callers with their own cleaning rules.
    pub fn raw_body(&self) -> Option<&'a [u8]> {
        self.raw_body
    }
}

impl fmt::Debug for Exchange<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exchange")
            .field("account", &self.account)
            .field("kind", &self.kind)
            .field("method", &self.method)
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

fn headers(kind: CallKind, headers: &HeaderMap, secrets: &Secrets) -> Vec<(HeaderName, String)> {
    let shown = |name: &HeaderName, value: &HeaderValue| {
        if holds_secret(name, value) {
            HIDDEN.to_owned()
        } else if name == LOCATION {
            let link = String::from_utf8_lossy(value.as_bytes());
            secrets.clean_all(address(kind, &link).as_bytes())
        } else {
            secrets.clean_all(value.as_bytes())
        }
    };
    headers.iter().map(|(name, value)| (name.clone(), shown(name, value))).collect()
}

/// Hides query values whose names say that they are secrets; in a log-in, also those that may be tokens.
fn address(kind: CallKind, url: &str) -> String {
    let Some((before, query)) = url.split_once('?') else { return url.to_owned() };
    let is_hidden = |name: &str, value: &str| {
        is_secret_name(name) || kind == CallKind::Session && is_long(value)
    };
    format!("{before}?{}", pairs(query, is_hidden))
}

fn body(kind: CallKind, headers: &HeaderMap, body: &[u8], secrets: &Secrets) -> String {
    match kind {
        CallKind::Session => secrets.clean_all(log_in(is_form(headers), body).as_bytes()),
        CallKind::List | CallKind::LookUp | CallKind::Detail => {
            let hidden = serde_json::from_slice(body).ok().and_then(without_secrets);
            secrets.clean_all(hidden.as_deref().map_or(body, str::as_bytes))
        }
    }
}

/// The document with its secrets hidden; `None` if it has none.
fn without_secrets(mut value: Value) -> Option<String> {
    hide_secrets(&mut value).then(|| value.to_string())
}

/// Names of further values that a platform keeps of SIM cards and terminals, and that observers must not see.
const PERSONAL_NAMES: [&str; 2] = ["pin", "puk"];

/// Hides secrets in a platform's document, such as private keys and PINs; returns whether there were any.
fn hide_secrets(value: &mut Value) -> bool {
    let mut is_hidden = false;
    match value {
        Value::Array(all) => all.iter_mut().for_each(|it| is_hidden |= hide_secrets(it)),
        Value::Object(members) => {
            for (name, value) in members {
                let lower = name.to_ascii_lowercase();
                let is_personal = PERSONAL_NAMES.iter().any(|it| lower.starts_with(it));
                match value {
                    Value::String(text) if is_personal || is_secret_name(name) => {
                        HIDDEN.clone_into(text);
                        is_hidden = true;
                    }
                    other => is_hidden |= hide_secrets(other),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    is_hidden
}

/// Hides long values in the body of a log-in; keeps the structure of JSON and forms.
fn log_in(is_form: bool, body: &[u8]) -> String {
    if let Ok(mut value) = serde_json::from_slice(body) {
        hide_long(&mut value);
        return value.to_string();
    }
    let text = String::from_utf8_lossy(body);
    if is_form {
        pairs(&text, |name, value| is_secret_name(name) || is_long(value))
    } else if is_long(&text) {
        HIDDEN.to_owned()
    } else {
        text.into_owned()
    }
}

/// Whether the headers declare a form. The body's look proves nothing: a token might look like one.
fn is_form(headers: &HeaderMap) -> bool {
    let content_type = headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
    content_type.is_some_and(|it| it.trim_start().to_ascii_lowercase().starts_with(FORM))
}

fn hide_long(value: &mut Value) {
    match value {
        Value::String(text) if is_long(text) => HIDDEN.clone_into(text),
        Value::Array(all) => all.iter_mut().for_each(hide_long),
        Value::Object(members) => members.values_mut().for_each(hide_long),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_long(text: &str) -> bool {
    text.chars().nth(SHOWN_CHARS_MAX).is_some()
}

/// A query or form with some values hidden.
fn pairs(text: &str, is_hidden: impl Fn(&str, &str) -> bool) -> String {
    let shown = text.split('&').map(|pair| match pair.split_once('=') {
        Some((name, value)) if is_hidden(name, value) => format!("{name}={HIDDEN}"),
        // Without a name, the text may be a value.
        None if is_hidden("", pair) => HIDDEN.to_owned(),
        _ => pair.to_owned(),
    });
    shown.collect::<Vec<_>>().join("&")
}

#[cfg(test)]
mod tests;
