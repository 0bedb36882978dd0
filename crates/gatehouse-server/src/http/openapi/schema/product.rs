//! Products, field by field.

use gatehouse_core::product::{Connectivity, LOCAL_ID_CHARS_MAX};
use gatehouse_core::{IdentifierKind, ids};
use serde_json::{Value, json};

use super::{address, constant, described, name, object, posted, reference};

/// A product's identifier, in an answer or a path.
pub(in crate::http::openapi) fn product_id() -> Value {
    json!({
        "type": "string", "minLength": 3, "maxLength": ids::PLATFORM_CHARS_MAX + 1 + LOCAL_ID_CHARS_MAX,
        "pattern": r"^[A-Z0-9][A-Z0-9_]{0,31}-[^\u0000-\u001f\u007f-\u009f]+$",
    })
}

/// The schemas, by name.
pub(super) fn schemas() -> Value {
    let fields = || {
        json!({
            "id": described(product_id(), "The platform, a hyphen, and what the platform calls the connection"),
            "href": described(address(), "Where it can be read"),
            "status": {
                "type": "string", "minLength": 1,
                "description": "`ACTIVE`, `SUSPENDED`, `CREATED` or `TERMINATED`; where a platform knows \
                    another, its own word in upper case",
            },
            "connectivityType": {
                "type": "string", "enum": Connectivity::ALL.map(Connectivity::as_str),
                "description": "How it is connected",
            },
            "productCharacteristic": {
                "type": "array", "minItems": 1, "items": reference("Characteristic"),
                "description": "`PLATFORM` first, the platform's canonical name; then `ICCID`, `IMSI`, \
                    `MSISDN`, `IMEI` and `SERIAL_NUMBER`, each as often as it has values, and \
                    `PLATFORM_STATUS`, the status in the platform's own word",
            },
            "relatedParty": {
                "type": "array", "minItems": 1, "items": reference("RelatedParty"),
                "description": "The account that it was found through",
            },
            "customProperty": {
                "type": "array", "minItems": 1, "items": reference("Characteristic"),
                "description": "What the customer wrote on it; left out where there is nothing",
            },
            "@type": constant("IoTConnection"),
        })
    };
    let mut part = fields();
    part["correlationId"] =
        json!({"type": "string", "description": "With `fields=none`: that of the request"});
    let envelope = |product: &str, what: &str| {
        described(
            object(
                &["entities", "errors", "correlationId"],
                json!({
                    "entities": {
                        "type": "array", "items": reference(product),
                        "description": "What was found, in the order of accounts: by platform, then by name",
                    },
                    "errors": {
                        "type": "array", "items": reference("Problem"),
                        "description": "What is missing, and why; empty when all is well",
                    },
                    "correlationId": {
                        "type": "string", "description": "The same as in the header `X-Correlation-ID`",
                    },
                }),
            ),
            what,
        )
    };
    let required = [
        "id",
        "href",
        "status",
        "connectivityType",
        "productCharacteristic",
        "relatedParty",
        "@type",
    ];
    json!({
        "Product": described(object(&required, fields()), "A connection at a platform"),
        "ProductPart": described(
            object(&["id"], part),
            "A connection at a platform, with those of its fields that were asked for",
        ),
        "ProductPage": envelope("ProductPart", "A page over several accounts"),
        "ProductEnvelope": envelope("Product", "Products that were looked for"),
        "FindProducts": find(),
        "Characteristic": described(object(&["name", "value"], json!({
            "name": {"type": "string", "description": "What it is"},
            "value": {"type": "string", "description": "Its value"},
        })), "Something that has a name and a value"),
        "RelatedParty": described(object(&["name", "characteristic", "role"], json!({
            "name": described(name(), "The account's name"),
            "characteristic": {
                "type": "array", "minItems": 1, "items": reference("Characteristic"),
                "description": "`PLATFORM_ACCOUNT`, what the platform calls the account; of a problem also \
                    `PLATFORM`",
            },
            "role": constant("customer"),
        })), "An account at a platform"),
        "ExternalError": described(object(&["status"], json!({
            "status": {
                "type": "integer", "minimum": 100, "maximum": 999, "description": "The status of its answer",
            },
            "code": { "type": "string", "description": "The platform's own code for what is wrong, where its connector finds one" },
            "message": { "type": "string", "description": "What is wrong in the platform's own words, where its connector finds them" },
            "body": {
                "type": "string",
                "description": "The beginning of its answer, without secrets, at most 2 KiB; left out where a tenant's \
                                admin has set the platform's address",
            },
        })), "What a platform said"),
    })
}

/// Any string may stand in a list: one that can't be found is a problem of its own, beside what the others
/// find. So these schemas say what is sensible, and no more than what is read.
fn find() -> Value {
    let list = |what: &str, form: &str| {
        json!({
            "type": "array", "items": {"type": "string"},
            "description": format!("{what}: {form}. Another string is a problem beside what is found."),
        })
    };
    let ids = "the canonical name of a platform, `-`, and what the platform calls the connection";
    let mut schema = described(
        posted(
            &[],
            json!({
                "iccidList": list("Numbers of cards", IdentifierKind::Iccid.form()),
                "imsiList": list("Numbers of subscriptions", IdentifierKind::Imsi.form()),
                "msisdnList": list("Numbers that are called", IdentifierKind::Msisdn.form()),
                "terminalSNList": list("Numbers of satellite terminals", IdentifierKind::SerialNumber.form()),
                "iotConnectionProductIdList": list("Identifiers of products", ids),
            }),
        ),
        "What to look for: at least one list that is not empty, and at most 1000 different items over all of \
         them. A product that carries any of them is found.",
    );
    schema["minProperties"] = 1.into();
    schema
}
