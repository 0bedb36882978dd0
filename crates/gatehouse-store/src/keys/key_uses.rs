//! Uses of master keys: counting hashes and seals by key, and replacing the seals of former keys.
//!
//! Every hash and every seal begins with the name of its key. Only the vault interprets such a name; here it is a
//! prefix of given length.

use gatehouse_core::{AccountName, HubId, TaskId, TenantName};

use crate::Store;
use crate::counts::counter;
use crate::db::{Row, SnapshotFor, Tx, WriteKind};
use crate::error::StoreError;
use crate::keys::secret::{self, SecretKind};

/// A part of a column, from `$first`. Numbers have 64 bits here, and PostgreSQL's function takes 32.
macro_rules! piece {
    ($column:literal, $first:literal, $length:literal) => {
        concat!(
            "SUBSTR(",
            $column,
            ", CAST(CAST(",
            $first,
            " AS BIGINT) AS INTEGER), CAST(CAST(",
            $length,
            " AS BIGINT) AS INTEGER))"
        )
    };
}

/// Use of a master key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyUseKind {
    /// Hash of an access's password. TERMINATED accesses don't need theirs.
    Access,
    /// Hash of a client's secret.
    Client,
    /// Hash of the password that an unfinished batch sets.
    Change,
    /// Sealed credentials of an account.
    Account,
    /// Sealed key of a Task.
    Task,
    /// Sealed response of an idempotent request.
    Response,
    /// Sealed secret of a hub, present or former.
    Hub,
}

/// Number of a tenant's hashes or seals with the same prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyUse {
    /// The kind of use.
    pub kind: KeyUseKind,
    /// The first characters or bytes, which name the key.
    pub prefix: Vec<u8>,
    /// Number of hashes or seals.
    pub n: u64,
}

/// Owner of a seal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SealOwner {
    /// Credentials of this account.
    Account(AccountName),
    /// Key of this Task.
    Task(TaskId),
    /// Response of an idempotent request, by its secret's name.
    Response(String),
    /// Present or former secret of this hub.
    Hub(HubId),
}

/// Sealed bytes of a former master key.
#[derive(Clone, PartialEq, Eq)]
pub struct FormerSeal {
    /// The owner.
    pub owner: SealOwner,
    /// The sealed bytes.
    pub sealed: Vec<u8>,
}

/// Shows the owner, not the sealed bytes.
impl std::fmt::Debug for FormerSeal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FormerSeal").field("owner", &self.owner).finish_non_exhaustive()
    }
}

impl Store {
    /// Counts a tenant's hashes and seals by their prefixes. Reads every access.
    pub async fn key_uses(
        &self,
        tenant: &TenantName,
        hash_chars: usize,
        seal_bytes: usize,
    ) -> Result<Vec<KeyUse>, StoreError> {
        let tenant = tenant.clone();
        self.db
            .snapshot(SnapshotFor::Server(None), async move |tx| {
                let mut found = Vec::new();
                for (kind, sql) in HASHES {
                    let values = [tenant.as_str().into(), (hash_chars as u64).into()];
                    let read = |row: &Row<'_>| {
                        let prefix = row.text(0)?.into_bytes();
                        Ok(KeyUse { kind: *kind, prefix, n: row.count(1)? })
                    };
                    found.extend(tx.rows(sql, &values, read).await?);
                }
                for (kind, sql) in SEALS {
                    let first_byte = match kind {
                        KeyUseKind::Account | KeyUseKind::Hub => 1,
                        _ => secret::first_byte(tx.dialect()),
                    };
                    let values =
                        [tenant.as_str().into(), first_byte.into(), (seal_bytes as u64).into()];
                    let read = |row: &Row<'_>| {
                        Ok(KeyUse { kind: *kind, prefix: row.bytes(0)?, n: row.count(1)? })
                    };
                    found.extend(tx.rows(sql, &values, read).await?);
                }
                Ok(found)
            })
            .await
    }

    /// Seals of a tenant's accounts that don't have this prefix. They are few.
    pub async fn former_seals_of_accounts(
        &self,
        tenant: &TenantName,
        prefix: &[u8],
    ) -> Result<Vec<FormerSeal>, StoreError> {
        let sql = concat!(
            "SELECT name, credentials FROM account WHERE tenant = ?1 AND ",
            piece!("credentials", "1", "?2"),
            " <> ?3 ORDER BY name"
        );
        self.former_seals(sql, tenant, prefix, |row| Ok(SealOwner::Account(row.parsed(0)?))).await
    }

    /// Secrets of a tenant's hubs, present and former, whose seals don't have this prefix. They are few.
    pub async fn former_seals_of_hubs(
        &self,
        tenant: &TenantName,
        prefix: &[u8],
    ) -> Result<Vec<FormerSeal>, StoreError> {
        let sql = concat!(
            "SELECT id, secret FROM hub WHERE tenant = ?1 AND ",
            piece!("secret", "1", "?2"),
            " <> ?3 UNION ALL SELECT id, former_secret FROM hub WHERE tenant = ?1 AND ",
            piece!("former_secret", "1", "?2"),
            " <> ?3 ORDER BY 1"
        );
        self.former_seals(sql, tenant, prefix, |row| Ok(SealOwner::Hub(row.parsed(0)?))).await
    }

    /// Seals that a query finds: of each the owner, then the sealed bytes.
    async fn former_seals(
        &self,
        sql: &'static str,
        tenant: &TenantName,
        prefix: &[u8],
        owner: fn(&Row<'_>) -> Result<SealOwner, StoreError>,
    ) -> Result<Vec<FormerSeal>, StoreError> {
        let (tenant, prefix) = (tenant.clone(), prefix.to_owned());
        self.db
            .snapshot(SnapshotFor::Server(None), async move |tx| {
                let n_bytes = (prefix.len() as u64).into();
                let values = [tenant.as_str().into(), n_bytes, prefix.as_slice().into()];
                let read =
                    |row: &Row<'_>| Ok(FormerSeal { owner: owner(row)?, sealed: row.bytes(1)? });
                tx.rows(sql, &values, read).await
            })
            .await
    }

    /// Seals of a tenant's Tasks or responses that don't have this prefix: at most `n_max`, after the one with this
    /// name.
    pub async fn former_secrets(
        &self,
        tenant: &TenantName,
        kind: SecretKind,
        prefix: &[u8],
        behind: &str,
        n_max: u32,
    ) -> Result<Vec<FormerSeal>, StoreError> {
        let (tenant, prefix) = (tenant.clone(), prefix.to_owned());
        let behind = behind.to_owned();
        self.db
            .snapshot(SnapshotFor::Server(None), async move |tx| {
                let sql = concat!(
                    "SELECT name, body FROM secret WHERE tenant = ?1 AND kind = ?2 AND name > ?3 AND ",
                    piece!("body", "?4", "?5"),
                    " <> ?6 ORDER BY name LIMIT ?7"
                );
                let dialect = tx.dialect();
                let values = [
                    tenant.as_str().into(),
                    kind.as_str().into(),
                    behind.as_str().into(),
                    secret::first_byte(dialect).into(),
                    (prefix.len() as u64).into(),
                    prefix.as_slice().into(),
                    u64::from(n_max).into(),
                ];
                let read = |row: &Row<'_>| {
                    let owner = match kind {
                        SecretKind::Task => SealOwner::Task(row.parsed(0)?),
                        SecretKind::Response => SealOwner::Response(row.text(0)?),
                    };
                    Ok(FormerSeal { owner, sealed: secret::sealed(dialect, row.bytes(1)?) })
                };
                tx.rows(sql, &values, read).await
            })
            .await
    }

    /// Replaces a seal by another of the same content; false if it was changed or deleted meanwhile. Servers that have
    /// opened it needn't read it again.
    pub async fn replace_seal(
        &self,
        tenant: &TenantName,
        before: &FormerSeal,
        after: &[u8],
    ) -> Result<bool, StoreError> {
        let (tenant, before, after) = (tenant.clone(), before.clone(), after.to_owned());
        self.db
            .write(WriteKind::Tenant(tenant.clone()), async move |tx| {
                replace_in(&tx, &tenant, &before, &after).await
            })
            .await
    }
}

async fn replace_in(
    tx: &Tx,
    tenant: &TenantName,
    before: &FormerSeal,
    after: &[u8],
) -> Result<bool, StoreError> {
    let (kind, name) = match &before.owner {
        SealOwner::Account(name) => {
            // A PUT of an account without credentials reads the present ones and writes them again under this lock.
            if counter::lock_tenant(tx, tenant).await?.is_none() {
                return Ok(false);
            }
            let sql = "UPDATE account SET credentials = ?4 WHERE tenant = ?1 AND name = ?2 \
                       AND credentials = ?3";
            let values = [
                tenant.as_str().into(),
                name.as_str().into(),
                before.sealed.as_slice().into(),
                after.into(),
            ];
            return Ok(tx.execute(sql, &values).await? == 1);
        }
        SealOwner::Hub(id) => {
            let sql = "UPDATE hub SET secret = CASE WHEN secret = ?3 THEN ?4 ELSE secret END, \
                       former_secret = CASE WHEN former_secret = ?3 THEN ?4 ELSE former_secret END \
                       WHERE tenant = ?1 AND id = ?2 AND (secret = ?3 OR former_secret = ?3)";
            let id = id.to_string();
            let values = [
                tenant.as_str().into(),
                id.as_str().into(),
                before.sealed.as_slice().into(),
                after.into(),
            ];
            return Ok(tx.execute(sql, &values).await? == 1);
        }
        SealOwner::Task(id) => (SecretKind::Task, id.to_string()),
        SealOwner::Response(name) => (SecretKind::Response, name.clone()),
    };
    let (was, is) = (secret::body(tx.dialect(), &before.sealed), secret::body(tx.dialect(), after));
    let sql = "UPDATE secret SET body = ?5 WHERE tenant = ?1 AND kind = ?2 AND name = ?3 \
               AND body = ?4";
    let values = [
        tenant.as_str().into(),
        kind.as_str().into(),
        name.as_str().into(),
        was.as_slice().into(),
        is.as_slice().into(),
    ];
    Ok(tx.execute(sql, &values).await? == 1)
}

const HASHES: &[(KeyUseKind, &str)] = &[
    (
        KeyUseKind::Access,
        concat!(
            "SELECT ",
            piece!("password_hash", "1", "?2"),
            ", COUNT(*) FROM access WHERE tenant = ?1 AND status <> 'TERMINATED' GROUP BY 1"
        ),
    ),
    (
        KeyUseKind::Client,
        concat!(
            "SELECT ",
            piece!("secret_hash", "1", "?2"),
            ", COUNT(*) FROM client WHERE tenant = ?1 GROUP BY 1"
        ),
    ),
    (
        KeyUseKind::Change,
        concat!(
            "SELECT ",
            piece!("password_hash", "1", "?2"),
            ", COUNT(*) FROM task WHERE tenant = ?1 AND password_hash IS NOT NULL \
             AND state IN ('ACKNOWLEDGED', 'IN_PROGRESS') GROUP BY 1"
        ),
    ),
];

const SEALS: &[(KeyUseKind, &str)] = &[
    (
        KeyUseKind::Account,
        concat!(
            "SELECT ",
            piece!("credentials", "?2", "?3"),
            ", COUNT(*) FROM account WHERE tenant = ?1 AND credentials IS NOT NULL GROUP BY 1"
        ),
    ),
    (
        KeyUseKind::Task,
        concat!(
            "SELECT ",
            piece!("body", "?2", "?3"),
            ", COUNT(*) FROM secret WHERE tenant = ?1 AND kind = 'task' GROUP BY 1"
        ),
    ),
    (
        KeyUseKind::Response,
        concat!(
            "SELECT ",
            piece!("body", "?2", "?3"),
            ", COUNT(*) FROM secret WHERE tenant = ?1 AND kind = 'answer' GROUP BY 1"
        ),
    ),
    (
        KeyUseKind::Hub,
        concat!(
            "SELECT ",
            piece!("sealed", "?2", "?3"),
            ", COUNT(*) FROM (SELECT secret AS sealed FROM hub WHERE tenant = ?1 UNION ALL \
             SELECT former_secret FROM hub WHERE tenant = ?1 AND former_secret IS NOT NULL) AS seals GROUP BY 1"
        ),
    ),
];
