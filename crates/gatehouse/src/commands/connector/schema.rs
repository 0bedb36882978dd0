//! `gatehouse connector schema`.

use clap::Args;
use gatehouse_connectors::Manifest;

use super::print;

/// Show the JSON Schema of manifests, for editors
#[derive(Args)]
pub(in crate::commands::connector) struct SchemaCommand {}

impl SchemaCommand {
    pub(in crate::commands::connector) fn run(self) -> Result<(), String> {
        print(Manifest::SCHEMA);
        Ok(())
    }
}
