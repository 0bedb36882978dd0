//! The OpenAPI document, generated from the route table, so that it has no path without a route.

mod header;
mod parameter;
mod problem;

use std::collections::BTreeSet;

use gatehouse_core::Dialect;
use serde_json::{Map, Value, json};

use crate::config::Limits;
use crate::fields::{self, Schema, shape::reference};
use crate::http::answer::media::JSON;
use crate::http::answer::problem::ErrorStyle;
use crate::http::route::paging;
use crate::http::route::resource::{
    ANY_METHOD, BodyKind, Need, Operation, Pages, Resource, ResponseSpec,
};
use header::headers;

/// The document, without the server's address.
pub(crate) fn document(resources: &[Resource], limits: &Limits) -> Value {
    let schemas = fields::schemas(limits);
    let mut paths = Map::new();
    let mut statuses = BTreeSet::new();
    for resource in resources.iter().filter(|it| it.listed().next().is_some()) {
        let mut item = Map::new();
        for operation in resource.listed() {
            statuses.extend(problem::problem_statuses(resource, operation));
            // A document has no method that is any.
            let method = match operation.method {
                ANY_METHOD => "get".to_owned(),
                method => method.to_ascii_lowercase(),
            };
            item.insert(method, describe(resource, operation, limits, &schemas));
        }
        paths.insert(resource.path.into(), item.into());
    }
    let problems = statuses.into_iter().map(problem::named);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "gatehouse",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "Who may connect, and what is connected, on whose network",
            "description": DESCRIPTION,
            "contact": {"name": "The operator of this server"},
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "security": [{"bearer": []}],
        "tags": TAGS.map(|(name, description)| json!({"name": name, "description": description})),
        "paths": paths,
        "components": {
            "schemas": Map::from_iter(schemas.into_iter().map(|it| (it.name.to_owned(), it.schema))),
            "responses": Value::Object(problems.collect()),
            "securitySchemes": {
                "bearer": {
                    "type": "http", "scheme": "bearer", "bearerFormat": "JWT",
                    "description": "A JWT with the claims `tenants` and `scope`: from an issuer that the server \
                        trusts, from `/-/oauth2/token`, or from `gatehouse token`.",
                },
                "hook": {
                    "type": "apiKey", "in": "header", "name": "X-Hook-Key",
                    "description": "The key of a hook. It may stand in the path instead: `/demo/verify/~KEY/basic`.",
                },
                "client": {
                    "type": "http", "scheme": "basic",
                    "description": "A client's `clientId` and `clientSecret`, only for `/-/oauth2/token`",
                },
            },
        },
    })
}

const DESCRIPTION: &str = "Issues, checks, suspends and ends the credentials of a fleet's devices, for any number of tenants.\n\n\
    Every path of a tenant and of an operator needs `Authorization: Bearer` with a token for the tenant that has the \
    scope of the operation; no scope implies another.\n\n\
    The body of every error is a `Problem`: it says what is wrong and what would be right, for all faults at once. \
    `HEAD` works wherever `GET` does, `OPTIONS` returns 204 with `Allow`, any other method is 405.\n\n\
    Unknown query parameters are ignored and named in `X-Ignored-Params`; with `Prefer: handling=strict` they are \
    400. Unknown fields of a body are 400, and so is `null`. \
    Times are shown in UTC with milliseconds; a request may use any offset, none means UTC, and a plain date means \
    midnight in UTC.";

/// Groups of operations.
const TAGS: [(&str, &str); 13] = [
    ("access", "Credentials of devices: creating, listing, reading and changing them"),
    ("batch", "Many accesses at once, and the Tasks that process them"),
    ("contract", "The tenant's contracts, which define its accesses"),
    ("product", "The tenant's connections at external platforms"),
    ("account", "The tenant's accounts at external platforms"),
    ("event", "What changed, in order: read, followed, or sent to subscribers"),
    ("summary", "The tenant's accesses in figures"),
    ("verify", "Whether a device may connect"),
    ("admin", "Administration of tenants, contracts, accounts, clients and hooks"),
    ("operator", "Monitoring"),
    ("token", "Tokens for clients"),
    ("caller", "The rights of a token"),
    ("public", "Public resources of the server"),
];

fn tag(path: &str) -> &'static str {
    match path.split('/').nth(2) {
        _ if path.starts_with("/-/admin") => "admin",
        _ if path.starts_with("/-/oauth2") => "token",
        _ if path == "/-/me" => "caller",
        _ if path == "/-/metrics" => "operator",
        _ if path.starts_with("/-/") => "public",
        Some("access") if path.contains("/batch") => "batch",
        Some("access") if path.ends_with("/event") => "event",
        Some("access" | "search") => "access",
        Some("event" | "hub") => "event",
        Some("contract") => "contract",
        Some("product") => "product",
        Some("account") => "account",
        Some("summary") => "summary",
        _ => "verify",
    }
}

fn describe(
    resource: &Resource,
    operation: &Operation,
    limits: &Limits,
    schemas: &[Schema],
) -> Value {
    let mut described = json!({
        "operationId": operation.id,
        "summary": operation.summary,
        "description": match operation.need {
            Need::Nothing => "Needs no token.".to_owned(),
            Need::Token => "Needs any valid token.".to_owned(),
            Need::Scope(scope) => format!("Needs the scope `{}`.", scope.as_str()),
            Need::Check(Dialect::Basic) => {
                "Needs the key of a hook in the dialect `basic`. Takes any method.".to_owned()
            }
            Need::Check(dialect) => format!(
                "Needs the key of a hook in the dialect `{}`, or the scope `access:verify`.",
                dialect.as_str()
            ),
            Need::Admin => "Needs the scope `admin` for the tenant.".to_owned(),
            Need::AdminOfAll => "Needs the scope `admin` for all tenants (`*`).".to_owned(),
        },
        "tags": [tag(resource.path)],
        "parameters": parameter::parameters(resource, operation, limits),
        "responses": responses(resource, operation, schemas),
    });
    match operation.errors {
        // A client authenticates with HTTP Basic, or in the form.
        ErrorStyle::OAuth => described["security"] = json!([{"client": []}, {}]),
        ErrorStyle::Problem if operation.need == Need::Nothing => {
            described["security"] = json!([]);
        }
        ErrorStyle::Problem | ErrorStyle::Dialect(_) => match operation.need {
            Need::Check(Dialect::Basic) => described["security"] = json!([{"hook": []}]),
            Need::Check(_) => described["security"] = json!([{"bearer": []}, {"hook": []}]),
            _ => {}
        },
    }
    if let Some(BodyKind { media_types, schema, example, .. }) = &operation.body {
        let content = json!({"schema": reference(schema), "example": example()});
        let content = media_types.iter().map(|it| ((*it).to_owned(), content.clone()));
        let content: Map<_, _> = content.collect();
        described["requestBody"] = json!({"required": true, "content": content});
    }
    described
}

fn responses(resource: &Resource, operation: &Operation, schemas: &[Schema]) -> Value {
    let mut responses = Map::new();
    for status in problem::problem_statuses(resource, operation) {
        responses.insert(status.to_string(), problem::problem(operation, status));
    }
    // A response may also be an error whose body isn't the problem.
    for spec in operation.responses {
        let status = spec.status;
        let same: Vec<_> = operation.responses.iter().filter(|it| it.status == status).collect();
        responses.insert(status.to_string(), response(resource, operation, &same, schemas));
    }
    responses.sort_keys();
    responses.into()
}

/// A response in all of its media types.
fn response(
    resource: &Resource,
    operation: &Operation,
    specs: &[&ResponseSpec],
    schemas: &[Schema],
) -> Value {
    let mut names = vec!["X-Correlation-ID", "X-Correlator?", "traceparent?", "X-Ignored-Params?"];
    if resource.is_of_tenants() {
        names.extend(header::RATE);
    }
    if operation.has_several_media_types() {
        names.push("Vary");
    }
    names.extend(specs.iter().flat_map(|spec| spec.headers));
    let description: Vec<&str> = specs.iter().map(|spec| spec.description).collect();
    let mut response =
        json!({"description": description.join("; or "), "headers": headers(&names)});
    if operation.pages == Pages::Gathered {
        response["headers"]["Link"] = header::gathered_link();
    } else if names.contains(&"Preference-Applied?") {
        response["headers"]["Link"] = header::uncounted_link();
    }
    let bodies =
        specs.iter().filter_map(|it| Some((it.media_type, content(operation, it, schemas)?)));
    let bodies: Map<_, _> = bodies.map(|(name, body)| (name.to_owned(), body)).collect();
    if !bodies.is_empty() {
        response["content"] = bodies.into();
    }
    response
}

/// The body of a response, if it has one.
fn content(operation: &Operation, spec: &ResponseSpec, schemas: &[Schema]) -> Option<Value> {
    let name = spec.schema?;
    let of_schema = || schemas.iter().find(|it| it.name == name)?.example.clone();
    let example = spec.example.map_or_else(of_schema, |example| Some(example()));
    let is_paged = paging::PARAMS.iter().all(|name| operation.query.contains(name));
    let is_counted = operation.pages == Pages::Counted;
    let is_list = is_paged && is_counted && spec.media_type == JSON;
    let mut content = match is_list {
        true => json!({"schema": {"type": "array", "items": reference(name)}}),
        false => json!({"schema": reference(name)}),
    };
    if let Some(example) = example {
        content["example"] = if is_list { json!([example]) } else { example };
    }
    Some(content)
}
