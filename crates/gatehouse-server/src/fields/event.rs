//! The fields of an event.

use gatehouse_core::event::{ChangedField, EventType};
use serde_json::{Value, json};

use super::shape::{count, described, job, one_of, reference, text};
use super::{Object, Schema, access, label, may, must, task};
use crate::reader::{Field, Instant, Shape};

pub(crate) const EVENT_ID: Field<Shape> = Field::new(
    "eventId",
    Shape(|| json!({"type": "string", "pattern": "^evt-[0-9a-f-]{36}$"})),
    "The event's identifier, the same at each reading",
)
.example("evt-01a1dd4d-f0c1-7a3e-8b52-9f3d1c000000");

pub(crate) const EVENT_TIME: Field<Instant> =
    Field::new("eventTime", Instant, "When the change took effect")
        .example("2026-11-15T03:43:54.935Z");

pub(crate) const EVENT_TYPE: Field<Shape> = Field::new(
    "eventType",
    Shape(|| one_of(&EventType::CHANGES.map(EventType::as_str))),
    "What happened",
)
.example("AccessStateChangeEvent");

pub(crate) const CORRELATION_ID: Field<Shape> = Field::new(
    "correlationId",
    Shape(text),
    "The X-Correlation-ID of the request that led to the change; left out where none did",
)
.example("01a1dd4d-f106-78de-9e83-53ca57782672");

pub(crate) const NUMBER: Field<Shape> = Field::new(
    "x-number",
    Shape(count),
    "The event's number: a tenant's events are numbered without gaps",
)
.example_of(|| 4711.into());

pub(crate) const ORIGIN: Field<Shape> =
    Field::new("x-origin", Shape(|| reference("EventOrigin")), "")
        .example_of(|| origin().example());

pub(crate) const CHANGED: Field<Shape> = Field::new(
    "x-changed",
    Shape(
        || json!({"type": "array", "items": one_of(&ChangedField::ALL.map(ChangedField::as_str))}),
    ),
    "What changed; left out of a creation and of a Task's event",
)
.example_of(|| json!(["status"]));

pub(crate) const VERSION: Field<Shape> = Field::new(
    "x-version",
    Shape(count),
    "The access's version right after the change; it rises with each change. Left out of a Task's event",
)
.example_of(|| 2.into());

pub(crate) const IS_PARTIAL: Field<Shape> = Field::new(
    "x-partial",
    Shape(|| json!({"type": "boolean", "const": true})),
    "A change of a batch, or an end: of the fields that can change, the access has only those that this change has \
     set; an `endDateTime` of null says that there is none",
);

pub(crate) const EVENT: Field<Shape> = Field::new("event", Shape(|| reference("EventSubject")), "")
    .example_of(|| json!({"access": access::example()}));

pub(crate) const ACCESS: Field<Shape> = Field::new(
    "access",
    Shape(|| reference("EventAccess")),
    "The access right after the change, without its password",
)
.example_of(access::example);

pub(crate) const TASK: Field<Shape> =
    Field::new("task", Shape(|| reference("EventTask")), "The Task right after the change");

pub(crate) const KIND: Field<Shape> = Field::new(
    "kind",
    Shape(|| one_of(&["request", "task", "expiry", "check", "server", "command"])),
    "A client's request, a Task, the access's end, a device's first connection, the server itself, or a command on \
     the server's machine",
)
.example("request");

pub(crate) const SUBJECT: Field<Shape> =
    Field::new("subject", Shape(text), "The subject of the request's token").example("crm");

pub(crate) const CAUSING_TASK: Field<Shape> =
    Field::new("taskId", Shape(job), "The Task that made the change");

pub(crate) const PEER: Field<Shape> =
    Field::new("peer", Shape(text), "The address that the request came from").example("192.0.2.7");

fn origin() -> Object {
    Object::response(
        "EventOrigin",
        "Where a change comes from",
        [must(KIND), may(SUBJECT).in_example(), may(CAUSING_TASK), may(PEER).in_example()],
    )
}

fn event() -> Object {
    Object::response(
        "Event",
        "A change",
        [
            must(EVENT_ID),
            must(EVENT_TIME),
            must(EVENT_TYPE),
            may(CORRELATION_ID).in_example(),
            must(NUMBER),
            may(ORIGIN).in_example(),
            may(CHANGED).in_example(),
            may(VERSION).in_example(),
            may(IS_PARTIAL),
            must(EVENT),
        ],
    )
}

/// A change of an access's status.
pub(crate) fn example() -> Value {
    event().example()
}

/// The schemas of events.
pub(crate) fn schemas() -> Vec<Schema> {
    let end = Field::new(
        access::END.name,
        Shape(|| json!({"type": ["string", "null"], "format": "date-time"})),
        "The device may not connect from this time; null if there is no end any more",
    );
    vec![
        event().into(),
        Schema::new(
            "Events",
            json!({
                "type": "array", "items": reference("Event"),
                "description": "Events in the order of their numbers",
            }),
        ),
        Schema::new(
            "EventStream",
            described(
                text(),
                "Events as server-sent events: `id` is the event's number, `event` its type, and `data` the event on one \
                 line, as in a list. A block with an `id` alone says up to which number the stream has looked; lines \
                 that begin with `:` keep the connection",
            ),
        )
        .example(format!(
            "id: 4711\nevent: {}\ndata: {}\n\n",
            EventType::AccessStateChange.as_str(),
            example()
        )),
        origin().into(),
        Object::response(
            "EventSubject",
            "What changed: an access or a Task; neither for the beginning of the events",
            [may(ACCESS), may(TASK)],
        )
        .into(),
        Object::response(
            "EventAccess",
            "An access right after a change, without its password",
            [
                must(access::ID),
                must(access::HREF),
                must(access::CONTRACT_ID),
                must(access::OFFERING_ID),
                must(access::USERNAME),
                may(access::DEVICE_NAME),
                must(access::NAME),
                may(access::STATUS),
                may(access::START),
                may(end),
                may(access::CREATED_BY),
                may(label::LABELS),
                must(access::BASE_TYPE),
                must(access::TYPE),
            ],
        )
        .into(),
        Object::response(
            "EventTask",
            "A Task right after a change of its state",
            [
                must(task::ID),
                must(task::STATE),
                must(task::BASE_TYPE),
                must(task::TYPE),
                must(task::TOTAL),
                must(task::SUCCEEDED),
                must(task::FAILED),
            ],
        )
        .into(),
    ]
}
