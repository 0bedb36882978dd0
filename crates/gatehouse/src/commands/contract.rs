//! `gatehouse contract`: the contracts of a tenant. Operators make them, with `gatehouse apply`.

use clap::{Args, Subcommand};

use crate::client::api::Tenancy;
use crate::client::paging::{Kind, Paging};
use crate::client::wire;
use crate::failure::Failure;
use crate::terminal::output::{Column, Room, show_one};

/// Show the contracts that accesses belong to
#[derive(Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct ContractCommand {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    tenancy: Tenancy,
}

#[derive(Subcommand)]
enum Verb {
    List(List),
    Show(Show),
}

/// List contracts, with how many accesses each has
#[derive(Args)]
struct List {
    #[command(flatten)]
    paging: Paging,
}

/// Show one contract
#[derive(Args)]
struct Show {
    /// The contract
    #[arg(value_name = "CONTRACT")]
    id: String,
}

const COLUMNS: &[Column] = &[
    Column::text("ID", "id", Room::Whole),
    Column::text("STATUS", "status", Room::Whole),
    Column::text("BILLING", "billingModel", Room::Whole),
    Column::text("ACCESSES", "accessCount", Room::Whole),
    Column::text("AT MOST", "maxAccesses", Room::IfLeft(0)),
    Column::text("OFFERING", "productOfferingId", Room::IfLeft(1)),
    Column::text("VALID FOR", "validityPeriod", Room::IfLeft(2)),
    Column::time("STARTS (UTC)", "startDateTime", Room::IfLeft(4)),
    Column::time("ENDS (UTC)", "endDateTime", Room::IfLeft(3)),
];

impl ContractCommand {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let Self { verb, tenancy } = self;
        wire::run(async move {
            let (server, form) = tenancy.open().await?;
            match verb {
                Verb::List(list) => {
                    let kind = Kind { plural: "contracts", columns: COLUMNS };
                    list.paging.show(&server, &["contract"], None, kind, form).await
                }
                Verb::Show(show) => {
                    let contract = server.get(&["contract", &show.id]).success().await?.body;
                    show_one(form, COLUMNS, &contract)
                }
            }
        })
    }
}
