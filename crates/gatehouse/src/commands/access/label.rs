//! `gatehouse access label`: labels of one access are set and removed.

use clap::Args;
use serde_json::json;

use super::COLUMNS;
use super::change::change;
use super::selection::AccessSelection;
use crate::client::api::TenantArgs;
use crate::client::label::{self, LabelChange};
use crate::failure::Failure;
use crate::terminal::output::show_one;

/// Set and remove labels of an access
#[derive(Args)]
#[command(after_help = "\
Labels that are not named stay as they are. Examples:
  gatehouse access label pump-7 site=hamburg team=pumps
  gatehouse access label pump-7 team-")]
pub(crate) struct Label {
    #[command(flatten)]
    selection: AccessSelection,
    /// KEY=VALUE sets a label, KEY- removes one
    #[arg(required = true, value_name = "KEY=VALUE|KEY-", value_parser = label::parse_change)]
    changes: Vec<LabelChange>,
}

impl Label {
    pub(crate) async fn run(self, tenant_args: &TenantArgs) -> Result<(), Failure> {
        let (server, format) = tenant_args.open().await?;
        let access = self.selection.find(&server).await?;
        let to = json!({ "labels": label::as_patch(&self.changes) });
        show_one(format, COLUMNS, &change(&server, &access, to).await?)
    }
}
