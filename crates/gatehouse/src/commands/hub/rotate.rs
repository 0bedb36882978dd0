//! `gatehouse hub rotate`.

use clap::Args;
use reqwest::Method;
use serde_json::json;

use super::COLUMNS_WITH_SECRET;
use super::hub_id::HubArg;
use crate::client::api::TenantArgs;
use crate::failure::Failure;
use crate::terminal::output::{OutputFormat, show_one};

/// Give a hub a new secret, and show it once
#[derive(Args)]
#[command(after_help = "\
For a day, messages are signed with the former secret, too, so that the
subscriber can change over. A second rotation within that day ends the first
secret at once.")]
pub(crate) struct Rotate {
    #[command(flatten)]
    hub: HubArg,
}

impl Rotate {
    pub(crate) async fn run(self, tenant_args: &TenantArgs) -> Result<(), Failure> {
        let id = self.hub.id()?;
        let (server, format) = tenant_args.open().await?;
        // A second rotation would replace the secret that the subscriber knows.
        let request = server.request(Method::PATCH, &["hub", &id]).not_repeatable();
        let hub = request.body(json!({ "rotateSecret": true })).success().await?.body;
        show_one(format, COLUMNS_WITH_SECRET, &hub)?;
        if format == OutputFormat::Table {
            eprintln!("the secret is shown only now; for a day, the former one signs too");
        }
        Ok(())
    }
}
