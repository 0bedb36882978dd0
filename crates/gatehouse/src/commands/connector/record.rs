//! `gatehouse connector record`: records a conversation with a platform, without secrets, as a test.

use std::path::PathBuf;

use clap::Args;
use gatehouse_connectors::testing::recording::{RecordOptions, record};
use gatehouse_connectors::{AddressRules, Catalog};

use super::account::AccountArgs;
use super::{ConnectorsDir, counted, find_connector, print};
use crate::runtime;

/// Record a conversation with a platform, without secrets, to test a connector with
///
/// Requests pages, and a hit and a miss of each way to look connections up. Card numbers and the platform's IDs are
/// replaced; texts that people wrote stay: read the file before you share it.
#[derive(Args)]
pub(in crate::commands::connector) struct Record {
    /// A connector's name, or a manifest's file
    #[arg(value_name = "NAME|FILE")]
    connector: String,
    /// File for the recording
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Number of the platform's largest pages to request
    #[arg(long, value_name = "N", default_value_t = 1)]
    pages: u32,
    /// Keep the numbers and IDs of connections as they are
    #[arg(long)]
    keep_numbers: bool,
    #[command(flatten)]
    account: AccountArgs,
    #[command(flatten)]
    connectors: ConnectorsDir,
}

impl Record {
    pub(in crate::commands::connector) fn run(self) -> Result<(), String> {
        let mut manifests = self.connectors.manifests()?;
        let manifest = find_connector(&mut manifests, &self.connector)?;
        let connector = manifest.name();
        let allow_insecure_urls = self.account.allow_insecure_urls;
        let catalog = Catalog::new(AddressRules::for_local_user(allow_insecure_urls), manifests);
        let given = self.account.read(&catalog, connector)?;
        let options = RecordOptions {
            pages: self.pages,
            keep_numbers: self.keep_numbers,
            allow_insecure_urls,
        };
        let recording = record(&manifest, &given.settings, &given.credentials, options);
        let recording = runtime::run(recording)?;
        let out = self.out.display();
        std::fs::write(&self.out, recording.to_text())
            .map_err(|cause| format!("{out}: {cause}"))?;
        print(&format!("{}: {} recorded\n", out, counted(recording.n_exchanges(), "exchange")));
        Ok(())
    }
}
