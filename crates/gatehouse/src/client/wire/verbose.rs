//! `--verbose`: prints every request and its response on standard error, without secrets.

use std::time::{Duration, Instant};

use reqwest::header::{HeaderMap, HeaderName};
use reqwest::{Method, StatusCode};
use serde_json::Value;

use crate::terminal::screen::print_notice;

/// Fields whose value is masked, at any depth.
const SECRET: [&str; 10] = [
    "password",
    "passwordHash",
    "credentials",
    "client_secret",
    "clientSecret",
    "device_code",
    "refresh_token",
    "access_token",
    "id_token",
    "assertion",
];

/// Characters of a body that are shown.
const BODY_CHARS_MAX: usize = 2000;

/// Response headers that are shown.
const SHOWN_HEADERS: [&str; 6] = [
    "content-type",
    "location",
    "x-total-count",
    "x-ignored-params",
    "retry-after",
    "www-authenticate",
];

/// Prints requests and responses if `--verbose` was given.
#[derive(Clone, Copy)]
pub(crate) struct Verbose {
    is_on: bool,
}

impl Verbose {
    pub(crate) fn new(is_on: bool) -> Self {
        Self { is_on }
    }

    /// Prints a request; `headers` and `body` are shown without secrets.
    pub(crate) fn request(
        self,
        method: &Method,
        url: &str,
        headers: &[(HeaderName, String)],
        body: Option<&Value>,
    ) -> Instant {
        if self.is_on {
            print_notice(&format!("> {method} {url}"));
            for (name, value) in headers {
                print_notice(&format!("> {name}: {value}"));
            }
            if let Some(body) = body {
                print_notice(&format!("> {}", shown(body)));
            }
        }
        Instant::now()
    }

    /// Prints a response's head. Bodies may hold passwords, and the command shows them anyway.
    pub(crate) fn response(self, began: Instant, status: StatusCode, headers: &HeaderMap) {
        if !self.is_on {
            return;
        }
        let took = rounded(began.elapsed());
        print_notice(&format!("< {status} after {took}"));
        for name in SHOWN_HEADERS.iter().chain(&["x-correlation-id"]) {
            if let Some(value) = headers.get(*name).and_then(|value| value.to_str().ok()) {
                print_notice(&format!("< {name}: {value}"));
            }
        }
    }

    /// Prints that no response arrived.
    pub(crate) fn no_response(self, began: Instant, why: &str) {
        self.note(&format!("no answer after {}: {why}", rounded(began.elapsed())));
    }

    pub(crate) fn note(self, what: &str) {
        if self.is_on {
            print_notice(&format!("* {what}"));
        }
    }
}

fn rounded(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1000.0)
}

/// A body with secrets masked, cut to a limit.
fn shown(body: &Value) -> String {
    let text = masked(body).to_string();
    let n_chars = text.chars().count();
    if n_chars <= BODY_CHARS_MAX {
        return text;
    }
    let beginning: String = text.chars().take(BODY_CHARS_MAX).collect();
    format!("{beginning}… ({n_chars} characters)")
}

fn masked(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mask = |(name, value): (&String, &Value)| {
                let is_secret = SECRET.contains(&name.as_str());
                (name.clone(), if is_secret { "***".into() } else { masked(value) })
            };
            fields.iter().map(mask).collect()
        }
        Value::Array(items) => items.iter().map(masked).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn secrets_are_masked_wherever_they_are() {
        let body = json!({"contractId": "c", "accesses": [{"username": "u", "password": "hunter2"}, {"passwordHash": "hunter2"}],
                          "credentials": {"token": "hunter2"}, "client_secret": "hunter2"});
        let text = shown(&body);
        assert!(!text.contains("hunter2"), "{text}");
        assert!(text.contains(r#""username":"u","password":"***""#), "{text}");
    }

    #[test]
    fn long_bodies_are_cut() {
        let text = shown(&json!({"ids": vec!["ä"; 5000]}));
        assert!(text.ends_with("… (20009 characters)"), "{}", &text[text.len() - 60..]);
    }
}
