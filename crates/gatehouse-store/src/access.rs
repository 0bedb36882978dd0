//! Accesses: made under running numbers, read by identifier or username, changed by a rule.

use std::collections::{HashMap, HashSet};

use futures_util::future::{try_join, try_join_all};
use gatehouse_core::access::PlannedTermination;
use gatehouse_core::credential::StoredHash;
use gatehouse_core::lifecycle::{self, Refusal};
use gatehouse_core::{
    Access, AccessId, Contract, ContractId, DeviceName, Status, TaskId, TenantName, Timestamp,
    Username,
};

use crate::Store;
use crate::bulk::{self, Numbered};
use crate::contract::{self, CountedContract};
use crate::counter::{self, Counter, Set};
use crate::db::{Row, Tx};
use crate::error::StoreError;

/// The columns of an access, in the order that [`read`] and [`read_stored`] read them.
macro_rules! columns {
    () => {
        "SELECT id, contract_id, offering_id, username, device_name, status, start_at, end_at, job, \
         created_at, first_connected_at, is_terminating, end_before, version, password_hash \
         FROM access"
    };
}
/// An access that is to be made. Its contract decides the rest.
#[derive(Clone, Debug)]
pub struct NewAccess {
    /// Its identifier.
    pub id: AccessId,
    /// The contract that it is to belong to.
    pub contract_id: ContractId,
    /// What its device will connect with.
    pub username: Username,
    /// What is kept of its password.
    pub password: StoredHash,
    /// Its device's name.
    pub device_name: Option<DeviceName>,
    /// The task that makes it.
    pub created_by: Option<TaskId>,
}

/// Why an access was not made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CreateRefused {
    /// The tenant doesn't exist.
    NoTenant,
    /// The tenant has no such contract.
    NoContract,
    /// Another access of the tenant has the username, or had it.
    UsernameTaken,
    /// The contract's present state doesn't allow it.
    Refused(Refusal),
}

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
    /// Makes one access, durably, with the next running number of every set it belongs to.
    pub async fn create_access(
        &self,
        tenant: &TenantName,
        new: NewAccess,
    ) -> Result<Result<Access, CreateRefused>, StoreError> {
        if !self.db.gathers_writes() {
            return self.gather.create(&self.db, tenant, new).await;
        }
        let tenant = tenant.clone();
        let created =
            self.db.write(async move |tx| create_all(&tx, &tenant, vec![new]).await).await?;
        created.into_iter().next().ok_or_else(|| StoreError::corrupt("an answer is missing"))
    }

    /// The access of this identifier, as it was last written.
    pub async fn access(
        &self,
        tenant: &TenantName,
        id: AccessId,
    ) -> Result<Option<Access>, StoreError> {
        let sql = concat!(columns!(), " WHERE tenant = ?1 AND id = ?2");
        let values = [tenant.as_str().into(), id.as_bytes().as_slice().into()];
        self.db.row(sql, &values, read).await
    }

    /// What a device's credentials are checked against.
    pub async fn access_by_username(
        &self,
        tenant: &TenantName,
        username: &Username,
    ) -> Result<Option<Stored>, StoreError> {
        let sql = concat!(columns!(), " WHERE tenant = ?1 AND username = ?2");
        let values = [tenant.as_str().into(), username.as_str().into()];
        self.db.row(sql, &values, read_stored).await
    }

    /// Changes an access by a rule, alone with it from reading to writing; `None` when it isn't there.
    pub async fn change_access<E, Rule>(
        &self,
        tenant: &TenantName,
        id: AccessId,
        rule: Rule,
    ) -> Result<Option<Access>, E>
    where
        E: From<StoreError> + Send + 'static,
        Rule: FnOnce(&Stored, &Contract) -> Result<Change, E> + Send + 'static,
    {
        let tenant = tenant.clone();
        self.db
            .write(async move |tx| {
                let sql = concat!(columns!(), " WHERE tenant = ?1 AND id = ?2");
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

/// Makes accesses of one tenant: all that can be made are, the others say why not.
///
/// Lock, read, decide, write: a username that is taken never gets as far as a number, so a conflict
/// leaves no gap.
pub(crate) async fn create_all(
    tx: &Tx,
    tenant: &TenantName,
    new: Vec<NewAccess>,
) -> Result<Vec<Result<Access, CreateRefused>>, StoreError> {
    let Some(counter) = counter::lock_tenant(tx, tenant).await? else {
        return Ok(new.iter().map(|_| Err(CreateRefused::NoTenant)).collect());
    };
    let mut ledger = Ledger::open(tx, tenant, &new, counter).await?;
    let mut numbered = Vec::new();
    let created = new
        .into_iter()
        .map(|new| {
            let entry = ledger.enter(new)?;
            let access = entry.access.clone();
            numbered.push(entry);
            Ok(access)
        })
        .collect();
    if !numbered.is_empty() {
        try_join(bulk::insert(tx, tenant, &numbered), ledger.close(tx, tenant)).await?;
    }
    Ok(created)
}

/// What deciding about new accesses needs, read under the tenant's lock and kept while deciding.
struct Ledger {
    now: Timestamp,
    created_at: Timestamp,
    taken: HashSet<String>,
    contracts: HashMap<ContractId, CountedContract>,
    counters: HashMap<Set, Counter>,
    n_added: HashMap<ContractId, i64>,
}

impl Ledger {
    async fn open(
        tx: &Tx,
        tenant: &TenantName,
        new: &[NewAccess],
        counter: Counter,
    ) -> Result<Self, StoreError> {
        let usernames: Vec<&str> = new.iter().map(|new| new.username.as_str()).collect();
        let ids: HashSet<&ContractId> = new.iter().map(|new| &new.contract_id).collect();
        let jobs: HashSet<Set> = new.iter().filter_map(|new| job_set(new.created_by)).collect();
        let jobs = try_join_all(jobs.into_iter().map(async |set| {
            let counter = counter::get(tx, tenant, &set).await?;
            Ok::<_, StoreError>(counter.map(|counter| (set, counter)))
        }));
        let taken = bulk::taken_usernames(tx, tenant, &usernames);
        let (now, (taken, jobs)) = try_join(tx.now(), try_join(taken, jobs)).await?;
        let contracts = ids.into_iter().map(|id| read_contract(tx, tenant, id, now));
        let contracts = try_join_all(contracts).await?;

        let mut ledger = Self {
            now,
            // Never before its predecessor: creation times rise with the numbers.
            created_at: now.max(counter.latest_at),
            taken,
            contracts: HashMap::new(),
            counters: HashMap::from([(Set::Tenant, counter)]),
            n_added: HashMap::new(),
        };
        ledger.counters.extend(jobs.into_iter().flatten());
        for (contract, counters) in contracts.into_iter().flatten() {
            ledger.counters.extend(counters);
            ledger.contracts.insert(contract.contract.id.clone(), contract);
        }
        Ok(ledger)
    }

    /// Decides about one new access and numbers it.
    fn enter(&mut self, new: NewAccess) -> Result<Numbered, CreateRefused> {
        let counted = self.contracts.get_mut(&new.contract_id).ok_or(CreateRefused::NoContract)?;
        if self.taken.contains(new.username.as_str()) {
            return Err(CreateRefused::UsernameTaken);
        }
        let opening = lifecycle::open(&counted.contract, counted.n_live, self.now)
            .map_err(CreateRefused::Refused)?;
        counted.n_live += 1;
        let offering_id = counted.contract.offering_id.clone();
        *self.n_added.entry(new.contract_id.clone()).or_default() += 1;
        self.taken.insert(new.username.as_str().to_owned());
        Ok(Numbered {
            number: self.next(Set::Tenant),
            offering_number: self.next(Set::Offering(offering_id.to_string())),
            contract_number: self.next(Set::Contract(new.contract_id.to_string())),
            job_number: job_set(new.created_by).map(|set| self.next(set)),
            password_hash: new.password.as_str().to_owned(),
            access: Access {
                id: new.id,
                contract_id: new.contract_id,
                offering_id,
                username: new.username,
                device_name: new.device_name,
                status: opening.status,
                start: opening.start,
                end: opening.end,
                created_by: new.created_by,
                created_at: self.created_at,
                first_connected_at: None,
                termination: None,
                version: 1,
            },
        })
    }

    fn next(&mut self, set: Set) -> u64 {
        let none = Counter { total: 0, latest_at: self.created_at };
        let counter = self.counters.entry(set).or_insert(none);
        counter.total += 1;
        counter.latest_at = self.created_at;
        counter.total
    }

    /// Writes down what has changed.
    async fn close(&self, tx: &Tx, tenant: &TenantName) -> Result<(), StoreError> {
        let counters =
            self.counters.iter().filter(|(_, counter)| counter.latest_at == self.created_at);
        let counters =
            try_join_all(counters.map(|(set, counter)| counter::put(tx, tenant, set, *counter)));
        let added =
            try_join_all(self.n_added.iter().map(|(id, n)| contract::add_live(tx, tenant, id, *n)));
        try_join(counters, added).await.map(drop)
    }
}

fn job_set(job: Option<TaskId>) -> Option<Set> {
    job.map(|job| Set::Job(job.to_string()))
}

type CountersOfContract = [(Set, Counter); 2];

async fn read_contract(
    tx: &Tx,
    tenant: &TenantName,
    id: &ContractId,
    now: Timestamp,
) -> Result<Option<(CountedContract, CountersOfContract)>, StoreError> {
    let Some(counted) = contract::read_limited_in(tx, tenant, id, now).await? else {
        return Ok(None);
    };
    let contract = Set::Contract(id.to_string());
    let offering = Set::Offering(counted.contract.offering_id.to_string());
    let missing = || StoreError::corrupt("a contract without its counters");
    let (of_contract, of_offering) =
        try_join(counter::get(tx, tenant, &contract), counter::get(tx, tenant, &offering)).await?;
    let counters = [
        (contract, of_contract.ok_or_else(missing)?),
        (offering, of_offering.ok_or_else(missing)?),
    ];
    Ok(Some((counted, counters)))
}

async fn write_change(
    tx: &Tx,
    tenant: &TenantName,
    before: &Stored,
    change: &Change,
) -> Result<(), StoreError> {
    let after = &change.access;
    if before.access == *after && change.password.is_none() {
        return Ok(());
    }
    let sql = "UPDATE access SET status = ?3, start_at = ?4, end_at = ?5, \
               first_connected_at = ?6, is_terminating = ?7, end_before = ?8, version = ?9, \
               password_hash = ?10 WHERE tenant = ?1 AND id = ?2";
    let values = [
        tenant.as_str().into(),
        after.id.as_bytes().as_slice().into(),
        after.status.as_str().into(),
        after.start.into(),
        after.end.into(),
        after.first_connected_at.into(),
        i64::from(after.termination.is_some()).into(),
        after.termination.and_then(|planned| planned.end_before).into(),
        after.version.into(),
        change.password.as_ref().unwrap_or(&before.password).as_str().into(),
    ];
    tx.execute(sql, &values).await?;
    if before.access.status != Status::Terminated && after.status == Status::Terminated {
        contract::add_live(tx, tenant, &after.contract_id, -1).await?;
    }
    Ok(())
}

fn read(row: &Row<'_>) -> Result<Access, StoreError> {
    let status = Status::from_word(&row.text(5)?);
    let is_terminating = row.integer(11)? != 0;
    let end_before = row.optional_time(12)?;
    let device_name = row.optional_text(4)?;
    Ok(Access {
        id: AccessId::from_bytes(row.id(0)?),
        contract_id: row.parsed(1)?,
        offering_id: row.parsed(2)?,
        username: row.parsed(3)?,
        device_name: device_name
            .map(|name| name.parse())
            .transpose()
            .map_err(StoreError::corrupt)?,
        status: status.ok_or_else(|| StoreError::corrupt("an unknown status of an access"))?,
        start: row.time(6)?,
        end: row.optional_time(7)?,
        created_by: row.optional_id(8)?.map(TaskId::from_bytes),
        created_at: row.time(9)?,
        first_connected_at: row.optional_time(10)?,
        termination: is_terminating.then_some(PlannedTermination { end_before }),
        version: row.count(13)?,
    })
}

fn read_stored(row: &Row<'_>) -> Result<Stored, StoreError> {
    Ok(Stored { access: read(row)?, password: StoredHash::new(row.text(14)?) })
}
