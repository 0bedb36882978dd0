//! The headers of answers, as the document describes them.

use serde_json::{Map, Value, json};

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
            "Query parameters that were ignored, with commas between: the first 32, and `...` where \
             there are more",
            text("^[ -~]+$"),
            "colour, size".into(),
        ),
        "X-Total-Count" => ("How many there are on all pages together", seconds(), 8_123.into()),
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
            "`no-store` where the answer holds a password, which nothing on the way may keep",
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
            json!({"type": "string", "const": "application/merge-patch+json"}),
            "application/merge-patch+json".into(),
        ),
        "Retry-After" => ("Seconds after which to try again", seconds(), 1.into()),
        "RateLimit" => (
            "What is left of the tenant's share, and until when",
            json!({"type": "string"}),
            "\"tenant\";r=0;t=1".into(),
        ),
        "Content-Security-Policy" => (
            "Keeps the page to what this server itself gives out",
            text("^default-src 'none'"),
            "default-src 'none'; script-src 'self'".into(),
        ),
        _ => ("RFC 9110", json!({"type": "string"}), "".into()),
    }
}
