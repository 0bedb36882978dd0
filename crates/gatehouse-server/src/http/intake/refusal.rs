//! Answers to what never becomes a request, as bytes for the wire, with the problem body that everyone gets.
//!
//! A request that is not HTTP at all never reaches a handler: hyper answers it with a bare status and
//! closes. These are recognised on their way out: no answer of ours is a 4xx without a body. And a head that
//! doesn't arrive, or a connection that there is no room for, is nothing that hyper would answer.

use gatehouse_core::Timestamp;
use http::{HeaderMap, StatusCode};

use crate::config::Duration;
use crate::http::answer::correlation::Correlation;
use crate::http::answer::problem::Problem;

/// What goes out in place of a bare refusal of hyper's; nothing when these bytes are none.
pub(crate) fn explain_bare(bare: &[u8], now: impl Fn() -> Timestamp) -> Option<Vec<u8>> {
    // Most answers are none, and end here.
    if !bare.starts_with(b"HTTP/1.1 4") || !bare.ends_with(b"\r\n\r\n") {
        return None;
    }
    let bare = std::str::from_utf8(bare).ok()?;
    if !bare.contains("\r\ncontent-length: 0\r\n") {
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
            "the request's line or headers can't be read as HTTP/1.1; in an address, a space is written \
             %20, and of a request that doesn't wait for the answer before it `<`, `>` and `\"` %3C, %3E and %22",
        ),
    };
    Some(message(Problem::new(status, title, detail), now()))
}

/// To a client whose request's head did not arrive in time.
pub(crate) fn slow_head(limit: Duration, now: Timestamp) -> Vec<u8> {
    let detail = format!("the request's line and headers did not arrive within {limit}");
    message(Problem::new(StatusCode::REQUEST_TIMEOUT, "Too slow", detail), now)
}

/// To a client for whose connection there is no room.
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
