//! `gatehouse connector show`.

use clap::Args;
use gatehouse_connectors::{AddressRules, Catalog};

use super::{ConnectorsDir, print, unknown};

/// Show a connector's manifest, to read, or to copy and change
#[derive(Args)]
pub(in crate::commands::connector) struct Show {
    /// The connector, as `gatehouse connector list` shows it
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    connectors: ConnectorsDir,
}

impl Show {
    pub(in crate::commands::connector) fn run(self) -> Result<(), String> {
        let manifests = self.connectors.manifests()?;
        let name = &self.name;
        let Some(text) = manifests.text(name) else {
            let is_built_in =
                Catalog::new(AddressRules::default(), manifests.clone()).names().contains(&&**name);
            return Err(match is_built_in {
                true => format!("`{name}` is built in, and has no manifest"),
                false => unknown(name, &manifests),
            });
        };
        print(text);
        Ok(())
    }
}
