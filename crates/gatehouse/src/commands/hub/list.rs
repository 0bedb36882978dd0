//! `gatehouse hub list`.

use clap::Args;
use serde_json::Value;

use super::COLUMNS;
use crate::client::api::TenantArgs;
use crate::failure::Failure;
use crate::terminal::output::{Listing, OutputFormat};

/// List the hubs, the oldest first
#[derive(Args)]
pub(crate) struct List {}

impl List {
    pub(crate) async fn run(self, tenant_args: &TenantArgs) -> Result<(), Failure> {
        let (server, format) = tenant_args.open().await?;
        // All in one response: a tenant has few hubs.
        let Value::Array(hubs) = server.get(&["hub"]).success().await?.body else {
            return Err(server.server.not_understood());
        };
        let mut listing = Listing::new(format, COLUMNS);
        listing.show(&hubs)?;
        listing.finish()?;
        if hubs.is_empty() && format == OutputFormat::Table {
            eprintln!("no hubs");
        }
        Ok(())
    }
}
