//! `gatehouse connector schema`.

use clap::Args;
use gatehouse_connectors::Manifest;

use super::say;

/// Show the JSON Schema of manifests, for editors
#[derive(Args)]
pub(super) struct SchemaCommand {}

impl SchemaCommand {
    pub(super) fn run(self) -> Result<(), String> {
        say(Manifest::SCHEMA);
        Ok(())
    }
}
