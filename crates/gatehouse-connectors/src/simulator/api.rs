//! API of a simulated platform: makes the response to a request's head, without I/O.
//!
//! `GET /v1/connections` lists connections, or looks up identifiers; `GET /v1/connections/{id}` reads one.
//! docs/simulator.md describes the API for its users.

use bytes::Bytes;
use gatehouse_core::IdentifierKind;
use http::header::{
    ALLOW, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE,
};
use http::{Method, Response, StatusCode};
use percent_encoding::percent_decode_str;
use serde::Serialize;
use serde_json::json;

use super::fleet::{ConnectionJson, Fleet};
use super::platform::{PagingKind, Platform};
use super::profile::{Misbehaviour, Profile};

/// Default page size, unless the platform's maximum is smaller.
const PAGE_SIZE_DEFAULT: u64 = 100;

/// Extra connections of a response with [`Misbehaviour::TooMany`].
const TOO_MANY_EXTRA: u64 = 10;

/// Most characters of a value that an error message repeats.
const VALUE_CHARS_MAX: usize = 64;

/// Path of the collection, and prefix of its members' paths.
const CONNECTIONS: &str = "/v1/connections";

/// A response with its complete body.
pub(super) type FullResponse = Response<Bytes>;

/// The parts of a request that determine the response.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestHead<'a> {
    pub(super) method: &'a Method,
    pub(super) path: &'a str,
    pub(super) query: &'a str,
    pub(super) authorization: Option<&'a str>,
}

/// A client error.
#[derive(Debug)]
enum RequestError {
    Unauthorized,
    NotFound(String),
    MethodNotAllowed,
    BadRequest(String),
}

impl RequestError {
    fn response(self) -> FullResponse {
        match self {
            Self::Unauthorized => unauthorized(),
            Self::NotFound(message) => error_response(StatusCode::NOT_FOUND, &message),
            Self::MethodNotAllowed => method_not_allowed("GET"),
            Self::BadRequest(message) => bad_request(&message),
        }
    }
}

/// Makes a response, with faults in its status, headers and content. The server adds faults of the transfer.
pub(super) fn respond(
    platform: &Platform,
    profile: &Profile,
    head: RequestHead<'_>,
) -> FullResponse {
    match profile.fault {
        Misbehaviour::Unauthorized => return unauthorized(),
        Misbehaviour::Throttled => return throttled(profile),
        Misbehaviour::Redirect => return redirect(head.path),
        Misbehaviour::Html => return html(),
        _ => {}
    }
    let mut response = match route(platform, profile.fault, head) {
        Ok(response) => response,
        Err(error) => return error.response(),
    };
    if profile.fault == Misbehaviour::InvalidJson {
        let body = response.body_mut();
        body.truncate(body.len() / 2);
    }
    response
}

fn route(
    platform: &Platform,
    fault: Misbehaviour,
    head: RequestHead<'_>,
) -> Result<FullResponse, RequestError> {
    let token = head.authorization.and_then(bearer).filter(|it| platform.tokens.accept(it));
    let fleet = Fleet::of(platform, token.ok_or(RequestError::Unauthorized)?);
    let rest = head.path.strip_prefix(CONNECTIONS);
    let id = match rest {
        Some("") => None,
        Some(rest) if rest.len() > 1 && rest.starts_with('/') => Some(&rest[1..]),
        _ => {
            return Err(RequestError::NotFound(format!(
                "there is nothing at {}",
                shortened(head.path)
            )));
        }
    };
    if head.method != Method::GET {
        return Err(RequestError::MethodNotAllowed);
    }
    let parameters = parameters(head.query).map_err(RequestError::BadRequest)?;
    match id {
        Some(id) => read(&fleet, fault, id, &parameters),
        None => match identifiers_to_look_up(&parameters).map_err(RequestError::BadRequest)? {
            Some((kind, values)) => look_up(platform, &fleet, fault, kind, &values),
            None => list(platform, &fleet, fault, &parameters),
        },
    }
}

fn bearer(authorization: &str) -> Option<&str> {
    let (scheme, token) = authorization.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

// Parameters.

type Parameters = Vec<(String, String)>;

fn parameters(query: &str) -> Result<Parameters, String> {
    let mut parameters = Parameters::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let decoded = |text: &str| percent_decode_str(text).decode_utf8().map(|it| it.into_owned());
        let (Ok(name), Ok(value)) = (decoded(name), decoded(value)) else {
            return Err(format!("{} is not UTF-8 once it is decoded", shortened(pair)));
        };
        if parameters.iter().any(|(known, _)| *known == name) {
            return Err(format!("{} is there more than once", shortened(&name)));
        }
        parameters.push((name, value));
    }
    Ok(parameters)
}

/// Name of the parameter that looks up identifiers of a kind.
fn parameter_name(kind: IdentifierKind) -> &'static str {
    match kind {
        IdentifierKind::Iccid => "iccid",
        IdentifierKind::Imsi => "imsi",
        IdentifierKind::Msisdn => "msisdn",
        IdentifierKind::SerialNumber => "serial",
    }
}

/// The identifiers to look up; `None` if the query asks for a list.
fn identifiers_to_look_up(
    parameters: &Parameters,
) -> Result<Option<(IdentifierKind, Vec<&str>)>, String> {
    let kind_of =
        |name: &str| IdentifierKind::ALL.into_iter().find(|it| parameter_name(*it) == name);
    let Some((kind, values)) =
        parameters.iter().find_map(|(name, values)| Some((kind_of(name)?, values)))
    else {
        return Ok(None);
    };
    if let Some((other, _)) = parameters.iter().find(|(name, _)| name != parameter_name(kind)) {
        return Err(format!(
            "{} can't stand beside {}: one kind of identifier is looked up at a time, without paging",
            shortened(other),
            parameter_name(kind)
        ));
    }
    let values: Vec<&str> = values.split(',').filter(|value| !value.is_empty()).collect();
    if values.is_empty() {
        return Err(format!("{} must name one or more, with commas between", parameter_name(kind)));
    }
    Ok(Some((kind, values)))
}

/// A range of a list.
struct Window {
    from: u64,
    size: u64,
}

fn window(
    platform: &Platform,
    fleet: &Fleet<'_>,
    parameters: &Parameters,
) -> Result<Window, String> {
    let (position, size) = match platform.paging {
        PagingKind::Page => ("page", "size"),
        PagingKind::Offset => ("offset", "limit"),
        PagingKind::Cursor => ("cursor", "limit"),
    };
    if let Some((name, _)) = parameters.iter().find(|(name, _)| name != position && name != size) {
        return Err(format!(
            "{} is not a parameter of this platform, which is asked with {position} and {size}, or with \
             one of iccid, imsi, msisdn, serial",
            shortened(name)
        ));
    }
    let given =
        |name| parameters.iter().find(|(it, _)| it == name).map(|(_, value)| value.as_str());
    let number = |name, min, max, default| match given(name) {
        Some(text) => number(name, text, min, max),
        None => Ok(default),
    };
    let size_max = u64::from(platform.page_size_max);
    let size = number(size, 1, size_max, PAGE_SIZE_DEFAULT.min(size_max))?;
    let from = match platform.paging {
        PagingKind::Page => (number("page", 1, u64::MAX, 1)? - 1).saturating_mul(size),
        PagingKind::Offset => number("offset", 0, u64::MAX, 0)?,
        PagingKind::Cursor => match given("cursor") {
            Some(cursor) => fleet.index_of_cursor(cursor).ok_or_else(|| {
                format!(
                    "cursor must be what `next` was on a page of this account, not `{}`",
                    shortened(cursor)
                )
            })?,
            None => 0,
        },
    };
    Ok(Window { from, size })
}

fn number(name: &str, text: &str, min: u64, max: u64) -> Result<u64, String> {
    let is_plain = text.bytes().all(|b| b.is_ascii_digit());
    let number = text.parse().ok().filter(|number| is_plain && (min..=max).contains(number));
    number.ok_or_else(|| {
        let shown = shortened(text);
        match max {
            u64::MAX => format!("{name} must be a whole number from {min} on, not `{shown}`"),
            max => format!("{name} must be a whole number, {min} to {max}, not `{shown}`"),
        }
    })
}

// Handlers.

#[derive(Serialize)]
struct ListBody {
    connections: Vec<ConnectionJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

fn list(
    platform: &Platform,
    fleet: &Fleet<'_>,
    fault: Misbehaviour,
    parameters: &Parameters,
) -> Result<FullResponse, RequestError> {
    let Window { from, size } =
        window(platform, fleet, parameters).map_err(RequestError::BadRequest)?;
    let end = from.saturating_add(size).min(fleet.len());
    let connections = (from..end).map(|index| fleet.at(index)).collect();
    let body = match platform.paging {
        PagingKind::Page | PagingKind::Offset => {
            ListBody { connections, total: Some(fleet.len()), next: None }
        }
        PagingKind::Cursor => {
            let index = if end < fleet.len() { Some(end) } else { None };
            let index = index.or((fault == Misbehaviour::EndlessCursor).then_some(0));
            ListBody { connections, total: None, next: index.map(|index| fleet.cursor(index)) }
        }
    };
    Ok(list_response(fleet, fault, body, size))
}

fn look_up(
    platform: &Platform,
    fleet: &Fleet<'_>,
    fault: Misbehaviour,
    kind: IdentifierKind,
    values: &[&str],
) -> Result<FullResponse, RequestError> {
    if values.len() > platform.look_up_max as usize {
        return Err(RequestError::BadRequest(format!(
            "{} must name at most {}, not {}",
            parameter_name(kind),
            platform.look_up_max,
            values.len()
        )));
    }
    let mut indexes: Vec<u64> = Vec::new();
    for index in values.iter().filter_map(|value| fleet.index_of(kind, value)) {
        if !indexes.contains(&index) {
            indexes.push(index);
        }
    }
    let connections = indexes.into_iter().map(|index| fleet.at(index)).collect();
    let body = ListBody { connections, total: None, next: None };
    Ok(list_response(fleet, fault, body, values.len() as u64))
}

fn read(
    fleet: &Fleet<'_>,
    fault: Misbehaviour,
    id: &str,
    parameters: &Parameters,
) -> Result<FullResponse, RequestError> {
    if let Some((name, _)) = parameters.first() {
        return Err(RequestError::BadRequest(format!(
            "{} can't stand beside an id",
            shortened(name)
        )));
    }
    let id = percent_decode_str(id).decode_utf8_lossy();
    let index = fleet.index_of_id(&id).ok_or_else(|| {
        RequestError::NotFound(format!(
            "there is no connection `{}` in this account",
            shortened(&id)
        ))
    })?;
    let connection = fleet.at(index);
    Ok(match fault {
        Misbehaviour::WrongTypes => json_response(&wrong_types(&connection)),
        _ => json_response(&connection),
    })
}

/// Response with connections, or with a fault in them.
fn list_response(
    fleet: &Fleet<'_>,
    fault: Misbehaviour,
    mut body: ListBody,
    n_requested: u64,
) -> FullResponse {
    let connections = &mut body.connections;
    match fault {
        Misbehaviour::Duplicates => {
            if connections.len() > 1 {
                connections.pop();
            }
            let first = connections.first().and_then(|it| fleet.index_of_id(&it.id));
            connections.extend(first.map(|index| fleet.at(index)));
        }
        Misbehaviour::TooMany if fleet.len() > 0 => {
            let n_extra = n_requested - connections.len() as u64 + TOO_MANY_EXTRA;
            connections.extend((0..n_extra).map(|n| fleet.at(n % fleet.len())));
        }
        Misbehaviour::WrongTypes => {
            let by_index = connections.iter().enumerate();
            let by_index = by_index.map(|(n, it)| (n.to_string(), wrong_types(it)));
            let connections: serde_json::Map<_, _> = by_index.collect();
            let total = body.total.map(|total| total.to_string());
            return json_response(
                &json!({ "connections": connections, "total": total, "next": 1 }),
            );
        }
        _ => {}
    }
    json_response(&body)
}

fn wrong_types(connection: &ConnectionJson) -> serde_json::Value {
    json!({ "id": 4711, "state": connection.state.len(), "properties": connection.id })
}

// Responses.

/// Error response, with the platform's JSON body for errors.
pub(super) fn error_response(status: StatusCode, message: &str) -> FullResponse {
    let error = status.canonical_reason().unwrap_or("Error");
    let body = json!({ "status": status.as_u16(), "error": error, "message": message });
    let mut response = json_response(&body);
    *response.status_mut() = status;
    response
}

pub(super) fn json_response<T: Serialize>(body: &T) -> FullResponse {
    let body = serde_json::to_vec(body).expect("texts, numbers and lists can be written as JSON");
    let mut response = Response::new(Bytes::from(body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

pub(super) fn bad_request(message: &str) -> FullResponse {
    error_response(StatusCode::BAD_REQUEST, message)
}

pub(super) fn method_not_allowed(allowed: &'static str) -> FullResponse {
    let message = format!("this is only for {allowed}");
    with_header(error_response(StatusCode::METHOD_NOT_ALLOWED, &message), ALLOW, allowed)
}

pub(super) fn throttled(profile: &Profile) -> FullResponse {
    let seconds = profile.retry_after_seconds.to_string();
    let response =
        error_response(StatusCode::TOO_MANY_REQUESTS, "asked too often: wait and try again");
    with_header(response, RETRY_AFTER, &seconds)
}

fn unauthorized() -> FullResponse {
    let message = "a token is needed that is good here: send `Authorization: Bearer <token>`";
    with_header(error_response(StatusCode::UNAUTHORIZED, message), WWW_AUTHENTICATE, "Bearer")
}

fn redirect(path: &str) -> FullResponse {
    let response = error_response(StatusCode::FOUND, "what you look for is elsewhere");
    with_header(response, LOCATION, &format!("http://elsewhere.invalid{path}"))
}

fn html() -> FullResponse {
    let mut response = Response::new(Bytes::from_static(
        b"<!doctype html>\n<title>Maintenance</title>\n<h1>We will be back soon</h1>\n",
    ));
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    response
}

fn with_header(mut response: FullResponse, name: HeaderName, value: &str) -> FullResponse {
    // The path of a request is valid in a header.
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
    response
}

fn shortened(text: &str) -> String {
    text.chars().take(VALUE_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests;
