//! `gatehouse connector test`: runs the conformance checks on a connector.

use std::path::PathBuf;

use clap::Args;
use gatehouse_connectors::testing::conformance::{Suite, Verdict};
use gatehouse_connectors::testing::recording::Recording;
use gatehouse_connectors::{AddressRules, Catalog};

use super::account::AccountArgs;
use super::{ConnectorsDir, counted, find_connector, print};
use crate::runtime;

/// Test a connector with a recording or an account
///
/// Without a recording or an account, a shipped connector is tested with its own recording.
#[derive(Args)]
pub(in crate::commands::connector) struct Test {
    /// A connector's name, or a manifest's file
    #[arg(value_name = "NAME|FILE")]
    connector: String,
    /// Recording, as `gatehouse connector record` writes it
    #[arg(long, value_name = "FILE")]
    recording: Option<PathBuf>,
    #[command(flatten)]
    account: AccountArgs,
    #[command(flatten)]
    connectors: ConnectorsDir,
}

impl Test {
    pub(in crate::commands::connector) fn run(self) -> Result<(), String> {
        let mut manifests = self.connectors.manifests()?;
        let manifest = find_connector(&mut manifests, &self.connector)?;
        let connector = manifest.name().clone();
        let suite = if self.account.is_given() {
            if self.recording.is_some() {
                return Err("give a recording or an account, not both".into());
            }
            let allow_insecure_urls = self.account.allow_insecure_urls;
            let catalog =
                Catalog::new(AddressRules::for_local_user(allow_insecure_urls), manifests);
            let given = self.account.read(&catalog, &connector)?;
            Suite::with_account(manifest, given.settings, given.credentials, allow_insecure_urls)
        } else {
            let recording = match &self.recording {
                Some(path) => Recording::load(path)?,
                None => Recording::shipped(connector.as_str()).ok_or_else(|| {
                    format!("{connector} has no recording: give one with --recording FILE, or an account")
                })?,
            };
            Suite::with_recording(manifest, recording)
        };
        let checks = runtime::run(suite.run())?;
        let listed: String = checks.iter().map(|it| format!("{it}\n")).collect();
        let n_of =
            |is_so: fn(&Verdict) -> bool| checks.iter().filter(|it| is_so(&it.verdict)).count();
        let n_failed = n_of(|it| matches!(it, Verdict::Failed(_)));
        let n_passed = n_of(|it| *it == Verdict::Passed);
        let n_others = checks.len() - n_failed - n_passed;
        print(&format!("{listed}\n{n_passed} passed, {n_failed} failed, {n_others} don't apply\n"));
        if n_failed > 0 {
            return Err(format!("{} of {connector} failed", counted(n_failed, "check")));
        }
        Ok(())
    }
}
