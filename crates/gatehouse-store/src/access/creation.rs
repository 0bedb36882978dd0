//! Making accesses: every new one gets its running numbers, in one transaction with whatever else is
//! made for the tenant at that moment.

use std::collections::{HashMap, HashSet};

use futures_util::future::{try_join, try_join_all};
use gatehouse_core::credential::StoredHash;
use gatehouse_core::lifecycle::{self, Refusal};
use gatehouse_core::list::{Set, Size};
use gatehouse_core::task::{FailedItem, ItemName};
use gatehouse_core::{
    Access, AccessId, ContractId, DeviceName, RequestKey, TaskId, TenantName, Timestamp, Trouble,
    Username,
};

use crate::Store;
use crate::access::bulk::{self, Numbered};
use crate::access::usernames::Usernames;
use crate::counts::derived_counts::Moves;
use crate::counts::{counter, day, tally};
use crate::db::Tx;
use crate::error::StoreError;
use crate::request::{self, Made, Once};
use crate::setup::contract::{self, CountedContract};
use crate::task::stretch::{ItemResult, Items, Planned, Watch};

/// An access that is to be made. Its contract decides the rest.
#[derive(Clone, Debug)]
pub struct NewAccess {
    /// Its identifier.
    pub id: AccessId,
    /// The contract that it is to belong to.
    pub contract_id: ContractId,
    /// What its device will connect with.
    pub username: Username,
    /// Whether the username was drawn from so many that nobody can have it. Then nobody looks whether somebody
    /// has, and if so, [`StoreError::Taken`] comes back and nothing is done.
    pub is_drawn: bool,
    /// What is kept of its password.
    pub password: StoredHash,
    /// Its device's name.
    pub device_name: Option<DeviceName>,
    /// The task that makes it.
    pub created_by: Option<TaskId>,
    /// The request that it is made for, where that is to be done once.
    pub once: Option<Once>,
}

/// Why an access was not made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CreateRefused {
    /// The tenant doesn't exist.
    NoTenant,
    /// The tenant has no such contract.
    NoContract,
    /// Another access of the tenant has the username.
    UsernameTaken,
    /// The contract's present state doesn't allow it.
    Refused(Refusal),
    /// The key of the request is in use: it was done already, or means something else.
    Repeated,
}

impl Store {
    /// Makes one access, durably, with the next running number of every set it belongs to.
    pub async fn create_access(
        &self,
        tenant: &TenantName,
        new: NewAccess,
    ) -> Result<Result<Access, CreateRefused>, StoreError> {
        // Here, because creations that are gathered share a failure.
        self.usernames.refuse_unreadable(new.username.as_str())?;
        self.gather.create(&self.db, &self.usernames, tenant, new).await
    }

    /// Makes several at once, in this order, together with nobody else's, for those who fill a store: all that can be made
    /// are, the others say why not.
    pub async fn create_accesses(
        &self,
        tenant: &TenantName,
        new: Vec<NewAccess>,
    ) -> Result<Vec<Result<Access, CreateRefused>>, StoreError> {
        let (tenant, usernames) = (tenant.clone(), self.usernames.clone());
        let made = self.db.write_long(tenant.clone(), async move |tx| {
            let counter = counter::lock_tenant(&tx, &tenant).await?;
            create_numbered(&tx, &usernames, &tenant, counter, new).await
        });
        made.await
    }
}

/// Makes accesses of a tenant whose counter is locked; there is none where there is no such tenant. All that can be made
/// are, the others say why not.
///
/// Lock, read, decide, write: a username that is taken never gets as far as a number, so a conflict
/// leaves no gap.
pub(crate) async fn create_numbered(
    tx: &Tx,
    usernames: &Usernames,
    tenant: &TenantName,
    counter: Option<Size>,
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
        // Ends may have been written down all the same.
        ledger.moves.write(tx, tenant).await?;
    } else {
        try_join(bulk::insert(tx, tenant, &numbered), ledger.close(tx, tenant)).await?;
    }
    Ok(created)
}

/// Where the accesses of a batch go.
pub(crate) struct Room {
    /// The tenant's counter, which is locked.
    pub(crate) counter: Size,
    /// The contract that they belong to.
    pub(crate) contract_id: ContractId,
    /// Places that the batch has reserved in its contract and not used.
    pub(crate) n_reserved: u64,
}

/// Makes the accesses of a batch, all of one contract and one job, one after the other, until patience is
/// over; what is not done then comes back.
pub(crate) async fn create_reserved(
    tx: &Tx,
    usernames: &Usernames,
    tenant: &TenantName,
    mut items: Items<NewAccess>,
    room: Room,
    watch: &Watch,
) -> Result<(Vec<ItemResult>, Items<NewAccess>), StoreError> {
    let mut n_at_once = bulk::rows_at_once(tx, 0);
    let mut first: Vec<&NewAccess> =
        items.iter().take(n_at_once).filter_map(|(_, item)| item.to_do()).collect();
    if first.is_empty() {
        first.extend(items.iter().find_map(|(_, item)| item.to_do()));
    }
    let mut ledger = Ledger::open(tx, usernames, tenant, &first, room.counter).await?;
    ledger.use_reserved(&room.contract_id, room.n_reserved);
    let mut results = Vec::new();
    loop {
        let n_now = items.len().min(n_at_once);
        let mut numbered = Vec::with_capacity(n_now);
        results.extend(items.drain(..n_now).map(|(index, item)| match item {
            Planned::Do(new) => ledger.enter_item(index, new).map(|one| numbered.push(one)),
            Planned::Fail(name, trouble) => {
                Err(Box::new(FailedItem { ordinal: 0, index, name, trouble }))
            }
        }));
        bulk::insert(tx, tenant, &numbered).await?;
        if items.is_empty() || watch.is_over(tx).await? {
            break;
        }
        n_at_once = bulk::rows_at_once(tx, results.len());
        let next = items.iter().take(n_at_once).filter_map(|(_, item)| item.to_do());
        // What was entered before is in its table by now.
        let taken = usernames.taken(tx, tenant, &usernames_in_doubt(next)).await?;
        ledger.taken = taken.settle(tx, tenant, ledger.now, &mut ledger.moves).await?;
    }
    let n_done = i64::try_from(results.len()).map_err(StoreError::corrupt)?;
    // Used or not: an item that failed needs its place no more.
    let given_back = tally::reserve(tx, tenant, &room.contract_id, -n_done);
    try_join(given_back, ledger.close(tx, tenant)).await?;
    Ok((results, items))
}

/// What deciding about new accesses needs, read under the tenant's lock and kept while deciding.
struct Ledger {
    now: Timestamp,
    created_at: Timestamp,
    taken: HashSet<String>,
    contracts: HashMap<ContractId, CountedContract>,
    counters: HashMap<Set, Size>,
    n_created: u64,
    moves: Moves,
    keys: HashSet<RequestKey>,
    once: Vec<(Once, Access)>,
}

impl Ledger {
    async fn open(
        tx: &Tx,
        usernames: &Usernames,
        tenant: &TenantName,
        new: &[&NewAccess],
        counter: Size,
    ) -> Result<Self, StoreError> {
        let in_doubt = usernames_in_doubt(new.iter().copied());
        let ids: HashSet<&ContractId> = new.iter().map(|new| &new.contract_id).collect();
        let jobs: HashSet<Set> = new.iter().filter_map(|new| job_set(new.created_by)).collect();
        let jobs = try_join_all(jobs.into_iter().map(async |set| {
            let counter = counter::get(tx, tenant, &set).await?;
            Ok::<_, StoreError>(counter.map(|counter| (set, counter)))
        }));
        let taken = usernames.taken(tx, tenant, &in_doubt);
        let (now, (taken, jobs)) = try_join(tx.now(), try_join(taken, jobs)).await?;
        let contracts = ids.into_iter().map(|id| read_contract(tx, tenant, id, now));
        let once: Vec<&Once> = new.iter().filter_map(|new| new.once.as_ref()).collect();
        let keys = request::in_use(tx, tenant, &once, now);
        let (contracts, keys) = try_join(try_join_all(contracts), keys).await?;
        // Behind the contracts, which count without these ends already, and before all that is counted is written.
        let mut moves = Moves::default();
        let taken = taken.settle(tx, tenant, now, &mut moves).await?;

        let mut ledger = Self {
            now,
            // Never before its predecessor: creation times rise with the numbers.
            created_at: now.max(counter.latest_at),
            taken,
            contracts: HashMap::new(),
            counters: HashMap::from([(Set::Tenant, counter)]),
            n_created: 0,
            moves,
            keys: keys.into_iter().collect(),
            once: Vec::new(),
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
        // First of all: what was made for the key may be what would be in the way now.
        if new.once.as_ref().is_some_and(|once| self.keys.contains(&once.key)) {
            return Err(CreateRefused::Repeated);
        }
        let counted = self.contracts.get_mut(&new.contract_id).ok_or(CreateRefused::NoContract)?;
        if self.taken.contains(new.username.as_str()) {
            return Err(CreateRefused::UsernameTaken);
        }
        let opening = lifecycle::open(&counted.contract, counted.n_taken(), self.now)
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
            status: opening.status,
            start: opening.start,
            end: opening.end,
            created_by: new.created_by,
            created_at: self.created_at,
            first_connected_at: None,
            termination: None,
            version: 1,
        };
        self.n_created += 1;
        self.moves.open(&access);
        if let Some(once) = new.once {
            self.keys.insert(once.key.clone());
            self.once.push((once, access.clone()));
        }
        Ok(Numbered {
            number: self.next(Set::Tenant),
            offering_number: self.next(Set::Offering(access.offering_id.clone())),
            contract_number: self.next(Set::Contract(access.contract_id.clone())),
            job_number: job_set(access.created_by).map(|set| self.next(set)),
            password_hash: new.password.as_str().to_owned(),
            access,
        })
    }

    /// The same for an item of a batch, whose failure is a value beside the others.
    fn enter_item(&mut self, index: u32, new: NewAccess) -> Result<Numbered, Box<FailedItem>> {
        let (contract_id, username) = (new.contract_id.clone(), new.username.clone());
        let device_name = new.device_name.as_ref().map(ToString::to_string);
        self.enter(new).map_err(|refused| {
            let trouble = match refused {
                CreateRefused::NoTenant | CreateRefused::NoContract => {
                    Trouble::unknown_contract(&contract_id)
                }
                // The items of a batch have no keys of their own.
                CreateRefused::UsernameTaken | CreateRefused::Repeated => {
                    Trouble::username_taken(&username)
                }
                CreateRefused::Refused(refusal) => Trouble::refused(&refusal),
            };
            let username = Some(username.to_string());
            let name = ItemName { access_id: None, username, device_name };
            Box::new(FailedItem { ordinal: 0, index, name, trouble })
        })
    }

    /// Takes places out of those that are reserved: who has reserved them uses them now.
    fn use_reserved(&mut self, contract_id: &ContractId, n: u64) {
        if let Some(counted) = self.contracts.get_mut(contract_id) {
            counted.n_reserved = counted.n_reserved.saturating_sub(n);
        }
    }

    fn next(&mut self, set: Set) -> u64 {
        let none = Size { total: 0, latest_at: self.created_at };
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
        // The day is one that only creations count in, and they take turns.
        let today = day::add(tx, tenant, day::Kind::Created, self.created_at.day(), self.n_created);
        try_join(today, try_join(counters, self.moves.write(tx, tenant))).await?;
        self.remember(tx, tenant).await
    }

    /// Writes down what was made for requests that are to be done once.
    async fn remember(&self, tx: &Tx, tenant: &TenantName) -> Result<(), StoreError> {
        let put = self.once.iter().map(async |(once, access)| {
            match request::put(tx, tenant, once, Made::Access(access), self.now).await? {
                true => Ok(()),
                false => Err(StoreError::corrupt("a key that came into use under the lock")),
            }
        });
        try_join_all(put).await.map(drop)
    }
}

/// The usernames that somebody may have already.
fn usernames_in_doubt<'a>(new: impl Iterator<Item = &'a NewAccess>) -> Vec<&'a str> {
    new.filter(|new| !new.is_drawn).map(|new| new.username.as_str()).collect()
}

fn job_set(job: Option<TaskId>) -> Option<Set> {
    job.map(Set::Job)
}

type CountersOfContract = [(Set, Size); 2];

async fn read_contract(
    tx: &Tx,
    tenant: &TenantName,
    id: &ContractId,
    now: Timestamp,
) -> Result<Option<(CountedContract, CountersOfContract)>, StoreError> {
    let Some(counted) = contract::read_limited_in(tx, tenant, id, now).await? else {
        return Ok(None);
    };
    let contract = Set::Contract(id.clone());
    let offering = Set::Offering(counted.contract.offering_id.clone());
    let missing = || StoreError::corrupt("a contract without its counters");
    let (of_contract, of_offering) =
        try_join(counter::get(tx, tenant, &contract), counter::get(tx, tenant, &offering)).await?;
    let counters = [
        (contract, of_contract.ok_or_else(missing)?),
        (offering, of_offering.ok_or_else(missing)?),
    ];
    Ok(Some((counted, counters)))
}
