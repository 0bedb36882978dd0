//! Whoever looks on while platforms are asked: to record calls, or to show an operator what is said.
//!
//! What it is shown is free of secrets, as far as they can be known. What a log-in gives is not known to anybody
//! yet, so of what is said there only what is too short to be a secret is shown.

use std::fmt;
use std::time::Duration;

use http::header::{CONTENT_TYPE, LOCATION};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use reqwest::Url;
use serde_json::Value;

use super::secrets::{HIDDEN, Secrets, is_carrier, is_telling};
use super::{PlatformRequest, PlatformResponse};
use crate::connector::CallKind;
use crate::failure::Failure;

/// Most characters of a text that is shown of a log-in: tokens are longer.
const SHOWN_CHARS_MAX: usize = 8;

/// What a form is called.
const FORM: &str = "application/x-www-form-urlencoded";

/// Looks on while platforms are asked.
pub trait Observer: Send + Sync {
    /// Takes note of a call that was made. The line waits for it.
    fn saw(&self, exchange: &Exchange<'_>);
}

/// A call that was made, and what came of it. What could be a secret is `***`.
pub struct Exchange<'a> {
    /// The account that was asked.
    pub account: &'a str,
    /// What it was asked for.
    pub kind: CallKind,
    /// With which method.
    pub method: &'a Method,
    /// Where.
    pub url: String,
    /// What was said about the request.
    pub headers: Vec<(HeaderName, String)>,
    /// What was sent along.
    pub body: String,
    /// What was answered, or why nothing was.
    pub result: Result<ShownResponse, &'a Failure>,
    /// From when it was sent until all of the answer was there.
    pub took: Duration,
    raw_url: &'a Url,
    raw_body: Option<&'a [u8]>,
}

/// What is shown of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownResponse {
    /// Its status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: Vec<(HeaderName, String)>,
    /// All of its body.
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
        let seen = result.map(|answer| ShownResponse {
            status: answer.status,
            headers: headers(request.kind, &answer.headers, secrets),
            body: body(request.kind, &answer.headers, &answer.body, secrets),
        });
        Self {
            account,
            kind: request.kind,
            method: &request.method,
            url: secrets.clean_all(address(request.kind, url.as_str()).as_bytes()),
            headers: headers(request.kind, &request.headers, secrets),
            body: body(request.kind, &request.headers, &request.body, secrets),
            result: seen,
            took,
            raw_url: url,
            raw_body: result.ok().map(|answer| &answer.body[..]),
        }
    }

    /// The address as it was asked, **unmasked**: it may hold secrets. For who cleans by rules of their own.
    pub fn raw_url(&self) -> &'a str {
        self.raw_url.as_str()
    }

    /// The answer's body as it came, **unmasked**: it may hold secrets, and that of a log-in does. For who cleans
    /// by rules of their own.
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
        if is_carrier(name, value) {
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

/// An address whose query holds nothing that is a secret by its name, or that may be the token of a log-in.
fn address(kind: CallKind, whole: &str) -> String {
    let Some((before, query)) = whole.split_once('?') else { return whole.to_owned() };
    let is_hidden =
        |name: &str, value: &str| is_telling(name) || kind == CallKind::Session && is_long(value);
    format!("{before}?{}", pairs(query, is_hidden))
}

fn body(kind: CallKind, headers: &HeaderMap, body: &[u8], secrets: &Secrets) -> String {
    match kind {
        CallKind::Session => secrets.clean_all(log_in(is_form(headers), body).as_bytes()),
        CallKind::List | CallKind::LookUp | CallKind::Detail => {
            let hidden = serde_json::from_slice(body).ok().and_then(without_telling);
            secrets.clean_all(hidden.as_deref().map_or(body, str::as_bytes))
        }
    }
}

/// A document without what it holds of secrets; nothing where there are none.
fn without_telling(mut value: Value) -> Option<String> {
    hide_telling(&mut value).then(|| value.to_string())
}

/// What platforms keep of cards and terminals that is nobody's business, beside what is called a secret.
const PERSONAL_NAMES: [&str; 2] = ["pin", "puk"];

/// Hides what a platform keeps secret of its own: private keys, PINs. Tells whether there was something.
fn hide_telling(value: &mut Value) -> bool {
    let mut is_hidden = false;
    match value {
        Value::Array(all) => all.iter_mut().for_each(|it| is_hidden |= hide_telling(it)),
        Value::Object(members) => {
            for (name, value) in members {
                let lower = name.to_ascii_lowercase();
                let is_personal = PERSONAL_NAMES.iter().any(|it| lower.starts_with(it));
                match value {
                    Value::String(text) if is_personal || is_telling(name) => {
                        HIDDEN.clone_into(text);
                        is_hidden = true;
                    }
                    other => is_hidden |= hide_telling(other),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    is_hidden
}

/// What is said to log in and answered to it, in its own shape where that is JSON or a form.
fn log_in(is_form: bool, body: &[u8]) -> String {
    if let Ok(mut value) = serde_json::from_slice(body) {
        hide_long(&mut value);
        return value.to_string();
    }
    let text = String::from_utf8_lossy(body);
    if is_form {
        pairs(&text, |name, value| is_telling(name) || is_long(value))
    } else if is_long(&text) {
        HIDDEN.to_owned()
    } else {
        text.into_owned()
    }
}

/// Whether a body is said to be a form. By its looks, a token might be one.
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

/// Names and values as they stand in a query or a form, where some values are hidden.
fn pairs(text: &str, is_hidden: impl Fn(&str, &str) -> bool) -> String {
    let shown = text.split('&').map(|pair| match pair.split_once('=') {
        Some((name, value)) if is_hidden(name, value) => format!("{name}={HIDDEN}"),
        // Without a name, it may be a value.
        None if is_hidden("", pair) => HIDDEN.to_owned(),
        _ => pair.to_owned(),
    });
    shown.collect::<Vec<_>>().join("&")
}

#[cfg(test)]
mod tests;
