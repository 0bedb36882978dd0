//! The fields of a batch of new accesses, and of a batch of changes.

use gatehouse_core::ContractId;
use serde_json::{Value, json};

use super::access::{
    CHOSEN_DEVICE_NAME, CHOSEN_PASSWORD, CHOSEN_USERNAME, CONTRACT_ID, TARGET_STATUS,
};
use super::shape::{constant, reference};
use super::{Object, Schema, may, must};
use crate::reader::{Direction, Field, Form, Shape, Text, Whole, Word};

const CONTRACT: Field<Text<ContractId>> =
    CONTRACT_ID.described("The contract that all of them belong to");

/// The number of accesses to be created: up to the configured size of a batch.
pub(crate) const fn number_of_accesses(max: u64) -> Field<Whole> {
    Field::new("numberOfAccesses", Whole { min: 1, max }, "How many").example_of(|| 10.into())
}

/// The list of accesses to be created.
pub(crate) const fn accesses(max: u64) -> Field<Elements> {
    Field::new("accesses", Elements { max, item: || reference("NewItem") }, "Which")
}

/// The list of accesses to be changed.
pub(crate) const fn access_ids(max: u64) -> Field<Elements> {
    let what = "Identifiers of accesses; one that is repeated counts once";
    Field::new("accessesIdList", Elements { max, item: || json!({"type": "string"}) }, what)
        .example_of(|| json!(["01a1dd4d-f036-7005-9379-54b08ec1966e"]))
}

pub(crate) const OPERATION_TYPE: Field<Word<OperationType>> = Field::new(
    "operationType",
    Word { all: &OperationType::ALL, as_str: OperationType::as_str },
    "What is done to the accesses",
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

/// A long list, whose elements are read as they come.
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
    Field::new(name, Shape(|| json!({"type": "null"})), "Left out")
}

/// The body of a POST that says how many.
pub(crate) fn new_by_number(max: u64) -> Object {
    Object::creation(
        "NewBatchByNumber",
        "So many accesses, with everything generated",
        [must(CONTRACT), may(absent(accesses(max).name)), must(number_of_accesses(max))],
    )
}

fn new_by_list(max: u64) -> Object {
    Object::creation(
        "NewBatchByList",
        "Accesses one by one; what is left out of one is generated",
        [must(CONTRACT), may(absent(number_of_accesses(max).name)), must(accesses(max))],
    )
}

/// The body of a PATCH that changes accesses.
pub(crate) fn change(max: u64) -> Object {
    let update = Field::new(OPERATION_TYPE.name, Shape(|| constant("update")), "");
    let body = OPERATION_BODY.example_of(|| json!({TARGET_STATUS.name: "SUSPENDED"}));
    Object::request(
        "BatchChange",
        "Another status, another password, or both",
        [must(update.example("update")), must(access_ids(max)), must(body)],
    )
}

fn termination(max: u64) -> Object {
    let terminate = Field::new(OPERATION_TYPE.name, Shape(|| constant("terminate")), "");
    let nothing =
        Shape(|| json!({"type": "object", "additionalProperties": false, "properties": {}}));
    Object::request(
        "BatchTermination",
        "They end with the month",
        [
            must(terminate),
            must(access_ids(max)),
            must(Field::new(OPERATION_BODY.name, nothing, "Nothing")),
        ],
    )
}

/// The schemas of batches with up to `max` items.
pub(crate) fn schemas(max: u64) -> Vec<Schema> {
    let item = Object::creation(
        "NewItem",
        "An access to be made. A value out of bounds fails this one alone.",
        [may(CHOSEN_USERNAME), may(CHOSEN_PASSWORD), may(CHOSEN_DEVICE_NAME)],
    );
    let new = json!({
        "description": "Accesses to be made: so many, or these",
        "anyOf": [reference("NewBatchByNumber"), reference("NewBatchByList")],
    });
    let update = json!({
        "description": "Accesses to be changed, all of them in the same way",
        "anyOf": [reference("BatchChange"), reference("BatchTermination")],
    });
    vec![
        Schema::new("NewBatch", new),
        new_by_number(max).into(),
        new_by_list(max).into(),
        item.into(),
        Schema::new("BatchUpdate", update),
        change(max).into(),
        termination(max).into(),
    ]
}
