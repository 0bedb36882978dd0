//! `gatehouse connector show`.

use clap::Args;

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
        print(manifests.text(name).ok_or_else(|| unknown(name, &manifests))?);
        Ok(())
    }
}
