//! Accesses: read by identifier or username, changed by a rule. Their creation is in `creation`.

pub(super) mod bulk;
pub(super) mod changes;
pub(super) mod count;
pub(super) mod creation;
pub(super) mod creation_groups;
pub(super) mod expiry;
pub(super) mod list;
pub(super) mod lookup;
pub(super) mod matching;
pub(super) mod plan;
pub(super) mod search;
pub(super) mod taken_usernames;
pub(super) mod time_indexes;
pub(super) mod username_reuse;

use gatehouse_core::access::PlannedTermination;
use gatehouse_core::credential::StoredHash;
use gatehouse_core::event::Origin;
use gatehouse_core::label::ShownLabels;
use gatehouse_core::{
    Access, AccessId, Contract, Labels, Policy, ShownAccess, Status, TaskId, TenantName, Username,
};

use crate::Store;
use crate::counts::derived_counts::DerivedCounts;
use crate::db::{Row, Tx, WriteKind};
use crate::error::{RuleError, StoreError};
use crate::setup::contract;

/// The columns of an access that responses show, in the order that [`read_shown`] reads them. Without the Task that
/// created it, which the caller may know.
macro_rules! shown_columns {
    () => {
        "id, contract_id, offering_id, username, device_name, status, start_at, end_at, labels"
    };
}
pub(crate) use shown_columns;

/// The columns of an access, in the order that [`read`] reads them, followed by its number in the tenant.
macro_rules! columns {
    () => {
        concat!(
            $crate::access::shown_columns!(),
            ", job, created_at, first_connected_at, is_terminating, end_before, version, number"
        )
    };
}
pub(crate) use columns;

/// Selects an access with its password hash.
macro_rules! stored {
    () => {
        concat!("SELECT ", $crate::access::columns!(), ", password_hash FROM access")
    };
}
pub(crate) use stored;

/// Selects an access by its username. The numbers come first, each from its own index: otherwise SQLite would read the
/// whole tenant for the TERMINATED ones.
macro_rules! where_username {
    () => {
        " WHERE tenant = ?1 AND number = COALESCE(\
          (SELECT number FROM access \
           WHERE tenant = ?1 AND username = ?2 AND status <> 'TERMINATED'), \
          (SELECT MAX(number) FROM access \
           WHERE tenant = ?1 AND username = ?2 AND status = 'TERMINATED'))"
    };
}

/// Finds an access by its username in one statement, so that an unknown username takes as long as a known one.
pub(crate) const BY_USERNAME: &str = concat!(stored!(), where_username!());

/// Finds an access by its username, with the policy of its contract.
pub(crate) const BY_USERNAME_WITH_POLICY: &str = concat!(
    "SELECT ",
    columns!(),
    ", password_hash, (SELECT policy FROM contract c \
       WHERE c.tenant = access.tenant AND c.id = access.contract_id) FROM access",
    where_username!()
);

/// An access as it was last written, with its password hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredAccess {
    /// The access's running number in its tenant.
    pub number: u64,
    /// The access as it was last written.
    pub access: Access,
    /// The password hash.
    pub password: StoredHash,
}

/// An access's new state, which a rule decided.
#[derive(Clone, Debug)]
pub struct Change {
    /// The access's new state.
    pub access: Access,
    /// The new password hash; `None` keeps the present one.
    pub password: Option<StoredHash>,
}

impl Store {
    /// The access with this identifier, as it was last written.
    pub async fn access(
        &self,
        tenant: &TenantName,
        id: AccessId,
    ) -> Result<Option<Access>, StoreError> {
        let sql = concat!("SELECT ", columns!(), " FROM access WHERE tenant = ?1 AND id = ?2");
        let values = [tenant.as_str().into(), id.as_bytes().as_slice().into()];
        self.db.row(sql, &values, read).await
    }

    /// The access that a device's credentials are checked against: the one with this username that isn't TERMINATED, or
    /// else the last one that is.
    pub async fn access_by_username(
        &self,
        tenant: &TenantName,
        username: &Username,
    ) -> Result<Option<StoredAccess>, StoreError> {
        let values = [tenant.as_str().into(), username.as_str().into()];
        self.db.row(BY_USERNAME, &values, read_stored).await
    }

    /// The access that a device's credentials are checked against, with its contract's policy.
    pub async fn access_with_policy(
        &self,
        tenant: &TenantName,
        username: &Username,
    ) -> Result<Option<(StoredAccess, Policy)>, StoreError> {
        let values = [tenant.as_str().into(), username.as_str().into()];
        let read = |row: &Row<'_>| {
            let policy = row.optional_text_ref(17)?.map(str::parse).transpose();
            let policy = policy.map_err(StoreError::corrupt)?.unwrap_or_default();
            Ok((read_stored(row)?, policy))
        };
        self.db.row(BY_USERNAME_WITH_POLICY, &values, read).await
    }

    /// Replaces the password hash by another of the same password; false if the password was changed meanwhile. The
    /// access itself stays the same.
    pub async fn renew_password(
        &self,
        tenant: &TenantName,
        id: AccessId,
        before: &StoredHash,
        after: &StoredHash,
    ) -> Result<bool, StoreError> {
        let (tenant, before, after) = (tenant.clone(), before.clone(), after.clone());
        self.db
            .write(WriteKind::Tenant(tenant.clone()), async move |tx| {
                let sql = "UPDATE access SET password_hash = ?4 WHERE tenant = ?1 AND id = ?2 \
                           AND password_hash = ?3";
                let values = [
                    tenant.as_str().into(),
                    id.as_bytes().as_slice().into(),
                    before.as_str().into(),
                    after.as_str().into(),
                ];
                Ok::<_, StoreError>(tx.execute(sql, &values).await? == 1)
            })
            .await
    }

    /// Changes an access by a rule, with its row locked from read to write; `None` when it doesn't exist.
    pub async fn change_access<E, Rule>(
        &self,
        tenant: &TenantName,
        id: AccessId,
        origin: Origin,
        rule: Rule,
    ) -> Result<Option<Access>, E>
    where
        E: RuleError + Send + 'static,
        Rule: FnOnce(&StoredAccess, &Contract) -> Result<Change, E> + Clone + Send + 'static,
    {
        let tenant = tenant.clone();
        self.db
            .write(WriteKind::Tenant(tenant.clone()), async move |tx| {
                let sql = concat!(stored!(), " WHERE tenant = ?1 AND id = ?2");
                let values = [tenant.as_str().into(), id.as_bytes().as_slice().into()];
                let Some(before) = tx.lock_row(sql, &values, read_stored).await? else {
                    return Ok(None);
                };
                let contract_id = &before.access.contract_id;
                let contract = contract::read_in(&tx, &tenant, contract_id).await?;
                let contract =
                    contract.ok_or_else(|| StoreError::corrupt("an access without a contract"))?;
                let change = rule(&before, &contract)?;
                write_change(&tx, &tenant, &before, &change, &origin).await?;
                Ok(Some(change.access))
            })
            .await
    }
}

async fn write_change(
    tx: &Tx,
    tenant: &TenantName,
    before: &StoredAccess,
    change: &Change,
    origin: &Origin,
) -> Result<(), StoreError> {
    if before.access == change.access && change.password.is_none() {
        return Ok(());
    }
    write_one(tx, tenant, change).await?;
    let mut counts = DerivedCounts::of(tx);
    counts.change(before.number, &before.access, change, origin);
    counts.write(tx, tenant).await
}

/// Updates an access. Without a new password hash it keeps the present one.
pub(crate) async fn write_one(
    tx: &Tx,
    tenant: &TenantName,
    change: &Change,
) -> Result<(), StoreError> {
    let sql = "UPDATE access SET status = ?3, start_at = ?4, end_at = ?5, \
               first_connected_at = ?6, is_terminating = ?7, end_before = ?8, version = ?9, \
               password_hash = COALESCE(?10, password_hash), labels = ?11 WHERE tenant = ?1 AND id = ?2";
    let access = &change.access;
    let values = [
        tenant.as_str().into(),
        access.id.as_bytes().as_slice().into(),
        access.status.as_str().into(),
        access.start.into(),
        access.end.into(),
        access.first_connected_at.into(),
        i64::from(access.termination.is_some()).into(),
        access.termination.and_then(|planned| planned.end_before).into(),
        access.version.into(),
        change.password.as_ref().map(StoredHash::as_str).into(),
        access.labels.stored().into(),
    ];
    tx.execute(sql, &values).await.map(drop)
}

/// Reads the shown columns of an access, borrowed from its row.
pub(crate) fn read_shown<'r>(
    row: &'r Row<'_>,
    created_by: Option<TaskId>,
) -> Result<ShownAccess<'r>, StoreError> {
    Ok(ShownAccess {
        id: AccessId::from_bytes(row.id(0)?),
        contract_id: row.text_ref(1)?,
        offering_id: row.text_ref(2)?,
        username: row.text_ref(3)?,
        device_name: row.optional_text_ref(4)?,
        status: read_status(row)?,
        start: row.time(6)?,
        end: row.optional_time(7)?,
        created_by,
        labels: ShownLabels::from_stored(row.optional_text_ref(8)?),
    })
}

fn read_status(row: &Row<'_>) -> Result<Status, StoreError> {
    let status = Status::from_word(row.text_ref(5)?);
    status.ok_or_else(|| StoreError::corrupt("an unknown status of an access"))
}

pub(crate) fn read(row: &Row<'_>) -> Result<Access, StoreError> {
    let is_terminating = row.integer(12)? != 0;
    let end_before = row.optional_time(13)?;
    let labels = Labels::from_stored(row.optional_text_ref(8)?.unwrap_or_default());
    Ok(Access {
        id: AccessId::from_bytes(row.id(0)?),
        contract_id: row.parsed(1)?,
        offering_id: row.parsed(2)?,
        username: row.parsed(3)?,
        device_name: row.optional_parsed(4)?,
        status: read_status(row)?,
        start: row.time(6)?,
        end: row.optional_time(7)?,
        created_by: row.optional_id(9)?.map(TaskId::from_bytes),
        created_at: row.time(10)?,
        first_connected_at: row.optional_time(11)?,
        termination: is_terminating.then_some(PlannedTermination { end_before }),
        version: row.count(14)?,
        labels: labels.ok_or_else(|| StoreError::corrupt("an access's labels"))?,
    })
}

pub(crate) fn read_stored(row: &Row<'_>) -> Result<StoredAccess, StoreError> {
    let (number, access) = read_numbered(row)?;
    Ok(StoredAccess { number, access, password: StoredHash::new(row.text(16)?) })
}

/// Reads an access with its number in the tenant.
pub(crate) fn read_numbered(row: &Row<'_>) -> Result<(u64, Access), StoreError> {
    Ok((row.count(15)?, read(row)?))
}
