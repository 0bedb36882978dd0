//! The fields of a batch of new accesses, and of a batch of changes.

use gatehouse_core::ContractId;
use serde_json::{Value, json};

use super::access::{
    CHOSEN_DEVICE_NAME, CHOSEN_PASSWORD, CHOSEN_USERNAME, CONTRACT_ID, TARGET_STATUS,
};
use super::label::LABELS;
use super::password_hash::{PASSWORD_HASH, not_both};
use super::shape::{constant, reference};
use super::{Object, Schema, may, must};
use crate::app::batch_filter;
use crate::reader::{Direction, Field, Form, Integer, OneOf, Shape, Text};

const CONTRACT: Field<Text<ContractId>> = CONTRACT_ID.described("The contract of all the accesses");

/// The number of accesses to be created: up to the configured size of a batch.
pub(crate) const fn number_of_accesses(max: u64) -> Field<Integer> {
    Field::new("numberOfAccesses", Integer { min: 1, max }, "The number of accesses")
        .example_of(|| 10.into())
}

/// The list of accesses to be created.
pub(crate) const fn accesses(max: u64) -> Field<Elements> {
    Field::new("accesses", Elements { max, item: || reference("NewItem") }, "The accesses")
}

/// The list of accesses to be changed.
pub(crate) const fn access_ids(max: u64) -> Field<Elements> {
    let description = "Identifiers of accesses; a duplicate counts once";
    Field::new("accessesIdList", Elements { max, item: || json!({"type": "string"}) }, description)
        .example_of(|| json!(["01a1dd4d-f036-7005-9379-54b08ec1966e"]))
}

/// The filter that selects the accesses to be changed.
pub(crate) const ACCESS_FILTER: Field<Shape> = Field::new(
    "accessFilter",
    Shape(|| json!({"type": "string", "format": "access-filter", "minLength": 1,
                     "maxLength": batch_filter::BYTES_MAX})),
    "An extension: the accesses that match when the Task is accepted, in the language of `filter` in a list's query; \
     a `+` is itself. Nothing in it is ignored: an unknown name, an operator that a field doesn't have, a label whose \
     key is not one of the tenant's `labelKeys`, or an empty filter is 400. If no access matches, the Task is REJECTED.",
)
.example_of(|| json!("contractId=C-PAYG&status=SUSPENDED"));

pub(crate) const OPERATION_TYPE: Field<OneOf<OperationType>> = Field::new(
    "operationType",
    OneOf { all: &OperationType::ALL, as_str: OperationType::as_str },
    "The operation on the accesses",
);

pub(crate) const OPERATION_BODY: Field<Shape> =
    Field::new("operationBody", Shape(|| reference("BatchedUpdate")), "");

/// The change that a batch makes.
#[derive(Clone, Copy)]
pub(crate) enum OperationType {
    Update,
    Terminate,
}

impl OperationType {
    const ALL: [Self; 2] = [Self::Update, Self::Terminate];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Update => "update",
            Self::Terminate => "terminate",
        }
    }
}

/// A long list, whose elements are parsed as a stream.
#[derive(Clone, Copy)]
pub(crate) struct Elements {
    max: u64,
    item: fn() -> Value,
}

impl Form for Elements {
    fn schema(self, _: Direction) -> Value {
        json!({"type": "array", "minItems": 1, "maxItems": self.max, "items": (self.item)()})
    }
}

const fn absent(name: &'static str) -> Field<Shape> {
    Field::new(name, Shape(|| json!({"type": "null"})), "Must be left out or null")
}

/// The body of a POST with a number of accesses.
pub(crate) fn new_by_number(max: u64) -> Object {
    Object::creation(
        "NewBatchByNumber",
        "A number of accesses with generated fields",
        [
            must(CONTRACT),
            may(absent(accesses(max).name)),
            must(number_of_accesses(max)),
            may(LABELS.described("An extension: the labels of each of the accesses")),
        ],
    )
}

fn new_by_list(max: u64) -> Object {
    Object::creation(
        "NewBatchByList",
        "A list of accesses; the server generates fields that are left out",
        [must(CONTRACT), may(absent(number_of_accesses(max).name)), must(accesses(max))],
    )
}

/// The body of a PATCH that changes the accesses that it names.
pub(crate) fn change(max: u64) -> Object {
    Object::request(
        "BatchChange",
        "A new status, new passwords, changed labels, or several of them",
        [
            must(update()),
            must(access_ids(max)),
            may(absent(ACCESS_FILTER.name)),
            must(OPERATION_BODY.example_of(|| json!({TARGET_STATUS.name: "SUSPENDED"}))),
        ],
    )
}

fn change_of_matching(max: u64) -> Object {
    Object::request(
        "BatchChangeByFilter",
        "An extension: a change of the accesses that match a filter",
        [
            must(update()),
            may(absent(access_ids(max).name)),
            must(ACCESS_FILTER),
            must(OPERATION_BODY.example_of(|| json!({TARGET_STATUS.name: "SUSPENDED"}))),
        ],
    )
}

fn termination(max: u64) -> Object {
    Object::request(
        "BatchTermination",
        "Terminates the accesses at the end of the month",
        [
            must(terminate()),
            must(access_ids(max)),
            may(absent(ACCESS_FILTER.name)),
            must(nothing()),
        ],
    )
}

fn termination_of_matching(max: u64) -> Object {
    Object::request(
        "BatchTerminationByFilter",
        "An extension: terminates the accesses that match a filter at the end of the month",
        [
            must(terminate()),
            may(absent(access_ids(max).name)),
            must(ACCESS_FILTER),
            must(nothing()),
        ],
    )
}

fn update() -> Field<Shape> {
    Field::new(OPERATION_TYPE.name, Shape(|| constant("update")), "").example("update")
}

fn terminate() -> Field<Shape> {
    Field::new(OPERATION_TYPE.name, Shape(|| constant("terminate")), "")
}

fn nothing() -> Field<Shape> {
    let nothing =
        Shape(|| json!({"type": "object", "additionalProperties": false, "properties": {}}));
    Field::new(OPERATION_BODY.name, nothing, "An empty object")
}

/// The schemas of batches with up to `max` items.
pub(crate) fn schemas(max: u64) -> Vec<Schema> {
    let item = Object::creation(
        "NewItem",
        "A new access. A value out of bounds fails this item alone.",
        [
            may(CHOSEN_USERNAME),
            may(CHOSEN_PASSWORD),
            may(PASSWORD_HASH),
            may(CHOSEN_DEVICE_NAME),
            may(LABELS),
        ],
    )
    .keyword("not", not_both());
    let new = json!({
        "description": "New accesses: a number of them, or a list",
        "anyOf": [reference("NewBatchByNumber"), reference("NewBatchByList")],
    });
    let update = json!({
        "description": "One change for several accesses",
        "anyOf": [
            reference("BatchChange"), reference("BatchTermination"),
            reference("BatchChangeByFilter"), reference("BatchTerminationByFilter"),
        ],
    });
    vec![
        Schema::new("NewBatch", new),
        new_by_number(max).into(),
        new_by_list(max).into(),
        item.into(),
        Schema::new("BatchUpdate", update),
        change(max).into(),
        termination(max).into(),
        change_of_matching(max).into(),
        termination_of_matching(max).into(),
    ]
}
