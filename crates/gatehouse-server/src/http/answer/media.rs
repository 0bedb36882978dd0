//! Media types of requests and responses.

pub(crate) const CSV: &str = "text/csv; charset=utf-8";
pub(crate) const EVENT_STREAM: &str = "text/event-stream";
pub(crate) const FORM: &str = "application/x-www-form-urlencoded";
pub(crate) const HTML: &str = "text/html; charset=utf-8";
pub(crate) const JSON: &str = "application/json";
pub(crate) const MERGE_PATCH: &str = "application/merge-patch+json";
pub(crate) const PROBLEM_JSON: &str = "application/problem+json";
pub(crate) const TEXT: &str = "text/plain; charset=utf-8";
