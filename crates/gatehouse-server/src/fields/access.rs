//! The fields of an access, and of a check.

use gatehouse_core::lifecycle::TargetStatus;
use gatehouse_core::{Access, ContractId, DeviceName, OfferingId, Status, Username};
use gatehouse_store::FOUND_MAX;
use serde_json::{Value, json};

use super::label::{LABEL_PATCH, LABELS};
use super::password_hash::{PASSWORD_HASH, not_both};
use super::shape::{address, constant, device_name, job, name, one_of, reference, uuid};
use super::{Body, Object, Schema, may, must};
use crate::reader::{Field, Instant, Named, OneOf, Secret, Shape, Text, True};

pub(crate) const ID: Field<Shape> = Field::new("id", Shape(uuid), "The access's identifier")
    .example("01a1dd4d-f036-7005-9379-54b08ec1966e");

pub(crate) const HREF: Field<Shape> = Field::new("href", Shape(address), "The access's URL")
    .example("https://gate.example/demo/access/01a1dd4d-f036-7005-9379-54b08ec1966e");

pub(crate) const CONTRACT_ID: Field<Text<ContractId>> =
    Field::new("contractId", Text::new(name), "The access's contract; never changes")
        .example("C-PAYG");

pub(crate) const OFFERING_ID: Field<Text<OfferingId>> =
    Field::new("productOfferingId", Text::new(name), "The offering of the contract")
        .example("PO-IOT-PAYG");

pub(crate) const USERNAME: Field<Text<Username>> = Field::new(
    "username",
    Text::new(name),
    "The username of the device; unique among the tenant's accesses that aren't `TERMINATED`",
)
.example("u-kw5chbeezkwrse36");

pub(crate) const PASSWORD: Field<Secret> =
    Field::new("password", Secret, "Shown only here: the server stores a hash.");

pub(crate) const DEVICE_NAME: Field<Text<DeviceName>> =
    Field::new("deviceName", Text::new(device_name), "The name of the device, if one was given")
        .example("pump-7");

pub(crate) const NAME: Field<Shape> =
    Field::new("name", Shape(device_name), "The `deviceName`; the `username` if there is none")
        .example("pump-7");

pub(crate) const STATUS: Field<Named<OneOf<Status>>> =
    Field::new("status", Named("AccessStatus", STATUS_FORM), "").example("ACTIVE");

const STATUS_FORM: OneOf<Status> = OneOf { all: &Status::ALL, as_str: Status::as_str };

pub(crate) const START: Field<Instant> =
    Field::new("startDateTime", Instant, "The device may connect from this time")
        .example("2026-11-15T03:43:54.935Z");

pub(crate) const END: Field<Instant> = Field::new(
    "endDateTime",
    Instant,
    "The device may not connect from this time; left out if there is no end",
);

pub(crate) const CREATED_BY: Field<Shape> = Field::new(
    "createdBy",
    Shape(job),
    "The Task that created the access; left out if it was created singly",
);

pub(crate) const BASE_TYPE: Field<Shape> =
    Field::new("@baseType", Shape(|| constant("Resource")), "").example("Resource");

pub(crate) const TYPE: Field<Shape> =
    Field::new("@type", Shape(|| constant("RealizingResource")), "").example("RealizingResource");

pub(crate) const TARGET_STATUS: Field<OneOf<TargetStatus>> = Field::new(
    "status",
    OneOf { all: &TargetStatus::ALL, as_str: TargetStatus::as_str },
    "The new status",
)
.example("SUSPENDED");

pub(crate) const ROTATE_PASSWORD: Field<True> = Field::new(
    "rotatePassword",
    True,
    "An extension: the server generates the password, and the response contains it. Excludes `password`.",
);

pub(crate) const ACCESS_ID: Field<Shape> =
    Field::new("accessId", Shape(uuid), "The device's access")
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

/// A device that may connect, for a broker or a gateway.
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
        "The access's status after this connection",
    );
    let end = END.described("The device may not connect from this time");
    Object::response(
        "Verified",
        "A device that may connect",
        [
            must(ACCESS_ID),
            must(status.example("ACTIVE")),
            must(NAME.described("The access's name")),
            must(CONTRACT_ID.described("The access's contract").example("C-PRE")),
            must(OFFERING_ID.described("The offering of the contract").example("PO-IOT-YEAR")),
            may(end.example("2027-11-15T03:43:54.935Z")),
        ],
    )
}

/// The body of a check.
pub(crate) fn credentials() -> Object {
    let username = USERNAME.described("The device's username").example("u-abcdefghijklmnop");
    let password = PASSWORD.described("The device's password.").example("the device's password");
    Object::request("Credentials", "The credentials of a device", [must(username), must(password)])
}

/// The body of a POST.
pub(crate) fn new_access() -> Object {
    let contract = CONTRACT_ID.described("A contract of the tenant that may get new accesses");
    Object::creation(
        "NewAccess",
        "A new access; the server generates fields that are left out",
        [
            must(contract),
            may(CHOSEN_USERNAME),
            may(CHOSEN_PASSWORD),
            may(PASSWORD_HASH),
            may(CHOSEN_DEVICE_NAME).in_example(),
            may(LABELS),
        ],
    )
    .keyword("not", not_both())
}

pub(super) const CHOSEN_USERNAME: Field<Text<Username>> =
    USERNAME.described("If left out, the server generates `u-` and 16 characters of `a-z2-7`");

pub(super) const CHOSEN_PASSWORD: Field<Secret> =
    PASSWORD.described("If left out, the server generates 24 random letters and digits.");

pub(super) const CHOSEN_DEVICE_NAME: Field<Text<DeviceName>> =
    DEVICE_NAME.described("A display name");

/// The body of a PATCH.
pub(crate) fn access_update() -> Object {
    let password = PASSWORD.described("The new password.");
    Object::request(
        "AccessUpdate",
        "A change of status, password, labels, or several of them",
        [may(TARGET_STATUS).in_example(), may(password), may(ROTATE_PASSWORD), may(LABEL_PATCH)],
    )
    .keyword("minProperties", 1)
    .keyword("not", json!({"required": [PASSWORD.name, ROTATE_PASSWORD.name]}))
}

fn batched_update() -> Object {
    let password = PASSWORD.described("The new password.");
    let generated = ROTATE_PASSWORD.described(
        "An extension: the server generates a password for each access, and the Task shows them for a while. Excludes \
         `password`.",
    );
    Object::request(
        "BatchedUpdate",
        "A change of status, password, labels, or several of them, for all of the accesses",
        [may(TARGET_STATUS), may(password), may(generated), may(LABEL_PATCH)],
    )
    .keyword("minProperties", 1)
    .keyword("not", json!({"required": [PASSWORD.name, ROTATE_PASSWORD.name]}))
}

fn shown(schema: &'static str, description: &'static str) -> Object {
    Object::response(
        schema,
        description,
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
            may(LABELS),
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
            is `ACTIVE` from then on. `SUSPENDED` may not connect for now, `TERMINATED` never again.",
    });
    let found = json!({
        "type": "array", "maxItems": FOUND_MAX, "items": reference("Access"),
        "description": "The accesses that a search has found",
    });
    let issued = may(PASSWORD.example("qNoFC8PTsrGkAtdMSGUA9qDV"));
    vec![
        Schema::new("AccessStatus", status),
        shown("Access", "An access, without its password").into(),
        Schema::new("FoundAccesses", found),
        shown("IssuedAccess", "A new access, with its password unless the request had its hash")
            .and([issued])
            .into(),
        shown("UpdatedAccess", "An access after a change, with its password if the change set one")
            .and([may(PASSWORD)])
            .into(),
        new_access().into(),
        access_update().into(),
        batched_update().into(),
        credentials().into(),
        verified().into(),
    ]
}
