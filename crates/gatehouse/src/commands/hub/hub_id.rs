//! The hub that the user names.

use clap::Args;
use gatehouse_core::HubId;

use crate::failure::Failure;

/// A hub named by the user.
#[derive(Args)]
pub(super) struct HubArg {
    /// The hub's ID, as `gatehouse hub list` shows it
    #[arg(value_name = "HUB")]
    hub: String,
}

impl HubArg {
    /// The ID, checked without a server.
    pub(super) fn id(&self) -> Result<String, Failure> {
        let id = self.hub.to_ascii_lowercase();
        match id.parse::<HubId>() {
            Ok(_) => Ok(id),
            Err(_) => Err(Failure::input(format!(
                "`{}` is no hub: their IDs are like hub-01a1dd4d-f0c1-7a3e-8b52-9f3d1c000000",
                self.hub
            ))
            .advise("`gatehouse hub list` shows the hubs")),
        }
    }
}
