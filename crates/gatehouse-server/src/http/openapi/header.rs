//! Descriptions of the response headers.

use serde_json::{Map, Value, json};

use crate::reader::{Direction, Form, Instant};

/// The rate limit headers, on responses to a tenant that has a limit.
pub(super) const RATE: [&str; 5] = [
    "RateLimit?",
    "RateLimit-Policy?",
    "RateLimit-Limit?",
    "RateLimit-Remaining?",
    "RateLimit-Reset?",
];

/// Describes headers by name; a `?` after a name marks an optional header.
pub(super) fn headers(names: &[&str]) -> Value {
    let header = |name: &&str| {
        let (name, is_required) = match name.strip_suffix('?') {
            Some(name) => (name, false),
            None => (*name, true),
        };
        let (description, schema, example) = meaning(name);
        let mut header = json!({"description": description, "schema": schema, "example": example});
        if is_required {
            header["required"] = true.into();
        }
        (name.to_owned(), header)
    };
    Value::Object(names.iter().map(header).collect::<Map<_, _>>())
}

/// `Link` header of a list without a known total.
pub(super) fn gathered_link() -> Value {
    json!({
        "description": "RFC 8288: this page (`self`), the `first`, the `next` unless this is the last page \
            that can be requested, and the previous one (`prev`) if there is one; with all other parameters of \
            the request. The number of pages is not known. A page without products and errors is past the \
            last one, unless the filter names custom properties: platforms can't filter by these, so a page in the \
            middle may be empty.",
        "required": true,
        "schema": {"type": "string", "pattern": "rel=\"self\".*rel=\"first\""},
        "example": "<https://gate.example/demo/product?pageNumber=1&pageSize=100>;rel=\"self\", \
            <https://gate.example/demo/product?pageNumber=1&pageSize=100>;rel=\"first\", \
            <https://gate.example/demo/product?pageNumber=2&pageSize=100>;rel=\"next\"",
    })
}

/// `Link` header of a list that can be had without its total.
pub(super) fn uncounted_link() -> Value {
    let (description, _, example) = meaning("Link");
    json!({
        "description": format!("{description}. With `Prefer: count=none`, `last` is left out."),
        "required": true,
        "schema": {"type": "string", "pattern": "rel=\"first\""},
        "example": example,
    })
}

/// The description, the schema and an example of a header.
fn meaning(name: &str) -> (&'static str, Value, Value) {
    let text = |pattern: &str| json!({"type": "string", "pattern": pattern});
    let seconds = || json!({"type": "integer", "minimum": 0});
    match name {
        "X-Correlation-ID" => (
            "The request's value, or a new one; the log has it too",
            text("^[!-~]{1,128}$"),
            "01a1dd4d-f106-78de-9e83-53ca57782672".into(),
        ),
        "X-Correlator" => (
            "The value of `X-Correlation-ID`, if the request used this header instead",
            text("^[!-~]{1,128}$"),
            "01a1dd4d-f106-78de-9e83-53ca57782672".into(),
        ),
        "X-Ignored-Params" => (
            "Ignored query parameters and names in `fields`, separated by commas: the first 32, and `...` if there \
             are more",
            text("^[ -~]+$"),
            "colour, size".into(),
        ),
        "X-Event-Number" => (
            "Of a list of accesses: every event up to this number is in the page, later ones may be. Of a page of \
             events: every event up to this number has been looked at, so the next page is behind it. Left out while \
             the tenant's journal has not begun",
            seconds(),
            4711.into(),
        ),
        "X-Access-Id" => (
            "The identifier of the device's access",
            text("^[!-~]+$"),
            "01a1dd4d-f036-7005-9379-54b08ec1966e".into(),
        ),
        "X-Access-Name" => (
            "The access's name; `%` and characters that are not ASCII are escaped as in a URL",
            text("^[ -~]+$"),
            "meter-1".into(),
        ),
        "X-Contract-Id" => {
            ("The access's contract, escaped alike", text("^[ -~]+$"), "C-PAYG".into())
        }
        "X-Total-Count" => ("Number of items on all pages", seconds(), 8_123.into()),
        "Preference-Applied" => (
            "The preference of the request that was followed (RFC 7240)",
            text("^count=none$"),
            "count=none".into(),
        ),
        "X-Passwords-Until" => (
            "Until when the passwords that the Task set can be read: in the Task, in its table and in its items. \
             Left out before the Task has ended, for a token without `access:write`, and if the server keeps no \
             passwords of the Task",
            Instant.schema(Direction::Response),
            "2026-11-16T03:43:54.935Z".into(),
        ),
        "Link" => (
            "RFC 8288: the pages `first`, `last` and, unless this is the last, `next`; with all other \
             parameters of the request. Events have `next` alone",
            text("rel=\"(first|next)\""),
            "<https://gate.example/demo/access?pageNumber=1&pageSize=100>; rel=\"first\", \
             <https://gate.example/demo/access?pageNumber=82&pageSize=100>; rel=\"last\", \
             <https://gate.example/demo/access?pageNumber=2&pageSize=100>; rel=\"next\""
                .into(),
        ),
        "Location" => (
            "The absolute URL of the new resource",
            json!({"type": "string", "format": "uri"}),
            "https://gate.example/demo/access/01a1dd4d-f036-7005-9379-54b08ec1966e".into(),
        ),
        "ETag" => (
            "The version, with its quotes, for `If-Match` and `If-None-Match`",
            text("^\"[!#-~]*\"$"),
            "\"1\"".into(),
        ),
        "Cache-Control" => (
            "`no-store` if the response contains a password or a token, is that of a check, or has no end: caches must not store it",
            text("^no-(store|cache)$"),
            "no-store".into(),
        ),
        "WWW-Authenticate" => (
            "The accepted authentication (RFC 9110, RFC 6750); `Basic` if a device was refused",
            text("^(Bearer|Basic)"),
            "Bearer error=\"invalid_token\", error_description=\"the token has expired\"".into(),
        ),
        "Allow" => ("The methods of this path", text("^[A-Z, ]+$"), "GET, HEAD, OPTIONS".into()),
        "Accept-Patch" => (
            "The content types of a PATCH (RFC 5789)",
            text("^(application/json, )?application/merge-patch\\+json$"),
            "application/merge-patch+json".into(),
        ),
        "X-Accel-Buffering" => {
            ("Asks nginx not to hold back what it forwards", text("^no$"), "no".into())
        }
        "Vary" => (
            "The request headers that the response depends on",
            text("^Accept(-Encoding)?(, Accept-Encoding)?$"),
            "Accept, Accept-Encoding".into(),
        ),
        "Content-Encoding" => {
            ("`gzip` if `Accept-Encoding` asks for it", text("^gzip$"), "gzip".into())
        }
        "Content-Disposition" => (
            "The name under which a browser saves the file",
            text("^attachment; filename="),
            "attachment; filename=\"job-01a1dd4d-f0c1-7a3e-8b52-9f3d1c20e7aa.csv\"".into(),
        ),
        "Retry-After" => ("Seconds to wait before a retry", seconds(), 1.into()),
        "RateLimit" => (
            "Requests that the tenant may still send (`r`), and the seconds until the full number is available \
             again (`t`), if the tenant has a limit",
            text("^\"tenant\";r=[0-9]+;t=[0-9]+$"),
            "\"tenant\";r=99;t=1".into(),
        ),
        "RateLimit-Policy" => (
            "Requests that the tenant may send (`q`) in a number of seconds (`w`)",
            text("^\"tenant\";q=[0-9]+;w=[0-9]+$"),
            "\"tenant\";q=100;w=1".into(),
        ),
        "RateLimit-Limit" => ("The `q` of `RateLimit-Policy`", seconds(), 100.into()),
        "RateLimit-Remaining" => ("The `r` of `RateLimit`", seconds(), 99.into()),
        "RateLimit-Reset" => ("The `t` of `RateLimit`", seconds(), 1.into()),
        "traceparent" => (
            "The server's span in the trace (W3C Trace Context), if the request had a trace or the server \
             records traces",
            text("^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$"),
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".into(),
        ),
        "Pragma" => {
            ("Forbids caching, as RFC 6749 requires", text("^no-cache$"), "no-cache".into())
        }
        "Content-Security-Policy" => (
            "Limits the page to resources of this server and of the issuers that people sign in with",
            text("^default-src 'none'"),
            "default-src 'none'; script-src 'self'".into(),
        ),
        "Cross-Origin-Opener-Policy" => (
            "Isolates this page from pages of other origins",
            text("^same-origin$"),
            "same-origin".into(),
        ),
        _ => ("RFC 9110", json!({"type": "string"}), "".into()),
    }
}
