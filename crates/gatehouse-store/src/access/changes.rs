//! Changing many accesses in one transaction, each with its own result.

use std::collections::HashMap;
use std::sync::Arc;

use gatehouse_core::credential::StoredHash;
use gatehouse_core::event::Origin;
use gatehouse_core::task::{FailedItem, ItemReference};
use gatehouse_core::{
    Access, AccessId, BatchFailure, Contract, ContractId, Tenant, TenantName, Timestamp,
};

use crate::access::{Change, StoredAccess, bulk};
use crate::counts::derived_counts::DerivedCounts;
use crate::db::Tx;
use crate::error::StoreError;
use crate::setup::{contract, tenant};
use crate::task::chunk::{ChunkTimer, ItemResult, PlannedItem};

/// An access to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemChange {
    /// The access.
    pub id: AccessId,
    /// The hash of its new password; `None` to keep the present one.
    pub password: Option<StoredHash>,
}

/// Decides an access's new state from its present one, its contract and tenant, and the time. The password is no part
/// of it.
pub type ChangeRule = Arc<
    dyn Fn(&StoredAccess, &Contract, &Tenant, Timestamp) -> Result<Access, BatchFailure>
        + Send
        + Sync,
>;

/// Changes accesses by a rule, one after the other, until the timer is over. Returns the results of the items that it
/// came to.
pub(crate) async fn change_each(
    tx: &Tx,
    tenant: &TenantName,
    items: &[(u32, PlannedItem<ItemChange>)],
    rule: &ChangeRule,
    origin: &Origin,
    timer: &ChunkTimer,
) -> Result<Vec<ItemResult>, StoreError> {
    let now = tx.now().await?;
    let owner = tenant::read_in(tx, tenant).await?;
    let owner = owner.ok_or_else(|| StoreError::corrupt("a Task without its tenant"))?;
    let mut contracts = HashMap::new();
    let (mut counts, mut results) = (DerivedCounts::of(tx), Vec::with_capacity(items.len()));
    for some in items.chunks(bulk::rows_at_once(tx, 0)) {
        let ids = some.iter().filter_map(|(_, it)| Some(it.to_do()?.id));
        let ids: Vec<AccessId> = ids.collect();
        let found = bulk::lock_named(tx, tenant, &ids).await?;
        let mut found: HashMap<AccessId, StoredAccess> =
            found.into_iter().map(|stored| (stored.access.id, stored)).collect();
        read_contracts(tx, tenant, found.values(), &mut contracts).await?;
        let mut changes = Vec::new();
        for (index, item) in some {
            let result = match item {
                PlannedItem::Do(ItemChange { id, password }) => match found.remove(id) {
                    Some(before) => decide(&before, &contracts, &owner, now, rule)?
                        .map(|access| Change { access, password: password.clone() })
                        .map(|change| note(&before, change, origin, &mut counts, &mut changes))
                        .map_err(|failure| (ItemReference::of_access(*id), failure)),
                    None => Err((
                        ItemReference::of_access(*id),
                        BatchFailure::no_access(&id.to_string()),
                    )),
                },
                PlannedItem::Fail(name, failure) => Err((name.clone(), failure.clone())),
            };
            results.push(result.map_err(|(name, failure)| {
                Box::new(FailedItem { ordinal: 0, index: *index, name, failure })
            }));
        }
        bulk::update(tx, tenant, &changes).await?;
        if timer.is_over(tx).await? {
            break;
        }
    }
    counts.write(tx, tenant).await?;
    Ok(results)
}

fn decide(
    before: &StoredAccess,
    contracts: &HashMap<ContractId, Contract>,
    owner: &Tenant,
    now: Timestamp,
    rule: &ChangeRule,
) -> Result<Result<Access, BatchFailure>, StoreError> {
    let contract = contracts.get(&before.access.contract_id);
    let contract = contract.ok_or_else(|| StoreError::corrupt("an access without a contract"))?;
    Ok(rule(before, contract, owner, now))
}

/// Adds a change to the derived counts and to the changes to write, unless it changes nothing.
fn note(
    before: &StoredAccess,
    change: Change,
    origin: &Origin,
    counts: &mut DerivedCounts,
    changes: &mut Vec<Change>,
) {
    if before.access != change.access || change.password.is_some() {
        counts.change(before.number, &before.access, &change, origin);
        changes.push(change);
    }
}

async fn read_contracts(
    tx: &Tx,
    tenant: &TenantName,
    of: impl Iterator<Item = &StoredAccess>,
    contracts: &mut HashMap<ContractId, Contract>,
) -> Result<(), StoreError> {
    for stored in of {
        let id = &stored.access.contract_id;
        if !contracts.contains_key(id)
            && let Some(contract) = contract::read_in(tx, tenant, id).await?
        {
            contracts.insert(id.clone(), contract);
        }
    }
    Ok(())
}
