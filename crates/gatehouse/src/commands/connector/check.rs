//! `gatehouse connector check`: checks manifests, and queries an account with one.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use gatehouse_connectors::{Manifest, Manifests, ProductParts};
use gatehouse_core::PageRequest;

use super::account::AccountArgs;
use super::query::{Query, QueryTarget, run_query};
use super::{counted, print, transcript};

/// Products of the query.
const PAGE_SIZE: u64 = 3;

/// Check manifests, and query an account with one if an account is given
#[derive(Args)]
pub(in crate::commands::connector) struct Check {
    /// The manifests
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    account: AccountArgs,
}

impl Check {
    pub(in crate::commands::connector) fn run(self) -> Result<(), String> {
        if self.account.is_given() && self.files.len() > 1 {
            return Err("one file at a time can be tried with an account".into());
        }
        let mut n_bad = 0;
        for file in &self.files {
            let mut manifests = Manifests::shipped();
            let entry = match manifests.add_file(file) {
                Ok(entry) => entry,
                Err(bad) => {
                    n_bad += 1;
                    eprintln!("{bad}");
                    continue;
                }
            };
            let name = entry.manifest.name();
            print(&format!("ok  {}: {name}, {}\n", file.display(), entry.manifest.summary().title));
            if self.account.is_given() {
                self.try_it(manifests, &entry.manifest)?;
            }
        }
        match n_bad {
            0 => Ok(()),
            n => Err(format!("{} of {} can't be used", n, counted(self.files.len(), "file"))),
        }
    }

    fn try_it(&self, manifests: Manifests, manifest: &Arc<Manifest>) -> Result<(), String> {
        let query = Query::Page(PageRequest { number: 1, size: PAGE_SIZE });
        let target = QueryTarget::Account(&self.account);
        let outcome = run_query(manifests, manifest, &target, query, ProductParts::ALL, |_, _| ())?;
        for failure in &outcome.failures {
            print(&transcript::failure(failure));
        }
        if !outcome.failures.is_empty() {
            let trying = "`gatehouse connector try` shows every exchange";
            return Err(format!("the account was queried: {}; {trying}", outcome.summary()));
        }
        print(&format!("ok  the account was queried: {}\n", outcome.summary()));
        Ok(())
    }
}
