//! `gatehouse hub delete`.

use clap::Args;
use reqwest::Method;
use serde_json::Value;

use super::hub_id::HubArg;
use crate::client::api::TenantArgs;
use crate::failure::Failure;
use crate::terminal::output::{OutputFormat, text};
use crate::terminal::question::{confirm, is_interactive};

/// End a hub for good
#[derive(Args)]
#[command(after_help = "\
The event of its deletion is the last one that the subscriber gets.")]
pub(crate) struct Delete {
    #[command(flatten)]
    hub: HubArg,
    /// Don't ask for confirmation
    #[arg(short, long)]
    yes: bool,
}

impl Delete {
    pub(crate) async fn run(self, tenant_args: &TenantArgs) -> Result<(), Failure> {
        let id = self.hub.id()?;
        let (server, format) = tenant_args.open().await?;
        if !self.yes && is_interactive() {
            let hub = server.get(&["hub", &id]).success().await?.body;
            confirm(&consequence(&hub), self.yes)?;
        }
        server.request(Method::DELETE, &["hub", &id]).success().await?;
        if format == OutputFormat::Table {
            println!("{id} is deleted");
        }
        Ok(())
    }
}

/// The question's text: the subscriber, and the events that it won't get any more.
fn consequence(hub: &Value) -> String {
    let [id, callback, waiting, dead] =
        ["id", "callback", "waiting", "deadLetters"].map(|name| text(hub, name));
    format!(
        "{id} is deleted for good: {callback} gets no further events, and its waiting events ({waiting}) and dead \
         letters ({dead}) are lost."
    )
}
