//! The parameters of paths, queries and headers.

use gatehouse_core::event::EventType;
use gatehouse_core::filter::{ALTERNATIVES_MAX, CONDITIONS_MAX, FilterField, FilterFields};
use gatehouse_core::ids::REQUEST_KEY_CHARS_MAX;
use gatehouse_core::list::request::ListOrder;
use gatehouse_core::list::search::SEARCH_CHARS_MAX;
use gatehouse_core::page::{PAGE_NUMBER_MAX, PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX};
use serde_json::{Value, json};

use crate::config::Limits;
use crate::fields::product::product_id;
use crate::fields::shape::{self, job, name};
use crate::fields::tenant::tenant_name;
use crate::http::api::event_stream::LAST_EVENT_ID;
use crate::http::route::idempotency;
use crate::http::route::query::{
    AFTER, BEFORE, BY, EVENT_TYPE, FIELDS, FROM, LAST, Q, SORT, SUBJECT,
};
use crate::http::route::resource::{Operation, Pages, Resource};
use crate::reader::{Direction, Form, Instant};

/// The types of events that an operation lists.
fn event_types(operation: &Operation) -> Vec<&'static str> {
    let types: &[EventType] = match operation.query.contains(&SUBJECT) {
        true => &EventType::AUDIT,
        false => &EventType::CHANGES,
    };
    types.iter().map(|it| it.as_str()).collect()
}

/// The parameters of an operation, the most useful first.
///
/// An optional parameter has no example: `/-/docs` would fill its forms with it, and send it.
pub(super) fn parameters(
    resource: &Resource,
    operation: &Operation,
    limits: &Limits,
) -> Vec<Value> {
    let mut parameters = of_path(resource.path);
    parameters.extend(operation.query.iter().map(|name| match *name {
        "state" => json!({
            "name": "state", "in": "query",
            "description": "Only items that succeeded, or only items that failed; left out: both",
            "schema": {"type": "string", "enum": ["succeeded", "failed"]},
        }),
        FIELDS => json!({
            "name": FIELDS, "in": "query",
            "description": "Names of the fields to show, separated by commas; `id` is always shown. Unknown names \
                are ignored and named in X-Ignored-Params. `none` alone: only `id`, `href` and `correlationId`. \
                Left out or empty: all.",
            "schema": {"type": "string"},
        }),
        BY => json!({
            "name": BY, "in": "query",
            "description": "`label.KEY`, where the tenant's `labelKeys` have the key: the summary also has `byLabel`. \
                Anything else is ignored and named in X-Ignored-Params. An extension.",
            "schema": {"type": "string"},
        }),
        Q => json!({
            "name": Q, "in": "query", "required": true,
            "description": "The beginning of a username, a name or an identifier, in any case; a raw `+` is a space",
            "schema": {"type": "string", "minLength": 1, "maxLength": SEARCH_CHARS_MAX},
            "example": "pump",
        }),
        SORT => json!({
            "name": SORT, "in": "query",
            "description": "The order: `createdAt` is by time of creation, `-createdAt` is the newest first. Anything \
                else is ignored and named in X-Ignored-Params. An extension.",
            "schema": {"type": "string", "default": ListOrder::WORDS[0]},
        }),
        AFTER => json!({
            "name": AFTER, "in": "query",
            "description": if operation.headers.contains(&LAST_EVENT_ID) {
                "Only events with a higher number, or, with `last`, later ones than the last event; left out: from \
                 the oldest one on"
            } else {
                "Only events with a higher number; left out: from the oldest one on"
            },
            "schema": after(operation.headers.contains(&LAST_EVENT_ID)),
        }),
        EVENT_TYPE => json!({
            "name": EVENT_TYPE, "in": "query",
            "description": "Only events of these types, separated by commas",
            "style": "form", "explode": false,
            "schema": {
                "type": "array", "minItems": 1,
                "items": {"type": "string", "enum": event_types(operation)},
            },
        }),
        SUBJECT => json!({
            "name": SUBJECT, "in": "query",
            "description": "Only events that requests with this subject's tokens have caused; empty: that requests \
                without a valid token have caused",
            "schema": {"type": "string"},
        }),
        "accessId" => json!({
            "name": "accessId", "in": "query", "description": "Only events of this access",
            "schema": {"type": "string", "format": "uuid"},
        }),
        "contractId" => json!({
            "name": "contractId", "in": "query",
            "description": "Only events of accesses of this contract", "schema": shape::name(),
        }),
        "taskId" => json!({
            "name": "taskId", "in": "query",
            "description": "Only events of this Task, and those that it has caused", "schema": job(),
        }),
        FROM => json!({
            "name": FROM, "in": "query", "description": "Only events of this time and later ones",
            "schema": Instant.schema(Direction::Request),
        }),
        BEFORE => json!({
            "name": BEFORE, "in": "query", "description": "Only events from before this time",
            "schema": Instant.schema(Direction::Request),
        }),
        name if operation.pages == Pages::Gathered => gathered_page(name),
        name => page(name, limits),
    }));
    if let Some(filter_fields) = operation.filter {
        parameters.push(json!({
            "name": "filter", "in": "query", "description": filter(filter_fields), "allowReserved": true,
            "schema": {"type": "string"},
        }));
        // A parameter has one name; a label's key is part of the name.
        let fields = filter_fields.filterable.iter().filter(|field| !field.has_key);
        parameters.extend(fields.map(condition));
    }
    parameters.extend(operation.headers.iter().map(|name| header(name)));
    let without_total = match operation.query.contains(&SORT) {
        true => {
            "; with `count=none`, the response has neither the total nor a link to the last page"
        }
        false => "",
    };
    parameters.push(json!({
        "name": "Prefer", "in": "header",
        "description":
            format!("With `handling=strict`, names that would be ignored are 400{without_total}"),
        "schema": {"type": "string"},
    }));
    parameters.push(json!({
        "name": "traceparent", "in": "header",
        "description": "The trace of the request (W3C Trace Context); an invalid value is ignored",
        "schema": {"type": "string"},
    }));
    parameters.push(json!({
        "name": "X-Correlation-ID", "in": "header",
        "description": "Returned in the response and written to the log if it has 1 to 128 visible ASCII \
            characters; any other value is replaced. `X-Correlator` is an alternative name.",
        "schema": {"type": "string"},
    }));
    parameters
}

/// The parameters in the braces of a path.
fn of_path(path: &str) -> Vec<Value> {
    let names = path.split('/').filter_map(|it| it.strip_prefix('{')?.strip_suffix('}'));
    let parameter = |parameter: &str| {
        let (description, schema, example) = match parameter {
            "tenantName" => ("The tenant", tenant_name(), "demo"),
            "accessId" => (
                "The access's identifier, in lower case",
                json!({"type": "string", "format": "uuid"}),
                "01a1dd4d-f036-7005-9379-54b08ec1966e",
            ),
            "contractId" => ("The contract", name(), "C-PAYG"),
            "taskId" => ("The Task", job(), "job-01a1dd4d-f0c1-7a3e-8b52-9f3d1c20e7aa"),
            "accountName" => ("The account", name(), "acme-eu"),
            "productId" => (
                "The product: its platform, a hyphen, and the connection's identifier at the platform",
                product_id(),
                "ALPHA-4711",
            ),
            "hubId" => (
                "The hub",
                json!({"type": "string", "minLength": 1}),
                "hub-01a1dd4d-f0c1-7a3e-8b52-9f3d1c000000",
            ),
            "hookId" => (
                "The hook",
                json!({"type": "string", "minLength": 1}),
                "hook-01a1dd4d-f0c1-7a3e-8b52-9f3d1c000000",
            ),
            "clientId" => (
                "The client's `clientId`",
                json!({"type": "string", "minLength": 1}),
                "demo~ghbartdqeohaehjz",
            ),
            _ => ("The name", name(), "one"),
        };
        json!({
            "name": parameter, "in": "path", "required": true, "description": description,
            "schema": schema, "example": example,
        })
    };
    names.map(parameter).collect()
}

fn after(has_last: bool) -> Value {
    let number = json!({"type": "integer", "minimum": 0, "maximum": i64::MAX});
    if has_last { json!({"oneOf": [number, {"const": LAST}]}) } else { number }
}

fn header(name: &str) -> Value {
    let mut schema = json!({"type": "string"});
    let description = match name {
        idempotency::KEY => {
            schema["minLength"] = 1.into();
            schema["maxLength"] = REQUEST_KEY_CHARS_MAX.into();
            schema["pattern"] = "^[!-~]([ -~]*[!-~])?$".into();
            "A key that makes the request idempotent: a repeated request with the same key and body within 24 hours \
             gets the first response again. With another body it is 409; while the first request is running it \
             is 409 with `Retry-After`. Only successful responses are stored."
        }
        LAST_EVENT_ID => {
            // A list, which doesn't look at it, accepts any text.
            schema = json!({"type": "string"});
            "Of a stream: the number of the last event that the client has. A browser sends it when it reconnects; \
             it wins over `after`"
        }
        "vernemq-hook" => {
            schema["enum"] = ["auth_on_register", "auth_on_publish", "auth_on_subscribe"]
                .iter()
                .flat_map(|it| [(*it).to_owned(), format!("{it}_m5")])
                .collect();
            "The webhook that VerneMQ calls"
        }
        "If-Match" => {
            "Versions that may be changed, in the form of `ETag`, with quotes; any other version is 412"
        }
        "If-None-Match" => {
            "Versions that the client already has, in the form of `ETag`, with quotes"
        }
        _ => "RFC 9110",
    };
    json!({"name": name, "in": "header", "description": description, "schema": schema})
}

fn page(name: &str, limits: &Limits) -> Value {
    let (description, default, maximum) = if name == "pageSize" {
        let default = PAGE_SIZE_DEFAULT.min(limits.page_size_max);
        ("Most items on a page", default, limits.page_size_max)
    } else {
        ("The page, from 1; a page past the end is empty", 1, PAGE_NUMBER_MAX)
    };
    json!({
        "name": name, "in": "query", "description": description,
        "schema": {"type": "integer", "minimum": 1, "maximum": maximum, "default": default},
    })
}

/// A required page parameter, for products that are gathered from platforms.
fn gathered_page(name: &str) -> Value {
    let (description, maximum) = if name == "pageSize" {
        let description = "Most products on the page, shared evenly by the matching accounts";
        (description, PAGE_SIZE_MAX)
    } else {
        let description =
            "The page of every account, from 1; the server or the tenant may have a lower maximum";
        (description, PAGE_NUMBER_MAX)
    };
    json!({
        "name": name, "in": "query", "required": true, "description": description,
        "schema": {"type": "integer", "minimum": 1, "maximum": maximum},
        "example": if name == "pageSize" { PAGE_SIZE_DEFAULT } else { 1 },
    })
}

/// Description of a filter, with examples.
fn filter(filter_fields: &FilterFields) -> String {
    let mut names = filter_fields.filterable.iter().map(|field| field.name);
    let (first, second) = (names.next().unwrap_or_default(), names.next().unwrap_or_default());
    let labels = match filter_fields.filterable.iter().any(|field| field.has_key) {
        true => {
            " `label.KEY=VALUE` finds a label, `label.KEY` any with this key, if the tenant's `labelKeys` have the \
             key; these are extensions."
        }
        false => "",
    };
    format!(
        "Conditions `name operator value`, such as `{first}=A&{second}=B;{first}=C`. `&` joins them, `;` \
         separates alternatives and has lower precedence. A raw `+` is a space, a plus is `%2B`. `filter=` may \
         precede any condition or be left out, so each condition can also be a separate parameter. An expression \
         may be percent-encoded as a whole. At most {ALTERNATIVES_MAX} alternatives and {CONDITIONS_MAX} \
         conditions. Unknown names are ignored and named in X-Ignored-Params.{labels}"
    )
}

/// A condition as a parameter. A form can only express `=`, so the description names the other operators.
fn condition(field: &FilterField) -> Value {
    let operators: Vec<String> =
        field.operators.iter().map(|it| format!("`{}`", it.as_str())).collect();
    let (compared, schema) = match operators.len() {
        1 if field.any_case => {
            let compared = "The name may be in lower case; an invalid number is 400.";
            (compared.to_owned(), json!({"type": "string"}))
        }
        1 if !field.words.is_empty() => {
            let compared = "Compared with `=`; any other word is 400. An extension.";
            (compared.to_owned(), json!({"type": "string", "enum": field.words}))
        }
        1 => ("Compared with `=`, character by character.".to_owned(), json!({"type": "string"})),
        _ => {
            let compared = format!(
                "Compared with {}; for operators other than `=` use `filter`, with `>` written `%3E` and `<` \
                 written `%3C`. An RFC 3339 time or a date; any other value is 400.",
                operators.join(", ")
            );
            (compared, Instant.schema(Direction::Request))
        }
    };
    json!({
        "name": field.name, "in": "query",
        "description": format!("Only items with this value: {}. {compared}", field.meaning),
        "schema": schema,
    })
}
