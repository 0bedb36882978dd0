//! Descriptions of the problems.

use serde_json::{Value, json};

use super::header::{RATE, headers};
use crate::fields::oauth::{self, OAuthError};
use crate::fields::problem::{self, INVALID_PARAMS, param_example};
use crate::fields::shape::reference;
use crate::http::answer::media::{JSON, MERGE_PATCH, PROBLEM_JSON};
use crate::http::answer::problem::ErrorStyle;
use crate::http::route::resource::{Need, Operation, Resource};

/// Statuses of an operation's problems: those of its kind, and its particular ones.
pub(super) fn problem_statuses(resource: &Resource, operation: &Operation) -> Vec<u16> {
    if operation.is_foreign() {
        // All others are refusals of the dialect.
        return vec![431];
    }
    let mut statuses = vec![400, 405, 431, 500];
    if operation.filter.is_some() {
        // Only a filter makes an address long.
        statuses.push(414);
    }
    if operation.media_types().next().is_some() {
        statuses.push(406);
    }
    if operation.need != Need::Nothing {
        // An operation with a token needs the store, which may be unavailable.
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
    if matches!(operation.errors, ErrorStyle::OAuth) {
        // In RFC 6749, a wrong content type is 400.
        statuses.retain(|status| *status != 415);
    }
    statuses.sort_unstable();
    statuses.dedup();
    statuses
}

/// A problem of an operation; most are references to a shared response.
pub(super) fn problem(operation: &Operation, status: u16) -> Value {
    let patches =
        operation.body.as_ref().is_some_and(|body| body.media_types.contains(&MERGE_PATCH));
    match status {
        // 431 comes before the path is known, so it is a problem for OAuth paths, too.
        _ if matches!(operation.errors, ErrorStyle::OAuth) && status != 431 => oauth_error(status),
        401 if operation.problems.contains(&401) => {
            let mut response = response(401, &["X-Ignored-Params?", "Cache-Control?"]);
            let description = "No token or an invalid one (`WWW-Authenticate: Bearer`), or the device's \
                        credentials are refused (`WWW-Authenticate: Basic`)";
            response["description"] = description.into();
            response
        }
        429 | 503 if operation.problems.contains(&status) => {
            let mut response = response(status, &["X-Ignored-Params?"]);
            let description = match status {
                429 => "The tenant or the platform has reached its rate limit",
                _ => {
                    "The store can't be reached, the server is overloaded, or the platform's circuit breaker is open"
                }
            };
            response["description"] = description.into();
            response
        }
        415 if patches => response(415, &["Accept-Patch"]),
        _ => json!({"$ref": format!("#/components/responses/{}", meaning(status).name)}),
    }
}

/// A problem in the form of RFC 6749.
fn oauth_error(status: u16) -> Value {
    let mut names = vec!["X-Correlation-ID", "X-Correlator?", "traceparent?", "X-Ignored-Params?"];
    names.push("Cache-Control");
    let description = match status {
        400 => "The request or its form violates RFC 6749; `error` has the kind",
        401 => "The client is unknown, or its secret is wrong",
        _ => meaning(status).description,
    };
    names.extend(of_status(status));
    let error = match status {
        401 => OAuthError::InvalidClient,
        _ => http::StatusCode::from_u16(status).map_or(OAuthError::InvalidRequest, OAuthError::of),
    };
    let example = json!({
        oauth::ERROR.name: error.as_str(), oauth::ERROR_DESCRIPTION.name: description.replace('`', "'"),
    });
    json!({
        "description": description,
        "headers": headers(&names),
        "content": {JSON: {"schema": reference("OAuthError"), "example": example}},
    })
}

/// The particular headers of a status.
fn of_status(status: u16) -> &'static [&'static str] {
    match status {
        401 => &["WWW-Authenticate"],
        403 => &["WWW-Authenticate?"],
        405 => &["Allow"],
        // Present while a request with the same key is running.
        409 => &["Retry-After?"],
        429 | 503 => &["Retry-After"],
        // Present if the platform sends it.
        502 | 504 => &["Retry-After?"],
        _ => &[],
    }
}

/// A shared problem, with its name.
pub(super) fn named(status: u16) -> (String, Value) {
    (meaning(status).name.to_owned(), response(status, &[]))
}

/// A problem with additional headers.
fn response(status: u16, more: &[&'static str]) -> Value {
    let mut names = vec!["X-Correlation-ID", "X-Correlator?", "traceparent?"];
    // The rate limit doesn't count requests that are refused before it or concern no tenant.
    if !matches!(status, 401 | 403 | 414 | 431) {
        names.extend(RATE);
    }
    // Problems before the query is parsed can't name ignored parameters.
    if matches!(status, 400 | 404 | 409 | 412 | 422 | 500 | 502 | 503 | 504) {
        names.push("X-Ignored-Params?");
    }
    names.extend(of_status(status));
    names.extend(more);
    json!({
        "description": meaning(status).description,
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
    /// The response's name in the document.
    name: &'static str,
    /// The cause of the status.
    description: &'static str,
    /// The title of the example.
    title: &'static str,
    detail: &'static str,
}

fn meaning(status: u16) -> Meaning {
    let (name, description, title, detail) = match status {
        400 => (
            "BadRequest",
            "A field or parameter is missing, unknown, of a wrong type or out of bounds; names all faults at once",
            "Invalid request",
            "contractId is missing",
        ),
        401 => (
            "Unauthorized",
            "No token, or an invalid one",
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
            "The path names an object that doesn't exist or isn't visible to the tenant",
            "Unknown tenant",
            "no tenant `demo`",
        ),
        405 => (
            "MethodNotAllowed",
            "The path doesn't have the method; `Allow` names its methods",
            "Wrong method",
            "this path does not support DELETE; its methods are GET, HEAD, OPTIONS",
        ),
        406 => (
            "NotAcceptable",
            "`Accept` excludes the media types of the operation",
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
            "The present state doesn't allow the request; `title` names the reason",
            "Username taken",
            "username `meter-12` is taken by another access",
        ),
        410 => (
            "Gone",
            "The events behind the position were deleted for their age",
            "Events deleted",
            "the events behind number 17 were deleted for their age; the oldest event that is left has number 4002: \
             read the accesses again, and follow the events behind the X-Event-Number of their first page",
        ),
        412 => (
            "PreconditionFailed",
            "The access doesn't have the version of `If-Match`, or has the one of `If-None-Match`",
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
            "An unsupported content type, a charset other than UTF-8, or a compressed body",
            "Wrong content type",
            "the request needs the header `Content-Type: application/json`, once",
        ),
        422 => (
            "UnprocessableContent",
            "The request is well formed, but names an object that doesn't exist",
            "Unknown contract",
            "the tenant has no contract `C-PAYG`",
        ),
        429 => (
            "TooManyRequests",
            "The tenant has reached its rate limit",
            "Too many requests",
            "the tenant may send 100 requests a second, and has sent more; try again in 1 s",
        ),
        431 => (
            "RequestHeaderFieldsTooLarge",
            "Too many headers, or too long ones",
            "Headers too large",
            "the headers have 70000 bytes; 65536 are allowed",
        ),
        502 => (
            "BadGateway",
            "The platform can't be reached, or its response is an error or invalid",
            "Platform error",
            "account `acme-eu` at ALPHA: the platform answered 500",
        ),
        504 => (
            "GatewayTimeout",
            "The platform didn't respond in time",
            "Platform too slow",
            "account `acme-eu` at ALPHA: the platform did not answer in time",
        ),
        503 => (
            "ServiceUnavailable",
            "The store can't be reached, or the server is overloaded",
            "Store unavailable",
            "the store can't be reached, try again later",
        ),
        _ => (
            "InternalServerError",
            "An error of the server; the response has no details",
            "Internal error",
            "the server failed; its log has the cause under the correlation ID",
        ),
    };
    Meaning { name, description, title, detail }
}
