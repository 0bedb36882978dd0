//! The fields of an access, and of a check.

use gatehouse_core::lifecycle::TargetStatus;
use gatehouse_core::{Access, ContractId, DeviceName, OfferingId, Status, Username};
use serde_json::{Value, json};

use super::shape::{address, constant, device_name, job, name, one_of, uuid};
use super::{Body, Object, Schema, may, must};
use crate::reader::{Field, Instant, Named, Secret, Shape, Text, True, Word};

pub(crate) const ID: Field<Shape> =
    Field::new("id", Shape(uuid), "Its identifier").example("01a1dd4d-f036-7005-9379-54b08ec1966e");

pub(crate) const HREF: Field<Shape> = Field::new("href", Shape(address), "Where it can be read")
    .example("https://gate.example/demo/access/01a1dd4d-f036-7005-9379-54b08ec1966e");

pub(crate) const CONTRACT_ID: Field<Text<ContractId>> =
    Field::new("contractId", Text::new(name), "Its contract; fixed for ever").example("C-PAYG");

pub(crate) const OFFERING_ID: Field<Text<OfferingId>> =
    Field::new("productOfferingId", Text::new(name), "The offering of its contract")
        .example("PO-IOT-PAYG");

pub(crate) const USERNAME: Field<Text<Username>> = Field::new(
    "username",
    Text::new(name),
    "What the device connects with; no other access of the tenant has it that isn't `TERMINATED`",
)
.example("u-kw5chbeezkwrse36");

pub(crate) const PASSWORD: Field<Secret> =
    Field::new("password", Secret, "Shown only here: the server keeps a hash of it.");

pub(crate) const DEVICE_NAME: Field<Text<DeviceName>> =
    Field::new("deviceName", Text::new(device_name), "The device's own name, where one was given")
        .example("pump-7");

pub(crate) const NAME: Field<Shape> =
    Field::new("name", Shape(device_name), "The `deviceName`, or else the `username`")
        .example("pump-7");

pub(crate) const STATUS: Field<Named<Word<Status>>> =
    Field::new("status", Named("AccessStatus", STATUS_WORD), "").example("ACTIVE");

const STATUS_WORD: Word<Status> = Word { all: &Status::ALL, as_str: Status::as_str };

pub(crate) const START: Field<Instant> =
    Field::new("startDateTime", Instant, "From when the device may connect")
        .example("2026-11-15T03:43:54.935Z");

pub(crate) const END: Field<Instant> = Field::new(
    "endDateTime",
    Instant,
    "From when it may no longer; left out where there is no end",
);

pub(crate) const CREATED_BY: Field<Shape> = Field::new(
    "createdBy",
    Shape(job),
    "The job that made it; left out of an access that was made alone",
);

pub(crate) const BASE_TYPE: Field<Shape> =
    Field::new("@baseType", Shape(|| constant("Resource")), "").example("Resource");

pub(crate) const TYPE: Field<Shape> =
    Field::new("@type", Shape(|| constant("RealizingResource")), "").example("RealizingResource");

pub(crate) const TARGET_STATUS: Field<Word<TargetStatus>> = Field::new(
    "status",
    Word { all: &TargetStatus::ALL, as_str: TargetStatus::as_str },
    "The status that it is to have",
)
.example("SUSPENDED");

pub(crate) const ROTATE_PASSWORD: Field<True> = Field::new(
    "rotatePassword",
    True,
    "An extension: the server draws the password, and the answer holds it. Not beside `password`.",
);

pub(crate) const ACCESS_ID: Field<Shape> =
    Field::new("accessId", Shape(uuid), "The access of the device")
        .example("01a1dd4d-f036-7005-9379-54b08ec1966e");

/// The columns of a table of accesses.
pub(crate) const COLUMNS: [&str; 10] = [
    ID.name,
    USERNAME.name,
    PASSWORD.name,
    DEVICE_NAME.name,
    NAME.name,
    STATUS.name,
    CONTRACT_ID.name,
    OFFERING_ID.name,
    START.name,
    END.name,
];

/// What a broker or a gateway needs to know of a device that may connect.
pub(crate) fn verified_body(access: &Access) -> Body {
    Body::default()
        .put(ACCESS_ID, access.id.to_string())
        .put(STATUS, access.status.as_str())
        .put(NAME, access.name())
        .put(CONTRACT_ID, access.contract_id.as_str())
        .put(OFFERING_ID, access.offering_id.as_str())
        .put_some(END, access.end.map(|at| at.to_string()))
}

fn verified() -> Object {
    let status = Field::new(
        STATUS.name,
        Shape(|| one_of(&["ACTIVE", "PENDING_TERMINATE"])),
        "What the access is, after this connection",
    );
    let end = END.described("From when it may no longer connect");
    Object::answer(
        "Verified",
        "What is known of a device that may connect",
        [
            must(ACCESS_ID),
            must(status.example("ACTIVE")),
            must(NAME.described("The access's name")),
            must(CONTRACT_ID.described("The access's contract").example("C-PRE")),
            must(OFFERING_ID.described("The offering of that contract").example("PO-IOT-YEAR")),
            may(end.example("2027-11-15T03:43:54.935Z")),
        ],
    )
}

/// The body of a check.
pub(crate) fn credentials() -> Object {
    let username = USERNAME.described("The device's username").example("u-abcdefghijklmnop");
    let password = PASSWORD.described("The device's password.").example("the device's password");
    Object::request(
        "Credentials",
        "What a device says to be let in",
        [must(username), must(password)],
    )
}

/// The body of a POST.
pub(crate) fn new_access() -> Object {
    let contract = CONTRACT_ID.described("A contract of the tenant that may get new accesses");
    Object::creation(
        "NewAccess",
        "An access to be made; what is left out is generated",
        [
            must(contract),
            may(CHOSEN_USERNAME),
            may(CHOSEN_PASSWORD),
            may(CHOSEN_DEVICE_NAME).in_example(),
        ],
    )
}

pub(super) const CHOSEN_USERNAME: Field<Text<Username>> =
    USERNAME.described("Left out: `u-` and 16 characters of `a-z2-7`");

pub(super) const CHOSEN_PASSWORD: Field<Secret> =
    PASSWORD.described("Left out: 24 letters and digits that nobody can guess.");

pub(super) const CHOSEN_DEVICE_NAME: Field<Text<DeviceName>> =
    DEVICE_NAME.described("A name for people");

/// The body of a PATCH.
pub(crate) fn access_update() -> Object {
    let password = PASSWORD.described("The password that it is to have.");
    Object::request(
        "AccessUpdate",
        "What is to change: the status, the password, or both",
        [may(TARGET_STATUS).in_example(), may(password), may(ROTATE_PASSWORD)],
    )
    .keyword("minProperties", 1)
    .keyword("not", json!({"required": [PASSWORD.name, ROTATE_PASSWORD.name]}))
}

fn batched_update() -> Object {
    let password = PASSWORD.described("The password that it is to have.");
    Object::request(
        "BatchedUpdate",
        "What is to change of all of them: the status, the password, or both",
        [may(TARGET_STATUS), may(password)],
    )
    .keyword("minProperties", 1)
}

fn shown(schema: &'static str, what: &'static str) -> Object {
    Object::answer(
        schema,
        what,
        [
            must(ID),
            must(HREF),
            must(CONTRACT_ID),
            must(OFFERING_ID),
            must(USERNAME),
            may(DEVICE_NAME),
            must(NAME),
            must(STATUS),
            must(START),
            may(END),
            may(CREATED_BY),
            must(BASE_TYPE),
            must(TYPE),
        ],
    )
}

/// An access without its password.
pub(crate) fn example() -> Value {
    shown("Access", "").example()
}

/// The schemas of accesses.
pub(crate) fn schemas() -> Vec<Schema> {
    let status = json!({
        "type": "string", "enum": Status::ALL.map(Status::as_str),
        "description": "`ACTIVE` and `PENDING_TERMINATE` may connect; `PENDING_ACTIVE` may too, and \
            is `ACTIVE` from then on. `SUSPENDED` may not for now, `TERMINATED` never again.",
    });
    let issued = must(PASSWORD.example("qNoFC8PTsrGkAtdMSGUA9qDV"));
    vec![
        Schema::new("AccessStatus", status),
        shown("Access", "An access, without its password").into(),
        shown("IssuedAccess", "A new access, with its password").and([issued]).into(),
        shown(
            "UpdatedAccess",
            "An access after a change, with its password where the change set one",
        )
        .and([may(PASSWORD)])
        .into(),
        new_access().into(),
        access_update().into(),
        batched_update().into(),
        credentials().into(),
        verified().into(),
    ]
}
