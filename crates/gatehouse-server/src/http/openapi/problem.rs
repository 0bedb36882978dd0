//! The problems, as the document describes them.

use serde_json::{Value, json};

use super::header::{RATE, headers};
use crate::fields::oauth::{self, OAuthError};
use crate::fields::problem::{self, INVALID_PARAMS, param_example};
use crate::fields::shape::reference;
use crate::http::answer::media::{JSON, MERGE_PATCH, PROBLEM_JSON};
use crate::http::answer::problem::ErrorStyle;
use crate::http::route::resource::{Need, Operation, Resource};

/// The problems that an operation may have: those that its kind brings with it, and its own.
pub(super) fn problem_statuses(resource: &Resource, operation: &Operation) -> Vec<u16> {
    let mut statuses = vec![400, 405, 431, 500];
    if operation.filter.is_some() {
        // An address is long only where it holds a filter.
        statuses.push(414);
    }
    if operation.media_types().next().is_some() {
        statuses.push(406);
    }
    if operation.need != Need::Nothing {
        // Whoever needs to be known wants something of the store, which may not be there.
        statuses.extend([401, 503]);
    }
    if !matches!(operation.need, Need::Nothing | Need::Token) {
        statuses.push(403);
    }
    if resource.path.contains('{') {
        statuses.push(404);
    }
    if resource.is_of_tenants() {
        statuses.push(429);
    }
    if operation.body.is_some() {
        statuses.extend([408, 413, 415]);
    }
    statuses.extend(operation.problems);
    if operation.errors == ErrorStyle::OAuth {
        // RFC 6749 calls that 400.
        statuses.retain(|status| *status != 415);
    }
    statuses.sort_unstable();
    statuses.dedup();
    statuses
}

/// A problem of an operation: most are the same everywhere, and stand in the document once.
pub(super) fn problem(operation: &Operation, status: u16) -> Value {
    let patches =
        operation.body.as_ref().is_some_and(|body| body.media_types.contains(&MERGE_PATCH));
    match status {
        // What is refused before anyone knows the path is refused in the words of all.
        _ if operation.errors == ErrorStyle::OAuth && status != 431 => in_oauth(status),
        401 if operation.problems.contains(&401) => {
            let mut response = response(401, &["X-Ignored-Params?"]);
            let what = "No token or not a valid one (`WWW-Authenticate: Bearer`), or the device's \
                        credentials are refused (`WWW-Authenticate: Basic`)";
            response["description"] = what.into();
            response
        }
        429 | 503 if operation.problems.contains(&status) => {
            let mut response = response(status, &["X-Ignored-Params?"]);
            let what = match status {
                429 => {
                    "The tenant sends more requests than it may, or the platform wants to be asked less often"
                }
                _ => {
                    "The store can't be reached, too much is waiting already, or the platform failed so often \
                      that it is left alone"
                }
            };
            response["description"] = what.into();
            response
        }
        415 if patches => response(415, &["Accept-Patch"]),
        _ => json!({"$ref": format!("#/components/responses/{}", meaning(status).name)}),
    }
}

/// The same in RFC 6749's words.
fn in_oauth(status: u16) -> Value {
    let mut names = vec!["X-Correlation-ID", "X-Correlator?", "traceparent?", "X-Ignored-Params?"];
    names.push("Cache-Control");
    let what = match status {
        400 => "The request or its form is not as RFC 6749 wants it; `error` says how",
        401 => "The client is not known, or its secret is wrong",
        _ => meaning(status).what,
    };
    names.extend(of_status(status));
    let error = match status {
        401 => OAuthError::InvalidClient,
        _ => http::StatusCode::from_u16(status).map_or(OAuthError::InvalidRequest, OAuthError::of),
    };
    let example = json!({
        oauth::ERROR.name: error.as_str(), oauth::ERROR_DESCRIPTION.name: what.replace('`', "'"),
    });
    json!({
        "description": what,
        "headers": headers(&names),
        "content": {JSON: {"schema": reference("OAuthError"), "example": example}},
    })
}

/// The headers that a status brings with it.
fn of_status(status: u16) -> &'static [&'static str] {
    match status {
        401 => &["WWW-Authenticate"],
        403 => &["WWW-Authenticate?"],
        405 => &["Allow"],
        // Where the same request is under way.
        409 => &["Retry-After?"],
        429 | 503 => &["Retry-After"],
        // Where the platform says so.
        502 | 504 => &["Retry-After?"],
        _ => &[],
    }
}

/// A problem that is the same everywhere, under its name.
pub(super) fn named(status: u16) -> (String, Value) {
    (meaning(status).name.to_owned(), response(status, &[]))
}

/// A problem, with more headers than its status brings with it.
fn response(status: u16, more: &[&'static str]) -> Value {
    let mut names = vec!["X-Correlation-ID", "X-Correlator?", "traceparent?"];
    // Who is not let in, or does not ask for a tenant's own, is not counted.
    if !matches!(status, 401 | 403 | 414 | 431) {
        names.extend(RATE);
    }
    // What is refused before the query is read can't say what was ignored in it.
    if matches!(status, 400 | 404 | 409 | 412 | 422 | 500 | 502 | 503 | 504) {
        names.push("X-Ignored-Params?");
    }
    names.extend(of_status(status));
    names.extend(more);
    json!({
        "description": meaning(status).what,
        "headers": headers(&names),
        "content": {PROBLEM_JSON: {"schema": reference("Problem"), "example": example(status)}},
    })
}

/// An example of a problem.
pub(super) fn example(status: u16) -> Value {
    let Meaning { title, detail, .. } = meaning(status);
    let phrase = http::StatusCode::from_u16(status).ok().and_then(|it| it.canonical_reason());
    let mut body = problem::example(status, phrase.unwrap_or("Error"), title, detail);
    if status == 400 {
        body[INVALID_PARAMS.name] = json!([param_example("contractId", "is missing")]);
    }
    body
}

struct Meaning {
    /// Its name in the document.
    name: &'static str,
    /// When it comes.
    what: &'static str,
    /// What an example of it says.
    title: &'static str,
    detail: &'static str,
}

fn meaning(status: u16) -> Meaning {
    let (name, what, title, detail) = match status {
        400 => (
            "BadRequest",
            "A field or parameter is missing, unknown, ill-typed or out of bounds; all faults at once",
            "Invalid request",
            "contractId is missing",
        ),
        401 => (
            "Unauthorized",
            "No token, or not a valid one",
            "Not authenticated",
            "the token has expired",
        ),
        403 => (
            "Forbidden",
            "The token doesn't cover this tenant, or lacks the scope (then `WWW-Authenticate` names it)",
            "Not allowed",
            "the token does not cover tenant `demo`",
        ),
        404 => (
            "NotFound",
            "The path names something that doesn't exist or isn't visible to the tenant",
            "Unknown tenant",
            "no tenant `demo`",
        ),
        405 => (
            "MethodNotAllowed",
            "For methods that are not described at this path: `Allow` names those that work",
            "Wrong method",
            "this path does not support DELETE; its methods are GET, HEAD, OPTIONS",
        ),
        406 => (
            "NotAcceptable",
            "`Accept` excludes what the operation answers with",
            "Not acceptable",
            "this operation answers with application/json, which Accept excludes: `text/csv`",
        ),
        408 => (
            "RequestTimeout",
            "The body did not arrive in time",
            "Too slow",
            "the body did not arrive within 30 s",
        ),
        409 => (
            "Conflict",
            "The present state doesn't allow it; `title` says what stands in the way",
            "Username taken",
            "username `meter-12` is taken by another access",
        ),
        412 => (
            "PreconditionFailed",
            "The access has another version than `If-Match` names, or the one that `If-None-Match` excludes",
            "Changed",
            "the access has the ETag \"2\", which If-Match or If-None-Match excludes; an ETag is written \
             with its quotes",
        ),
        413 => (
            "ContentTooLarge",
            "The body is too large",
            "Body too large",
            "the body is too large; 1048576 bytes are allowed",
        ),
        414 => (
            "UriTooLong",
            "The address is too long; the connection is closed",
            "Address too long",
            "the address has more than 65534 bytes",
        ),
        415 => (
            "UnsupportedMediaType",
            "Another content type than the operation reads, another charset than UTF-8, or a compressed body",
            "Wrong content type",
            "the request needs the header `Content-Type: application/json`, once",
        ),
        422 => (
            "UnprocessableContent",
            "Well formed, but it names something that doesn't exist",
            "Unknown contract",
            "the tenant has no contract `C-PAYG`",
        ),
        429 => (
            "TooManyRequests",
            "The tenant sends more requests than it may",
            "Too many requests",
            "the tenant may send 100 requests a second, and has sent more; try again in 1 s",
        ),
        431 => (
            "RequestHeaderFieldsTooLarge",
            "More headers, or longer ones, than are read",
            "Headers too large",
            "the headers have 70000 bytes; 65536 are allowed",
        ),
        502 => (
            "BadGateway",
            "The platform can't be reached, or answers with an error or with what can't be understood",
            "Platform error",
            "account `acme-eu` at ALPHA: the platform answered 500",
        ),
        504 => (
            "GatewayTimeout",
            "The platform took longer than there was time",
            "Platform too slow",
            "account `acme-eu` at ALPHA: the platform did not answer in time",
        ),
        503 => (
            "ServiceUnavailable",
            "The store can't be reached, or too much is waiting already",
            "Store unavailable",
            "the store can't be reached, try again later",
        ),
        _ => (
            "InternalServerError",
            "The server's own fault; the answer says nothing about its insides",
            "Internal error",
            "the server failed; its log has the cause under the correlation ID",
        ),
    };
    Meaning { name, what, title, detail }
}
