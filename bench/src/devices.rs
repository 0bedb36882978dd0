//! Devices with known passwords: a filled store has dummy hashes, and some accesses get real ones.

use gatehouse_vault::{MasterKeys, Vault, generate_password};

use crate::database::Database;
use crate::failure::Failure;
use crate::fill;
use crate::filled::FilledStore;
use crate::fleet::shuffle;

/// Number of devices, from all over the store.
const N_DEVICES: u64 = 5000;

#[derive(Clone, Debug)]
pub(crate) struct Credentials {
    pub(crate) username: String,
    pub(crate) password: String,
}

/// Sets generated passwords for some accesses of a store that no server has open.
pub(crate) fn give_passwords(
    database: &Database,
    store: &FilledStore,
) -> Result<Vec<Credentials>, Failure> {
    let vault = Vault::new(&master_keys(store)?);
    // An odd step, so that accesses of every kind are among them.
    let apart = (store.fleet.n_active() / N_DEVICES).max(1) as usize | 1;
    let (mut hashes, mut devices) = (Vec::new(), Vec::new());
    for access in store.fleet.active().step_by(apart) {
        let password = generate_password();
        hashes.push((access.number as i64, vault.hash_generated(&password).as_str().to_owned()));
        let password = password.reveal().to_owned();
        devices.push(Credentials { username: access.username(), password });
    }
    let given = match database {
        Database::Sqlite => fill::sqlite::set_hashes(&store.instance.database_file(), &hashes),
        Database::Postgres { runtime, .. } => {
            let url = store.instance.database_url.as_deref().unwrap_or_default();
            runtime.block_on(fill::postgres::set_hashes(url, &hashes))
        }
    };
    given.map_err(Failure::during("giving devices passwords"))?;
    shuffle(&mut devices);
    Ok(devices)
}

/// The master keys of a store's server.
fn master_keys(store: &FilledStore) -> Result<MasterKeys, Failure> {
    let unusable = |why: String| Failure::Step(format!("no master key: {why}"));
    if store.instance.database_url.is_some() {
        return MasterKeys::parse(crate::server::MASTER_KEY)
            .map_err(|bad| unusable(bad.to_string()));
    }
    let keys = MasterKeys::load(&store.instance.directory.join("master.key"));
    let keys = keys.map_err(|bad| unusable(bad.to_string()))?;
    keys.ok_or_else(|| unusable("the server has made none".to_owned()))
}
