//! Accesses: read by identifier or username, changed by a rule. Making one is in `creation`.

pub(super) mod bulk;
pub(super) mod changes;
pub(super) mod count;
pub(super) mod creation;
pub(super) mod expiry;
pub(super) mod gather;
pub(super) mod list;
pub(super) mod lookup;
pub(super) mod taken_usernames;
pub(super) mod usernames;

use gatehouse_core::access::PlannedTermination;
use gatehouse_core::credential::StoredHash;
use gatehouse_core::{
    Access, AccessId, Contract, ShownAccess, Status, TaskId, TenantName, Username,
};

use crate::Store;
use crate::counts::derived_counts::Moves;
use crate::db::{Line, Row, Tx};
use crate::error::{Failure, StoreError};
use crate::setup::contract;

/// The columns of what answers show of an access, in the order that [`read_shown`] reads them; all but the Task
/// that made it, which may be known.
macro_rules! shown_columns {
    () => {
        "id, contract_id, offering_id, username, device_name, status, start_at, end_at"
    };
}
pub(crate) use shown_columns;

/// The columns of an access, in the order that [`read`] reads them, and behind them its number in the
/// tenant.
macro_rules! columns {
    () => {
        concat!(
            $crate::access::shown_columns!(),
            ", job, created_at, first_connected_at, is_terminating, end_before, version, number"
        )
    };
}
pub(crate) use columns;

/// The same, and what is kept of the password.
macro_rules! stored {
    () => {
        concat!("SELECT ", $crate::access::columns!(), ", password_hash FROM access")
    };
}
pub(crate) use stored;

/// One statement, so that it takes as long for a username that no access has. The numbers come first, each from its own
/// index: SQLite would else read the whole tenant to find those that are TERMINATED.
pub(crate) const BY_USERNAME: &str = concat!(
    stored!(),
    " WHERE tenant = ?1 AND number = COALESCE(\
      (SELECT number FROM access \
       WHERE tenant = ?1 AND username = ?2 AND status <> 'TERMINATED'), \
      (SELECT MAX(number) FROM access \
       WHERE tenant = ?1 AND username = ?2 AND status = 'TERMINATED'))"
);

/// An access as it was written, and what was kept of its password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The access as it was last written.
    pub access: Access,
    /// What is kept of its password.
    pub password: StoredHash,
}

/// What a rule makes of an access.
#[derive(Clone, Debug)]
pub struct Change {
    /// The access as it is to be from now on.
    pub access: Access,
    /// What is to be kept of its new password, where it gets one.
    pub password: Option<StoredHash>,
}

impl Store {
    /// The access of this identifier, as it was last written.
    pub async fn access(
        &self,
        tenant: &TenantName,
        id: AccessId,
    ) -> Result<Option<Access>, StoreError> {
        let sql = concat!("SELECT ", columns!(), " FROM access WHERE tenant = ?1 AND id = ?2");
        let values = [tenant.as_str().into(), id.as_bytes().as_slice().into()];
        self.db.row(sql, &values, read).await
    }

    /// What a device's credentials are checked against: the access of this username that isn't TERMINATED, or else the
    /// last one that is.
    pub async fn access_by_username(
        &self,
        tenant: &TenantName,
        username: &Username,
    ) -> Result<Option<Stored>, StoreError> {
        let values = [tenant.as_str().into(), username.as_str().into()];
        self.db.row(BY_USERNAME, &values, read_stored).await
    }

    /// Keeps another hash of the same password, unless the password was changed meanwhile. The access itself
    /// is as it was.
    pub async fn renew_password(
        &self,
        tenant: &TenantName,
        id: AccessId,
        before: &StoredHash,
        after: &StoredHash,
    ) -> Result<bool, StoreError> {
        let (tenant, before, after) = (tenant.clone(), before.clone(), after.clone());
        self.db
            .write(Line::Of(tenant.clone()), async move |tx| {
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

    /// Changes an access by a rule, alone with it from reading to writing; `None` when it isn't there.
    pub async fn change_access<E, Rule>(
        &self,
        tenant: &TenantName,
        id: AccessId,
        rule: Rule,
    ) -> Result<Option<Access>, E>
    where
        E: Failure + Send + 'static,
        Rule: FnOnce(&Stored, &Contract) -> Result<Change, E> + Clone + Send + 'static,
    {
        let tenant = tenant.clone();
        self.db
            .write(Line::Of(tenant.clone()), async move |tx| {
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
                write_change(&tx, &tenant, &before, &change).await?;
                Ok(Some(change.access))
            })
            .await
    }
}

async fn write_change(
    tx: &Tx,
    tenant: &TenantName,
    before: &Stored,
    change: &Change,
) -> Result<(), StoreError> {
    if before.access == change.access && change.password.is_none() {
        return Ok(());
    }
    write_one(tx, tenant, change).await?;
    let mut moves = Moves::default();
    moves.change(&before.access, &change.access);
    moves.write(tx, tenant).await
}

/// Writes an access that is there; without a new password it keeps the one it has.
pub(crate) async fn write_one(
    tx: &Tx,
    tenant: &TenantName,
    change: &Change,
) -> Result<(), StoreError> {
    let sql = "UPDATE access SET status = ?3, start_at = ?4, end_at = ?5, \
               first_connected_at = ?6, is_terminating = ?7, end_before = ?8, version = ?9, \
               password_hash = COALESCE(?10, password_hash) WHERE tenant = ?1 AND id = ?2";
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
    ];
    tx.execute(sql, &values).await.map(drop)
}

/// What is shown of an access, as it lies in its row.
pub(crate) fn read_shown<'r>(
    row: &'r Row<'_>,
    created_by: Option<TaskId>,
) -> Result<ShownAccess<'r>, StoreError> {
    Ok(ShownAccess {
        id: AccessId::from_bytes(row.id(0)?),
        contract_id: row.word(1)?,
        offering_id: row.word(2)?,
        username: row.word(3)?,
        device_name: row.optional_word(4)?,
        status: read_status(row)?,
        start: row.time(6)?,
        end: row.optional_time(7)?,
        created_by,
    })
}

fn read_status(row: &Row<'_>) -> Result<Status, StoreError> {
    let status = Status::from_word(row.word(5)?);
    status.ok_or_else(|| StoreError::corrupt("an unknown status of an access"))
}

pub(crate) fn read(row: &Row<'_>) -> Result<Access, StoreError> {
    let is_terminating = row.integer(11)? != 0;
    let end_before = row.optional_time(12)?;
    Ok(Access {
        id: AccessId::from_bytes(row.id(0)?),
        contract_id: row.parsed(1)?,
        offering_id: row.parsed(2)?,
        username: row.parsed(3)?,
        device_name: row.optional_parsed(4)?,
        status: read_status(row)?,
        start: row.time(6)?,
        end: row.optional_time(7)?,
        created_by: row.optional_id(8)?.map(TaskId::from_bytes),
        created_at: row.time(9)?,
        first_connected_at: row.optional_time(10)?,
        termination: is_terminating.then_some(PlannedTermination { end_before }),
        version: row.count(13)?,
    })
}

pub(crate) fn read_stored(row: &Row<'_>) -> Result<Stored, StoreError> {
    Ok(Stored { access: read(row)?, password: StoredHash::new(row.text(15)?) })
}

/// An access with its number in the tenant.
pub(crate) fn read_numbered(row: &Row<'_>) -> Result<(u64, Access), StoreError> {
    Ok((row.count(14)?, read(row)?))
}
