//! The fields of an event of the audit.

use gatehouse_core::event::EventType;
use gatehouse_core::event::audit::{RefusalReason, SetupObject};
use serde_json::{Value, json};

use super::shape::{count, one_of, reference, text, texts};
use super::{Object, Schema, event, may, must};
use crate::reader::{Field, Instant, Shape};

pub(crate) const EVENT_TYPE: Field<Shape> = Field::new(
    "eventType",
    Shape(|| one_of(&EventType::AUDIT.map(EventType::as_str))),
    "What happened",
)
.example("ContractAttributeValueChangeEvent");

pub(crate) const CHANGED: Field<Shape> = Field::new(
    "x-changed",
    Shape(texts),
    "The fields that changed; only in an event of a change of an object",
)
.example_of(|| json!(["status"]));

pub(crate) const BEFORE: Field<Shape> = Field::new(
    "x-before",
    Shape(record),
    "The object right before the change; only in an event of a change of an object",
)
.example_of(|| json!({"id": "c-1", "status": "ACTIVE"}));

pub(crate) const EVENT: Field<Shape> = Field::new("event", Shape(|| reference("AuditSubject")), "")
    .example_of(|| json!({"contract": {"id": "c-1", "status": "SUSPENDED"}}));

pub(crate) const TOKEN: Field<Shape> =
    Field::new("token", Shape(|| reference("AuditedToken")), "Tokens that were issued or revoked");

pub(crate) const REFUSAL: Field<Shape> =
    Field::new("refusal", Shape(|| reference("Refusal")), "Requests that were refused");

pub(crate) const ADDRESS_SOURCE: Field<Shape> = Field::new(
    "addressSource",
    Shape(|| one_of(&["operator", "tenant"])),
    "Whether an operator or the tenant's admin gave the addresses",
);

pub(crate) const CREDENTIALS_SEAL: Field<Shape> = Field::new(
    "credentialsSeal",
    Shape(text),
    "Another one whenever the credentials are; tells nothing about them",
);

pub(crate) const TOKEN_ID: Field<Shape> = Field::new(
    "id",
    Shape(text),
    "The token's identifier (`jti`); where there are several, of the first one",
);

pub(crate) const TOKEN_SUBJECT: Field<Shape> =
    Field::new("subject", Shape(text), "The subject of the tokens");

pub(crate) const TOKEN_TENANTS: Field<Shape> =
    Field::new("tenants", Shape(texts), "The tenants of the tokens; `*` for all");

pub(crate) const TOKEN_SCOPE: Field<Shape> =
    Field::new("scope", Shape(text), "The scopes of the tokens, separated by spaces");

pub(crate) const COUNT: Field<Shape> =
    Field::new("count", Shape(count), "How many there were, up to the event's time");

pub(crate) const SINCE: Field<Instant> = Field::new("since", Instant, "When the first one was");

pub(crate) const EXPIRES: Field<Instant> =
    Field::new("expires", Instant, "When the last one expires");

pub(crate) const REASON: Field<Shape> = Field::new(
    "reason",
    Shape(|| one_of(&RefusalReason::ALL.map(RefusalReason::as_str))),
    "`token`: none, or one that isn't valid. `scope`: the token lacks it. `tenant`: the token isn't for this tenant. \
     `client`: an unknown client, or a wrong secret. `hook`: an unknown key of a hook, or one of another dialect",
);

pub(crate) const REFUSED_CLIENT: Field<Shape> =
    Field::new("clientId", Shape(text), "The client whose secret was wrong, if it exists");

/// An object as responses showed it then; later versions may have other fields.
fn record() -> Value {
    json!({"type": "object", "additionalProperties": {}})
}

fn audit_event() -> Object {
    Object::response(
        "AuditEvent",
        "A change of the setup, tokens, or refused requests",
        [
            must(event::EVENT_ID),
            must(event::EVENT_TIME),
            must(EVENT_TYPE),
            may(event::CORRELATION_ID).in_example(),
            must(event::NUMBER),
            may(event::ORIGIN).in_example(),
            may(CHANGED).in_example(),
            may(BEFORE).in_example(),
            must(EVENT),
        ],
    )
}

/// A change of a contract.
pub(crate) fn example() -> Value {
    audit_event().example()
}

/// The schemas of the audit.
pub(crate) fn schemas() -> Vec<Schema> {
    let objects = SetupObject::ALL.map(|object| {
        let what = "The object right after the change; one that was deleted, right before";
        may(Field::new(object.as_str(), Shape(record), what))
    });
    vec![
        audit_event().into(),
        Schema::new(
            "AuditEvents",
            json!({
                "type": "array", "items": reference("AuditEvent"),
                "description": "Events in the order of their numbers",
            }),
        ),
        Object::response("AuditSubject", "One of these; none for the beginning of the audit", objects)
            .and([may(TOKEN), may(REFUSAL)])
            .into(),
        Object::response(
            "AuditedToken",
            "Tokens that were issued alike within a minute, or one that was revoked, with its identifier alone",
            [
                must(TOKEN_ID),
                may(TOKEN_SUBJECT),
                may(TOKEN_TENANTS),
                may(TOKEN_SCOPE),
                may(COUNT),
                may(SINCE),
                may(EXPIRES),
            ],
        )
        .into(),
        Object::response(
            "Refusal",
            "Requests that were refused for one reason, within a minute",
            [must(REASON), may(REFUSED_CLIENT), must(COUNT), must(SINCE)],
        )
        .into(),
    ]
}
