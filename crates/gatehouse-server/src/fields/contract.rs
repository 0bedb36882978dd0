//! The fields of a contract.

use gatehouse_core::contract::{VALIDITY_YEARS_MAX, Validity};
use gatehouse_core::{BillingModel, Contract, ContractId, ContractStatus, OfferingId};
use serde_json::{Value, json};

use super::gateway::policy::{POLICY, policy_body};
use super::shape::{self, address, name};
use super::{Body, Object, Schema, may, must};
use crate::reader::{
    Direction, Field, Form, Instant, Integer, Json, Named, OneOf, Readable, Shape, Text,
};

/// Most accesses that a contract can be limited to.
pub(crate) const ACCESSES_MAX: u64 = 1_000_000_000_000;

const DURATION_PATTERN: &str = "^P([0-9]+Y)?([0-9]+M)?([0-9]+W)?([0-9]+D)?\
    (T([0-9]+(\\.[0-9]+)?H)?([0-9]+(\\.[0-9]+)?M)?([0-9]+(\\.[0-9]+)?S)?)?$";

pub(crate) const ID: Field<Text<ContractId>> =
    Field::new("id", Text::new(name), "The contract's identifier, unique in the tenant")
        .example("C-PRE");

pub(crate) const HREF: Field<Shape> = Field::new("href", Shape(address), "The contract's URL")
    .example("https://gate.example/demo/contract/C-PRE");

pub(crate) const OFFERING_ID: Field<Text<OfferingId>> = Field::new(
    "productOfferingId",
    Text::new(name),
    "The product offering of the contract's accesses",
)
.example("PO-IOT-YEAR");

pub(crate) const BILLING_MODEL: Field<Named<OneOf<BillingModel>>> = Field::new(
    "billingModel",
    Named("BillingModel", OneOf { all: &BillingModel::ALL, as_str: BillingModel::as_str }),
    "",
)
.example("PREPAID");

pub(crate) const STATUS: Field<Named<OneOf<ContractStatus>>> = Field::new(
    "status",
    Named("ContractStatus", OneOf { all: &ContractStatus::ALL, as_str: ContractStatus::as_str }),
    "",
)
.example("ACTIVE");

pub(crate) const START: Field<Instant> =
    Field::new("startDateTime", Instant, "The contract's accesses may connect from this time")
        .example("2026-01-01T00:00:00.000Z");

pub(crate) const END: Field<Instant> = Field::new(
    "endDateTime",
    Instant,
    "When all accesses of the contract end; later than `startDateTime`",
);

pub(crate) const VALIDITY: Field<Period> = Field::new(
    "validityPeriod",
    Period,
    "PREPAID only: the lifetime of an access from its first connection.",
)
.example("P365D");

pub(crate) const MAX_ACCESSES: Field<Integer> = Field::new(
    "maxAccesses",
    Integer { min: 0, max: ACCESSES_MAX },
    "Most accesses of the contract that are not TERMINATED",
)
.example_of(|| 500_000.into());

pub(crate) const ACCESS_COUNT: Field<Shape> = Field::new(
    "accessCount",
    Shape(shape::count),
    "Number of the contract's accesses that are not TERMINATED",
)
.example_of(|| 1_204.into());

/// Lifetime of an access.
#[derive(Clone, Copy)]
pub(crate) struct Period;

impl Form for Period {
    fn schema(self, _: Direction) -> Value {
        json!({
            "type": "string", "minLength": 3, "maxLength": 64, "pattern": DURATION_PATTERN,
            "examples": ["P365D", "P1M", "PT12H"],
        })
    }

    fn describe(self, description: &str) -> String {
        format!(
            "{description} An ISO 8601 duration of at least a second and at most {VALIDITY_YEARS_MAX} years, added by \
             the calendar in UTC."
        )
    }
}

impl Readable for Period {
    type Value = Validity;

    fn read(self, json: Json) -> Result<Validity, String> {
        Text::new(|| Value::Null).read(json)
    }
}

/// A contract in the form of a PUT body.
pub fn contract_body(contract: &Contract) -> Body {
    Body::default().put(ID, contract.id.as_str()).and(settings_body(contract))
}

/// A contract as its tenant sees it, with the number of its accesses that are not TERMINATED.
pub(crate) fn counted_body(contract: &Contract, href: &str, n_live: u64) -> Body {
    Body::default()
        .put(ID, contract.id.as_str())
        .put(HREF, href)
        .and(settings_body(contract))
        .put(ACCESS_COUNT, n_live)
}

fn settings_body(contract: &Contract) -> Body {
    Body::default()
        .put(OFFERING_ID, contract.offering_id.as_str())
        .put(BILLING_MODEL, contract.billing_model.as_str())
        .put(STATUS, contract.status.as_str())
        .put_some(START, contract.start.map(|at| at.to_string()))
        .put_some(END, contract.end.map(|at| at.to_string()))
        .put_some(VALIDITY, contract.validity.as_ref().map(Validity::as_str))
        .put_some(MAX_ACCESSES, contract.n_accesses_max)
        .put_some(POLICY, policy_body(&contract.policy))
}

/// The body of a PUT.
pub(crate) fn new_contract() -> Object {
    Object::request(
        "NewContract",
        "The complete contract; a field that is left out takes its default",
        [
            may(ID.described("Optional; must match the path")),
            must(OFFERING_ID.example("PO-IOT-PAYG")),
            must(BILLING_MODEL.example("PAY_PER_USE")),
            may(STATUS),
            may(START),
            may(END),
            may(VALIDITY),
            may(MAX_ACCESSES),
            may(POLICY),
        ],
    )
}

fn shown(name: &'static str, description: &'static str) -> Object {
    Object::response(
        name,
        description,
        [
            must(ID),
            must(OFFERING_ID),
            must(BILLING_MODEL),
            must(STATUS),
            may(START),
            may(END),
            may(VALIDITY),
            may(MAX_ACCESSES),
            may(POLICY),
        ],
    )
}

/// The schemas of contracts.
pub(crate) fn schemas() -> Vec<Schema> {
    let billing_model = BILLING_MODEL.form.1.schema(Direction::Response);
    let status = STATUS.form.1.schema(Direction::Response);
    vec![
        Schema::new(
            "BillingModel",
            shape::described(
                billing_model,
                "An access of a `PREPAID` contract becomes active with its first connection; an access of a \
                 `PAY_PER_USE` contract is active at once",
            ),
        ),
        Schema::new(
            "ContractStatus",
            shape::described(
                shape::with(status, "default", "ACTIVE"),
                "Only an `ACTIVE` contract accepts new accesses",
            ),
        ),
        new_contract().into(),
        shown("AdminContract", "A contract as configured").into(),
        shown("Contract", "A contract as its tenant sees it")
            .and([must(HREF), must(ACCESS_COUNT)])
            .into(),
    ]
}
