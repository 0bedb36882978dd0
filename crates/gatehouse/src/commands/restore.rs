//! `gatehouse restore`: replaces the embedded store with a backup.

use std::path::PathBuf;

use clap::Args;
use gatehouse_server::restore::{Restored, restore};
use gatehouse_store::Clock;

use crate::commands::serve::Settings;
use crate::runtime;

/// Check a backup and replace the embedded store with it; the present one is moved aside, not deleted
#[derive(Args)]
pub(crate) struct Restore {
    #[command(flatten)]
    settings: Settings,
    /// Directory of the backup, as `gatehouse backup` or a server's schedule wrote it
    #[arg(long, value_name = "BACKUP")]
    from: PathBuf,
}

impl Restore {
    pub(crate) fn run(self) -> Result<(), String> {
        let config = self.settings.load(&[])?;
        let Restored { replaced, is_continued } = runtime::run(async {
            let restored = restore(&config, &self.from, Clock::machine()).await;
            restored.map_err(|why| why.to_string())
        })?;
        let (from, to) = (self.from.display(), config.data_dir.display());
        if is_continued {
            println!("finished an interrupted restore of {from} to {to}");
        } else {
            println!("checked {from}, and restored it to {to}");
        }
        match replaced {
            Some(replaced) => println!(
                "the former store is in {}: delete it when you no longer need it",
                replaced.display()
            ),
            None => println!("there was no store before"),
        }
        println!(
            "next: look at it with `gatehouse doctor --deep --data-dir {to}`, then start the server. Every \
             change after the backup is undone: accesses, passwords, clients, and revoked tokens"
        );
        Ok(())
    }
}
