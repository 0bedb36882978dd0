//! Checks of a request's headers, and draining the body of a refused request.

use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::uri::Authority;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Version, header};
use http_body::Body;
use http_body_util::BodyExt;

use crate::http::answer::media::MERGE_PATCH;
use crate::http::answer::problem::Problem;
use crate::reader::shortened;

pub(crate) const ACCEPT_PATCH: HeaderName = HeaderName::from_static("accept-patch");

/// Most headers. hyper refuses an HTTP/1.1 request with more of them.
const HEADERS_MAX: usize = 100;

/// Most bytes of all headers.
pub(crate) const HEADER_BYTES_MAX: usize = 64 * 1024;

/// Most bytes that the server reads of a refused body, and for how long: a client sees the response only
/// after it has sent the body.
const DRAIN_BYTES_MAX: u64 = 256 << 20;
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// Silence after which a client is taken to be reading, not writing, so that it sees the response.
const DRAIN_IDLE_TIMEOUT: Duration = Duration::from_millis(200);

/// Refuses too many or too long headers.
pub(crate) fn check_headers(headers: &HeaderMap) -> Result<(), Problem> {
    let n_bytes: usize =
        headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    let n_headers = headers.len();
    if n_bytes <= HEADER_BYTES_MAX && n_headers <= HEADERS_MAX {
        return Ok(());
    }
    let detail = format!(
        "there are {n_headers} headers with {n_bytes} bytes; {HEADERS_MAX} with {HEADER_BYTES_MAX} are allowed"
    );
    Err(Problem::new(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "Headers too large", detail))
}

/// Refuses a request that doesn't name exactly one host: HTTP/1.1 in `Host` (RFC 9112), HTTP/2 in `:authority`, in
/// `Host`, or the same in both (RFC 9113).
pub(crate) fn check_host(parts: &Parts) -> Result<(), Problem> {
    let hosts: Vec<_> = parts.headers.get_all(header::HOST).iter().collect();
    let is_host = |value: &HeaderValue| {
        let authority = value.to_str().ok().and_then(|it| it.parse::<Authority>().ok());
        authority.is_some_and(|it| !it.as_str().contains('@'))
    };
    let authority = match parts.version {
        Version::HTTP_2 => parts.uri.authority().map(Authority::as_str),
        _ => None,
    };
    match (authority, &hosts[..]) {
        (None, []) if parts.version < Version::HTTP_11 => return Ok(()),
        (None, [host]) if is_host(host) => return Ok(()),
        (Some(authority), []) if !authority.contains('@') => return Ok(()),
        (Some(authority), [host]) if is_host(host) && *host == authority => return Ok(()),
        _ => {}
    }
    let detail = "a request needs the header Host (in HTTP/2, :authority) once, with a name or address \
                  and perhaps a port";
    Err(Problem::new(StatusCode::BAD_REQUEST, "Malformed request", detail))
}

/// Refuses a body of a content type that the operation doesn't read.
pub(crate) fn check_content_type(headers: &HeaderMap, expected: &[&str]) -> Result<(), Problem> {
    let mut types = headers.get_all(header::CONTENT_TYPE).iter();
    // Two are ambiguous.
    let given = types.next().filter(|_| types.next().is_none());
    let given = given.and_then(|value| value.to_str().ok());
    let encoded = headers
        .get(header::CONTENT_ENCODING)
        .is_some_and(|value| !value.as_bytes().eq_ignore_ascii_case(b"identity"));
    let is_expected = |given: &str| expected.iter().any(|kind| is_kind(given, kind));
    if given.is_some_and(is_expected) && !encoded {
        return Ok(());
    }
    let detail = match given {
        _ if encoded => "the body must not be compressed".to_owned(),
        None => {
            let expected = expected.join("` or `Content-Type: ");
            format!("the request needs the header `Content-Type: {expected}`, once")
        }
        Some(given) => {
            let (given, expected) = (shortened(given), expected.join(" or "));
            format!("the body must be {expected} in UTF-8, and its Content-Type says `{given}`")
        }
    };
    let problem = Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "Wrong content type", detail);
    let patches = expected.contains(&MERGE_PATCH);
    Err(if patches { problem.with(ACCEPT_PATCH, &expected.join(", ")) } else { problem })
}

fn is_kind(given: &str, expected: &str) -> bool {
    let mut parts = given.split(';').map(str::trim);
    parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case(expected))
        && parts.all(|parameter| match parameter.split_once('=') {
            Some((name, value)) if name.trim().eq_ignore_ascii_case("charset") => {
                let charset = value.trim().trim_matches('"');
                charset.eq_ignore_ascii_case("utf-8") || charset.eq_ignore_ascii_case("utf8")
            }
            _ => true,
        })
}

/// Reads and discards the rest of a refused body, within limits.
pub(crate) async fn drain_refused_body<B>(headers: &HeaderMap, body: &mut B)
where
    B: Body<Data = Bytes> + Unpin,
{
    // A client that expects `100 Continue` hasn't sent the body.
    if body.is_end_stream() || headers.contains_key(header::EXPECT) {
        return;
    }
    let rest = async {
        let mut n_bytes = 0;
        while let Ok(Some(Ok(frame))) = tokio::time::timeout(DRAIN_IDLE_TIMEOUT, body.frame()).await
        {
            n_bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
            if n_bytes > DRAIN_BYTES_MAX {
                return;
            }
        }
    };
    let _ = tokio::time::timeout(DRAIN_TIMEOUT, rest).await;
}

#[cfg(test)]
mod tests;
