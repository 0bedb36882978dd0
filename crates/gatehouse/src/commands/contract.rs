//! `gatehouse contract`: a tenant's contracts. Operators create them, with `gatehouse apply`.

use clap::{Args, Subcommand};

use crate::client::api::TenantArgs;
use crate::client::paging::{ListKind, Paging};
use crate::client::wire;
use crate::failure::Failure;
use crate::terminal::output::{Column, ColumnFit, show_one};

/// Show the contracts that accesses belong to
#[derive(Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct ContractCommand {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    tenant_args: TenantArgs,
}

#[derive(Subcommand)]
enum Verb {
    List(List),
    Show(Show),
}

/// List contracts, with the number of accesses of each
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
    Column::text("ID", "id", ColumnFit::Whole),
    Column::text("STATUS", "status", ColumnFit::Whole),
    Column::text("BILLING", "billingModel", ColumnFit::Whole),
    Column::text("ACCESSES", "accessCount", ColumnFit::Whole),
    Column::text("AT MOST", "maxAccesses", ColumnFit::Optional(0)),
    Column::text("OFFERING", "productOfferingId", ColumnFit::Optional(1)),
    Column::text("VALID FOR", "validityPeriod", ColumnFit::Optional(2)),
    Column::time("STARTS (UTC)", "startDateTime", ColumnFit::Optional(4)),
    Column::time("ENDS (UTC)", "endDateTime", ColumnFit::Optional(3)),
];

impl ContractCommand {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let Self { verb, tenant_args } = self;
        wire::run(async move {
            let (server, format) = tenant_args.open().await?;
            match verb {
                Verb::List(list) => {
                    let kind = ListKind { plural: "contracts", columns: COLUMNS };
                    list.paging.show(&server, &["contract"], None, kind, format).await
                }
                Verb::Show(show) => {
                    let contract = server.get(&["contract", &show.id]).success().await?.body;
                    show_one(format, COLUMNS, &contract)
                }
            }
        })
    }
}
