//! `gatehouse hook list`.

use clap::Args;

use super::{CREATED, DIALECT, ID, LAST_USED, NAME};
use crate::client::api::TenantArgs;
use crate::failure::Failure;
use crate::terminal::output::{Column, Listing, OutputFormat};

/// List the hooks, and when their keys were last used
#[derive(Args)]
pub(crate) struct List {}

const COLUMNS: &[Column] = &[ID, DIALECT, NAME, LAST_USED, CREATED];

impl List {
    pub(crate) async fn run(self, tenant_args: &TenantArgs) -> Result<(), Failure> {
        let (server, format) = tenant_args.open().await?;
        let path = ["-", "admin", "tenants", server.tenant.as_str(), "hooks"];
        let hooks = server.server.all(&path).await?;
        let mut listing = Listing::new(format, COLUMNS);
        listing.show(&hooks)?;
        listing.finish()?;
        if hooks.is_empty() && format == OutputFormat::Table {
            eprintln!("no hooks");
        }
        Ok(())
    }
}
