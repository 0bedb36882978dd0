//! Opening a server's store, for commands that need no running server.

use std::sync::Arc;

use gatehouse_connectors::{PlatformOptions, Platforms};
use gatehouse_server::app::App;
use gatehouse_server::config::Config;
use gatehouse_server::keys::{self, journal_key};
use gatehouse_server::restore::refuse_unfinished;
use gatehouse_server::transfer::refuse_moved;
use gatehouse_store::{Clock, Store};

/// Whether a command reads or writes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Intent {
    /// The command changes nothing.
    Read,
    /// The command writes, and hashes or seals: its first master key is in use from now on.
    Write,
}

/// The service on a store that a server has created. It sends no requests to platforms.
pub(crate) async fn open(config: &Config, intent: Intent) -> Result<App, String> {
    let store = open_store(config).await?;
    let vault = match intent {
        Intent::Read => keys::open_vault(config, &store).await,
        Intent::Write => keys::join_vault(config, &store).await,
    };
    let vault = Arc::new(vault.map_err(|why| why.to_string())?);
    let platforms = Platforms::new(PlatformOptions::default()).map_err(|why| why.to_string())?;
    let journal = journal_key::find(&store, &vault).await.map_err(|why| why.to_string())?;
    let tasks = config.tasks.clone();
    let app = App::new(store, vault, Clock::machine(), tasks, Arc::new(platforms));
    Ok(match journal {
        Some(key) => app.with_journal_key(key),
        None => app,
    })
}

/// Opens a store that a server has created, next to that server.
async fn open_store(config: &Config) -> Result<Store, String> {
    refuse_moved(config).map_err(|why| why.to_string())?;
    refuse_unfinished(config).map_err(|why| why.to_string())?;
    let clock = Clock::machine();
    let (store, location) = match &config.database_url {
        Some(url) => (Store::attach_postgres(url, clock).await, url.to_string()),
        None => {
            let file = config.database_file();
            (Store::join_sqlite(&file, clock).await, config.data_dir.display().to_string())
        }
    };
    let store = store.map_err(|why| format!("{location}: {}", why.explained()))?;
    let start = "start `gatehouse serve` there once";
    let store = store.ok_or_else(|| format!("there is no store in {location}: {start}"))?;
    let (found, newest) = store.schema_versions().await.map_err(|why| why.explained())?;
    if found < newest {
        return Err(format!(
            "the store in {location} has schema version {found}, and this gatehouse works with {newest}: \
             {start}, which brings it up to date"
        ));
    }
    Ok(store)
}
