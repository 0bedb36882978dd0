//! Changing many accesses in one transaction, each by itself.

use std::collections::HashMap;
use std::sync::Arc;

use gatehouse_core::task::{FailedItem, ItemName};
use gatehouse_core::{AccessId, Contract, ContractId, Tenant, TenantName, Timestamp, Trouble};

use crate::access::{Change, Stored, bulk};
use crate::counts::derived_counts::Moves;
use crate::db::Tx;
use crate::error::StoreError;
use crate::setup::{contract, tenant};
use crate::task::stretch::{ItemResult, Planned, Watch};

/// What becomes of an access, by what it and its contract are at an instant.
pub type ChangeRule =
    Arc<dyn Fn(&Stored, &Contract, &Tenant, Timestamp) -> Result<Change, Trouble> + Send + Sync>;

/// Changes accesses by a rule, one after the other, until patience is over; how far it came, the answers tell.
pub(crate) async fn change_each(
    tx: &Tx,
    tenant: &TenantName,
    items: &[(u32, Planned<AccessId>)],
    rule: &ChangeRule,
    watch: &Watch,
) -> Result<Vec<ItemResult>, StoreError> {
    let now = tx.now().await?;
    let whose = tenant::read_in(tx, tenant).await?;
    let whose = whose.ok_or_else(|| StoreError::corrupt("a Task without its tenant"))?;
    let mut contracts = HashMap::new();
    let (mut moves, mut results) = (Moves::default(), Vec::with_capacity(items.len()));
    for some in items.chunks(bulk::rows_at_once(tx, 0)) {
        let ids: Vec<AccessId> = some.iter().filter_map(|(_, it)| it.to_do().copied()).collect();
        let found = bulk::lock_named(tx, tenant, &ids).await?;
        let mut found: HashMap<AccessId, Stored> =
            found.into_iter().map(|stored| (stored.access.id, stored)).collect();
        read_contracts(tx, tenant, found.values(), &mut contracts).await?;
        let mut changes = Vec::new();
        for (index, item) in some {
            let result = match item {
                Planned::Do(id) => match found.remove(id) {
                    Some(before) => decide(&before, &contracts, &whose, now, rule)?
                        .map(|change| note(&before, change, &mut moves, &mut changes))
                        .map_err(|trouble| (ItemName::of_access(*id), trouble)),
                    None => Err((ItemName::of_access(*id), Trouble::no_access(&id.to_string()))),
                },
                Planned::Fail(name, trouble) => Err((name.clone(), trouble.clone())),
            };
            results.push(result.map_err(|(name, trouble)| {
                Box::new(FailedItem { ordinal: 0, index: *index, name, trouble })
            }));
        }
        bulk::update(tx, tenant, &changes).await?;
        if watch.is_over(tx).await? {
            break;
        }
    }
    moves.write(tx, tenant).await?;
    Ok(results)
}

fn decide(
    before: &Stored,
    contracts: &HashMap<ContractId, Contract>,
    whose: &Tenant,
    now: Timestamp,
    rule: &ChangeRule,
) -> Result<Result<Change, Trouble>, StoreError> {
    let contract = contracts.get(&before.access.contract_id);
    let contract = contract.ok_or_else(|| StoreError::corrupt("an access without a contract"))?;
    Ok(rule(before, contract, whose, now))
}

/// Notes a change that is one.
fn note(before: &Stored, change: Change, moves: &mut Moves, changes: &mut Vec<Change>) {
    if before.access != change.access || change.password.is_some() {
        moves.change(&before.access, &change.access);
        changes.push(change);
    }
}

async fn read_contracts(
    tx: &Tx,
    tenant: &TenantName,
    of: impl Iterator<Item = &Stored>,
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
