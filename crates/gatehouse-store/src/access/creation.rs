//! Creating accesses: each gets its running numbers, in one transaction with the tenant's other creations of that
//! moment.

use std::collections::{HashMap, HashSet};

use futures_util::future::{try_join, try_join_all};
use gatehouse_core::credential::StoredHash;
use gatehouse_core::event::Origin;
use gatehouse_core::lifecycle::{self, StateConflict};
use gatehouse_core::list::{NumberedSet, SetSize};
use gatehouse_core::task::{FailedItem, ItemReference};
use gatehouse_core::{
    Access, AccessId, BatchFailure, ContractId, DeviceName, Labels, RequestKey, TaskId, TenantName,
    Timestamp, Username,
};

use crate::Store;
use crate::access::bulk::{self, Numbered};
use crate::access::username_reuse::Usernames;
use crate::counts::derived_counts::DerivedCounts;
use crate::counts::{counter, day, tally};
use crate::db::{Tx, WriteKind};
use crate::error::StoreError;
use crate::request::{self, IdempotentRequest, RequestResult};
use crate::setup::contract::{self, CountedContract};
use crate::task::chunk::{ChunkTimer, ItemResult, PlannedItem, PlannedItems};

/// An access to create. The contract decides its status, start and end.
#[derive(Clone, Debug)]
pub struct NewAccess {
    /// The access's identifier.
    pub id: AccessId,
    /// The contract that the access belongs to.
    pub contract_id: ContractId,
    /// The username that the device connects with.
    pub username: Username,
    /// Whether the username is random and long enough to be unique. Then it isn't checked, and a collision fails the
    /// whole transaction with [`StoreError::Taken`].
    pub is_drawn: bool,
    /// The password hash.
    pub password: StoredHash,
    /// The device's name.
    pub device_name: Option<DeviceName>,
    /// The labels.
    pub labels: Labels,
    /// The Task that creates the access.
    pub created_by: Option<TaskId>,
    /// The request's idempotency key and digest; `None` without a key.
    pub idempotent: Option<IdempotentRequest>,
    /// Where the access comes from.
    pub origin: Origin,
}

/// Why an access was not created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CreateRefused {
    /// The tenant doesn't exist.
    NoTenant,
    /// The tenant has no such contract.
    NoContract,
    /// Another access of the tenant has the username.
    UsernameTaken,
    /// The contract's present state doesn't allow another access.
    Refused(StateConflict),
    /// The idempotency key is in use: the request was processed before, or the key belongs to another request.
    Repeated,
}

impl Store {
    /// Creates one access, durably, with the next running number of every set that it belongs to.
    pub async fn create_access(
        &self,
        tenant: &TenantName,
        new: NewAccess,
    ) -> Result<Result<Access, CreateRefused>, StoreError> {
        // Checked before the group, because creations in a group share a failure.
        self.usernames.refuse_unreadable(new.username.as_str())?;
        self.creation_groups.create(&self.db, &self.usernames, tenant, new).await
    }

    /// Creates several accesses in this order, in a transaction of their own, to fill a store. Each has its own result.
    pub async fn create_accesses(
        &self,
        tenant: &TenantName,
        new: Vec<NewAccess>,
    ) -> Result<Vec<Result<Access, CreateRefused>>, StoreError> {
        let (tenant, usernames) = (tenant.clone(), self.usernames.clone());
        let made = self.db.write(WriteKind::Batch(tenant.clone()), async move |tx| {
            let counter = counter::lock_tenant(&tx, &tenant).await?;
            create_numbered(&tx, &usernames, &tenant, counter, new).await
        });
        made.await
    }
}

/// Creates accesses of a tenant whose counter is locked; `None` for an unknown tenant. Each access has its own result.
///
/// Lock, read, decide, write: an access whose username is taken gets no number, so a conflict leaves no gap.
pub(crate) async fn create_numbered(
    tx: &Tx,
    usernames: &Usernames,
    tenant: &TenantName,
    counter: Option<SetSize>,
    new: Vec<NewAccess>,
) -> Result<Vec<Result<Access, CreateRefused>>, StoreError> {
    let Some(counter) = counter else {
        return Ok(new.iter().map(|_| Err(CreateRefused::NoTenant)).collect());
    };
    let wanted: Vec<&NewAccess> = new.iter().collect();
    let mut ledger = Ledger::open(tx, usernames, tenant, &wanted, counter).await?;
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
    if numbered.is_empty() {
        // Accesses that held a username may have expired all the same.
        ledger.counts.write(tx, tenant).await?;
    } else {
        try_join(bulk::insert(tx, tenant, &numbered), ledger.close(tx, tenant)).await?;
    }
    Ok(created)
}

/// Quota that a batch has reserved, for the accesses that it creates.
pub(crate) struct ReservedQuota {
    /// The tenant's counter, which is locked.
    pub(crate) counter: SetSize,
    /// The contract of all accesses of the batch.
    pub(crate) contract_id: ContractId,
    /// Accesses that the batch has reserved in its contract and not created.
    pub(crate) n_reserved: u64,
}

/// Creates the accesses of a batch, which have one contract and one job, until the timer is over. Returns the results,
/// and the items that are left.
pub(crate) async fn create_reserved(
    tx: &Tx,
    usernames: &Usernames,
    tenant: &TenantName,
    mut items: PlannedItems<NewAccess>,
    reserved: ReservedQuota,
    timer: &ChunkTimer,
) -> Result<(Vec<ItemResult>, PlannedItems<NewAccess>), StoreError> {
    let mut n_at_once = bulk::rows_at_once(tx, 0);
    let mut first: Vec<&NewAccess> =
        items.iter().take(n_at_once).filter_map(|(_, item)| item.to_do()).collect();
    if first.is_empty() {
        first.extend(items.iter().find_map(|(_, item)| item.to_do()));
    }
    let mut ledger = Ledger::open(tx, usernames, tenant, &first, reserved.counter).await?;
    ledger.use_reserved(&reserved.contract_id, reserved.n_reserved);
    let mut results = Vec::new();
    loop {
        let n_now = items.len().min(n_at_once);
        let mut numbered = Vec::with_capacity(n_now);
        results.extend(items.drain(..n_now).map(|(index, item)| match item {
            PlannedItem::Do(new) => ledger.enter_item(index, new).map(|one| numbered.push(one)),
            PlannedItem::Fail(name, failure) => {
                Err(Box::new(FailedItem { ordinal: 0, index, name, failure }))
            }
        }));
        bulk::insert(tx, tenant, &numbered).await?;
        if items.is_empty() || timer.is_over(tx).await? {
            break;
        }
        n_at_once = bulk::rows_at_once(tx, results.len());
        let next = items.iter().take(n_at_once).filter_map(|(_, item)| item.to_do());
        // The usernames of earlier items are in the table by now.
        let taken = usernames.taken(tx, tenant, &usernames_in_doubt(next)).await?;
        ledger.taken = taken.expire_holders(tx, tenant, ledger.now, &mut ledger.counts).await?;
    }
    let n_done = i64::try_from(results.len()).map_err(StoreError::corrupt)?;
    // A failed item gives its reservation back, too.
    let given_back = tally::reserve(tx, tenant, &reserved.contract_id, -n_done);
    try_join(given_back, ledger.close(tx, tenant)).await?;
    Ok((results, items))
}

/// State that decides about new accesses: read under the tenant's lock, and updated with each decision.
struct Ledger {
    now: Timestamp,
    created_at: Timestamp,
    taken: HashSet<String>,
    contracts: HashMap<ContractId, CountedContract>,
    counters: HashMap<NumberedSet, SetSize>,
    n_created: u64,
    counts: DerivedCounts,
    keys: HashSet<RequestKey>,
    idempotent: Vec<(IdempotentRequest, Access)>,
}

impl Ledger {
    async fn open(
        tx: &Tx,
        usernames: &Usernames,
        tenant: &TenantName,
        new: &[&NewAccess],
        counter: SetSize,
    ) -> Result<Self, StoreError> {
        let in_doubt = usernames_in_doubt(new.iter().copied());
        let ids: HashSet<&ContractId> = new.iter().map(|new| &new.contract_id).collect();
        let jobs: HashSet<NumberedSet> =
            new.iter().filter_map(|new| job_set(new.created_by)).collect();
        let jobs = try_join_all(jobs.into_iter().map(async |set| {
            let counter = counter::get(tx, tenant, &set).await?;
            Ok::<_, StoreError>(counter.map(|counter| (set, counter)))
        }));
        let taken = usernames.taken(tx, tenant, &in_doubt);
        let (now, (taken, jobs)) = try_join(tx.now(), try_join(taken, jobs)).await?;
        let contracts = ids.into_iter().map(|id| read_contract(tx, tenant, id, now));
        let idempotent: Vec<&IdempotentRequest> =
            new.iter().filter_map(|new| new.idempotent.as_ref()).collect();
        let keys = request::in_use(tx, tenant, &idempotent, now);
        let (contracts, keys) = try_join(try_join_all(contracts), keys).await?;
        // After the contracts, whose counts exclude expired accesses already, and before any derived count is written.
        let mut counts = DerivedCounts::of(tx);
        let taken = taken.expire_holders(tx, tenant, now, &mut counts).await?;

        let mut ledger = Self {
            now,
            // Never before its predecessor: creation times rise with the numbers.
            created_at: now.max(counter.latest_at),
            taken,
            contracts: HashMap::new(),
            counters: HashMap::from([(NumberedSet::Tenant, counter)]),
            n_created: 0,
            counts,
            keys: keys.into_iter().collect(),
            idempotent: Vec::new(),
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
        // First, because the access that was created for this key may be what prevents another one now.
        if new.idempotent.as_ref().is_some_and(|idempotent| self.keys.contains(&idempotent.key)) {
            return Err(CreateRefused::Repeated);
        }
        let counted = self.contracts.get_mut(&new.contract_id).ok_or(CreateRefused::NoContract)?;
        if self.taken.contains(new.username.as_str()) {
            return Err(CreateRefused::UsernameTaken);
        }
        let initial = lifecycle::initial_state(&counted.contract, counted.n_taken(), self.now)
            .map_err(CreateRefused::Refused)?;
        counted.n_live += 1;
        let offering_id = counted.contract.offering_id.clone();
        if !new.is_drawn {
            self.taken.insert(new.username.as_str().to_owned());
        }
        let access = Access {
            id: new.id,
            contract_id: new.contract_id,
            offering_id,
            username: new.username,
            device_name: new.device_name,
            status: initial.status,
            start: initial.start,
            end: initial.end,
            created_by: new.created_by,
            created_at: self.created_at,
            first_connected_at: None,
            termination: None,
            version: 1,
            labels: new.labels,
        };
        self.n_created += 1;
        let number = self.next(NumberedSet::Tenant);
        self.counts.add_new(number, &access, &new.origin);
        if let Some(idempotent) = new.idempotent {
            self.keys.insert(idempotent.key.clone());
            self.idempotent.push((idempotent, access.clone()));
        }
        Ok(Numbered {
            number,
            offering_number: self.next(NumberedSet::Offering(access.offering_id.clone())),
            contract_number: self.next(NumberedSet::Contract(access.contract_id.clone())),
            job_number: job_set(access.created_by).map(|set| self.next(set)),
            password_hash: new.password.as_str().to_owned(),
            access,
        })
    }

    /// Decides about one item of a batch, whose failure becomes a [`FailedItem`].
    fn enter_item(&mut self, index: u32, new: NewAccess) -> Result<Numbered, Box<FailedItem>> {
        let (contract_id, username) = (new.contract_id.clone(), new.username.clone());
        let device_name = new.device_name.as_ref().map(ToString::to_string);
        self.enter(new).map_err(|refused| {
            let failure = match refused {
                CreateRefused::NoTenant | CreateRefused::NoContract => {
                    BatchFailure::unknown_contract(&contract_id)
                }
                // The items of a batch have no idempotency keys.
                CreateRefused::UsernameTaken | CreateRefused::Repeated => {
                    BatchFailure::username_taken(&username)
                }
                CreateRefused::Refused(refusal) => BatchFailure::refused(&refusal),
            };
            let username = Some(username.to_string());
            let name = ItemReference { access_id: None, username, device_name };
            Box::new(FailedItem { ordinal: 0, index, name, failure })
        })
    }

    /// Takes `n` accesses out of the contract's reservations: the batch that reserved them uses them now.
    fn use_reserved(&mut self, contract_id: &ContractId, n: u64) {
        if let Some(counted) = self.contracts.get_mut(contract_id) {
            counted.n_reserved = counted.n_reserved.saturating_sub(n);
        }
    }

    fn next(&mut self, set: NumberedSet) -> u64 {
        let none = SetSize { total: 0, latest_at: self.created_at };
        let counter = self.counters.entry(set).or_insert(none);
        counter.total += 1;
        counter.latest_at = self.created_at;
        counter.total
    }

    /// Writes the counters, days and other derived counts.
    async fn close(&self, tx: &Tx, tenant: &TenantName) -> Result<(), StoreError> {
        let counters =
            self.counters.iter().filter(|(_, counter)| counter.latest_at == self.created_at);
        let counters =
            try_join_all(counters.map(|(set, counter)| counter::put(tx, tenant, set, *counter)));
        // Only creations count in this row, and they hold the tenant's lock.
        let today =
            day::add(tx, tenant, day::DayEvent::Created, self.created_at.day(), self.n_created);
        try_join(today, try_join(counters, self.counts.write(tx, tenant))).await?;
        self.remember(tx, tenant).await
    }

    /// Stores the results of requests with an idempotency key.
    async fn remember(&self, tx: &Tx, tenant: &TenantName) -> Result<(), StoreError> {
        let put = self.idempotent.iter().map(async |(idempotent, access)| {
            match request::put(tx, tenant, idempotent, RequestResult::Access(access), self.now)
                .await?
            {
                true => Ok(()),
                false => Err(StoreError::corrupt("a key that was used under the lock")),
            }
        });
        try_join_all(put).await.map(drop)
    }
}

/// The usernames that another access may have.
fn usernames_in_doubt<'a>(new: impl Iterator<Item = &'a NewAccess>) -> Vec<&'a str> {
    new.filter(|new| !new.is_drawn).map(|new| new.username.as_str()).collect()
}

fn job_set(job: Option<TaskId>) -> Option<NumberedSet> {
    job.map(NumberedSet::Job)
}

type CountersOfContract = [(NumberedSet, SetSize); 2];

async fn read_contract(
    tx: &Tx,
    tenant: &TenantName,
    id: &ContractId,
    now: Timestamp,
) -> Result<Option<(CountedContract, CountersOfContract)>, StoreError> {
    let Some(counted) = contract::read_limited_in(tx, tenant, id, now).await? else {
        return Ok(None);
    };
    let contract = NumberedSet::Contract(id.clone());
    let offering = NumberedSet::Offering(counted.contract.offering_id.clone());
    let missing = || StoreError::corrupt("a contract without its counters");
    let (of_contract, of_offering) =
        try_join(counter::get(tx, tenant, &contract), counter::get(tx, tenant, &offering)).await?;
    let counters = [
        (contract, of_contract.ok_or_else(missing)?),
        (offering, of_offering.ok_or_else(missing)?),
    ];
    Ok(Some((counted, counters)))
}
