//! What `--verbose` shows: every request and what came of it, on standard error, without secrets.

use std::time::{Duration, Instant};

use reqwest::header::{HeaderMap, HeaderName};
use reqwest::{Method, StatusCode};
use serde_json::Value;

use crate::terminal::screen::remark;

/// Fields whose value is nobody's to see, wherever they are.
const SECRET: [&str; 9] = [
    "password",
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

/// What of an answer's head says something to people.
const TELLING: [&str; 6] = [
    "content-type",
    "location",
    "x-total-count",
    "x-ignored-params",
    "retry-after",
    "www-authenticate",
];

/// Says what is asked and answered, or keeps quiet.
#[derive(Clone, Copy)]
pub(crate) struct Talk {
    is_on: bool,
}

impl Talk {
    pub(crate) fn new(is_on: bool) -> Self {
        Self { is_on }
    }

    /// A request that goes out; `headers` and `body` are shown without what is secret in them.
    pub(crate) fn asks(
        self,
        method: &Method,
        url: &str,
        headers: &[(HeaderName, String)],
        body: Option<&Value>,
    ) -> Instant {
        if self.is_on {
            remark(&format!("> {method} {url}"));
            for (name, value) in headers {
                remark(&format!("> {name}: {value}"));
            }
            if let Some(body) = body {
                remark(&format!("> {}", shown(body)));
            }
        }
        Instant::now()
    }

    /// What came back. Bodies may hold passwords, and are what the command shows anyway.
    pub(crate) fn hears(self, began: Instant, status: StatusCode, headers: &HeaderMap) {
        if !self.is_on {
            return;
        }
        let took = rounded(began.elapsed());
        remark(&format!("< {status} after {took}"));
        for name in TELLING.iter().chain(&["x-correlation-id"]) {
            if let Some(value) = headers.get(*name).and_then(|value| value.to_str().ok()) {
                remark(&format!("< {name}: {value}"));
            }
        }
    }

    /// Nothing came back.
    pub(crate) fn misses(self, began: Instant, why: &str) {
        self.says(&format!("no answer after {}: {why}", rounded(began.elapsed())));
    }

    /// Something that explains what comes next.
    pub(crate) fn says(self, what: &str) {
        if self.is_on {
            remark(&format!("* {what}"));
        }
    }
}

fn rounded(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1000.0)
}

/// A body as it may be seen.
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
        let body = json!({"contractId": "c", "accesses": [{"username": "u", "password": "hunter2"}],
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
