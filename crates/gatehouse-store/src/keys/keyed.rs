//! What was made with a master key: how much of it begins in which way, and making seals anew.
//!
//! Every hash and every seal begins with the name of its key. What such a name means only the vault knows; here
//! they are beginnings, so many characters or bytes long as it says.

use gatehouse_core::{AccountName, TaskId, TenantName};

use crate::Store;
use crate::counts::counter;
use crate::db::{Line, Row, SnapshotFor, Tx};
use crate::error::StoreError;
use crate::keys::secret::{self, SecretKind};

/// So much of a column, from there on. Our numbers have 64 bits, and PostgreSQL's function wants 32.
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

/// What is made with a master key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyedKind {
    /// The hash of an access's password. Those that are TERMINATED need it no more.
    Access,
    /// The hash of a client's secret.
    Client,
    /// The hash of a password that a batch is about to set.
    Change,
    /// The credentials of an account, sealed.
    Account,
    /// The key of a Task, sealed.
    Task,
    /// The answer to a request that may come again, sealed.
    Answer,
}

/// Hashes or seals of a tenant that begin in the same way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keyed {
    /// What they are.
    pub kind: KeyedKind,
    /// How they begin.
    pub beginning: Vec<u8>,
    /// How many there are.
    pub n: u64,
}

/// What a seal belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SealOwner {
    /// An account: its credentials.
    Account(AccountName),
    /// A Task: its key.
    Task(TaskId),
    /// The answer to a request that may come again, by its name.
    Answer(String),
}

/// Something that is sealed with another key than the one that seals now.
#[derive(Clone, PartialEq, Eq)]
pub struct FormerSeal {
    /// What it belongs to.
    pub owner: SealOwner,
    /// The sealed bytes.
    pub sealed: Vec<u8>,
}

/// Shows whose it is, not what is sealed.
impl std::fmt::Debug for FormerSeal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FormerSeal").field("owner", &self.owner).finish_non_exhaustive()
    }
}

impl Store {
    /// Counts a tenant's hashes and seals by how they begin. That looks at every access.
    pub async fn keyed(
        &self,
        tenant: &TenantName,
        hash_chars: usize,
        seal_bytes: usize,
    ) -> Result<Vec<Keyed>, StoreError> {
        let tenant = tenant.clone();
        self.db
            .snapshot(SnapshotFor::Server(None), async move |tx| {
                let mut found = Vec::new();
                for (kind, sql) in HASHES {
                    let values = [tenant.as_str().into(), (hash_chars as u64).into()];
                    let read = |row: &Row<'_>| {
                        let beginning = row.text(0)?.into_bytes();
                        Ok(Keyed { kind: *kind, beginning, n: row.count(1)? })
                    };
                    found.extend(tx.rows(sql, &values, read).await?);
                }
                for (kind, sql) in SEALS {
                    let first_byte = match kind {
                        KeyedKind::Account => 1,
                        _ => secret::first_byte(tx.dialect()),
                    };
                    let values =
                        [tenant.as_str().into(), first_byte.into(), (seal_bytes as u64).into()];
                    let read = |row: &Row<'_>| {
                        Ok(Keyed { kind: *kind, beginning: row.bytes(0)?, n: row.count(1)? })
                    };
                    found.extend(tx.rows(sql, &values, read).await?);
                }
                Ok(found)
            })
            .await
    }

    /// Seals of a tenant's accounts that begin otherwise. They are few.
    pub async fn former_seals_of_accounts(
        &self,
        tenant: &TenantName,
        beginning: &[u8],
    ) -> Result<Vec<FormerSeal>, StoreError> {
        let (tenant, beginning) = (tenant.clone(), beginning.to_owned());
        self.db
            .snapshot(SnapshotFor::Server(None), async move |tx| {
                let sql = concat!(
                    "SELECT name, credentials FROM account WHERE tenant = ?1 AND ",
                    piece!("credentials", "1", "?2"),
                    " <> ?3 ORDER BY name"
                );
                let n_bytes = (beginning.len() as u64).into();
                let values = [tenant.as_str().into(), n_bytes, beginning.as_slice().into()];
                let read = |row: &Row<'_>| {
                    let owner = SealOwner::Account(row.parsed(0)?);
                    Ok(FormerSeal { owner, sealed: row.bytes(1)? })
                };
                tx.rows(sql, &values, read).await
            })
            .await
    }

    /// Seals of a tenant's Tasks, or of answers, that begin otherwise: so many behind the one of this name.
    pub async fn former_secrets(
        &self,
        tenant: &TenantName,
        kind: SecretKind,
        beginning: &[u8],
        behind: &str,
        n_max: u32,
    ) -> Result<Vec<FormerSeal>, StoreError> {
        let (tenant, beginning) = (tenant.clone(), beginning.to_owned());
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
                    (beginning.len() as u64).into(),
                    beginning.as_slice().into(),
                    u64::from(n_max).into(),
                ];
                let read = |row: &Row<'_>| {
                    let owner = match kind {
                        SecretKind::Task => SealOwner::Task(row.parsed(0)?),
                        SecretKind::Answer => SealOwner::Answer(row.text(0)?),
                    };
                    Ok(FormerSeal { owner, sealed: secret::sealed(dialect, row.bytes(1)?) })
                };
                tx.rows(sql, &values, read).await
            })
            .await
    }

    /// Keeps another seal of the same, unless it was changed or let go of meanwhile. Nobody who has opened it
    /// needs to look again.
    pub async fn replace_seal(
        &self,
        tenant: &TenantName,
        before: &FormerSeal,
        after: &[u8],
    ) -> Result<bool, StoreError> {
        let (tenant, before, after) = (tenant.clone(), before.clone(), after.to_owned());
        self.db
            .write(Line::Of(tenant.clone()), async move |tx| {
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
            // Who puts an account without credentials writes those again that it has read.
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
        SealOwner::Task(id) => (SecretKind::Task, id.to_string()),
        SealOwner::Answer(name) => (SecretKind::Answer, name.clone()),
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

const HASHES: &[(KeyedKind, &str)] = &[
    (
        KeyedKind::Access,
        concat!(
            "SELECT ",
            piece!("password_hash", "1", "?2"),
            ", COUNT(*) FROM access WHERE tenant = ?1 AND status <> 'TERMINATED' GROUP BY 1"
        ),
    ),
    (
        KeyedKind::Client,
        concat!(
            "SELECT ",
            piece!("secret_hash", "1", "?2"),
            ", COUNT(*) FROM client WHERE tenant = ?1 GROUP BY 1"
        ),
    ),
    (
        KeyedKind::Change,
        concat!(
            "SELECT ",
            piece!("password_hash", "1", "?2"),
            ", COUNT(*) FROM task WHERE tenant = ?1 AND password_hash IS NOT NULL \
             AND state IN ('ACKNOWLEDGED', 'IN_PROGRESS') GROUP BY 1"
        ),
    ),
];

const SEALS: &[(KeyedKind, &str)] = &[
    (
        KeyedKind::Account,
        concat!(
            "SELECT ",
            piece!("credentials", "?2", "?3"),
            ", COUNT(*) FROM account WHERE tenant = ?1 AND credentials IS NOT NULL GROUP BY 1"
        ),
    ),
    (
        KeyedKind::Task,
        concat!(
            "SELECT ",
            piece!("body", "?2", "?3"),
            ", COUNT(*) FROM secret WHERE tenant = ?1 AND kind = 'task' GROUP BY 1"
        ),
    ),
    (
        KeyedKind::Answer,
        concat!(
            "SELECT ",
            piece!("body", "?2", "?3"),
            ", COUNT(*) FROM secret WHERE tenant = ?1 AND kind = 'answer' GROUP BY 1"
        ),
    ),
];
