//! The fields of a summary: a tenant's accesses in figures.

use gatehouse_core::{Status, Timestamp};
use gatehouse_store::{ContractSummary, Day, LabelCount, Summary, Tally};
use serde_json::{Map, Value, json};

use super::shape::{count, list_of, name, reference};
use super::{Body, Object, Schema, may, must};
use crate::reader::{Field, Shape};

/// Days of a summary, today included.
pub(crate) const DAYS: u32 = 90;

/// Most values of a label in a summary.
pub(crate) const LABEL_VALUES: u64 = 100;

const TOTAL: Field<Shape> =
    Field::new("total", Shape(count), "Number of accesses, terminated ones included")
        .example_of(|| 8123.into());

const BY_STATUS: Field<Shape> =
    Field::new("byStatus", Shape(|| reference("CountsByStatus")), "").example_of(counts_example);

const BY_CONTRACT: Field<Shape> =
    Field::new("byContract", Shape(|| list_of("ContractCounts")), "The counts of each contract")
        .example_of(|| json!([contract_counts().example()]));

const BY_LABEL: Field<Shape> = Field::new(
    "byLabel",
    Shape(|| json!({"type": "array", "maxItems": LABEL_VALUES, "items": reference("LabelCounts")})),
    "An extension: the values of the label that `by` names, the most frequent first; left out without `by`, and while \
     the server builds the sets of a key that was added",
)
.example_of(|| json!([label_counts().example()]));

const VALUE: Field<Shape> =
    Field::new("value", Shape(|| json!({"type": "string"})), "The label's value")
        .example("hamburg");

const PER_DAY: Field<Shape> = Field::new(
    "perDay",
    Shape(|| json!({"type": "array", "maxItems": DAYS, "items": reference("DayCounts")})),
    "The last 90 days in UTC, the oldest first and today last",
)
.example_of(|| json!([day_counts().example()]));

const CONTRACT_ID: Field<Shape> =
    Field::new("contractId", Shape(name), "The contract").example("C-PAYG");

const OFFERING_ID: Field<Shape> =
    Field::new("productOfferingId", Shape(name), "The contract's offering").example("PO-IOT-PAYG");

const DATE: Field<Shape> =
    Field::new("date", Shape(|| json!({"type": "string", "format": "date"})), "A day in UTC")
        .example("2026-11-15");

const CREATED: Field<Shape> =
    Field::new("created", Shape(count), "Accesses created on the day").example_of(|| 12.into());

const ENDED: Field<Shape> =
    Field::new("ended", Shape(count), "Accesses that ended on the day").example_of(|| 0.into());

/// A tenant's summary, with the values of a label where the client has named one.
pub(crate) fn summary_body(summary: &Summary, by_label: Option<&[LabelCount]>) -> Body {
    let tally = summary.tally();
    Body::default()
        .put(TOTAL, tally.total())
        .put(BY_STATUS, by_status(|status| tally.get(status)))
        .put(BY_CONTRACT, summary.contracts.iter().map(contract_body).collect::<Vec<_>>())
        .put_some(BY_LABEL, by_label.map(|it| it.iter().map(label_body).collect::<Vec<_>>()))
        .put(PER_DAY, summary.days.iter().map(day_body).collect::<Vec<_>>())
}

fn contract_body(contract: &ContractSummary) -> Body {
    let tally: &Tally = &contract.tally;
    Body::default()
        .put(CONTRACT_ID, contract.contract_id.as_str())
        .put(OFFERING_ID, contract.offering_id.as_str())
        .put(BY_STATUS, by_status(|status| tally.get(status)))
}

fn label_body(label: &LabelCount) -> Body {
    Body::default().put(VALUE, label.value.as_str()).put(TOTAL, label.total)
}

fn day_body(day: &Day) -> Body {
    let date = Timestamp::of_day(day.day).unwrap_or(Timestamp::LATEST).date();
    Body::default().put(DATE, date).put(CREATED, day.n_created).put(ENDED, day.n_ended)
}

/// Every status, also those without accesses.
fn by_status<T: Into<Value>>(count: impl Fn(Status) -> T) -> Value {
    let counted = Status::ALL.map(|status| (status.as_str().to_owned(), count(status).into()));
    Value::Object(Map::from_iter(counted))
}

fn counts_example() -> Value {
    by_status(|status| match status {
        Status::Active => 8_101,
        Status::Suspended => 22,
        _ => 0,
    })
}

fn contract_counts() -> Object {
    Object::response(
        "ContractCounts",
        "Numbers of a contract's accesses, by status",
        [must(CONTRACT_ID), must(OFFERING_ID), must(BY_STATUS)],
    )
}

fn day_counts() -> Object {
    Object::response("DayCounts", "The numbers of a day", [must(DATE), must(CREATED), must(ENDED)])
}

fn label_counts() -> Object {
    let total = TOTAL.described("Number of accesses with it, terminated ones included");
    Object::response("LabelCounts", "How often a label has a value", [must(VALUE), must(total)])
}

/// The schemas of summaries.
pub(crate) fn schemas() -> Vec<Schema> {
    let counts = json!({
        "type": "object", "required": Status::ALL.map(Status::as_str), "additionalProperties": false,
        "description": "Numbers of accesses, by status", "properties": by_status(|_| count()),
    });
    vec![
        Schema::new("CountsByStatus", counts),
        Object::response(
            "Summary",
            "A tenant's accesses in figures",
            [must(TOTAL), must(BY_STATUS), must(BY_CONTRACT), may(BY_LABEL), must(PER_DAY)],
        )
        .into(),
        contract_counts().into(),
        day_counts().into(),
        label_counts().into(),
    ]
}
