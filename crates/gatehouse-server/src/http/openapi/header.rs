//! The headers of answers, as the document describes them.

use serde_json::{Map, Value, json};

use crate::reader::{Direction, Form, Instant};

/// What is left of what a tenant may send, on answers to its requests where something limits it.
pub(super) const RATE: [&str; 5] = [
    "RateLimit?",
    "RateLimit-Policy?",
    "RateLimit-Limit?",
    "RateLimit-Remaining?",
    "RateLimit-Reset?",
];

/// The description of these headers, by name; a `?` behind a name says that it may be missing.
pub(super) fn headers(names: &[&str]) -> Value {
    let header = |name: &&str| {
        let (name, is_required) = match name.strip_suffix('?') {
            Some(name) => (name, false),
            None => (*name, true),
        };
        let (what, schema, example) = meaning(name);
        let mut header = json!({"description": what, "schema": schema, "example": example});
        if is_required {
            header["required"] = true.into();
        }
        (name.to_owned(), header)
    };
    Value::Object(names.iter().map(header).collect::<Map<_, _>>())
}

/// The way to other pages of a list whose end nobody knows.
pub(super) fn link_of_gathered() -> Value {
    json!({
        "description": "RFC 8288: this page (`self`), the `first`, the `next` unless this is the last that \
            can be asked for, and the one before (`prev`) where there is one; with all other parameters of \
            the request. How many pages there are is not known: one without products, and without errors, is \
            behind the last, unless the filter asks for custom properties: platforms can't be asked for these, \
            so that of a page in the middle nothing may pass.",
        "required": true,
        "schema": {"type": "string", "pattern": "rel=\"self\".*rel=\"first\""},
        "example": "<https://gate.example/demo/product?pageNumber=1&pageSize=100>;rel=\"self\", \
            <https://gate.example/demo/product?pageNumber=1&pageSize=100>;rel=\"first\", \
            <https://gate.example/demo/product?pageNumber=2&pageSize=100>;rel=\"next\"",
    })
}

/// What a header says, its schema and an example of it.
fn meaning(name: &str) -> (&'static str, Value, Value) {
    let text = |pattern: &str| json!({"type": "string", "pattern": pattern});
    let seconds = || json!({"type": "integer", "minimum": 0});
    match name {
        "X-Correlation-ID" => (
            "The request's own, or a new one; the log has it too",
            text("^[!-~]{1,128}$"),
            "01a1dd4d-f106-78de-9e83-53ca57782672".into(),
        ),
        "X-Correlator" => (
            "The same as `X-Correlation-ID`, for a request that came with this header instead",
            text("^[!-~]{1,128}$"),
            "01a1dd4d-f106-78de-9e83-53ca57782672".into(),
        ),
        "X-Ignored-Params" => (
            "Query parameters, and names in `fields`, that were ignored, with commas between: the first 32, \
             and `...` where there are more",
            text("^[ -~]+$"),
            "colour, size".into(),
        ),
        "X-Total-Count" => ("How many there are on all pages together", seconds(), 8_123.into()),
        "X-Passwords-Until" => (
            "Until when the passwords that the Task gave can be read: in it, in its table and among its items. \
             Missing as long as it is not over, for a token without `access:write`, and where there are none, or \
             none any more",
            Instant.schema(Direction::Response),
            "2026-11-16T03:43:54.935Z".into(),
        ),
        "Link" => (
            "RFC 8288: the pages `first`, `last` and, unless this is the last, `next`; with all other \
             parameters of the request",
            text("rel=\"first\".*rel=\"last\""),
            "<https://gate.example/demo/access?pageNumber=1&pageSize=100>; rel=\"first\", \
             <https://gate.example/demo/access?pageNumber=82&pageSize=100>; rel=\"last\", \
             <https://gate.example/demo/access?pageNumber=2&pageSize=100>; rel=\"next\""
                .into(),
        ),
        "Location" => (
            "Where the new thing is, as a whole address",
            json!({"type": "string", "format": "uri"}),
            "https://gate.example/demo/access/01a1dd4d-f036-7005-9379-54b08ec1966e".into(),
        ),
        "ETag" => (
            "The version, with its quotes, for `If-Match` and `If-None-Match`",
            text("^\"[!#-~]*\"$"),
            "\"1\"".into(),
        ),
        "Cache-Control" => (
            "`no-store` where the answer holds a password or a token, which nothing on the way may keep",
            text("^no-(store|cache)$"),
            "no-store".into(),
        ),
        "WWW-Authenticate" => (
            "What would be accepted (RFC 9110, RFC 6750); `Basic` where a device was refused",
            text("^(Bearer|Basic)"),
            "Bearer error=\"invalid_token\", error_description=\"the token has expired\"".into(),
        ),
        "Allow" => {
            ("The methods that work at this path", text("^[A-Z, ]+$"), "GET, HEAD, OPTIONS".into())
        }
        "Accept-Patch" => (
            "What a PATCH may be (RFC 5789)",
            text("^(application/json, )?application/merge-patch\\+json$"),
            "application/merge-patch+json".into(),
        ),
        "Vary" => (
            "The headers of the request that the answer depends on",
            text("^Accept(-Encoding)?(, Accept-Encoding)?$"),
            "Accept, Accept-Encoding".into(),
        ),
        "Content-Encoding" => {
            ("`gzip` where `Accept-Encoding` asks for it", text("^gzip$"), "gzip".into())
        }
        "Content-Disposition" => (
            "What a browser should call the file",
            text("^attachment; filename="),
            "attachment; filename=\"job-01a1dd4d-f0c1-7a3e-8b52-9f3d1c20e7aa.csv\"".into(),
        ),
        "Retry-After" => ("Seconds after which to try again", seconds(), 1.into()),
        "RateLimit" => (
            "Requests that the tenant may still send (`r`), and the seconds until it may send all of them \
             again (`t`), where it has a limit",
            text("^\"tenant\";r=[0-9]+;t=[0-9]+$"),
            "\"tenant\";r=99;t=1".into(),
        ),
        "RateLimit-Policy" => (
            "Requests that the tenant may send (`q`) in so many seconds (`w`)",
            text("^\"tenant\";q=[0-9]+;w=[0-9]+$"),
            "\"tenant\";q=100;w=1".into(),
        ),
        "RateLimit-Limit" => ("The `q` of `RateLimit-Policy`", seconds(), 100.into()),
        "RateLimit-Remaining" => ("The `r` of `RateLimit`", seconds(), 99.into()),
        "RateLimit-Reset" => ("The `t` of `RateLimit`", seconds(), 1.into()),
        "traceparent" => (
            "Where the answer stands in the request's trace (W3C Trace Context), for a request that had \
             one, or when the server records traces",
            text("^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$"),
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".into(),
        ),
        "Pragma" => (
            "The same as `Cache-Control`, as RFC 6749 wants",
            text("^no-cache$"),
            "no-cache".into(),
        ),
        "Content-Security-Policy" => (
            "Keeps the page to what this server itself gives out, and whom people sign in with",
            text("^default-src 'none'"),
            "default-src 'none'; script-src 'self'".into(),
        ),
        "Cross-Origin-Opener-Policy" => (
            "Keeps other pages from reaching into this one",
            text("^same-origin$"),
            "same-origin".into(),
        ),
        _ => ("RFC 9110", json!({"type": "string"}), "".into()),
    }
}
