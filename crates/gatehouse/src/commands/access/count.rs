//! `gatehouse access count`.

use clap::{Args, ValueEnum};
use gatehouse_core::LabelKey;
use serde_json::{Value, json};

use crate::client::api::TenantArgs;
use crate::failure::{Failure, FailureKind};
use crate::terminal::output::{Column, Fit, Listing, OutputFormat};

const COLUMNS: &[Column] =
    &[Column::text("VALUE", "value", Fit::Cut(8)), Column::text("ACCESSES", "total", Fit::Whole)];

/// Count accesses by status, contract or label
#[derive(Args)]
#[command(after_help = "\
Terminated accesses are counted too, except by contract. Examples:
  gatehouse access count
  gatehouse access count --by label.site")]
pub(crate) struct Count {
    /// Count by `status`, `contract`, or `label.KEY` with one of the tenant's labelKeys
    #[arg(long, value_name = "WHAT", default_value = "status", value_parser = parse_by)]
    by: By,
}

/// A property that accesses are counted by.
#[derive(Clone, Debug, PartialEq, Eq)]
enum By {
    Plain(Plain),
    Label(LabelKey),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Plain {
    Status,
    Contract,
}

fn parse_by(text: &str) -> Result<By, String> {
    if let Some(key) = text.strip_prefix("label.") {
        return key.parse().map(By::Label).map_err(|bad| format!("the key {bad}"));
    }
    let plain = Plain::from_str(text, true).map(By::Plain);
    plain.map_err(|_| "must be `status`, `contract` or `label.KEY`".into())
}

/// Values of a label that a server counts.
const VALUES_MAX: usize = 100;

impl Count {
    pub(crate) async fn run(self, tenant_args: &TenantArgs) -> Result<(), Failure> {
        let (server, format) = tenant_args.open().await?;
        let request = server.get(&["summary"]);
        let request = match &self.by {
            By::Plain(_) => request,
            By::Label(key) => request.query(&format!("by=label.{key}")).strictly(),
        };
        let summary = request.success().await?.body;
        let counts = match &self.by {
            By::Plain(Plain::Status) => by_status(&summary),
            By::Plain(Plain::Contract) => by_contract(&summary),
            By::Label(key) => summary["byLabel"].as_array().cloned().ok_or_else(|| {
                let message =
                    format!("the server doesn't know yet which accesses have a label `{key}`");
                Failure::new(FailureKind::Unreachable, message).advise("try again in a while")
            })?,
        };
        let mut listing = Listing::new(format, COLUMNS);
        listing.show(&counts)?;
        listing.finish()?;
        if counts.is_empty() && format == OutputFormat::Table {
            eprintln!("no accesses");
        }
        if matches!(self.by, By::Label(_)) && counts.len() >= VALUES_MAX {
            eprintln!("only the {VALUES_MAX} most frequent values are shown");
        }
        Ok(())
    }
}

fn by_status(summary: &Value) -> Vec<Value> {
    let counts = summary["byStatus"].as_object().into_iter().flatten();
    counts.map(|(status, total)| json!({"value": status, "total": total})).collect()
}

/// The contracts with the number of their accesses that aren't terminated.
fn by_contract(summary: &Value) -> Vec<Value> {
    let contracts = summary["byContract"].as_array().into_iter().flatten();
    let count = |contract: &Value| {
        let counts = contract["byStatus"].as_object().into_iter().flatten();
        let current = counts.filter(|(status, _)| *status != "TERMINATED");
        let total: u64 = current.filter_map(|(_, n)| n.as_u64()).sum();
        json!({"value": contract["contractId"], "total": total})
    };
    contracts.map(count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_are_counted_by_what_is_named() {
        assert_eq!(parse_by("Status"), Ok(By::Plain(Plain::Status)));
        assert_eq!(parse_by("label.site"), Ok(By::Label("site".parse().unwrap())));
        for bad in ["", "site", "label.", "label.Site"] {
            assert!(parse_by(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn counts_come_from_the_summary() {
        let summary = json!({
            "byStatus": {"ACTIVE": 2, "TERMINATED": 1},
            "byContract": [{"contractId": "c", "byStatus": {"ACTIVE": 2, "TERMINATED": 1}}],
        });
        let expected =
            [json!({"value": "ACTIVE", "total": 2}), json!({"value": "TERMINATED", "total": 1})];
        assert_eq!(by_status(&summary), expected);
        assert_eq!(by_contract(&summary), [json!({"value": "c", "total": 2})]);
    }
}
