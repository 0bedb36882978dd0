//! `gatehouse hub pause` and `resume`: whether events are sent.

use clap::Args;
use gatehouse_core::HubState;
use reqwest::Method;
use serde_json::json;

use super::COLUMNS;
use super::hub_id::HubArg;
use crate::client::api::TenantArgs;
use crate::failure::Failure;
use crate::terminal::output::show_one;

/// Let events wait until the hub is resumed
#[derive(Args)]
#[command(after_help = "\
Events wait as long as the server keeps them. Those that are deleted for their
age meanwhile are missed.")]
pub(crate) struct Pause {
    #[command(flatten)]
    hub: HubArg,
}

/// Send events again; a subscriber that couldn't be reached is tried at once
#[derive(Args)]
pub(crate) struct Resume {
    #[command(flatten)]
    hub: HubArg,
}

impl Pause {
    pub(crate) async fn run(self, tenant_args: &TenantArgs) -> Result<(), Failure> {
        set_state(tenant_args, &self.hub, HubState::Paused).await
    }
}

impl Resume {
    pub(crate) async fn run(self, tenant_args: &TenantArgs) -> Result<(), Failure> {
        set_state(tenant_args, &self.hub, HubState::Active).await
    }
}

async fn set_state(tenant_args: &TenantArgs, hub: &HubArg, state: HubState) -> Result<(), Failure> {
    let id = hub.id()?;
    let (server, format) = tenant_args.open().await?;
    let request = server.request(Method::PATCH, &["hub", &id]);
    let changed = request.body(json!({ "state": state.as_str() })).success().await?.body;
    show_one(format, COLUMNS, &changed)
}
