//! `gatehouse access search`.

use clap::Args;
use serde_json::Value;

use super::COLUMNS;
use crate::client::api::TenantArgs;
use crate::client::filter;
use crate::failure::Failure;
use crate::terminal::output::{Listing, OutputFormat};

/// Find accesses whose username, name or ID begins with a text
///
/// Upper and lower case are the same. At most 50 accesses are shown, those that are the text first.
#[derive(Args)]
pub(crate) struct Search {
    /// The beginning of a username, a name or an ID
    #[arg(value_name = "TEXT")]
    text: String,
}

impl Search {
    pub(crate) async fn run(self, tenant_args: &TenantArgs) -> Result<(), Failure> {
        let (server, format) = tenant_args.open().await?;
        let request = server.get(&["search"]).query(&format!("q={}", filter::encoded(&self.text)));
        let found = request.success().await?.body;
        let found: &[Value] = found.as_array().map_or(&[], Vec::as_slice);
        let mut listing = Listing::new(format, COLUMNS);
        listing.show(found)?;
        listing.finish()?;
        if found.is_empty() && format == OutputFormat::Table {
            eprintln!("nothing begins with `{}`", self.text);
        }
        Ok(())
    }
}
