//! `gatehouse access list`.

use clap::Args;

use super::COLUMNS;
use crate::client::api::Tenancy;
use crate::client::filter::{self, Conditions};
use crate::client::paging::{Kind, Paging};
use crate::failure::Failure;

/// List accesses, by what they are and when they were made
///
/// Times are like 2026-11-01, which is midnight UTC, or 2026-11-01T12:30:00+02:00.
#[derive(Args)]
#[command(after_help = "\
Examples:
  gatehouse access list --contract C-PAYG --created-since 2026-11-01
  gatehouse access list --all --output csv > accesses.csv
  gatehouse access list --filter 'name=pump-7;username=meter-12'")]
pub(crate) struct List {
    /// Those of this contract
    #[arg(long, value_name = "ID", help_heading = "Which accesses")]
    contract: Option<String>,
    /// Those of this product offering
    #[arg(long, value_name = "ID", help_heading = "Which accesses")]
    offering: Option<String>,
    /// Those that this batch made
    #[arg(long, value_name = "TASK", help_heading = "Which accesses")]
    batch: Option<String>,
    /// Those with this username: at most one of them has not ended
    #[arg(long, value_name = "NAME", help_heading = "Which accesses")]
    username: Option<String>,
    /// Those with this name: the device's, or else the username
    #[arg(long, value_name = "NAME", help_heading = "Which accesses")]
    name: Option<String>,
    /// Made at this time or later
    #[arg(long, value_name = "TIME", help_heading = "Which accesses")]
    created_since: Option<String>,
    /// Made before this time
    #[arg(long, value_name = "TIME", help_heading = "Which accesses")]
    created_before: Option<String>,
    /// Active from this time on, or later
    #[arg(long, value_name = "TIME", help_heading = "Which accesses")]
    starts_since: Option<String>,
    /// Active from before this time on
    #[arg(long, value_name = "TIME", help_heading = "Which accesses")]
    starts_before: Option<String>,
    /// With an end at this time or later
    #[arg(long, value_name = "TIME", help_heading = "Which accesses")]
    ends_since: Option<String>,
    /// With an end before this time
    #[arg(long, value_name = "TIME", help_heading = "Which accesses")]
    ends_before: Option<String>,
    /// A filter as the API has it: `&` joins, `;` separates alternatives, as in
    /// 'contractId=C-1;createdAt>=2026-11-01'. Flags narrow each alternative
    #[arg(long, value_name = "EXPRESSION", help_heading = "Which accesses")]
    filter: Option<String>,
    #[command(flatten)]
    paging: Paging,
}

impl List {
    pub(crate) async fn run(self, tenancy: &Tenancy) -> Result<(), Failure> {
        let (server, form) = tenancy.open().await?;
        let filter = filter::as_parameter(&self.expression());
        let kind = Kind { plural: "accesses", columns: COLUMNS };
        self.paging.show(&server, &["access"], filter.as_deref(), kind, form).await
    }

    fn expression(&self) -> String {
        let mut conditions = Conditions::default();
        conditions
            .add("contractId", "=", self.contract.as_deref())
            .add("productOfferingId", "=", self.offering.as_deref())
            .add("createdBy", "=", self.batch.as_deref())
            .add("username", "=", self.username.as_deref())
            .add("name", "=", self.name.as_deref())
            .add("createdAt", ">=", self.created_since.as_deref())
            .add("createdAt", "<", self.created_before.as_deref())
            .add("startDateTime", ">=", self.starts_since.as_deref())
            .add("startDateTime", "<", self.starts_before.as_deref())
            .add("endDateTime", ">=", self.ends_since.as_deref())
            .add("endDateTime", "<", self.ends_before.as_deref());
        conditions.with_raw(self.filter.as_deref())
    }
}
