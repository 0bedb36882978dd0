//! The fields of a problem, the body of every error.

use gatehouse_connectors::UnexpectedResponse;
use serde_json::{Value, json};

use super::object::Member;
use super::shape::{constant, list_of, text};
use super::{Body, Object, Schema, may, must};
use crate::reader::{Fault, Field, Shape};

/// The correlation ID in examples.
pub(crate) const EXAMPLE_CORRELATION_ID: &str = "01a1dd4d-f106-78de-9e83-53ca57782672";

pub(crate) const KIND: Field<Shape> = Field::new(
    "type",
    Shape(text),
    "The phrase of the HTTP status, except `Credentials refused`, and for products `Product not found`, \
     `Page out of reach` and `Lookup not supported`",
);

pub(crate) const STATUS: Field<Shape> = Field::new(
    "status",
    Shape(|| json!({"type": "integer", "minimum": 400, "maximum": 599})),
    "The HTTP status",
);

pub(crate) const TITLE: Field<Shape> = Field::new(
    "title",
    Shape(text),
    "The kind of problem; programs may distinguish problems of one status by it",
);

pub(crate) const DETAIL: Field<Shape> = Field::new(
    "detail",
    Shape(text),
    "A message for people: what is wrong and what would be right",
);

pub(crate) const INVALID_PARAMS: Field<Shape> = Field::new(
    "invalidParams",
    Shape(|| list_of("InvalidParam")),
    "The invalid fields or parameters, if there are any",
);

pub(crate) const EXTERNAL_ERRORS: Field<Shape> = Field::new(
    "externalErrors",
    Shape(|| list_of("ExternalError")),
    "The response of a platform that failed",
);

pub(crate) const RELATED_PARTY: Field<Shape> =
    Field::new("relatedParty", Shape(|| list_of("RelatedParty")), "The account that failed");

pub(crate) const CORRELATION_ID: Field<Shape> =
    Field::new("correlationId", Shape(text), "The value of the header `X-Correlation-ID`")
        .example(EXAMPLE_CORRELATION_ID);

pub(crate) const TYPE: Field<Shape> = Field::new("@type", Shape(|| constant("problem")), "");

const PARAM_NAME: Field<Shape> =
    Field::new("name", Shape(text), "The path of the field, or the name of the parameter");

const PARAM_REASON: Field<Shape> =
    Field::new("reason", Shape(text), "What is wrong with the value, and what would be right");

const EXTERNAL_STATUS: Field<Shape> = Field::new(
    "status",
    Shape(|| json!({"type": "integer", "minimum": 100, "maximum": 999})),
    "The status of the platform's response",
);

const EXTERNAL_CODE: Field<Shape> =
    Field::new("code", Shape(text), "The platform's error code, if the connector finds one");

const EXTERNAL_MESSAGE: Field<Shape> =
    Field::new("message", Shape(text), "The platform's error message, if the connector finds one");

const EXTERNAL_BODY: Field<Shape> = Field::new(
    "body",
    Shape(text),
    "The beginning of the platform's response, at most 2 KiB, without secrets; left out if a tenant's admin has set the \
     platform's address",
);

/// An invalid field or parameter.
pub(crate) fn param_body(fault: &Fault) -> Body {
    Body::default().put(PARAM_NAME, &fault.name).put(PARAM_REASON, &fault.reason)
}

/// An unexpected response of a platform.
pub(crate) fn external_body(response: &UnexpectedResponse) -> Body {
    let UnexpectedResponse { status, code, message, body } = response;
    Body::default()
        .put(EXTERNAL_STATUS, status)
        .put_some(EXTERNAL_CODE, code.as_ref())
        .put_some(EXTERNAL_MESSAGE, message.as_ref())
        .put_some(EXTERNAL_BODY, (!body.is_empty()).then_some(body))
}

/// An example of a problem.
pub(crate) fn example(status: u16, kind: &str, title: &str, detail: &str) -> Value {
    json!({
        KIND.name: kind, STATUS.name: status, TITLE.name: title, DETAIL.name: detail,
        EXTERNAL_ERRORS.name: [], RELATED_PARTY.name: [],
        CORRELATION_ID.name: EXAMPLE_CORRELATION_ID, TYPE.name: "problem",
    })
}

/// An example of an invalid field.
pub(crate) fn param_example(name: &str, reason: &str) -> Value {
    json!({PARAM_NAME.name: name, PARAM_REASON.name: reason})
}

/// A problem with more fields.
pub(crate) fn reference_with<const N: usize>(
    name: &'static str,
    description: &'static str,
    members: [Member; N],
) -> Schema {
    let mut schema = Schema::from(Object::response(name, description, members).open());
    schema.schema = json!({
        "$ref": "#/components/schemas/Problem", "description": description,
        "properties": schema.schema["properties"],
    });
    schema
}

/// The schemas of problems.
pub(crate) fn schemas() -> Vec<Schema> {
    let problem = Object::response(
        "Problem",
        "The body of every error",
        [
            must(KIND),
            must(STATUS),
            must(TITLE),
            must(DETAIL),
            may(INVALID_PARAMS),
            must(EXTERNAL_ERRORS),
            must(RELATED_PARTY),
            must(CORRELATION_ID),
            must(TYPE),
        ],
    );
    let param = [must(PARAM_NAME), must(PARAM_REASON)];
    let external =
        [must(EXTERNAL_STATUS), may(EXTERNAL_CODE), may(EXTERNAL_MESSAGE), may(EXTERNAL_BODY)];
    vec![
        problem.open().into(),
        Object::response("InvalidParam", "An invalid field or parameter", param).open().into(),
        Object::response("ExternalError", "The response of a platform", external).into(),
    ]
}
