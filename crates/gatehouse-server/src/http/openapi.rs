//! The OpenAPI document, made from the route table: what is not routed can't be in it.

use gatehouse_core::filter::Word;
use gatehouse_core::page::{PAGE_NUMBER_MAX, PAGE_SIZE_DEFAULT};
use gatehouse_core::rights::Scope;
use gatehouse_core::tenant::REQUESTS_PER_SECOND_MAX;
use serde_json::{Map, Value, json};

use super::media::{JSON, PROBLEM_JSON};
use super::oauth::OAuthError;
use super::paging;
use super::resource::{Answer, BodyKind, ErrorStyle, Need, Operation, Resource};
use crate::config::Limits;

/// The document, but for the address of the server.
pub(crate) fn document(resources: &[Resource], limits: &Limits) -> Value {
    let mut paths = Map::new();
    for resource in resources {
        let mut item = Map::new();
        item.insert("parameters".into(), path_parameters(resource.path));
        for operation in &resource.operations {
            let method = operation.method.to_ascii_lowercase();
            item.insert(method, describe(resource, operation, limits));
        }
        paths.insert(resource.path.into(), item.into());
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "gatehouse",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "Who may connect, and under which contract",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "security": [{"bearer": []}],
        "paths": paths,
        "components": {
            "schemas": schemas(),
            "securitySchemes": {"bearer": {
                "type": "http", "scheme": "bearer", "bearerFormat": "JWT",
                "description": "A JWT with the claims `tenants` and `scope`",
            }},
        },
    })
}

fn path_parameters(path: &str) -> Value {
    let names = path.split('/').filter_map(|it| it.strip_prefix('{')?.strip_suffix('}'));
    let parameter = |name: &str| {
        let schema = match name {
            "tenantName" => json!({"type": "string", "pattern": TENANT_PATTERN}),
            "accessId" => json!({"type": "string", "format": "uuid"}),
            _ => json!({"type": "string", "minLength": 1, "maxLength": 128}),
        };
        json!({"name": name, "in": "path", "required": true, "schema": schema})
    };
    names.map(parameter).collect()
}

fn describe(resource: &Resource, operation: &Operation, limits: &Limits) -> Value {
    let mut described = json!({
        "operationId": operation.id,
        "summary": operation.summary,
        "tags": [tag(resource.path)],
        "parameters": parameters(operation, limits),
        "responses": responses(resource, operation),
    });
    match operation.need {
        Need::Nothing => described["security"] = json!([]),
        Need::Scope(scope) => {
            described["description"] = format!("Needs the scope `{}`.", scope.as_str()).into();
        }
        Need::Admin => {
            described["description"] = "Needs the scope `admin` for the tenant.".into();
        }
        Need::AdminOfAll => {
            described["description"] = "Needs the scope `admin` for all tenants (`*`).".into();
        }
    }
    if let Some(BodyKind { media_type, schema, example }) = &operation.body {
        described["requestBody"] = json!({"required": true, "content": {
            *media_type: {"schema": reference(schema), "example": example()},
        }});
    }
    described
}

fn tag(path: &str) -> &'static str {
    match path.split('/').nth(2) {
        _ if path.starts_with("/-/admin") => "admin",
        _ if path.starts_with("/-/oauth2") => "token",
        _ if path == "/-/metrics" => "operator",
        _ if path.starts_with("/-/") => "public",
        Some("access") => "access",
        Some("contract") => "contract",
        Some("summary") => "summary",
        _ => "verify",
    }
}

fn parameters(operation: &Operation, limits: &Limits) -> Value {
    let mut parameters = vec![json!({
        "name": "X-Correlation-ID", "in": "header",
        "description": "Returned with the answer and written to the log",
        "schema": {"type": "string", "pattern": "^[!-~]{1,128}$"},
    })];
    parameters.push(json!({
        "name": "Prefer", "in": "header",
        "description": "`handling=strict` makes 400 of what would be ignored",
        "schema": {"type": "string"}, "example": "handling=strict",
    }));
    for name in operation.headers {
        parameters.push(json!({
            "name": name, "in": "header", "description": "RFC 9110, section 13",
            "schema": {"type": "string"},
        }));
    }
    for name in operation.query {
        let (what, default, maximum) = if *name == "pageSize" {
            let default = PAGE_SIZE_DEFAULT.min(limits.page_size_max);
            ("How many there are on a page", default, limits.page_size_max)
        } else {
            ("Which page, from one", 1, PAGE_NUMBER_MAX)
        };
        parameters.push(json!({
            "name": name, "in": "query", "description": what,
            "schema": {"type": "integer", "minimum": 1, "maximum": maximum, "default": default},
        }));
    }
    if let Some(vocabulary) = operation.filter {
        parameters.push(json!({
            "name": "filter", "in": "query", "description": FILTER, "allowReserved": true,
            "schema": {"type": "string"},
            "example": "contractId=C-PAYG&createdAt%3E=2026-11-01;username=meter-12",
        }));
        parameters.extend(vocabulary.words.iter().map(condition));
    }
    parameters.into()
}

const FILTER: &str = "Conditions `name operator value`. `&` joins them, `;` separates alternatives and \
    binds less. A space is `%20`, a `+` is a plus. `filter=` may stand before any condition or be left out, so each condition can also be \
    a parameter of its own. An expression may be percent-encoded as a whole. At most 32 alternatives \
    and 64 conditions. What is not known here is ignored and named in X-Ignored-Params.";

/// A condition as a parameter: a form can only say `=`, so the other operators stand in words.
fn condition(word: &Word) -> Value {
    let operators: Vec<String> =
        word.operators.iter().map(|it| format!("`{}`", it.as_str())).collect();
    let compared = match operators.len() {
        1 => "Compared with `=`, letter by letter.".to_owned(),
        _ => format!(
            "Compared with {}; for others than `=` use `filter`, with `>` written `%3E` and `<` \
             written `%3C`. An RFC 3339 time or a date; one that can't be read is 400.",
            operators.join(", ")
        ),
    };
    json!({
        "name": word.name, "in": "query",
        "description": format!("Only accesses with this: {}. {compared}", word.meaning),
        "schema": {"type": "string"},
    })
}

fn responses(resource: &Resource, operation: &Operation) -> Value {
    let mut responses = Map::new();
    for answer in operation.answers {
        responses.insert(answer.status.to_string(), success(operation, answer));
    }
    for status in problem_statuses(resource, operation) {
        let status = http::StatusCode::from_u16(status).unwrap_or_default();
        let what = status.canonical_reason().unwrap_or("Problem");
        let content = match operation.errors {
            ErrorStyle::Problem => json!({PROBLEM_JSON: {"schema": reference("Problem")}}),
            ErrorStyle::OAuth => json!({JSON: {"schema": reference("OAuthError")}}),
        };
        responses.insert(
            status.as_u16().to_string(),
            json!({
                "description": what,
                "headers": headers(&["X-Correlation-ID"]),
                "content": content,
            }),
        );
    }
    responses.into()
}

fn success(operation: &Operation, answer: &Answer) -> Value {
    let mut names = vec!["X-Correlation-ID", "X-Ignored-Params"];
    names.extend(answer.headers);
    let mut response = json!({"description": answer.what, "headers": headers(&names)});
    if let Some(schema) = answer.schema {
        let schema = if operation.query == paging::PARAMS {
            json!({"type": "array", "items": reference(schema)})
        } else {
            reference(schema)
        };
        response["content"] = json!({operation.media_type: {"schema": schema}});
    }
    response
}

fn headers(names: &[&str]) -> Value {
    let header = |name: &&str| {
        let schema = if *name == "X-Total-Count" {
            json!({"type": "integer", "minimum": 0})
        } else {
            json!({"type": "string"})
        };
        let what = match *name {
            "Link" => "RFC 8288: the pages `first`, `last` and, unless this is the last, `next`",
            "X-Total-Count" => "How many there are on all pages together",
            "X-Ignored-Params" => "Parameters that were ignored, with commas between",
            "X-Correlation-ID" => "The request's own, or a new one",
            "ETag" => "The version of the access",
            _ => "RFC 9110",
        };
        ((*name).to_owned(), json!({"description": what, "schema": schema}))
    };
    Value::Object(names.iter().map(header).collect())
}

/// The problems that an operation may have: those that its kind brings with it, and its own.
pub(crate) fn problem_statuses(resource: &Resource, operation: &Operation) -> Vec<u16> {
    let mut statuses = vec![400, 431, 500, 503];
    if operation.filter.is_some() {
        // An address is long only where it holds a filter.
        statuses.push(414);
    }
    if operation.answers.iter().any(|answer| answer.schema.is_some()) {
        statuses.push(406);
    }
    if operation.need != Need::Nothing {
        statuses.extend([401, 403]);
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
    statuses.sort_unstable();
    statuses
}

fn reference(schema: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{schema}")})
}

const TENANT_PATTERN: &str = "^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$";

fn schemas() -> Value {
    let name = || json!({"type": "string", "minLength": 1, "maxLength": 128});
    let username =
        || json!({"type": "string", "minLength": 1, "maxLength": 128, "pattern": "^[^:]*$"});
    let password =
        || json!({"type": "string", "minLength": 1, "description": "At most 72 bytes of UTF-8"});
    let time = || json!({"type": "string", "format": "date-time"});
    let scope = || {
        let words = Scope::ALL.map(Scope::as_str).join(", ");
        let what = format!("Scopes with spaces between: {words}");
        json!({"type": "string", "description": what, "examples": ["access:read access:write"]})
    };
    let rate = || {
        json!({"type": "integer", "minimum": 0, "maximum": REQUESTS_PER_SECOND_MAX,
               "description": "Requests that it may send in a second: 0 for any number; left out, what \
                               the server is set to"})
    };
    let address = || json!({"type": "string", "format": "uri"});
    let statuses = ["PENDING_ACTIVE", "ACTIVE", "SUSPENDED", "PENDING_TERMINATE", "TERMINATED"];
    let contract = || {
        json!({
            "productOfferingId": name(),
            "billingModel": {"enum": ["PREPAID", "PAY_PER_USE"]},
            "status": {"enum": ["ACTIVE", "SUSPENDED", "TERMINATED"]},
            "startDateTime": {"type": "string"},
            "endDateTime": {"type": "string"},
            "validityPeriod": {"type": "string", "description": "ISO 8601 duration; PREPAID only"},
            "maxAccesses": {"type": "integer", "minimum": 0},
        })
    };
    let by_status = || {
        let counts =
            statuses.map(|status| (status.to_owned(), json!({"type": "integer", "minimum": 0})));
        json!({"type": "object", "required": statuses, "additionalProperties": false,
               "properties": Map::from_iter(counts)})
    };
    let mut new_contract = contract();
    new_contract["id"] = name();
    let mut shown_contract = new_contract.clone();
    shown_contract["href"] = address();
    shown_contract["accessCount"] = json!({"type": "integer", "minimum": 0});
    json!({
        "Any": {"type": "object"},
        "Text": {"type": "string"},
        "State": {"type": "object", "required": ["status"], "properties": {
            "status": {"type": "string"},
        }},
        "NewAccess": {"type": "object", "required": ["contractId"], "additionalProperties": false,
            "properties": {
                "contractId": name(), "username": username(), "password": password(),
                "deviceName": name(),
            },
        },
        "AccessUpdate": {"type": "object", "minProperties": 1, "additionalProperties": false,
            "properties": {
                "status": {"enum": ["ACTIVE", "SUSPENDED", "TERMINATED"]}, "password": password(),
            },
        },
        "Access": {"type": "object",
            "required": ["id", "href", "contractId", "productOfferingId", "username", "name",
                         "status", "startDateTime", "@baseType", "@type"],
            "additionalProperties": false,
            "properties": {
                "id": {"type": "string", "format": "uuid"}, "href": address(),
                "contractId": name(), "productOfferingId": name(), "username": username(),
                "password": password(), "deviceName": name(), "name": name(),
                "status": {"enum": statuses}, "startDateTime": time(), "endDateTime": time(),
                "createdBy": {"type": "string", "pattern": "^job-"},
                "@baseType": {"const": "Resource"}, "@type": {"const": "RealizingResource"},
            },
        },
        "Summary": {"type": "object",
            "required": ["total", "byStatus", "byContract", "perDay"], "additionalProperties": false,
            "properties": {
                "total": {"type": "integer", "minimum": 0}, "byStatus": by_status(),
                "byContract": {"type": "array", "items": {"type": "object",
                    "required": ["contractId", "productOfferingId", "byStatus"],
                    "additionalProperties": false,
                    "properties": {
                        "contractId": name(), "productOfferingId": name(), "byStatus": by_status(),
                }}},
                "perDay": {"type": "array",
                    "description": "Days in UTC, the oldest first and today last",
                    "minItems": 90, "maxItems": 90, "items": {
                    "type": "object", "required": ["date", "created", "ended"],
                    "additionalProperties": false,
                    "properties": {
                        "date": {"type": "string", "format": "date"},
                        "created": {"type": "integer", "minimum": 0},
                        "ended": {"type": "integer", "minimum": 0},
                }}},
            },
        },
        "Credentials": {"type": "object", "required": ["username", "password"],
            "additionalProperties": false,
            "properties": {"username": username(), "password": password()},
        },
        "Verified": {"type": "object",
            "required": ["accessId", "status", "name", "contractId", "productOfferingId"],
            "additionalProperties": false,
            "properties": {
                "accessId": {"type": "string", "format": "uuid"},
                "status": {"enum": ["ACTIVE", "PENDING_TERMINATE"]}, "name": name(),
                "contractId": name(), "productOfferingId": name(), "endDateTime": time(),
            },
        },
        "NewContract": {"type": "object", "required": ["productOfferingId", "billingModel"],
            "additionalProperties": false, "properties": new_contract,
        },
        "Contract": {"type": "object",
            "required": ["id", "productOfferingId", "billingModel", "status"],
            "additionalProperties": false, "properties": shown_contract,
        },
        "NewTenant": {"type": "object", "additionalProperties": false, "properties": {
            "name": {"type": "string", "pattern": TENANT_PATTERN}, "timeZone": {"type": "string"},
            "requestsPerSecond": rate(),
        }},
        "Tenant": {"type": "object", "required": ["name", "timeZone"],
            "additionalProperties": false, "properties": {
                "name": {"type": "string", "pattern": TENANT_PATTERN},
                "timeZone": {"type": "string"}, "requestsPerSecond": rate(),
        }},
        "NewClient": {"type": "object", "required": ["scope"], "additionalProperties": false,
            "properties": {"name": name(), "scope": scope()},
        },
        "Client": {"type": "object", "required": ["clientId", "scope", "createdAt"],
            "additionalProperties": false, "properties": {
                "clientId": {"type": "string"},
                "clientSecret": {"type": "string", "description": "Only when it has just been made"},
                "name": name(), "scope": scope(), "createdAt": time(),
        }},
        "TokenRequest": {"type": "object", "required": ["grant_type"], "properties": {
            "grant_type": {"const": "client_credentials"},
            "client_id": {"type": "string"}, "client_secret": {"type": "string"}, "scope": scope(),
        }},
        "Token": {"type": "object", "required": ["access_token", "token_type", "expires_in", "scope"],
            "additionalProperties": false, "properties": {
                "access_token": {"type": "string"}, "token_type": {"const": "Bearer"},
                "expires_in": {"type": "integer", "minimum": 1, "description": "Seconds"},
                "scope": scope(),
        }},
        "OAuthError": {"type": "object", "required": ["error", "error_description"],
            "additionalProperties": false, "properties": {
                "error": {"enum": OAuthError::ALL.map(OAuthError::as_str)},
                "error_description": {"type": "string"},
        }},
        "Problem": {"type": "object",
            "required": ["type", "status", "title", "detail", "externalErrors", "relatedParty",
                         "correlationId", "@type"],
            "properties": {
                "type": {"type": "string"}, "status": {"type": "integer"},
                "title": {"type": "string"}, "detail": {"type": "string"},
                "invalidParams": {"type": "array", "items": {"type": "object",
                    "required": ["name", "reason"], "properties": {
                        "name": {"type": "string"}, "reason": {"type": "string"},
                }}},
                "externalErrors": {"type": "array"}, "relatedParty": {"type": "array"},
                "correlationId": {"type": "string"}, "@type": {"const": "problem"},
            },
        },
    })
}
