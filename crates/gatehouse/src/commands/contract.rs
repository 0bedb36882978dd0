//! `gatehouse contract`: a tenant's contracts. Operators create them, with `gatehouse apply`.

use clap::Args;

use crate::client::api::TenantArgs;
use crate::client::paging::{ListKind, Paging};
use crate::failure::Failure;
use crate::terminal::output::{Column, Fit, show_one};

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
    Column::text("ID", "id", Fit::Whole),
    Column::text("STATUS", "status", Fit::Whole),
    Column::text("BILLING", "billingModel", Fit::Whole),
    Column::text("ACCESSES", "accessCount", Fit::Whole),
    Column::text("AT MOST", "maxAccesses", Fit::Optional(0)),
    Column::text("OFFERING", "productOfferingId", Fit::Optional(1)),
    Column::text("VALID FOR", "validityPeriod", Fit::Optional(2)),
    Column::time("STARTS (UTC)", "startDateTime", Fit::Optional(4)),
    Column::time("ENDS (UTC)", "endDateTime", Fit::Optional(3)),
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
