//! `gatehouse access list`.

use clap::Args;
use clap::builder::PossibleValuesParser;
use gatehouse_core::Status;
use gatehouse_core::list::request::ListOrder;

use super::COLUMNS;
use crate::client::api::TenantArgs;
use crate::client::filter::{self, Conditions};
use crate::client::label::{self, LabelCondition};
use crate::client::paging::{ListKind, Paging};
use crate::failure::Failure;

/// The order of a list, as the API names it.
const NEWEST_FIRST: &str = ListOrder::WORDS[1];

/// List accesses, filtered by their properties and times
///
/// Times are like 2026-11-01, which is midnight UTC, or 2026-11-01T12:30:00+02:00.
#[derive(Args)]
#[command(after_help = "\
Examples:
  gatehouse access list --status SUSPENDED --contract C-PAYG
  gatehouse access list --label site=hamburg --newest-first
  gatehouse access list --contract C-PAYG --created-since 2026-11-01
  gatehouse access list --all --output csv > accesses.csv
  gatehouse access list --filter 'name=pump-7;username=meter-12'")]
pub(crate) struct List {
    /// Accesses that have this status at present
    #[arg(long, value_name = "STATUS", ignore_case = true, help_heading = "Filters",
          value_parser = PossibleValuesParser::new(Status::WORDS))]
    status: Option<String>,
    /// Accesses with this label; KEY alone: with any value. Give it once for each label
    #[arg(long = "label", value_name = "KEY=VALUE", help_heading = "Filters",
          value_parser = label::parse_condition)]
    labels: Vec<LabelCondition>,
    /// Accesses of this contract
    #[arg(long, value_name = "ID", help_heading = "Filters")]
    contract: Option<String>,
    /// Accesses of this product offering
    #[arg(long, value_name = "ID", help_heading = "Filters")]
    offering: Option<String>,
    /// Accesses that this batch created
    #[arg(long, value_name = "TASK", help_heading = "Filters")]
    batch: Option<String>,
    /// Accesses with this username: at most one of them is not terminated
    #[arg(long, value_name = "NAME", help_heading = "Filters")]
    username: Option<String>,
    /// Accesses with this name: the device's, or else the username
    #[arg(long, value_name = "NAME", help_heading = "Filters")]
    name: Option<String>,
    /// Created at this time or later
    #[arg(long, value_name = "TIME", help_heading = "Filters")]
    created_since: Option<String>,
    /// Created before this time
    #[arg(long, value_name = "TIME", help_heading = "Filters")]
    created_before: Option<String>,
    /// Active from this time on, or later
    #[arg(long, value_name = "TIME", help_heading = "Filters")]
    starts_since: Option<String>,
    /// Active from before this time on
    #[arg(long, value_name = "TIME", help_heading = "Filters")]
    starts_before: Option<String>,
    /// Ending at this time or later
    #[arg(long, value_name = "TIME", help_heading = "Filters")]
    ends_since: Option<String>,
    /// Ending before this time
    #[arg(long, value_name = "TIME", help_heading = "Filters")]
    ends_before: Option<String>,
    /// Filter in the API's syntax: `&` means and, `;` separates alternatives, as in
    /// 'contractId=C-1;createdAt>=2026-11-01'. Flags narrow each alternative
    #[arg(long, value_name = "EXPRESSION", help_heading = "Filters")]
    filter: Option<String>,
    /// The last created first
    #[arg(long)]
    newest_first: bool,
    #[command(flatten)]
    paging: Paging,
}

impl List {
    pub(crate) async fn run(self, tenant_args: &TenantArgs) -> Result<(), Failure> {
        let (server, format) = tenant_args.open().await?;
        let filter = filter::as_parameter(&self.expression());
        let order = self.newest_first.then(|| format!("sort={NEWEST_FIRST}"));
        let query: Vec<String> = filter.into_iter().chain(order).collect();
        let kind = ListKind { plural: "accesses", columns: COLUMNS };
        self.paging.show(&server, &["access"], Some(&query.join("&")), kind, format).await
    }

    fn expression(&self) -> String {
        let mut conditions = Conditions::default();
        conditions
            .add("status", "=", self.status.as_deref().map(str::to_uppercase).as_deref())
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
        for LabelCondition { name, value } in &self.labels {
            match value {
                Some(value) => conditions.add(name, "=", Some(value)),
                None => conditions.add_name(name),
            };
        }
        conditions.with_raw(self.filter.as_deref())
    }
}
