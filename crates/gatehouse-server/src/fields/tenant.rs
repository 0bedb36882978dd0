//! The fields of a tenant.

use gatehouse_core::page::PAGE_NUMBER_MAX;
use gatehouse_core::tenant::REQUESTS_PER_SECOND_MAX;
use gatehouse_core::time::zone::ZoneName;
use gatehouse_core::{LabelKey, Tenant, TenantName};
use serde_json::{Value, json};

use super::label::LABEL_KEYS;
use super::{Body, Object, Schema, may, must};
use crate::reader::{Field, Integer, Text};

pub(crate) const NAME: Field<Text<TenantName>> = Field::new(
    "name",
    Text::new(tenant_name),
    "The tenant's name, which is the first segment of its paths",
)
.example("demo");

pub(crate) const TIME_ZONE: Field<Text<ZoneName>> = Field::new(
    "timeZone",
    Text::new(zone),
    "The time zone in which the tenant's months end; a name of the IANA database",
)
.example("Europe/Berlin");

pub(crate) const REQUESTS_PER_SECOND: Field<Integer> = Field::new(
    "requestsPerSecond",
    Integer { min: 0, max: REQUESTS_PER_SECOND_MAX },
    "Most requests of the tenant in a second, 0 for no limit; left out: the server's setting",
)
.example_of(|| 100.into());

pub(crate) const PAGE_NUMBER_LIMIT: Field<Integer> = Field::new(
    "pageNumberMax",
    Integer { min: 1, max: PAGE_NUMBER_MAX },
    "The last page of products that the tenant may request; left out: the server's setting",
);

/// A tenant's name, in a body or a path.
pub(crate) fn tenant_name() -> Value {
    json!({"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$", "maxLength": 63})
}

fn zone() -> Value {
    json!({
        "type": "string", "minLength": 1, "pattern": "^[A-Za-z0-9/_+-]+$",
        "examples": ["Europe/Berlin"],
    })
}

/// A tenant in the form of a PUT body.
pub fn tenant_body(tenant: &Tenant) -> Body {
    let keys: Vec<&str> = tenant.label_keys.iter().map(LabelKey::as_str).collect();
    Body::default()
        .put(NAME, tenant.name.as_str())
        .put(TIME_ZONE, tenant.time_zone.as_str())
        .put_some(REQUESTS_PER_SECOND, tenant.requests_per_second)
        .put_some(PAGE_NUMBER_LIMIT, tenant.page_number_max)
        .put_some(LABEL_KEYS, (!keys.is_empty()).then_some(keys))
}

/// The body of a PUT.
pub(crate) fn new_tenant() -> Object {
    let zone = "The time zone in which the tenant's months end: a name of the IANA database, in any case. Left out: `UTC`";
    Object::request(
        "NewTenant",
        "The complete tenant; a field that is left out takes its default",
        [
            may(NAME.described("Optional; must match the path")),
            may(TIME_ZONE.described(zone)).in_example(),
            may(REQUESTS_PER_SECOND),
            may(PAGE_NUMBER_LIMIT),
            may(LABEL_KEYS),
        ],
    )
}

/// The schemas of tenants.
pub(crate) fn schemas() -> Vec<Schema> {
    let tenant = Object::response(
        "Tenant",
        "A tenant",
        [
            must(NAME),
            must(TIME_ZONE),
            may(REQUESTS_PER_SECOND),
            may(PAGE_NUMBER_LIMIT),
            may(LABEL_KEYS),
        ],
    );
    vec![new_tenant().into(), tenant.into()]
}
