//! `gatehouse product`: what is connected, on whose network.
//!
//! | file | what it has |
//! |---|---|
//! | `list`, `find`, `show` | the verbs of these names |
//! | `sought` | identifiers as people have them: read, and recognised by their form |
//! | `search` | which of them were found, which are nowhere, and of which nobody knows |
//! | `problem` | what is missing of an answer, and why |

mod find;
mod list;
mod problem;
mod search;
mod show;
pub(crate) mod sought;

use clap::{Args, Subcommand};
use serde_json::Value;

use crate::client::api::Tenancy;
use crate::client::wire;
use crate::failure::Failure;
use crate::terminal::output::{Column, Room, text};

/// Show and find connections (SIMs, satellite terminals) over all platforms
#[derive(Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct ProductCommand {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    tenancy: Tenancy,
}

#[derive(Subcommand)]
enum Verb {
    List(list::List),
    Find(find::Find),
    Show(show::Show),
}

impl ProductCommand {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let Self { verb, tenancy } = self;
        wire::run(async move {
            match verb {
                Verb::List(list) => list.run(&tenancy).await,
                Verb::Find(find) => find.run(&tenancy).await,
                Verb::Show(show) => show.run(&tenancy).await,
            }
        })
    }
}

/// What is shown of a connection.
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

pub(crate) const ID: Column = Column::text("ID", "id", Room::Whole);
pub(crate) const STATUS: Column = Column::text("STATUS", "status", Room::Whole);
// The ID begins with it.
pub(crate) const PLATFORM: Column =
    Column::made("PLATFORM", "platform", |it| characteristics(it, "PLATFORM"), Room::Never);
pub(crate) const ACCOUNT: Column = Column::made("ACCOUNT", "account", account, Room::IfLeft(1));
pub(crate) const ICCID: Column =
    Column::made("ICCID", "iccid", |it| characteristics(it, "ICCID"), Room::IfLeft(0));
pub(crate) const IMSI: Column =
    Column::made("IMSI", "imsi", |it| characteristics(it, "IMSI"), Room::IfLeft(3));
pub(crate) const MSISDN: Column =
    Column::made("MSISDN", "msisdn", |it| characteristics(it, "MSISDN"), Room::IfLeft(2));
pub(crate) const IMEI: Column =
    Column::made("IMEI", "imei", |it| characteristics(it, "IMEI"), Room::IfLeft(5));
pub(crate) const SERIAL_NUMBER: Column = Column::made(
    "SERIAL NUMBER",
    "serialNumber",
    |it| characteristics(it, "SERIAL_NUMBER"),
    Room::IfLeft(4),
);
pub(crate) const TYPE: Column = Column::text("TYPE", "connectivityType", Room::IfLeft(6));
pub(crate) const PLATFORM_STATUS: Column = Column::made(
    "PLATFORM STATUS",
    "platformStatus",
    |it| characteristics(it, "PLATFORM_STATUS"),
    Room::IfLeft(7),
);
pub(crate) const PROPERTIES: Column =
    Column::made("PROPERTIES", "properties", properties, Room::IfLeft(8));

/// The values of a characteristic, one behind the other.
fn characteristics(product: &Value, name: &str) -> String {
    values_of(product, name).collect::<Vec<_>>().join(" ")
}

/// The values of a characteristic.
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
