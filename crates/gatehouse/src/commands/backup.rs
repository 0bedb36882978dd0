//! `gatehouse backup`: a consistent copy of the data directory, also while a server uses it.

use std::path::PathBuf;

use clap::Args;
use gatehouse_server::backup::{BackupSummary, make};
use gatehouse_server::config::Config;
use gatehouse_store::{Clock, Store};
use tokio_util::sync::CancellationToken;

use crate::commands::serve::Settings;
use crate::runtime;

/// Copy the embedded store and its keys to another directory, also while a server uses them, and check the copy
#[derive(Args)]
pub(crate) struct Backup {
    #[command(flatten)]
    settings: Settings,
    /// Directory to create; it must not exist, or be empty
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
}

impl Backup {
    pub(crate) fn run(self) -> Result<(), String> {
        let config = self.settings.load(&[])?;
        if config.database_url.is_some() {
            return Err(
                "this copies the embedded store, and the settings name a PostgreSQL database: \
                        save that with pg_dump, as docs/operating.md says"
                    .into(),
            );
        }
        let BackupSummary { n_bytes, keys } = runtime::run(self.copy(&config))?;
        let (from, to) = (config.data_dir.display(), self.to.display());
        let files = keys.join(" and ");
        let with = if keys.is_empty() { "no keys" } else { &files };
        println!("copied {from} to {to}: {n_bytes} bytes, and {with}");
        println!("checked every page of the copy: it is sound");
        if !keys.iter().any(|name| name == "master.key") {
            println!(
                "the master key is not in it, because it is not next to the store: keep a copy of that too"
            );
        }
        println!(
            "restore it with `gatehouse restore --from {to}`, and keep it where no other user can read it"
        );
        Ok(())
    }

    async fn copy(&self, config: &Config) -> Result<BackupSummary, String> {
        let from = &config.data_dir;
        let store = Store::attach_sqlite(&config.database_file(), Clock::machine()).await;
        let store = store.map_err(|why| {
            format!("{}; `gatehouse doctor` tells more about the store", why.explained())
        })?;
        let store = store.ok_or_else(|| {
            format!("there is no store in {}: name its directory with --data-dir", from.display())
        })?;
        let made = make(&store, from, &self.to, &CancellationToken::new()).await;
        store.close().await;
        made.map_err(|why| why.to_string())
    }
}
