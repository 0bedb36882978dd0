//! `gatehouse contract`: a tenant's contracts. Operators create them, with `gatehouse apply`.

use clap::Args;

use crate::client::api::TenantArgs;
use crate::client::paging::{ListKind, Paging};
use crate::failure::Failure;
use crate::terminal::output::{Column, ColumnFit, show_one};

tenant_command! {
    /// Show the contracts that accesses belong to
    ContractCommand {
        List(List),
        Show(Show),
    }
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

impl List {
    async fn run(self, tenant_args: &TenantArgs) -> Result<(), Failure> {
        let (server, format) = tenant_args.open().await?;
        let kind = ListKind { plural: "contracts", columns: COLUMNS };
        self.paging.show(&server, &["contract"], None, kind, format).await
    }
}

impl Show {
    async fn run(self, tenant_args: &TenantArgs) -> Result<(), Failure> {
        let (server, format) = tenant_args.open().await?;
        let contract = server.get(&["contract", &self.id]).success().await?.body;
        show_one(format, COLUMNS, &contract)
    }
}
