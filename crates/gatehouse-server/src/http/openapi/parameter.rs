//! The parameters of paths, queries and headers.

use gatehouse_core::filter::{ALTERNATIVES_MAX, CONDITIONS_MAX, FilterField, FilterFields};
use gatehouse_core::ids::REQUEST_KEY_CHARS_MAX;
use gatehouse_core::page::{PAGE_NUMBER_MAX, PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX};
use serde_json::{Value, json};

use crate::config::Limits;
use crate::fields::product::product_id;
use crate::fields::shape::{job, name};
use crate::fields::tenant::tenant_name;
use crate::http::route::idempotency;
use crate::http::route::query::FIELDS;
use crate::http::route::resource::{Operation, Pages, Resource};
use crate::reader::{Direction, Form, Instant};

/// What an operation takes beside its body, in the order in which people need it.
///
/// What may be left out has no example here: `/-/docs` would put it into its forms, and send it.
pub(super) fn parameters(
    resource: &Resource,
    operation: &Operation,
    limits: &Limits,
) -> Vec<Value> {
    let mut parameters = of_path(resource.path);
    parameters.extend(operation.query.iter().map(|name| match *name {
        "state" => json!({
            "name": "state", "in": "query",
            "description": "Only items that succeeded, or only those that failed; left out: both",
            "schema": {"type": "string", "enum": ["succeeded", "failed"]},
        }),
        FIELDS => json!({
            "name": FIELDS, "in": "query",
            "description": "Which fields to show, with commas between their names; `id` is always there, and \
                what is no field is ignored and named in X-Ignored-Params. `none`, alone: only `id`, `href` and `correlationId`. Left out or \
                empty: all.",
            "schema": {"type": "string"},
        }),
        name if operation.pages == Pages::Gathered => page_to_gather(name),
        name => page(name, limits),
    }));
    if let Some(vocabulary) = operation.filter {
        parameters.push(json!({
            "name": "filter", "in": "query", "description": filter(vocabulary), "allowReserved": true,
            "schema": {"type": "string"},
        }));
        parameters.extend(vocabulary.filterable.iter().map(condition));
    }
    parameters.extend(operation.headers.iter().map(|name| header(name)));
    parameters.push(json!({
        "name": "Prefer", "in": "header",
        "description": "`handling=strict` makes 400 of what would be ignored",
        "schema": {"type": "string"},
    }));
    parameters.push(json!({
        "name": "traceparent", "in": "header",
        "description": "The trace that the request is part of (W3C Trace Context); one that can't be read is \
            ignored",
        "schema": {"type": "string"},
    }));
    parameters.push(json!({
        "name": "X-Correlation-ID", "in": "header",
        "description": "Returned with the answer and written to the log, when it is 1 to 128 visible ASCII \
            characters; anything else is replaced. `X-Correlator` is taken in its place.",
        "schema": {"type": "string"},
    }));
    parameters
}

/// What stands in braces in a path.
fn of_path(path: &str) -> Vec<Value> {
    let names = path.split('/').filter_map(|it| it.strip_prefix('{')?.strip_suffix('}'));
    let parameter = |parameter: &str| {
        let (what, schema, example) = match parameter {
            "tenantName" => ("The tenant", tenant_name(), "demo"),
            "accessId" => (
                "The access; its identifier is written in lower case",
                json!({"type": "string", "format": "uuid"}),
                "01a1dd4d-f036-7005-9379-54b08ec1966e",
            ),
            "contractId" => ("The contract", name(), "C-PAYG"),
            "taskId" => ("The Task", job(), "job-01a1dd4d-f0c1-7a3e-8b52-9f3d1c20e7aa"),
            "accountName" => ("The account", name(), "acme-eu"),
            "productId" => (
                "The product: its platform, a hyphen, and what the platform calls the connection",
                product_id(),
                "ALPHA-4711",
            ),
            "clientId" => (
                "The client, as it was shown",
                json!({"type": "string", "minLength": 1}),
                "demo~ghbartdqeohaehjz",
            ),
            _ => ("Which one", name(), "one"),
        };
        json!({
            "name": parameter, "in": "path", "required": true, "description": what,
            "schema": schema, "example": example,
        })
    };
    names.map(parameter).collect()
}

fn header(name: &str) -> Value {
    let mut schema = json!({"type": "string"});
    let what = match name {
        idempotency::KEY => {
            schema["minLength"] = 1.into();
            schema["maxLength"] = REQUEST_KEY_CHARS_MAX.into();
            schema["pattern"] = "^[!-~]([ -~]*[!-~])?$".into();
            "Names the request, which is then done once: sent again with the same key and body within 24 hours, \
             it gets the first answer again; with another body it is 409, and so it is while the first is \
             under way, with `Retry-After`. Only what succeeded is kept."
        }
        "If-Match" => {
            "Versions that the change may be made to, as `ETag` showed them, with quotes; else 412"
        }
        "If-None-Match" => {
            "Versions that the client has already, as `ETag` showed them, with quotes"
        }
        _ => "RFC 9110",
    };
    json!({"name": name, "in": "header", "description": what, "schema": schema})
}

fn page(name: &str, limits: &Limits) -> Value {
    let (what, default, maximum) = if name == "pageSize" {
        let default = PAGE_SIZE_DEFAULT.min(limits.page_size_max);
        ("How many there are on a page", default, limits.page_size_max)
    } else {
        ("Which page, from one; a page past the end is empty", 1, PAGE_NUMBER_MAX)
    };
    json!({
        "name": name, "in": "query", "description": what,
        "schema": {"type": "integer", "minimum": 1, "maximum": maximum, "default": default},
    })
}

/// A parameter of a page that nobody can choose for the client.
fn page_to_gather(name: &str) -> Value {
    let (what, maximum) = if name == "pageSize" {
        let what =
            "How many products the page may hold, which the accounts that match share evenly";
        (what, PAGE_SIZE_MAX)
    } else {
        let what = "Which page of every account, from one; the server or the tenant may have a lower maximum";
        (what, PAGE_NUMBER_MAX)
    };
    json!({
        "name": name, "in": "query", "required": true, "description": what,
        "schema": {"type": "integer", "minimum": 1, "maximum": maximum},
        "example": if name == "pageSize" { PAGE_SIZE_DEFAULT } else { 1 },
    })
}

/// What a filter is, by example.
fn filter(vocabulary: &FilterFields) -> String {
    let mut names = vocabulary.filterable.iter().map(|word| word.name);
    let (first, second) = (names.next().unwrap_or_default(), names.next().unwrap_or_default());
    format!(
        "Conditions `name operator value`, such as `{first}=A&{second}=B;{first}=C`. `&` joins them, `;` \
         separates alternatives and binds less. A raw `+` is a space, a plus is `%2B`. `filter=` may stand before \
         any condition or be left out, so each condition can also be a parameter of its own. An expression may \
         be percent-encoded as a whole. At most {ALTERNATIVES_MAX} alternatives and {CONDITIONS_MAX} \
         conditions. What is not known here is ignored and named in X-Ignored-Params."
    )
}

/// A condition as a parameter: a form can only say `=`, so the other operators stand in words.
fn condition(word: &FilterField) -> Value {
    let operators: Vec<String> =
        word.operators.iter().map(|it| format!("`{}`", it.as_str())).collect();
    let (compared, schema) = match operators.len() {
        1 if word.any_case => {
            let compared =
                "Its name may be written in lower case; a value that is no such number is 400.";
            (compared.to_owned(), json!({"type": "string"}))
        }
        1 => ("Compared with `=`, letter by letter.".to_owned(), json!({"type": "string"})),
        _ => {
            let compared = format!(
                "Compared with {}; for others than `=` use `filter`, with `>` written `%3E` and `<` \
                 written `%3C`. An RFC 3339 time or a date; one that can't be read is 400.",
                operators.join(", ")
            );
            (compared, Instant.schema(Direction::Request))
        }
    };
    json!({
        "name": word.name, "in": "query",
        "description": format!("Only those with this: {}. {compared}", word.meaning),
        "schema": schema,
    })
}
