//! The keys of labels that a tenant filters by, and how far their sets are built (`label_building.rs`).

use std::collections::{BTreeMap, BTreeSet};

use gatehouse_core::{LabelKey, TenantName};

use super::position::COMPLETE;
use crate::db::{Row, Tx};
use crate::error::StoreError;

/// The position of a key whose sets are being deleted.
const DELETING: i64 = -1;

/// State of the sets of one key's labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LabelBuild {
    /// Built up to this running number.
    BuiltTo(u64),
    /// Being deleted.
    Deleting,
}

/// The builds of a tenant's keys; keys without sets are absent.
pub(crate) type LabelBuilds = BTreeMap<LabelKey, LabelBuild>;

/// Reads a tenant's builds.
pub(crate) async fn read(tx: &Tx, tenant: &TenantName) -> Result<LabelBuilds, StoreError> {
    let sql = "SELECT label_key, built_to FROM label_build WHERE tenant = ?1";
    let found = tx.rows(sql, &[tenant.as_str().into()], read_build).await?;
    Ok(found.into_iter().collect())
}

/// Reads a tenant's builds, which stay as they are until the transaction ends.
pub(crate) async fn read_shared(tx: &Tx, tenant: &TenantName) -> Result<LabelBuilds, StoreError> {
    if let Some(session) = tx.postgres() {
        let sql = "SELECT 1 FROM tenant WHERE tenant = ?1 FOR SHARE";
        session.bulk(sql, &[&tenant.as_str()]).await?;
    }
    read(tx, tenant).await
}

fn read_build(row: &Row<'_>) -> Result<(LabelKey, LabelBuild), StoreError> {
    let build = match row.integer(1)? {
        DELETING => LabelBuild::Deleting,
        _ => LabelBuild::BuiltTo(row.count(1)?),
    };
    Ok((row.parsed(0)?, build))
}

/// Records the keys that a tenant filters by, whose row the transaction has written. Returns whether there is work for
/// the builder.
pub(crate) async fn declare(
    tx: &Tx,
    tenant: &TenantName,
    keys: &BTreeSet<LabelKey>,
    has_accesses: bool,
) -> Result<bool, StoreError> {
    let builds = read(tx, tenant).await?;
    let added = keys.iter().filter(|key| !builds.contains_key(key));
    let added: Vec<&LabelKey> = added.collect();
    for key in &added {
        let built_to = if has_accesses { 0 } else { COMPLETE };
        let sql = "INSERT INTO label_build (tenant, label_key, built_to) VALUES (?1, ?2, ?3)";
        tx.execute(sql, &[tenant.as_str().into(), key.as_str().into(), built_to.into()]).await?;
    }
    let removed = builds.keys().filter(|key| !keys.contains(*key));
    let removed: Vec<&LabelKey> = removed.collect();
    for key in &removed {
        put(tx, tenant, key, DELETING).await?;
    }
    Ok(!removed.is_empty() || (has_accesses && !added.is_empty()))
}

/// Writes a key's position.
pub(crate) async fn put(
    tx: &Tx,
    tenant: &TenantName,
    key: &LabelKey,
    position: i64,
) -> Result<(), StoreError> {
    let sql = "UPDATE label_build SET built_to = ?3 WHERE tenant = ?1 AND label_key = ?2";
    let values = [tenant.as_str().into(), key.as_str().into(), position.into()];
    tx.execute(sql, &values).await.map(drop)
}

/// Reads the keys in a column of a tenant.
pub(crate) fn read_keys(row: &Row<'_>, column: usize) -> Result<BTreeSet<LabelKey>, StoreError> {
    let text = row.optional_text(column)?.unwrap_or_default();
    let keys = text.split(' ').filter(|key| !key.is_empty());
    keys.map(|key| key.parse().map_err(StoreError::corrupt)).collect()
}

/// The keys as a column of a tenant; `None` without keys.
pub(crate) fn keys_text(keys: &BTreeSet<LabelKey>) -> Option<String> {
    let keys: Vec<&str> = keys.iter().map(LabelKey::as_str).collect();
    (!keys.is_empty()).then(|| keys.join(" "))
}
