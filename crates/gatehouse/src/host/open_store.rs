//! Working on the store of a server, beside it: for commands that need no server to run.

use std::sync::Arc;

use gatehouse_connectors::{PlatformOptions, Platforms};
use gatehouse_server::app::App;
use gatehouse_server::config::Config;
use gatehouse_server::keys;
use gatehouse_server::restore::refuse_unfinished;
use gatehouse_server::transfer::refuse_moved;
use gatehouse_store::{Clock, Store};

/// What a command is about to do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Intent {
    /// It changes nothing.
    Look,
    /// It writes, and makes hashes or seals: its first master key is in use from now on.
    Write,
}

/// The service on the store that a server has made. Nothing is asked of platforms here.
pub(crate) async fn open(config: &Config, intent: Intent) -> Result<App, String> {
    let store = join(config).await?;
    let vault = match intent {
        Intent::Look => keys::open_vault(config, &store).await,
        Intent::Write => keys::join_vault(config, &store).await,
    };
    let vault = Arc::new(vault.map_err(|why| why.to_string())?);
    let platforms = Platforms::new(PlatformOptions::default()).map_err(|why| why.to_string())?;
    Ok(App::new(store, vault, Clock::machine(), config.tasks.clone(), Arc::new(platforms)))
}

/// Opens the store that a server has made, beside it.
async fn join(config: &Config) -> Result<Store, String> {
    refuse_moved(config).map_err(|why| why.to_string())?;
    refuse_unfinished(config).map_err(|why| why.to_string())?;
    let clock = Clock::machine();
    let (store, place) = match &config.database_url {
        Some(url) => (Store::attach_postgres(url, clock).await, url.to_string()),
        None => {
            let file = config.database_file();
            (Store::join_sqlite(&file, clock).await, config.data_dir.display().to_string())
        }
    };
    let store = store.map_err(|why| format!("{place}: {}", why.explained()))?;
    let start = "start `gatehouse serve` there once";
    let store = store.ok_or_else(|| format!("there is no store in {place}: {start}"))?;
    let (found, newest) = store.schema_versions().await.map_err(|why| why.explained())?;
    if found < newest {
        return Err(format!(
            "the store in {place} has schema version {found}, and this gatehouse works with {newest}: \
             {start}, which brings it up to date"
        ));
    }
    Ok(store)
}
