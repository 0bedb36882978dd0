//! The fields of a product, of the envelope of products, and of a search.

use gatehouse_core::product::{Connectivity, LOCAL_ID_CHARS_MAX};
use gatehouse_core::{IdentifierKind, ids};
use serde_json::{Value, json};

use super::problem::{self, CORRELATION_ID, EXAMPLE_CORRELATION_ID};
use super::shape::{address, constant, list_of, some_of, texts};
use super::{Object, Schema, may, must};
use crate::reader::{Direction, Field, Form, Json, OneOf, Readable, Shape, list};

pub(crate) const ID: Field<Shape> = Field::new(
    "id",
    Shape(product_id),
    "The platform, a hyphen, and the connection's identifier at the platform",
)
.example("ALPHA-4711");

pub(crate) const HREF: Field<Shape> = Field::new("href", Shape(address), "The product's URL")
    .example("https://gate.example/demo/product/ALPHA-4711");

pub(crate) const STATUS: Field<Shape> = Field::new(
    "status",
    Shape(|| json!({"type": "string", "minLength": 1})),
    "`ACTIVE`, `SUSPENDED`, `CREATED` or `TERMINATED`; any other status is the platform's, in upper case",
)
.example("ACTIVE");

pub(crate) const CONNECTIVITY: Field<OneOf<Connectivity>> = Field::new(
    "connectivityType",
    OneOf { all: &Connectivity::ALL, as_str: Connectivity::as_str },
    "The kind of connection",
)
.example("CELLULAR");

pub(crate) const CHARACTERISTIC: Field<Shape> = Field::new(
    "productCharacteristic",
    Shape(|| some_of("Characteristic")),
    "`PLATFORM` first, the platform's canonical name; then `ICCID`, `IMSI`, `MSISDN`, `IMEI` and \
     `SERIAL_NUMBER`, once per value, and `PLATFORM_STATUS`, the status as the platform reports it",
)
.example_of(|| {
    json!([
        {"name": "PLATFORM", "value": "ALPHA"}, {"name": "ICCID", "value": "8944500102000000012"},
        {"name": "IMSI", "value": "234500000000001"}, {"name": "MSISDN", "value": "447700900001"},
        {"name": "PLATFORM_STATUS", "value": "activated"},
    ])
});

pub(crate) const RELATED_PARTY: Field<Shape> = Field::new(
    "relatedParty",
    Shape(|| some_of("RelatedParty")),
    "The account through which the product was found",
)
.example_of(|| {
    json!([{
        "name": "acme-eu", "characteristic": [{"name": "PLATFORM_ACCOUNT", "value": "100234"}],
        "role": "customer",
    }])
});

pub(crate) const CUSTOM_PROPERTY: Field<Shape> = Field::new(
    "customProperty",
    Shape(|| some_of("Characteristic")),
    "Properties that the customer set at the platform; left out if there are none",
)
.example_of(|| json!([{"name": "site", "value": "Hamburg"}]));

pub(crate) const TYPE: Field<Shape> =
    Field::new("@type", Shape(|| constant("IoTConnection")), "").example("IoTConnection");

pub(crate) const ERRORS: Field<Shape> = Field::new(
    "errors",
    Shape(|| list_of("Problem")),
    "The parts that are missing, and why; empty if the result is complete",
);

/// The envelope's list of products.
pub(crate) const ENTITIES: &str = entities(Shape(texts)).name;

const fn entities(shape: Shape) -> Field<Shape> {
    Field::new(
        "entities",
        shape,
        "The products, in the order of their accounts: by platform, then by name",
    )
    .example_of(|| json!([product().example()]))
}

/// A product's identifier, in a response or a path.
pub(crate) fn product_id() -> Value {
    json!({
        "type": "string", "minLength": 3, "maxLength": ids::PLATFORM_CHARS_MAX + 1 + LOCAL_ID_CHARS_MAX,
        "pattern": r"^[A-Z0-9][A-Z0-9_]{0,31}-[^\u0000-\u001f\u007f-\u009f]+$",
    })
}

/// A list of a search: identifiers of one kind, or of products.
///
/// The list accepts any string: a malformed one is a problem in the response, and the search goes on with the others.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum SearchList {
    Of(IdentifierKind),
    Ids,
}

impl SearchList {
    /// All lists, in the order in which they are read and reported.
    pub(crate) const ALL: [Self; 5] = [
        Self::Of(IdentifierKind::Iccid),
        Self::Of(IdentifierKind::Imsi),
        Self::Of(IdentifierKind::Msisdn),
        Self::Of(IdentifierKind::SerialNumber),
        Self::Ids,
    ];

    /// The field that holds the list.
    pub(crate) const fn field(self) -> Field<Self> {
        let (name, description) = match self {
            Self::Of(IdentifierKind::Iccid) => ("iccidList", "Card numbers"),
            Self::Of(IdentifierKind::Imsi) => ("imsiList", "Subscription numbers"),
            Self::Of(IdentifierKind::Msisdn) => ("msisdnList", "Telephone numbers"),
            Self::Of(IdentifierKind::SerialNumber) => {
                ("terminalSNList", "Serial numbers of satellite terminals")
            }
            Self::Ids => ("iotConnectionProductIdList", "Identifiers of products"),
        };
        Field::new(name, self, description)
    }
}

impl Form for SearchList {
    fn schema(self, _: Direction) -> Value {
        texts()
    }

    fn describe(self, description: &str) -> String {
        let form = match self {
            Self::Of(kind) => kind.form(),
            Self::Ids => {
                "the canonical name of a platform, `-`, and the connection's identifier at the platform"
            }
        };
        format!("{description}: {form}. Any other string becomes a problem in `errors`.")
    }
}

impl Readable for SearchList {
    type Value = Vec<Json>;

    fn read(self, json: Json) -> Result<Vec<Json>, String> {
        list(json)
    }
}

/// The body of a search.
pub(crate) fn find_products() -> Object {
    let [iccids, imsis, msisdns, serial_numbers, ids] = SearchList::ALL.map(SearchList::field);
    let iccids = iccids.example_of(|| json!(["8944500102000000012", "8944500102000000020"]));
    let serial_numbers = serial_numbers.example_of(|| json!(["SL-DF-000421"]));
    let ids = ids.example_of(|| json!(["ALPHA-4711"]));
    Object::post(
        "FindProducts",
        "The identifiers to search for: at least one list that is not empty, and at most 1000 different items in \
         all lists together. The result has every product with any of them.",
        [
            may(iccids).in_example(),
            may(imsis),
            may(msisdns),
            may(serial_numbers).in_example(),
            may(ids).in_example(),
        ],
    )
    .keyword("minProperties", 1)
}

fn product() -> Object {
    Object::response(
        "Product",
        "A connection at a platform",
        [
            must(ID),
            must(HREF),
            must(STATUS),
            must(CONNECTIVITY),
            must(CHARACTERISTIC),
            must(RELATED_PARTY),
            may(CUSTOM_PROPERTY),
            must(TYPE),
        ],
    )
}

fn part() -> Object {
    let correlation_id =
        CORRELATION_ID.described("With `fields=none`: the correlation ID of the request");
    Object::response(
        "ProductPart",
        "A connection at a platform, with the requested fields",
        [
            must(ID),
            may(HREF),
            may(STATUS),
            may(CONNECTIVITY),
            may(CHARACTERISTIC),
            may(RELATED_PARTY),
            may(CUSTOM_PROPERTY),
            may(TYPE),
            may(correlation_id),
        ],
    )
}

fn error_example() -> Value {
    let kind = "Product not found";
    let detail = "there is no product with the ICCID `8944500102000000020`";
    json!([problem::example(404, kind, kind, detail)])
}

/// The schemas of products.
pub(crate) fn schemas() -> Vec<Schema> {
    let id = must(CORRELATION_ID.example(EXAMPLE_CORRELATION_ID));
    let parts = must(entities(Shape(|| list_of("ProductPart"))));
    let found = must(entities(Shape(|| list_of("Product"))));
    let no_errors = must(ERRORS.example_of(|| json!([])));
    vec![
        product().into(),
        Schema { example: None, ..part().into() },
        Object::response("ProductPage", "A page over several accounts", [parts, no_errors, id])
            .into(),
        Object::response(
            "ProductEnvelope",
            "The result of a search",
            [found, must(ERRORS.example_of(error_example)), must(CORRELATION_ID)],
        )
        .into(),
        find_products().into(),
    ]
}
