//! `gatehouse product`: a tenant's connections, over all platforms.
//!
//! | file | contents |
//! |---|---|
//! | `list`, `find`, `show` | the commands of these names |
//! | `identifier_guess` | parses identifiers as people write them, and guesses their kinds |
//! | `search` | looks identifiers up: found, not found, or unknown |
//! | `problem` | what a result lacks, and why |

mod find;
pub(crate) mod identifier_guess;
mod list;
mod problem;
mod search;
mod show;

use serde_json::Value;

use crate::terminal::output::{Column, Fit, text};

tenant_command! {
    /// Show and find connections (SIMs, satellite terminals) over all platforms
    ProductCommand {
        List(list::List),
        Find(find::Find),
        Show(show::Show),
    }
}

pub(crate) const COLUMNS: &[Column] = &[
    ID,
    STATUS,
    PLATFORM,
    ACCOUNT,
    ICCID,
    IMSI,
    MSISDN,
    IMEI,
    SERIAL_NUMBER,
    TYPE,
    PLATFORM_STATUS,
    PROPERTIES,
];

pub(crate) const ID: Column = Column::text("ID", "id", Fit::Whole);
pub(crate) const STATUS: Column = Column::text("STATUS", "status", Fit::Whole);
// The ID begins with it.
pub(crate) const PLATFORM: Column =
    Column::computed("PLATFORM", "platform", |it| characteristics(it, "PLATFORM"), Fit::CsvOnly);
pub(crate) const ACCOUNT: Column =
    Column::computed("ACCOUNT", "account", account, Fit::Optional(1));
pub(crate) const ICCID: Column =
    Column::computed("ICCID", "iccid", |it| characteristics(it, "ICCID"), Fit::Optional(0));
pub(crate) const IMSI: Column =
    Column::computed("IMSI", "imsi", |it| characteristics(it, "IMSI"), Fit::Optional(3));
pub(crate) const MSISDN: Column =
    Column::computed("MSISDN", "msisdn", |it| characteristics(it, "MSISDN"), Fit::Optional(2));
pub(crate) const IMEI: Column =
    Column::computed("IMEI", "imei", |it| characteristics(it, "IMEI"), Fit::Optional(5));
pub(crate) const SERIAL_NUMBER: Column = Column::computed(
    "SERIAL NUMBER",
    "serialNumber",
    |it| characteristics(it, "SERIAL_NUMBER"),
    Fit::Optional(4),
);
pub(crate) const TYPE: Column = Column::text("TYPE", "connectivityType", Fit::Optional(6));
pub(crate) const PLATFORM_STATUS: Column = Column::computed(
    "PLATFORM STATUS",
    "platformStatus",
    |it| characteristics(it, "PLATFORM_STATUS"),
    Fit::Optional(7),
);
pub(crate) const PROPERTIES: Column =
    Column::computed("PROPERTIES", "properties", properties, Fit::Optional(8));

/// The values of a characteristic, separated by spaces.
fn characteristics(product: &Value, name: &str) -> String {
    values_of(product, name).collect::<Vec<_>>().join(" ")
}

pub(crate) fn values_of<'p>(product: &'p Value, name: &'p str) -> impl Iterator<Item = &'p str> {
    let all = product.get("productCharacteristic").and_then(Value::as_array);
    let named = all.into_iter().flatten().filter(move |it| it["name"] == name);
    named.filter_map(|it| it["value"].as_str())
}

fn account(product: &Value) -> String {
    let parties = product.get("relatedParty").and_then(Value::as_array);
    parties.and_then(|it| it.first()).map(|it| text(it, "name")).unwrap_or_default()
}

fn properties(product: &Value) -> String {
    let all = product.get("customProperty").and_then(Value::as_array);
    let shown = |it: &Value| format!("{}={}", text(it, "name"), text(it, "value"));
    all.into_iter().flatten().map(shown).collect::<Vec<_>>().join(" ")
}
