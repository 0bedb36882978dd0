//! `gatehouse connector record`: keeps a cleaned conversation with a platform, which becomes a test.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use gatehouse_connectors::testing::recording::{RecordOptions, record};
use gatehouse_connectors::{AddressRules, Catalog};

use super::account::AccountArgs;
use super::{OwnConnectors, counted, named, say};

/// Keep a conversation with a platform, without secrets, to test a connector with
///
/// A page or some are asked for, and a hit and a miss of each way to look connections up. Numbers of cards and what
/// the platform calls them are replaced; what people wrote on them stays: read the file before you share it.
#[derive(Args)]
pub(in crate::commands::connector) struct Record {
    /// A connector's name, or a manifest's file
    #[arg(value_name = "NAME|FILE")]
    connector: String,
    /// Where to keep it
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// How many of the platform's largest pages to ask for
    #[arg(long, value_name = "N", default_value_t = 1)]
    pages: u32,
    /// Leave numbers and names of connections as they are
    #[arg(long)]
    keep_numbers: bool,
    #[command(flatten)]
    account: AccountArgs,
    #[command(flatten)]
    own: OwnConnectors,
}

impl Record {
    pub(in crate::commands::connector) fn run(self) -> Result<(), String> {
        let mut manifests = self.own.manifests()?;
        let connector = named(&mut manifests, &self.connector)?;
        let allow_insecure_urls = self.account.allow_insecure_urls;
        let Some(manifest) = manifests.get(connector.as_str()).map(Arc::clone) else {
            return Err(format!("{connector} is built in, and is no manifest"));
        };
        let catalog = Catalog::new(AddressRules::for_local_user(allow_insecure_urls), manifests);
        let given = self.account.read(&catalog, &connector)?;
        let options = RecordOptions {
            pages: self.pages,
            keep_numbers: self.keep_numbers,
            allow_insecure_urls,
        };
        let runtime = super::runtime()?;
        let asking = record(&manifest, &given.settings, &given.credentials, options);
        let recording = runtime.block_on(asking)?;
        let out = self.out.display();
        std::fs::write(&self.out, recording.to_text())
            .map_err(|cause| format!("{out}: {cause}"))?;
        say(&format!("{}: {} kept\n", out, counted(recording.n_exchanges(), "exchange")));
        Ok(())
    }
}
