//! Responses to connections that never send a valid request, as bytes for the wire, with the usual problem body.
//!
//! Malformed HTTP never reaches a handler: hyper responds with a bare status and closes. The server recognises these
//! responses before they are sent: each of its own has a correlation ID. For a head that doesn't arrive, or a
//! connection too many, hyper sends no response at all.

use gatehouse_core::Timestamp;
use http::{HeaderMap, StatusCode};

use crate::config::Duration;
use crate::http::answer::correlation::Correlation;
use crate::http::answer::problem::Problem;

/// The response to send in place of hyper's bare 4xx; `None` if these bytes are another response.
pub(crate) fn explain_bare(bare: &[u8], now: impl Fn() -> Timestamp) -> Option<Vec<u8>> {
    // Most responses end here.
    if !bare.starts_with(b"HTTP/1.1 4") || !bare.ends_with(b"\r\n\r\n") {
        return None;
    }
    let bare = std::str::from_utf8(bare).ok()?;
    if !bare.contains("\r\ncontent-length: 0\r\n") || bare.contains("\r\nx-correlation-id: ") {
        return None;
    }
    let status = StatusCode::from_bytes(&bare.as_bytes()[9..12]).ok()?;
    let (title, detail) = match status {
        StatusCode::URI_TOO_LONG => ("Address too long", "the address has more than 65534 bytes"),
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => {
            ("Headers too large", "the request has more than 100 headers, or too long ones")
        }
        _ => (
            "Malformed request",
            "the request line or the headers are not valid HTTP/1.1; write a space in the address as %20, and in \
             pipelined requests also `<`, `>` and `\"` as %3C, %3E and %22",
        ),
    };
    Some(message(Problem::new(status, title, detail), now()))
}

/// Response to a client whose request head did not arrive in time.
pub(crate) fn slow_head(limit: Duration, now: Timestamp) -> Vec<u8> {
    let detail = format!("the request's line and headers did not arrive within {limit}");
    message(Problem::new(StatusCode::REQUEST_TIMEOUT, "Too slow", detail), now)
}

/// Response to a client whose connection exceeds the limit.
pub(crate) fn too_many_connections(now: Timestamp) -> Vec<u8> {
    let detail = "there are too many connections with requests under way, try again later";
    message(Problem::unavailable("Busy", detail), now)
}

fn message(problem: Problem, now: Timestamp) -> Vec<u8> {
    let status = problem.status;
    let correlation = Correlation::of(&HeaderMap::new(), now);
    tracing::info!(status = status.as_u16(), correlation_id = correlation.id, "no request");
    let mut reply = problem.into_reply(&correlation.id);
    correlation.put(&mut reply.headers);
    let mut message = format!("HTTP/1.1 {status}\r\nconnection: close\r\n").into_bytes();
    for (name, value) in &reply.headers {
        message.extend_from_slice(format!("{name}: ").as_bytes());
        message.extend_from_slice(value.as_bytes());
        message.extend_from_slice(b"\r\n");
    }
    let body = reply.body.bytes();
    message.extend_from_slice(format!("content-length: {}\r\n\r\n", body.len()).as_bytes());
    message.extend_from_slice(body);
    message
}
