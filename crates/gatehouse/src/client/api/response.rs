//! A server's response, and its problem as a failure.

use reqwest::header::HeaderMap;
use serde_json::Value;

use super::advice;
use crate::failure::{Failure, FailureKind};
use crate::terminal::output::text;

pub(crate) struct ApiResponse {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl ApiResponse {
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    pub(crate) fn number(&self, header: &str) -> Option<u64> {
        self.headers.get(header)?.to_str().ok()?.parse().ok()
    }

    /// Whether a page follows this one.
    pub(crate) fn has_next(&self) -> bool {
        let links = self.headers.get("link").and_then(|links| links.to_str().ok());
        links.is_some_and(|links| links.contains("rel=\"next\""))
    }

    pub(crate) fn title(&self) -> &str {
        self.text("title").unwrap_or_default()
    }

    /// The response as a command's failure.
    pub(crate) fn failure(&self) -> Failure {
        let message = match self.title() {
            "" => format!("the server answered {}, without a reason", self.status),
            _ => explained(&self.body),
        };
        let failure = Failure::new(FailureKind::of_status(self.status), message);
        advised(failure, self.status, self.title()).with_correlation(self.correlation())
    }

    fn correlation(&self) -> Option<String> {
        let header = || self.headers.get("x-correlation-id")?.to_str().ok();
        self.text("correlationId").or_else(header).map(str::to_owned)
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.body.get(name).and_then(Value::as_str)
    }
}

/// The failure of a batch that the server rejected for this problem.
pub(crate) fn rejection(problem: &Value) -> Failure {
    let why = explained(problem);
    let message = format!("the batch was rejected, nothing was done: {why}");
    let failure = Failure::new(FailureKind::Refused, message);
    let status = problem["status"].as_u64().and_then(|it| u16::try_from(it).ok());
    advised(failure, status.unwrap_or_default(), &text(problem, "title"))
        .with_correlation(Some(text(problem, "correlationId")))
}

/// The failure with the advice on its problem, if there is one.
fn advised(failure: Failure, status: u16, title: &str) -> Failure {
    match advice::on(status, title) {
        Some(advice) => failure.advise(advice),
        None => failure,
    }
}

/// The problem on one line.
pub(crate) fn explained(problem: &Value) -> String {
    let [status, title, detail] = ["status", "title", "detail"].map(|name| text(problem, name));
    if detail.is_empty() {
        format!("{status} {title}")
    } else {
        format!("{status} {title}: {detail}")
    }
}
