//! What a simulated platform answers: from a request's head to a whole answer, without I/O.
//!
//! `GET /v1/connections` lists, or looks up when it names identifiers; `GET /v1/connections/{id}` reads one.
//! The user's view of it is docs/simulator.md.

use bytes::Bytes;
use gatehouse_core::IdentifierKind;
use http::header::{
    ALLOW, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE,
};
use http::{Method, Response, StatusCode};
use percent_encoding::percent_decode_str;
use serde::Serialize;
use serde_json::json;

use super::fleet::{Fleet, Shown};
use super::platform::{PagingKind, Platform};
use super::profile::{Misbehaviour, Profile};

/// Connections on a page whose size nobody chose, unless the platform's pages are smaller.
const PAGE_SIZE_DEFAULT: u64 = 100;

/// How many more connections than were asked for come when too many do.
const TOO_MANY_MORE: u64 = 10;

/// Characters of a value that an error repeats.
const VALUE_CHARS_MAX: usize = 64;

/// The collection, and what the paths of its members begin with.
const CONNECTIONS: &str = "/v1/connections";

/// A whole answer.
pub(super) type Answer = Response<Bytes>;

/// What is looked at of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Question<'a> {
    pub(super) method: &'a Method,
    pub(super) path: &'a str,
    pub(super) query: &'a str,
    pub(super) authorization: Option<&'a str>,
}

/// Why a request is not answered as it would like to be.
#[derive(Debug)]
enum Refusal {
    Unauthorized,
    NotFound(String),
    MethodNotAllowed,
    BadRequest(String),
}

impl Refusal {
    fn reply(self) -> Answer {
        match self {
            Self::Unauthorized => unauthorized(),
            Self::NotFound(message) => error_reply(StatusCode::NOT_FOUND, &message),
            Self::MethodNotAllowed => method_not_allowed("GET"),
            Self::BadRequest(message) => bad_request(&message),
        }
    }
}

/// Answers a request, as far as an answer can be wrong by itself; what is wrong with the way that it comes is
/// the server's.
pub(super) fn answer(platform: &Platform, profile: &Profile, question: Question<'_>) -> Answer {
    match profile.fault {
        Misbehaviour::Unauthorized => return unauthorized(),
        Misbehaviour::Throttled => return throttled(profile),
        Misbehaviour::Redirect => return redirect(question.path),
        Misbehaviour::Html => return html(),
        _ => {}
    }
    let mut reply = match find(platform, profile.fault, question) {
        Ok(reply) => reply,
        Err(refusal) => return refusal.reply(),
    };
    if profile.fault == Misbehaviour::InvalidJson {
        let body = reply.body_mut();
        body.truncate(body.len() / 2);
    }
    reply
}

fn find(
    platform: &Platform,
    fault: Misbehaviour,
    question: Question<'_>,
) -> Result<Answer, Refusal> {
    let token = question.authorization.and_then(bearer).filter(|it| platform.tokens.accept(it));
    let fleet = Fleet::of(platform, token.ok_or(Refusal::Unauthorized)?);
    let rest = question.path.strip_prefix(CONNECTIONS);
    let id = match rest {
        Some("") => None,
        Some(rest) if rest.len() > 1 && rest.starts_with('/') => Some(&rest[1..]),
        _ => {
            return Err(Refusal::NotFound(format!(
                "there is nothing at {}",
                shortened(question.path)
            )));
        }
    };
    if question.method != Method::GET {
        return Err(Refusal::MethodNotAllowed);
    }
    let parameters = parameters(question.query).map_err(Refusal::BadRequest)?;
    match id {
        Some(id) => read(&fleet, fault, id, &parameters),
        None => match wanted(&parameters).map_err(Refusal::BadRequest)? {
            Some((kind, values)) => look_up(platform, &fleet, fault, kind, &values),
            None => list(platform, &fleet, fault, &parameters),
        },
    }
}

fn bearer(authorization: &str) -> Option<&str> {
    let (scheme, token) = authorization.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

// What is asked for.

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

/// The parameter that asks for identifiers of a kind.
fn parameter_of(kind: IdentifierKind) -> &'static str {
    match kind {
        IdentifierKind::Iccid => "iccid",
        IdentifierKind::Imsi => "imsi",
        IdentifierKind::Msisdn => "msisdn",
        IdentifierKind::SerialNumber => "serial",
    }
}

/// The identifiers that a query names, if it does.
fn wanted(parameters: &Parameters) -> Result<Option<(IdentifierKind, Vec<&str>)>, String> {
    let kind_of = |name: &str| IdentifierKind::ALL.into_iter().find(|it| parameter_of(*it) == name);
    let Some((kind, values)) =
        parameters.iter().find_map(|(name, values)| Some((kind_of(name)?, values)))
    else {
        return Ok(None);
    };
    if let Some((other, _)) = parameters.iter().find(|(name, _)| name != parameter_of(kind)) {
        return Err(format!(
            "{} can't stand beside {}: one kind of identifier is looked up at a time, without paging",
            shortened(other),
            parameter_of(kind)
        ));
    }
    let values: Vec<&str> = values.split(',').filter(|value| !value.is_empty()).collect();
    if values.is_empty() {
        return Err(format!("{} must name one or more, with commas between", parameter_of(kind)));
    }
    Ok(Some((kind, values)))
}

/// A piece of a list.
struct Window {
    from: u64,
    size: u64,
}

fn window(
    platform: &Platform,
    fleet: &Fleet<'_>,
    parameters: &Parameters,
) -> Result<Window, String> {
    let (place, size) = match platform.paging {
        PagingKind::Page => ("page", "size"),
        PagingKind::Offset => ("offset", "limit"),
        PagingKind::Cursor => ("cursor", "limit"),
    };
    if let Some((name, _)) = parameters.iter().find(|(name, _)| name != place && name != size) {
        return Err(format!(
            "{} is not a parameter of this platform, which is asked with {place} and {size}, or with \
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
            Some(mark) => fleet.place_of_mark(mark).ok_or_else(|| {
                format!(
                    "cursor must be what `next` was on a page of this account, not `{}`",
                    shortened(mark)
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

// What is found.

#[derive(Serialize)]
struct Found {
    connections: Vec<Shown>,
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
) -> Result<Answer, Refusal> {
    let Window { from, size } = window(platform, fleet, parameters).map_err(Refusal::BadRequest)?;
    let end = from.saturating_add(size).min(fleet.len());
    let connections = (from..end).map(|place| fleet.at(place)).collect();
    let found = match platform.paging {
        PagingKind::Page | PagingKind::Offset => {
            Found { connections, total: Some(fleet.len()), next: None }
        }
        PagingKind::Cursor => {
            let place = if end < fleet.len() { Some(end) } else { None };
            let place = place.or((fault == Misbehaviour::EndlessCursor).then_some(0));
            Found { connections, total: None, next: place.map(|place| fleet.mark(place)) }
        }
    };
    Ok(shown(fleet, fault, found, size))
}

fn look_up(
    platform: &Platform,
    fleet: &Fleet<'_>,
    fault: Misbehaviour,
    kind: IdentifierKind,
    values: &[&str],
) -> Result<Answer, Refusal> {
    if values.len() > platform.look_up_max as usize {
        return Err(Refusal::BadRequest(format!(
            "{} must name at most {}, not {}",
            parameter_of(kind),
            platform.look_up_max,
            values.len()
        )));
    }
    let mut places: Vec<u64> = Vec::new();
    for place in values.iter().filter_map(|value| fleet.place_of(kind, value)) {
        if !places.contains(&place) {
            places.push(place);
        }
    }
    let connections = places.into_iter().map(|place| fleet.at(place)).collect();
    let found = Found { connections, total: None, next: None };
    Ok(shown(fleet, fault, found, values.len() as u64))
}

fn read(
    fleet: &Fleet<'_>,
    fault: Misbehaviour,
    id: &str,
    parameters: &Parameters,
) -> Result<Answer, Refusal> {
    if let Some((name, _)) = parameters.first() {
        return Err(Refusal::BadRequest(format!("{} can't stand beside an id", shortened(name))));
    }
    let id = percent_decode_str(id).decode_utf8_lossy();
    let place = fleet.place_of_id(&id).ok_or_else(|| {
        Refusal::NotFound(format!("there is no connection `{}` in this account", shortened(&id)))
    })?;
    let connection = fleet.at(place);
    Ok(match fault {
        Misbehaviour::WrongTypes => json_reply(&wrong_types(&connection)),
        _ => json_reply(&connection),
    })
}

/// What was found, or what is made of it.
fn shown(fleet: &Fleet<'_>, fault: Misbehaviour, mut found: Found, n_asked: u64) -> Answer {
    let connections = &mut found.connections;
    match fault {
        Misbehaviour::Duplicates => {
            if connections.len() > 1 {
                connections.pop();
            }
            let first = connections.first().and_then(|it| fleet.place_of_id(&it.id));
            connections.extend(first.map(|place| fleet.at(place)));
        }
        Misbehaviour::TooMany if fleet.len() > 0 => {
            let n_more = n_asked - connections.len() as u64 + TOO_MANY_MORE;
            connections.extend((0..n_more).map(|n| fleet.at(n % fleet.len())));
        }
        Misbehaviour::WrongTypes => {
            let by_place = connections.iter().enumerate();
            let by_place = by_place.map(|(n, it)| (n.to_string(), wrong_types(it)));
            let connections: serde_json::Map<_, _> = by_place.collect();
            let total = found.total.map(|total| total.to_string());
            return json_reply(&json!({ "connections": connections, "total": total, "next": 1 }));
        }
        _ => {}
    }
    json_reply(&found)
}

fn wrong_types(connection: &Shown) -> serde_json::Value {
    json!({ "id": 4711, "state": connection.state.len(), "properties": connection.id })
}

// How it is answered.

/// An answer with the same body for every error.
pub(super) fn error_reply(status: StatusCode, message: &str) -> Answer {
    let error = status.canonical_reason().unwrap_or("Error");
    let body = json!({ "status": status.as_u16(), "error": error, "message": message });
    let mut reply = json_reply(&body);
    *reply.status_mut() = status;
    reply
}

pub(super) fn json_reply<T: Serialize>(body: &T) -> Answer {
    let body = serde_json::to_vec(body).expect("texts, numbers and lists can be written as JSON");
    let mut reply = Response::new(Bytes::from(body));
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    reply
}

pub(super) fn bad_request(message: &str) -> Answer {
    error_reply(StatusCode::BAD_REQUEST, message)
}

pub(super) fn method_not_allowed(allowed: &'static str) -> Answer {
    let message = format!("this is only for {allowed}");
    with_header(error_reply(StatusCode::METHOD_NOT_ALLOWED, &message), ALLOW, allowed)
}

pub(super) fn throttled(profile: &Profile) -> Answer {
    let seconds = profile.retry_after_seconds.to_string();
    let reply = error_reply(StatusCode::TOO_MANY_REQUESTS, "asked too often: wait and try again");
    with_header(reply, RETRY_AFTER, &seconds)
}

fn unauthorized() -> Answer {
    let message = "a token is needed that is good here: send `Authorization: Bearer <token>`";
    with_header(error_reply(StatusCode::UNAUTHORIZED, message), WWW_AUTHENTICATE, "Bearer")
}

fn redirect(path: &str) -> Answer {
    let reply = error_reply(StatusCode::FOUND, "what you look for is elsewhere");
    with_header(reply, LOCATION, &format!("http://elsewhere.invalid{path}"))
}

fn html() -> Answer {
    let mut reply = Response::new(Bytes::from_static(
        b"<!doctype html>\n<title>Maintenance</title>\n<h1>We will be back soon</h1>\n",
    ));
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    reply
}

fn with_header(mut reply: Answer, name: HeaderName, value: &str) -> Answer {
    // A path that came as part of a request can be part of a header.
    if let Ok(value) = HeaderValue::from_str(value) {
        reply.headers_mut().insert(name, value);
    }
    reply
}

fn shortened(text: &str) -> String {
    text.chars().take(VALUE_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests;
